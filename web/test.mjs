// Runs the tests that `build.mjs --tests` left in .build/.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const out = '.build';
const files = (await readdir(out, { recursive: true })).filter((name) => name.endsWith('.test.mjs')).sort();
// These hold a page's first picture to 20 ms: no page of the others may take the processor's time then.
const alone = (name) => /^(e2e.accuracy|kernel.kernel)/.test(name);

/** Tests that this machine cannot run, each with the reason. */
const skipped = [];

/** @param side how many files are run side by side */
async function all(names, side) {
  const tests = run({ files: names.map((name) => join(process.cwd(), out, name)), concurrency: side });
  tests.on('test:fail', () => {
    process.exitCode = 1;
  });
  tests.on('test:pass', ({ name, skip }) => {
    if (skip !== undefined && skip !== false) skipped.push(`${name}: ${skip}`);
  });
  for await (const part of tests.compose(new spec())) process.stdout.write(part);
}

// All of them wait mostly, whatever the number of processors.
await all(
  files.filter((name) => !alone(name)),
  3,
);
await all(files.filter(alone), 2);

if (skipped.length > 0) {
  console.log(`not run: ${skipped.length} tests of the player's page\n    ${skipped.join('\n    ')}`);
  // In continuous integration every test has to run.
  if (process.env.CI === 'true') process.exitCode = 1;
}
