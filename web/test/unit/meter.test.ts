import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Look, Meter, type Phase } from '../../src/measure/meter.ts';

/** What really happens, from a time on (ms): the clock stands or runs, and what is said of it. */
interface Truth {
  readonly from: number;
  readonly phase: Phase | 'end';
  /** Where a seek goes (s). */
  readonly to?: number;
}

/** How a page looks at a player: at these intervals, and at an event so much later than it happens (ms). */
interface Watching {
  readonly every: number;
  readonly late: number;
}

/** Plays the truth to a meter as a page would hear of it, and gives what the meter made of it. */
function heard(truth: readonly Truth[], { every, late }: Watching): Meter {
  const meter = new Meter(0);
  const state = (at: number) => {
    let position = 0;
    let phase: Truth['phase'] = 'loading';
    for (const [index, step] of truth.entries()) {
      if (step.from > at) break;
      phase = step.phase;
      if (step.to !== undefined) position = step.to;
      const until = Math.min(truth[index + 1]?.from ?? Number.POSITIVE_INFINITY, at);
      if (phase === 'playing') position += (until - step.from) / 1000;
    }
    return { position, phase };
  };
  const look = (at: number): Look => {
    const { position, phase } = state(at);
    return {
      at,
      position,
      rate: 1,
      paused: phase === 'paused',
      seeking: phase === 'seeking',
      ready: phase === 'playing' || phase === 'paused' || phase === 'end',
      ended: phase === 'end',
    };
  };
  const last = truth.at(-1)?.from ?? 0;
  const times = Array.from({ length: Math.ceil(last / every) }, (_, index) => index * every);
  times.push(...truth.map(({ from }) => from + late));
  for (const at of times.sort((a, b) => a - b)) meter.look(look(at));
  return meter;
}

const SMOOTH: Watching = { every: 16, late: 3 };
const BUSY: Watching = { every: 250, late: 180 };

const STORY: Truth[] = [
  { from: 0, phase: 'loading' },
  { from: 1234, phase: 'playing' },
  { from: 4321, phase: 'stalled' },
  { from: 6789, phase: 'playing' },
  { from: 9100, phase: 'stalled' },
  { from: 9400, phase: 'playing' },
  { from: 15_000, phase: 'end' },
];

function spans(meter: Meter, at = 1e9): [Phase, number, number][] {
  return meter.spans(at).map(({ phase, start, end }) => [phase, Math.round(start), Math.round(end)]);
}

for (const [name, watching] of [
  ['at every picture', SMOOTH],
  ['rarely, with events that are heard late', BUSY],
] as const) {
  test(`stalls are told to the millisecond by a page that looks ${name}`, () => {
    const meter = heard(STORY, watching);
    assert.deepEqual(spans(meter), [
      ['loading', 0, 1234],
      ['playing', 1234, 4321],
      ['stalled', 4321, 6789],
      ['playing', 6789, 9100],
      ['stalled', 9100, 9400],
      ['playing', 9400, 15_000],
    ]);
    assert.equal(meter.complete, true);
    assert.equal(meter.over, true);
  });
}

test('what a session was adds up to its time, without a gap', () => {
  const meter = heard(STORY, BUSY);
  let at = meter.start;
  for (const span of meter.spans(0)) {
    assert.equal(span.start, at);
    at = span.end;
  }
});

test('a pause and a seek are no stalls, and the wait after a seek belongs to it', () => {
  const meter = heard(
    [
      { from: 0, phase: 'loading' },
      { from: 500, phase: 'playing' },
      { from: 2000, phase: 'paused' },
      { from: 5000, phase: 'playing' },
      { from: 7000, phase: 'seeking', to: 30 },
      { from: 8500, phase: 'playing' },
      { from: 10_000, phase: 'end' },
    ],
    SMOOTH,
  );
  assert.deepEqual(spans(meter), [
    ['loading', 0, 500],
    ['playing', 500, 2000],
    ['paused', 2000, 5000],
    ['playing', 5000, 7003],
    ['seeking', 7003, 8500],
    ['playing', 8500, 10_000],
  ]);
  const seek = meter.spans(0)[4];
  assert.ok(Math.abs((seek?.from ?? 0) - 3.5) < 0.01);
  assert.equal(seek?.to, 30);
});

