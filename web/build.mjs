// Builds the page into dist/, or with `--tests` the tests into .build/.
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const cargo = await readFile(join(here, '../Cargo.toml'), 'utf8');
const version = /^version = "([^"]+)"/m.exec(cargo)?.[1];
if (version === undefined) throw new Error('Cargo.toml has no version');

async function page() {
  const out = join(here, 'dist');
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await build({
    entryPoints: [join(here, 'src/page/main.ts')],
    outfile: join(out, 'player.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    // dash.js without DRM, Smooth Streaming and metrics reporting, which are of no use here.
    alias: { dashjs: join(here, 'node_modules/dashjs/dist/modern/esm/dash.mediaplayer.min.js') },
    define: { VERSION: JSON.stringify(version) },
    legalComments: 'none',
    logLevel: 'warning',
  });
  await copyFile(join(here, 'src/index.html'), join(out, 'index.html'));
  await copyFile(join(here, 'src/style.css'), join(out, 'style.css'));
  await writeFile(join(out, 'licences.txt'), await licences());
}

/** The licences of all that is in player.js and is not ours, which ask to go with it. */
async function licences() {
  const modules = join(here, 'node_modules');
  const described = async (name) => JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8'));
  const own = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));
  const wanted = Object.keys(own.dependencies);
  for (const name of wanted) {
    const { dependencies, peerDependencies } = await described(name);
    for (const other of Object.keys({ ...dependencies, ...peerDependencies }))
      if (!wanted.includes(other)) wanted.push(other);
  }
  const texts = wanted.sort().map(async (name) => {
    const { version, license } = await described(name);
    const file = (await readdir(join(modules, name))).find((file) => /^licen[cs]e(\.|-|$)/i.test(file));
    const text = file === undefined ? '' : await readFile(join(modules, name, file), 'utf8');
    return `${name} ${version}: ${license}\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`);
}

async function tests() {
  const out = join(here, '.build');
  await rm(out, { recursive: true, force: true });
  const found = await readdir(join(here, 'test'), { recursive: true });
  await build({
    // The tests, and the programs that one of them runs on the hosts of a test bed.
    entryPoints: found
      .filter((name) => name.endsWith('.test.ts') || /^kernel\/(device|content)\.ts$/.test(name))
      .map((name) => join(here, 'test', name)),
    outdir: out,
    outbase: join(here, 'test'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
}

await (process.argv.includes('--tests') ? tests() : page());
