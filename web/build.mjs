// Builds the page into dist/, or with `--tests` the tests into .build/.
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { icon } from './icons.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const cargo = await readFile(join(here, '../Cargo.toml'), 'utf8');
const version = /^version = "([^"]+)"/m.exec(cargo)?.[1];
if (version === undefined) throw new Error('no version in Cargo.toml');

const target = ['chrome111', 'firefox115', 'safari16.4'];

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
    target,
    // The minimal build of dash.js: no DRM, Smooth Streaming or metrics reporting.
    alias: { dashjs: join(here, 'node_modules/dashjs/dist/modern/esm/dash.mediaplayer.min.js') },
    define: { VERSION: JSON.stringify(version) },
    legalComments: 'none',
    logLevel: 'warning',
  });
  await copyFile(join(here, 'src/style.css'), join(out, 'style.css'));
  await copyFile(join(here, 'src/manifest.webmanifest'), join(out, 'manifest.webmanifest'));
  await writeFile(join(out, 'licences.txt'), await licences());
  await writeFile(join(out, 'icon-192.png'), icon(192, false));
  await writeFile(join(out, 'icon-512.png'), icon(512, false));
  await writeFile(join(out, 'icon-maskable-512.png'), icon(512, true));
  await buildIndex(out);
  await buildWorker(out);
}

const digest = (bytes) => createHash('sha256').update(bytes).digest('base64');
/** Address of a file with a hash of its content. */
const hashed = async (out, name) =>
  `${name}?${createHash('sha256')
    .update(await readFile(join(out, name)))
    .digest('hex')
    .slice(0, 16)}`;

/** Writes the page, which names its script and style with their hashes. */
async function buildIndex(out) {
  let html = await readFile(join(here, 'src/index.html'), 'utf8');
  for (const name of ['player.js', 'style.css']) {
    if (html.split(`"${name}"`).length !== 2) throw new Error(`index.html does not name ${name} once`);
    html = html.replace(`"${name}"`, `"${await hashed(out, name)}"`);
  }
  await writeFile(join(out, 'index.html'), html);
}

/** Writes the service worker, which knows the digest of each file that it keeps. */
async function buildWorker(out) {
  const names = (await readdir(out)).sort();
  const files = await Promise.all(
    names.map(async (name) => {
      const path = { 'index.html': './' }[name] ?? (/\.(js|css)$/.test(name) ? await hashed(out, name) : name);
      return [path, `sha256-${digest(await readFile(join(out, name)))}`];
    }),
  );
  await build({
    entryPoints: [join(here, 'src/worker/service-worker.ts')],
    outfile: join(out, 'service-worker.js'),
    bundle: true,
    minify: true,
    format: 'iife',
    target,
    define: { FILES: JSON.stringify(files), BUILD: JSON.stringify(digest(JSON.stringify(files))) },
    legalComments: 'none',
    logLevel: 'warning',
  });
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
      .filter(
        (name) => name.endsWith('.test.ts') || /^kernel\/(device-program|agent-program|content-server)\.ts$/.test(name),
      )
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