test('a stall that is open when the session is closed ends there and is marked', () => {
  const meter = heard(STORY.slice(0, 3).concat({ from: 8000, phase: 'stalled' }), SMOOTH);
  meter.close(9000);
  meter.look({ at: 9100, position: 3.2, rate: 1, paused: false, seeking: false, ready: true, ended: false });
  const last = meter.spans(9999).at(-1);
  assert.deepEqual([last?.phase, Math.round(last?.start ?? 0), last?.end, last?.open], ['stalled', 4321, 9000, true]);
  assert.equal(meter.complete, false);
});

test('a session that never began to play is all loading', () => {
  const meter = new Meter(100);
  meter.look({ at: 150, position: 0, rate: 1, paused: false, seeking: false, ready: false, ended: false });
  meter.close(1100);
  assert.deepEqual(spans(meter), [['loading', 100, 1100]]);
  assert.equal(meter.spans(0)[0]?.open, true);
});

test('a clock that stands without an event stalls all the same, from when it came to stand', () => {
  const meter = new Meter(0);
  const look = (at: number, position: number) =>
    meter.look({ at, position, rate: 1, paused: false, seeking: false, ready: true, ended: false });
  for (let at = 0; at <= 200; at += 20) look(at, 0);
  for (let at = 220; at <= 2200; at += 20) look(at, (at - 200) / 1000);
  for (let at = 2220; at <= 4000; at += 20) look(at, 2);
  for (let at = 4020; at <= 5000; at += 20) look(at, 2 + (at - 4000) / 1000);
  assert.deepEqual(spans(meter, 5000), [
    ['loading', 0, 200],
    ['playing', 200, 2200],
    ['stalled', 2200, 4000],
    ['playing', 4000, 5000],
  ]);
});

test('a video that does not begin at 0 has not played what lies before its beginning', () => {
  const meter = new Meter(0);
  const look = (at: number, position: number, seeking = false) =>
    meter.look({ at, position, rate: 1, paused: false, seeking, ready: !seeking, ended: false });
  look(0, 0, true);
  look(100, 40, true);
  look(400, 40);
  look(500, 40.1);
  assert.deepEqual(spans(meter, 500), [
    ['loading', 0, 400],
    ['playing', 400, 500],
  ]);
  assert.equal(meter.spans(500)[1]?.from, 40);
});

test('a viewer who pauses a stall ends it', () => {
  const meter = heard(
    [
      { from: 0, phase: 'loading' },
      { from: 100, phase: 'playing' },
      { from: 1000, phase: 'stalled' },
      { from: 2000, phase: 'paused' },
      { from: 4000, phase: 'stalled' },
      { from: 5000, phase: 'playing' },
      { from: 6000, phase: 'end' },
    ],
    { every: 10, late: 0 },
  );
  assert.deepEqual(spans(meter), [
    ['loading', 0, 100],
    ['playing', 100, 1000],
    ['stalled', 1000, 2000],
    ['paused', 2000, 4000],
    ['stalled', 4000, 5000],
    ['playing', 5000, 6000],
  ]);
});

test('a seek that takes no time is one all the same', () => {
  const meter = new Meter(0);
  const look = (at: number, position: number, seeking = false) =>
    meter.look({ at, position, rate: 1, paused: false, seeking, ready: true, ended: false });
  look(0, 0);
  look(1000, 1);
  look(1100, 16, true);
  look(1200, 16.1);
  assert.deepEqual(spans(meter, 1200), [
    ['playing', 0, 1100],
    ['seeking', 1100, 1100],
    ['playing', 1100, 1200],
  ]);
  assert.equal(meter.spans(1200)[1]?.to, 16);
});
