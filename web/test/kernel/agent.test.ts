/**
 * The page tells `tandem agent` its buffer over the kernel: Chromium on the device of a test bed, the
 * agent with the policy `qoe`, both halves of `tandem proxy`, and Multipath TCP over two paths. With
 * HTTPS the proxy cannot read the player's requests; the page's reports save as much LTE as CMCD in
 * clear text does.
 */

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { hasChromium } from '../e2e/browser.ts';
import { hasFfmpeg, testVideo } from '../e2e/test-video.ts';
import { timedTrial } from '../e2e/timed-trial.ts';
import { hasTandem, TANDEM } from '../tandem-binary.ts';

/** Address of the server in every test bed (docs/reference/output.md). */
const SERVER = '10.77.255.1';
const UPSTREAM_PROXY = `${SERVER}:3128`;
const PORT = 8080;

const skip = [
  hasChromium ? '' : 'Chromium',
  hasFfmpeg ? '' : 'ffmpeg',
  hasTandem ? '' : 'the program tandem (build it with `cargo build -p tandem-cli`)',
  existsSync('/usr/bin/openssl') ? '' : 'openssl',
  process.getuid?.() === 0 ? '' : 'root',
  existsSync('/dev/net/tun') ? '' : '/dev/net/tun',
  existsSync('/proc/sys/net/mptcp/enabled') ? '' : 'Multipath TCP in the kernel',
].filter(Boolean);

interface Played {
  readonly wifi: number;
  readonly lte: number;
  readonly players: number;
  readonly note: string;
  readonly errors: readonly string[];
}

interface Results {
  readonly plain: Played;
  readonly secure: Played;
  readonly silent: Played;
  /** What pages that are not configured saw of the agent's port. */
  readonly attacks: { readonly seen: readonly string[]; readonly players: number };
}

test('with HTTPS the page saves as much LTE by its reports to the agent as with plain HTTP', {
  skip: skip.length === 0 ? false : `needs ${skip.join(', ')}`,
}, async (t) => {
  const folder = await testVideo({
    seconds: 30,
    segmentSeconds: 1,
    fps: 25,
    kbps: [800],
    audio: false,
    size: '160x90',
  });
  // How long the player waits for data decides how much LTE it asks for, so a held-up machine adds LTE.
  const trials: Results[] = [];
  await timedTrial(t, async () => {
    const out = await mkdtemp(join(tmpdir(), 'tandem-web-'));
    try {
      const certificate = ['-keyout', join(out, 'key.pem'), '-out', join(out, 'cert.pem'), '-days', '2'];
      const key = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
      const name = ['-subj', '/CN=content', '-addext', `subjectAltName=IP:${SERVER}`];
      execFileSync('openssl', [...key, ...name, ...certificate], { stdio: 'ignore' });
      const server = [
        `node .build/kernel/content-server.mjs '${folder}' ${SERVER} ${PORT} '${out}' &`,
        `exec '${TANDEM}' proxy --listen ${UPSTREAM_PROXY} --allow 10.77.0.0/16 --allow-destination 10.77.0.0/16`,
      ].join('\n');
      const origins = [`http://${SERVER}:${PORT}`, `https://${SERVER}:${PORT + 1}`];
      const device = ['node', '.build/kernel/agent-program.mjs', TANDEM, UPSTREAM_PROXY, ...origins];
      // `asked`: the proxy's sockets use Multipath TCP, the content server's sockets do not.
      const options = ['--mptcp', 'asked', '--server', server, '--duration', '170s', '--out', join(out, 'run')];
      const emulate = ['emulate', 'test/kernel/agent-paths.toml', ...options, '--', ...device, '/video/manifest.mpd'];
      const limits = { maxBuffer: 1 << 28, timeout: 190_000 };
      const { stdout } = await promisify(execFile)(TANDEM, emulate, limits);
      const json = stdout.split('\n').find((line) => line.startsWith('{')) ?? '';
      const results = JSON.parse(json) as Results;
      trials.push(results);
      const { plain, secure, silent } = results;
      const show = (name: string, { wifi, lte }: Played) =>
        `${name}: Wi-Fi ${(wifi / 1e6).toFixed(2)} MB, LTE ${(lte / 1e6).toFixed(2)} MB`;
      t.diagnostic([show('HTTP', plain), show('HTTPS', secure), show('HTTPS without reports', silent)].join('; '));
      // Both save most of the LTE data, and reports save no less than CMCD within a tenth of the whole.
      const whole = silent.wifi + silent.lte;
      assert.ok(silent.lte > 0.25 * whole, 'LTE is used without reports');
      for (const { lte } of [plain, secure]) assert.ok(lte < 0.5 * silent.lte, `LTE: ${lte} of ${silent.lte} bytes`);
      assert.ok(secure.lte - plain.lte < 0.1 * whole, `LTE: ${plain.lte} and ${secure.lte} bytes`);
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });
  // These do not depend on time, so they hold in each trial.
  for (const { plain, secure, silent, attacks } of trials) {
    for (const { errors } of [plain, secure, silent]) assert.deepEqual(errors, []);
    assert.deepEqual([plain.players > 0, secure.players, silent.players], [true, 1, 0]);
    assert.equal(secure.note, 'The agent takes reports.');
    // Another page cannot even read the refusal; under its own name it reads `Misdirected Request`.
    assert.deepEqual(attacks, { seen: ['blocked', 'opaque 0', 'basic 421', 'basic 421'], players: 0 });
  }
});
