// Builds the page into dist/, or with `--tests` the tests into .build/.
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const cargo = await readFile(join(here, '../Cargo.toml'), 'utf8');
const version = /^version = "([^"]+)"/m.exec(cargo)?.[1];
if (version === undefined) throw new Error('no version in Cargo.toml');

async function buildPage() {
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
    // The minimal build of dash.js: no DRM, Smooth Streaming or metrics reporting.
    alias: { dashjs: join(here, 'node_modules/dashjs/dist/modern/esm/dash.mediaplayer.min.js') },
    define: { VERSION: JSON.stringify(version) },
    legalComments: 'none',
    logLevel: 'warning',
  });
  await copyFile(join(here, 'src/index.html'), join(out, 'index.html'));
  await copyFile(join(here, 'src/style.css'), join(out, 'style.css'));
  await writeFile(join(out, 'licences.txt'), await licences());
}

/** Returns the licence texts of the dependencies bundled in player.js, which require it. */
async function licences() {
  const modules = join(here, 'node_modules');
  const manifestOf = async (name) => JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8'));
  const own = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));
  const names = Object.keys(own.dependencies);
  for (const name of names) {
    const { dependencies, peerDependencies } = await manifestOf(name);
    for (const other of Object.keys({ ...dependencies, ...peerDependencies }))
      if (!names.includes(other)) names.push(other);
  }
  const texts = names.sort().map(async (name) => {
    const { version, license } = await manifestOf(name);
    const file = (await readdir(join(modules, name))).find((file) => /^licen[cs]e(\.|-|$)/i.test(file));
    const text = file === undefined ? '' : await readFile(join(modules, name, file), 'utf8');
    return `${name} ${version}: ${license}\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`);
}

async function buildTests() {
  const out = join(here, '.build');
  await rm(out, { recursive: true, force: true });
  const files = await readdir(join(here, 'test'), { recursive: true });
  await build({
    // Tests, and the programs that the kernel test runs on the hosts of a test bed.
    entryPoints: files
      .filter((name) => name.endsWith('.test.ts') || /^kernel\/(device-program|content-server)\.ts$/.test(name))
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

await (process.argv.includes('--tests') ? buildTests() : buildPage());
