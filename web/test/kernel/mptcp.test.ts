/**
 * The page on the device of a test bed: Chromium in a network namespace, both halves of `tandem
 * proxy`, Linux's Multipath TCP over two emulated paths, and a TCP server. The paths are throttled
 * and cut during playback. The KPIs are compared with the pixels on the screen, as in
 * ../e2e/accuracy.test.ts.
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
import { acquireLoadingLock } from '../e2e/loading-lock.ts';
import {
  assertStallBounds,
  assertWithin,
  discardReason,
  type Freeze,
  firstFrame,
  matchStalls,
  meanLength,
  type Observation,
  withoutHiccups,
} from '../e2e/screen-observer.ts';
import type { LoggedResponse, PostedRecord } from '../e2e/test-server.ts';
import { hasFfmpeg, testVideo } from '../e2e/test-video.ts';
import { timedTrial } from '../e2e/timed-trial.ts';
import { hasTandem, TANDEM } from '../tandem-binary.ts';
import { PLAYING } from './markers.ts';

const TOLERANCE_MS = 20;
const FPS = 25;

/** Address of the server in every test bed (docs/reference/output.md). */
const SERVER = '10.77.255.1';
const UPSTREAM_PROXY = `${SERVER}:3128`;
const CONTENT = `http://${SERVER}:8080`;

const skip = [
  hasChromium ? '' : 'Chromium',
  hasFfmpeg ? '' : 'ffmpeg',
  hasTandem ? '' : 'the program tandem (build it with `cargo build -p tandem-cli`)',
  process.getuid?.() === 0 ? '' : 'root',
  existsSync('/dev/net/tun') ? '' : '/dev/net/tun',
  existsSync('/proc/sys/net/mptcp/enabled') ? '' : 'Multipath TCP in the kernel',
].filter(Boolean);

/** Results printed by the program on the device. */
interface DeviceResults {
  readonly truth: Observation;
  readonly errors: readonly string[];
  readonly log: { readonly responses: readonly LoggedResponse[]; readonly posted: readonly PostedRecord[] };
}

/** Members of result.json in use. */
interface RunResult {
  readonly paths: readonly { readonly name: string; readonly payload_down_bytes: number }[];
}

test('KPIs over two throttled and cut subflows are within 20 ms of the screen', {
  skip: skip.length === 0 ? false : `needs ${skip.join(', ')}`,
}, async (t) => {
  const folder = await testVideo({
    seconds: 20,
    segmentSeconds: 1,
    fps: FPS,
    kbps: [600],
    audio: false,
    // Small and with a single bitrate, as in ../e2e/accuracy.test.ts.
    size: '160x90',
  });
  await timedTrial(t, async () => {
    const out = await mkdtemp(join(tmpdir(), 'tandem-web-'));
    try {
      const server = [
        `node .build/kernel/content-server.mjs '${folder}' ${SERVER} 8080 &`,
        `exec '${TANDEM}' proxy --listen ${UPSTREAM_PROXY} --allow 10.77.0.0/16 --allow-destination 10.77.0.0/16`,
      ].join('\n');
      const device = [
        'node',
        '.build/kernel/device-program.mjs',
        TANDEM,
        UPSTREAM_PROXY,
        CONTENT,
        '/video/manifest.mpd',
      ];
      // `asked`: the proxy's sockets use Multipath TCP, the content server's sockets do not.
      const options = ['--mptcp', 'asked', '--server', server, '--duration', '200s', '--out', join(out, 'run')];
      const releaseLock = await acquireLoadingLock();
      t.after(releaseLock);
      const emulate = ['emulate', 'test/kernel/paths.toml', ...options, '--', ...device];
      const printed = await run(TANDEM, emulate, releaseLock);
      const json = printed.split('\n').find((line) => line.startsWith('{')) ?? '';
      const { truth, errors, log } = JSON.parse(json) as DeviceResults;
      const session = JSON.parse(log.posted.at(-1)?.body ?? '') as Session;
      const result = JSON.parse(await readFile(join(out, 'run/result.json'), 'utf8')) as RunResult;

      assert.deepEqual(errors, []);
      assert.equal(session.complete, true);
      assert.equal(discardReason(truth), undefined);
      assertWithin(session.kpis.initial_load_s, firstFrame(truth), TOLERANCE_MS, 'T_init');
      const hadData = ({ position, start }: Freeze) => {
        const required = session.segments.find(({ segment }) => segment === Math.floor(position + 0.1));
        return required === undefined || required.arrived_s * 1000 < start[0];
      };
      const tolerances = { frameMs: 1000 / FPS, toleranceMs: TOLERANCE_MS };
      const matches = matchStalls(session.stalls, truth, tolerances, hadData);
      const stalls = withoutHiccups(matches, hadData);
      assert.ok(stalls.length >= 1, 'no stall');
      assertStallBounds(stalls, TOLERANCE_MS);
      const meanFreeze = meanLength(matches.map(({ freeze }) => freeze));
      assertWithin(session.kpis.mean_stall_s, meanFreeze, TOLERANCE_MS, 'T_rebuf');
      const lengths = stalls.map(({ stall }) => (stall.end_s - stall.start_s).toFixed(2)).join(', ');
      const carried = result.paths.map((path) => `${path.name} ${(path.payload_down_bytes / 1e6).toFixed(2)} MB`);
      t.diagnostic(`T_init ${session.kpis.initial_load_s.toFixed(2)} s, stalls of ${lengths} s; ${carried.join(', ')}`);
      // Both paths carried video, and each request carried CMCD.
      for (const { name, payload_down_bytes } of result.paths)
        assert.ok(payload_down_bytes > 100_000, `${name}: ${payload_down_bytes} bytes`);
      const media = log.responses.filter(({ path }) => path.includes('chunk-'));
      assert.ok(media.length >= 20 && media.every(({ query }) => query.includes(session.id)));
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });
});

/** Runs a program and returns its output; calls `onPlaying` when it prints `PLAYING`. */
function run(program: string, arguments_: readonly string[], onPlaying: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const limits = { maxBuffer: 1 << 28, timeout: 240_000 };
    const child = execFile(program, arguments_, limits, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stderr.slice(-2000)}\n${stdout.slice(-1000)}`));
    });
    if (child.stdout !== null)
      createInterface(child.stdout).on('line', (line) => {
        if (line === PLAYING) onPlaying();
      });
  });
}
