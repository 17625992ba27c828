import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Phase, PhaseTracker, type PlayerState } from '../../src/measure/phase-tracker.ts';

/** Step of a simulated session: its phase from a time on (ms). */
interface Step {
  readonly from: number;
  readonly phase: Phase | 'end';
  /** Target position of a seek (s). */
  readonly to?: number;
}

/** Sampling of a player by a page: interval, and delay of events (ms). */
interface Sampling {
  readonly intervalMs: number;
  readonly eventDelayMs: number;
}

/** Feeds a simulated session to a tracker as a page would sample it. */
function track(steps: readonly Step[], { intervalMs, eventDelayMs }: Sampling): PhaseTracker {
  const tracker = new PhaseTracker(0);
  const simulate = (at: number) => {
    let position = 0;
    let phase: Step['phase'] = 'loading';
    for (const [index, step] of steps.entries()) {
      if (step.from > at) break;
      phase = step.phase;
      if (step.to !== undefined) position = step.to;
      const until = Math.min(steps[index + 1]?.from ?? Number.POSITIVE_INFINITY, at);
      if (phase === 'playing') position += (until - step.from) / 1000;
    }
    return { position, phase };
  };
  const stateAt = (at: number): PlayerState => {
    const { position, phase } = simulate(at);
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
  const last = steps.at(-1)?.from ?? 0;
  const times = Array.from({ length: Math.ceil(last / intervalMs) }, (_, index) => index * intervalMs);
  times.push(...steps.map(({ from }) => from + eventDelayMs));
  for (const at of times.sort((a, b) => a - b)) tracker.update(stateAt(at));
  return tracker;
}

const IDLE_PAGE: Sampling = { intervalMs: 16, eventDelayMs: 3 };
const BUSY_PAGE: Sampling = { intervalMs: 250, eventDelayMs: 180 };

const TWO_STALLS: Step[] = [
  { from: 0, phase: 'loading' },
  { from: 1234, phase: 'playing' },
  { from: 4321, phase: 'stalled' },
  { from: 6789, phase: 'playing' },
  { from: 9100, phase: 'stalled' },
  { from: 9400, phase: 'playing' },
  { from: 15_000, phase: 'end' },
];

function spans(tracker: PhaseTracker, at = 1e9): [Phase, number, number][] {
  return tracker.spans(at).map(({ phase, start, end }) => [phase, Math.round(start), Math.round(end)]);
}

for (const [name, sampling] of [
  ['at every refresh', IDLE_PAGE],
  ['rarely, with delayed events', BUSY_PAGE],
] as const) {
  test(`stalls are exact to the millisecond for a page that samples ${name}`, () => {
    const tracker = track(TWO_STALLS, sampling);
    assert.deepEqual(spans(tracker), [
      ['loading', 0, 1234],
      ['playing', 1234, 4321],
      ['stalled', 4321, 6789],
      ['playing', 6789, 9100],
      ['stalled', 9100, 9400],
      ['playing', 9400, 15_000],
    ]);
    assert.equal(tracker.complete, true);
    assert.equal(tracker.ended, true);
  });
}

test('spans cover the session without gaps', () => {
  const tracker = track(TWO_STALLS, BUSY_PAGE);
  let at = tracker.start;
  for (const span of tracker.spans(0)) {
    assert.equal(span.start, at);
    at = span.end;
  }
});

test('pause and seek are not stalls, and the wait after a seek is part of the seek', () => {
  const tracker = track(
    [
      { from: 0, phase: 'loading' },
      { from: 500, phase: 'playing' },
      { from: 2000, phase: 'paused' },
      { from: 5000, phase: 'playing' },
      { from: 7000, phase: 'seeking', to: 30 },
      { from: 8500, phase: 'playing' },
      { from: 10_000, phase: 'end' },
    ],
    IDLE_PAGE,
  );
  assert.deepEqual(spans(tracker), [
    ['loading', 0, 500],
    ['playing', 500, 2000],
    ['paused', 2000, 5000],
    ['playing', 5000, 7003],
    ['seeking', 7003, 8500],
    ['playing', 8500, 10_000],
  ]);
  const seek = tracker.spans(0)[4];
  assert.ok(Math.abs((seek?.from ?? 0) - 3.5) < 0.01);
  assert.equal(seek?.to, 30);
});

test('stall open at the end of the session ends there and is marked open', () => {
  const tracker = track(TWO_STALLS.slice(0, 3).concat({ from: 8000, phase: 'stalled' }), IDLE_PAGE);
  tracker.close(9000);
  tracker.update({ at: 9100, position: 3.2, rate: 1, paused: false, seeking: false, ready: true, ended: false });
  const last = tracker.spans(9999).at(-1);
  assert.deepEqual([last?.phase, Math.round(last?.start ?? 0), last?.end, last?.open], ['stalled', 4321, 9000, true]);
  assert.equal(tracker.complete, false);
});

test('session without playback consists of loading', () => {
  const tracker = new PhaseTracker(100);
  tracker.update({ at: 150, position: 0, rate: 1, paused: false, seeking: false, ready: false, ended: false });
  tracker.close(1100);
  assert.deepEqual(spans(tracker), [['loading', 100, 1100]]);
  assert.equal(tracker.spans(0)[0]?.open, true);
});

test('standstill without an event is a stall from the time at which the clock stopped', () => {
  const tracker = new PhaseTracker(0);
  const update = (at: number, position: number) =>
    tracker.update({ at, position, rate: 1, paused: false, seeking: false, ready: true, ended: false });
  for (let at = 0; at <= 200; at += 20) update(at, 0);
  for (let at = 220; at <= 2200; at += 20) update(at, (at - 200) / 1000);
  for (let at = 2220; at <= 4000; at += 20) update(at, 2);
  for (let at = 4020; at <= 5000; at += 20) update(at, 2 + (at - 4000) / 1000);
  assert.deepEqual(spans(tracker, 5000), [
    ['loading', 0, 200],
    ['playing', 200, 2200],
    ['stalled', 2200, 4000],
    ['playing', 4000, 5000],
  ]);
});

test('first position above 0 does not count as played', () => {
  const tracker = new PhaseTracker(0);
  const update = (at: number, position: number, seeking = false) =>
    tracker.update({ at, position, rate: 1, paused: false, seeking, ready: !seeking, ended: false });
  update(0, 0, true);
  update(100, 40, true);
  update(400, 40);
  update(500, 40.1);
  assert.deepEqual(spans(tracker, 500), [
    ['loading', 0, 400],
    ['playing', 400, 500],
  ]);
  assert.equal(tracker.spans(500)[1]?.from, 40);
});

test('pause ends a stall', () => {
  const tracker = track(
    [
      { from: 0, phase: 'loading' },
      { from: 100, phase: 'playing' },
      { from: 1000, phase: 'stalled' },
      { from: 2000, phase: 'paused' },
      { from: 4000, phase: 'stalled' },
      { from: 5000, phase: 'playing' },
      { from: 6000, phase: 'end' },
    ],
    { intervalMs: 10, eventDelayMs: 0 },
  );
  assert.deepEqual(spans(tracker), [
    ['loading', 0, 100],
    ['playing', 100, 1000],
    ['stalled', 1000, 2000],
    ['paused', 2000, 4000],
    ['stalled', 4000, 5000],
    ['playing', 5000, 6000],
  ]);
});

test('seek of zero length is recorded', () => {
  const tracker = new PhaseTracker(0);
  const update = (at: number, position: number, seeking = false) =>
    tracker.update({ at, position, rate: 1, paused: false, seeking, ready: true, ended: false });
  update(0, 0);
  update(1000, 1);
  update(1100, 16, true);
  update(1200, 16.1);
  assert.deepEqual(spans(tracker, 1200), [
    ['playing', 0, 1100],
    ['seeking', 1100, 1100],
    ['playing', 1100, 1200],
  ]);
  assert.equal(tracker.spans(1200)[1]?.to, 16);
});
