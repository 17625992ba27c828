// Builds the page into dist/, or with `--tests` the tests into .build/.
import { copyFile, mkdir, readdir, readFile, rm } from 'node:fs/promises';
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
    legalComments: 'linked',
    logLevel: 'warning',
  });
  await copyFile(join(here, 'src/index.html'), join(out, 'index.html'));
  await copyFile(join(here, 'src/style.css'), join(out, 'style.css'));
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
