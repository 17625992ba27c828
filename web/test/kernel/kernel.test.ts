/**
 * The page on a device of the test bed: Chromium in a network namespace, both halves of `tandem proxy`, Linux's own
 * Multipath TCP over two emulated paths, and a server that speaks TCP alone. The links are throttled and cut while
 * it plays. Its KPIs are held to the pixels on the screen, as in ../e2e/accuracy.test.ts.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { Session } from '../../src/measure/record.ts';
import { hasChromium } from '../e2e/browser.ts';
import {
  between,
  blind,
  firstPicture,
  meanLength,
  pairs,
  type Standstill,
  type Watched,
  waited,
  within,
} from '../e2e/observer.ts';
import type { Answer, Posted } from '../e2e/server.ts';
import { turn } from '../e2e/turn.ts';
import { hasFfmpeg, video } from '../e2e/video.ts';
import { hasTandem, TANDEM } from '../tandem.ts';
import { PLAYS } from './plays.ts';

const TOLERANCE_MS = 20;
const FPS = 25;

/** The server's address in every test bed; docs/reference/output.md. */
const SERVER = '10.77.255.1';
const FAR = `${SERVER}:3128`;
const CONTENT = `http://${SERVER}:8080`;

const skip = [
  hasChromium ? '' : 'Chromium',
  hasFfmpeg ? '' : 'ffmpeg',
  hasTandem ? '' : 'the program tandem, which `cargo test` builds',
  process.getuid?.() === 0 ? '' : 'root',
  existsSync('/dev/net/tun') ? '' : '/dev/net/tun',
  existsSync('/proc/sys/net/mptcp/enabled') ? '' : 'Multipath TCP in the kernel',
].filter(Boolean);

interface Told {
  readonly truth: Watched;
  readonly errors: readonly string[];
  readonly log: { readonly answers: readonly Answer[]; readonly posted: readonly Posted[] };
}

/** What of a run's result.json is looked at here. */
interface Result {
  readonly paths: readonly { readonly name: string; readonly payload_down_bytes: number }[];
}

test('over two subflows of the kernel, throttled and cut, KPIs are within 20 ms of what was on the screen', {
  skip: skip.length === 0 ? false : `needs ${skip.join(', ')}`,
}, async (t) => {
  const folder = await video({
    seconds: 20,
    segmentSeconds: 1,
    fps: FPS,
    kbps: [600],
    audio: false,
    // Small and of one bitrate, as in ../e2e/accuracy.test.ts.
    size: '160x90',
  });
  const out = await mkdtemp(join(tmpdir(), 'tandem-web-'));
  try {
    const server = [
      `node .build/kernel/content.mjs '${folder}' ${SERVER} 8080 &`,
      `exec '${TANDEM}' proxy --listen ${FAR} --allow 10.77.0.0/16 --allow-destination 10.77.0.0/16`,
    ].join('\n');
    const device = ['node', '.build/kernel/device.mjs', TANDEM, FAR, CONTENT, '/video/manifest.mpd'];
    // Only who asks for it gets Multipath TCP: the two halves of the proxy, and not the content's server.
    const options = ['--mptcp', 'asked', '--server', server, '--duration', '200s', '--out', join(out, 'run')];
    const plays = await turn();
    t.after(plays);
    const printed = await run(TANDEM, ['emulate', 'test/kernel/links.toml', ...options, '--', ...device], plays);
    const { truth, errors, log } = JSON.parse(printed.split('\n').find((line) => line.startsWith('{')) ?? '') as Told;
    const session = JSON.parse(log.posted.at(-1)?.body ?? '') as Session;
    const result = JSON.parse(await readFile(join(out, 'run/result.json'), 'utf8')) as Result;

    assert.deepEqual(errors, []);
    assert.equal(session.complete, true);
    const why = blind(truth);
    if (why !== undefined) {
      t.skip(why);
      return;
    }
    within(session.kpis.initial_load_s, firstPicture(truth), TOLERANCE_MS, 'T_init');
    const had = ({ position, start }: Standstill) => {
      const due = session.segments.find(({ segment }) => segment === Math.floor(position + 0.1));
      return due === undefined || due.arrived_s * 1000 < start[0];
    };
    const all = pairs(session.stalls, truth, 1000 / FPS, TOLERANCE_MS, had);
    const found = waited(all, had);
    assert.ok(found.length >= 1, 'no stall: the links were not felt');
    for (const [index, { stall, stood }] of found.entries()) {
      within(stall.start_s, stood.start, TOLERANCE_MS, `the start of stall ${index + 1}`);
      within(stall.end_s, stood.end, TOLERANCE_MS, `the end of stall ${index + 1}`);
      const length = between(stood.start, stood.end);
      within(stall.end_s - stall.start_s, length, TOLERANCE_MS, `the length of stall ${index + 1}`);
    }
    within(session.kpis.mean_stall_s, meanLength(all.map(({ stood }) => stood)), TOLERANCE_MS, 'T_rebuf');
    const lengths = found.map(({ stall }) => (stall.end_s - stall.start_s).toFixed(2)).join(', ');
    const carried = result.paths.map((path) => `${path.name} ${(path.payload_down_bytes / 1e6).toFixed(2)} MB`);
    t.diagnostic(`T_init ${session.kpis.initial_load_s.toFixed(2)} s, stalls of ${lengths} s; ${carried.join(', ')}`);
    // Both paths carried video, and the server saw each request with its CMCD.
    for (const { name, payload_down_bytes } of result.paths)
      assert.ok(payload_down_bytes > 100_000, `${name}: ${payload_down_bytes} bytes`);
    const media = log.answers.filter(({ path }) => path.includes('chunk-'));
    assert.ok(media.length >= 20 && media.every(({ query }) => query.includes(session.id)));
  } finally {
    await rm(out, { recursive: true, force: true });
  }
});

function run(program: string, arguments_: readonly string[], plays: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const limits = { maxBuffer: 1 << 28, timeout: 240_000 };
    const child = execFile(program, arguments_, limits, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stderr.slice(-2000)}\n${stdout.slice(-1000)}`));
    });
    if (child.stdout !== null)
      createInterface(child.stdout).on('line', (line) => {
        if (line === PLAYS) plays();
      });
  });
}
