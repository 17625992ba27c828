import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EMOS_MAX, emos } from '../../src/measure/emos.ts';
import { linearQoe } from '../../src/measure/linear-qoe.ts';
import { levels, MOS_MAX, meanStall, mos, stallFrequency, type Viewing } from '../../src/measure/mos.ts';
import { codecName, p1203Input } from '../../src/measure/p1203.ts';

/** A viewing of 100 s played: 2 stalls are 0.02 stalls per second. */
function viewing(initialMs: number, stalls: number, stalledMs: number): Viewing {
  return { initial: initialMs / 1000, stalls, stalled: stalledMs / 1000, played: 100 };
}

test('MOS follows from the levels', () => {
  // Initial load, stalls in 100 s, their total length; levels; MOS. Same table as in crate `qoe`.
  const table: [Parameters<typeof viewing>, number[], number][] = [
    [[500, 0, 0], [1, 1, 1], 3.3148],
    [[1000, 2, 10_000], [1, 1, 1], 3.3148],
    [[1001, 2, 10_000], [2, 1, 1], 3.2476],
    [[5000, 3, 15_000], [2, 2, 1], 2.5056],
    [[5001, 15, 90_000], [3, 2, 2], 2.3324],
    [[500, 16, 80_000], [1, 3, 1], 1.8308],
    [[9000, 20, 220_000], [3, 3, 3], 1.4844],
  ];
  for (const [given, [initial, frequency, stall], expected] of table) {
    const found = levels(viewing(...given));
    assert.deepEqual(found, { initial, frequency, stall });
    assert.ok(Math.abs(mos(found) - expected) < 1e-9, `${given}`);
  }
});

test('stall without any playback gives the worst frequency level', () => {
  const unplayed = { ...viewing(0, 1, 1000), played: 0 };
  assert.equal(stallFrequency(unplayed), Number.POSITIVE_INFINITY);
  assert.equal(levels(unplayed).frequency, 3);
  assert.equal(levels({ initial: 0, stalls: 0, stalled: 0, played: 0 }).frequency, 1);
  assert.equal(meanStall({ initial: 0, stalls: 0, stalled: 0, played: 0 }), 0);
});

test("upper bound of each level in the paper's table belongs to that level", () => {
  // Kumar et al., Table I: T_init 0 to 1 s, to 5 s; f_rebuf 0 to 0.02 /s, to 0.15 /s; T_rebuf 0 to
  // 5 s, to 10 s.
  assert.deepEqual(
    [1000, 1001, 5000, 5001].map((ms) => levels(viewing(ms, 0, 0)).initial),
    [1, 2, 2, 3],
  );
  assert.deepEqual(
    [2, 3, 15, 16].map((stalls) => levels(viewing(0, stalls, 0)).frequency),
    [1, 2, 2, 3],
  );
  assert.deepEqual(
    [5000, 5001, 10_000, 10_001].map((ms) => levels(viewing(0, 1, ms)).stall),
    [1, 2, 2, 3],
  );
});

test('no levels give more than the maximum', () => {
  const all = [1, 2, 3] as const;
  const scores = all.flatMap((initial) =>
    all.flatMap((frequency) => all.map((stall) => mos({ initial, frequency, stall }))),
  );
  assert.equal(Math.max(...scores), MOS_MAX);
  assert.ok(Math.abs(MOS_MAX - 3.3148) < 1e-9);
});

test('eMOS matches the vectors of crate qoe', () => {
  interface Vector {
    readonly why: string;
    readonly levels: number[];
    readonly count: number;
    readonly stalls: number;
    readonly stalled_s: number;
    readonly played_s: number;
    readonly score: number | null;
  }
  const vectors = JSON.parse(readFileSync('../crates/qoe/tests/emos.json', 'utf8')) as Vector[];
  assert.ok(vectors.length >= 10);
  for (const { why, levels, count, stalls, stalled_s: stalled, played_s: played, score } of vectors) {
    const found = emos(levels, count, { stalls, stalled, played });
    if (score === null) assert.equal(found, null, why);
    else assert.ok(found !== null && Math.abs(found - score) < 1e-9, `${why}: ${found}`);
  }
  assert.ok(Math.abs(EMOS_MAX - 5.84) < 1e-9);
});

test('linear score matches a manual calculation', () => {
  const chunks = [300, 750, 1850, 1200];
  const near = (found: number, expected: number) => assert.ok(Math.abs(found - expected) < 1e-9, `${found}`);
  // 4.1 of quality, 0.45 + 1.1 + 0.65 = 2.2 of changes, 4.3 * 0.5 = 2.15 of stalls.
  near(linearQoe(chunks, 0.5), 4.1 - 2.2 - 2.15);
  near(linearQoe(chunks, 1, { stall: 3, change: 0 }), 1.1);
  near(linearQoe([], 0), 0);
  near(linearQoe([4300], 1), 0);
});

test('P.1203 input has consecutive segments and the initial load time as stall at position 0', () => {
  const h264 = { codec: 'h264', fps: 24 };
  const video = [
    { duration: 3, bitrate: 1000, ...h264, width: 640, height: 360 },
    { duration: 2.5, bitrate: 2500, ...h264, width: 1280, height: 720 },
  ];
  const audio = [{ duration: 5.5, bitrate: 128.5, codec: 'aaclc' }];
  const display = { handheld: true, width: 1920, height: 1080, distance_cm: 150 };
  // Same document as in the tests of crate `qoe`.
  assert.deepEqual(p1203Input(display, audio, video, 0.75, [[3, 1.25]]), {
    I11: { segments: [{ bitrate: 128.5, codec: 'aaclc', duration: 5.5, start: 0 }], streamId: 1 },
    I13: {
      segments: [
        { bitrate: 1000, codec: 'h264', duration: 3, fps: 24, resolution: '640x360', start: 0 },
        { bitrate: 2500, codec: 'h264', duration: 2.5, fps: 24, resolution: '1280x720', start: 3 },
      ],
      streamId: 1,
    },
    I23: {
      stalling: [
        [0, 0.75],
        [3, 1.25],
      ],
      streamId: 1,
    },
    IGen: { device: 'mobile', displaySize: '1920x1080', viewingDistance: '150cm' },
  });
  assert.deepEqual(p1203Input(display, audio, video, 0, []).I23.stalling, []);
});

test('codecs of RFC 6381 are translated to names of P.1203', () => {
  const names = {
    'avc1.64001f': 'h264',
    'hev1.1.6.L93.B0': 'h265',
    'vp09.00.10.08': 'vp9',
    'av01.0.04M.08': 'av1',
    'mp4a.40.2': 'aaclc',
    'mp4a.40.5': 'heaac',
    'mp4a.6B': 'mp2',
    'ac-3': 'ac3',
    opus: null,
    '': null,
  };
  for (const [codec, name] of Object.entries(names)) assert.equal(codecName(codec), name, codec);
});
