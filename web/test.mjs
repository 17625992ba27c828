// Runs the tests that `build.mjs --tests` builds in .build/.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const out = '.build';
const files = (await readdir(out, { recursive: true })).filter((name) => name.endsWith('.test.mjs')).sort();
// These compare times with the pixels on the screen, or data that depends on time, so only two run at once. The
// first takes as long as the others together, which compare times most closely and so run one after another.
const TIMING_TESTS = ['kernel/agent', 'e2e/accuracy', 'e2e/page', 'kernel/mptcp'].map((name) => `${name}.test.mjs`);

/** Longest time of a test file (ms): several times what the longest takes, so only a hang ends there. */
const TIMEOUT_MS = 600_000;

/** Skipped tests, each with its reason. */
const skipped = [];

/** Runs test files, `concurrency` at a time. */
async function runFiles(names, concurrency) {
  const tests = run({ files: names.map((name) => join(process.cwd(), out, name)), concurrency, timeout: TIMEOUT_MS });
  tests.on('test:fail', () => {
    process.exitCode = 1;
  });
  tests.on('test:pass', ({ name, skip }) => {
    if (skip !== undefined && skip !== false) skipped.push(`${name}: ${skip}`);
  });
  for await (const part of tests.compose(new spec())) process.stdout.write(part);
}

// These tests mostly wait, so the number of processors does not limit the concurrency.
await runFiles(
  files.filter((name) => !TIMING_TESTS.includes(name)),
  3,
);
await runFiles(TIMING_TESTS, 2);

if (skipped.length > 0) {
  console.log(`not run: ${skipped.length} tests of the player's page\n    ${skipped.join('\n    ')}`);
  // Continuous integration must run every test.
  if (process.env.CI === 'true') process.exitCode = 1;
}
