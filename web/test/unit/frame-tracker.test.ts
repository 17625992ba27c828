import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTracker } from '../../src/measure/frame-tracker.ts';
import type { Phase, Span } from '../../src/measure/phase-tracker.ts';

/** Presents `count` frames at intervals of 20 ms; returns the number of the next frame. */
function present(frames: FrameTracker, at: number, position: number, count: number, first: number): number {
  for (let index = 0; index < count; index++)
    frames.add({
      at: at + index * 20,
      position: position + index * 0.02,
      presented: first + index,
      previousRefresh: at + index * 20 - 2000,
    });
  return first + count;
}

function span(phase: Phase, start: number, end: number, from: number, to: number): Span {
  return { phase, start, end, from, to, open: false };
}

/** Rounds spans to phase, start, end and position in milliseconds. */
function summary(spans: readonly Span[]): [Phase, number, number, number][] {
  return spans.map(({ phase, start, end, from }) => [
    phase,
    Math.round(start),
    Math.round(end),
    Math.round(from * 1000),
  ]);
}

const LOADING = span('loading', 0, 1000, 0, 0);

test('stall lasts from the end of the last frame to the next frame', () => {
  const frames = new FrameTracker();
  const next = present(frames, 1000, 0, 100, 1);
  present(frames, 5040, 2, 50, next);
  // The clock stops 30 ms before the end of the last frame.
  const clock = [
    LOADING,
    span('playing', 1000, 2970, 0, 1.97),
    span('stalled', 2970, 5030, 1.97, 1.97),
    span('playing', 5030, 6060, 1.97, 3),
  ];
  assert.deepEqual(summary(frames.correct(clock)), [
    ['loading', 0, 1000, 0],
    ['playing', 1000, 3000, 0],
    ['stalled', 3000, 5040, 2000],
    ['playing', 5040, 6060, 2000],
  ]);
});

test('frozen frame with running audio is a stall only if the video buffer is empty', () => {
  const clock = [LOADING, span('playing', 1000, 8000, 0, 7)];
  for (const empty of [true, false]) {
    const frames = new FrameTracker();
    const next = present(frames, 1000, 0, 100, 1);
    if (empty) frames.setBufferEmpty(2700, true);
    // The frames in between are never presented.
    present(frames, 6000, 5, 50, next);
    if (empty) frames.setBufferEmpty(6010, false);
    present(frames, 7000, 6, 50, next + 50);
    const stall: ReturnType<typeof summary> = [
      ['playing', 1000, 3000, 0],
      ['stalled', 3000, 6000, 2000],
      ['playing', 6000, 8000, 5000],
    ];
    const corrected = summary(frames.correct(clock)).slice(1);
    assert.deepEqual(corrected, empty ? stall : [['playing', 1000, 8000, 0]]);
  }
});

test('unreported frames are not a gap', () => {
  const frames = new FrameTracker();
  const next = present(frames, 1000, 0, 50, 1);
  frames.setBufferEmpty(1500, true);
  // The page was busy for a second, in which fifty frames were presented.
  present(frames, 3000, 2, 50, next + 50);
  const clock = [LOADING, span('playing', 1000, 4000, 0, 3)];
  assert.deepEqual(summary(frames.correct(clock)), summary(clock));
});

test('time without frames while the page is hidden is not a stall', () => {
  const frames = new FrameTracker();
  const next = present(frames, 1000, 0, 50, 1);
  frames.setBufferEmpty(1500, true);
  frames.restart();
  present(frames, 9000, 8, 50, next);
  const clock = [LOADING, span('playing', 1000, 10_000, 0, 9)];
  assert.deepEqual(summary(frames.correct(clock)), summary(clock));
});

test('open stall starts at the end of the last frame', () => {
  const frames = new FrameTracker();
  present(frames, 1000, 0, 100, 1);
  const clock = [
    LOADING,
    span('playing', 1000, 2970, 0, 1.97),
    { ...span('stalled', 2970, 9000, 1.97, 1.97), open: true },
  ];
  const corrected = frames.correct(clock);
  assert.deepEqual(summary(corrected).at(-1), ['stalled', 3000, 9000, 2000]);
  assert.equal(corrected.at(-1)?.open, true);
});

test('frozen frame during a pause is not a stall', () => {
  const frames = new FrameTracker();
  const next = present(frames, 1000, 0, 50, 1);
  frames.setBufferEmpty(1900, true);
  present(frames, 5000, 1, 50, next);
  const clock = [
    LOADING,
    span('playing', 1000, 1990, 0, 0.99),
    span('paused', 1990, 4990, 0.99, 0.99),
    span('playing', 4990, 6000, 0.99, 2),
  ];
  assert.deepEqual(summary(frames.correct(clock)), summary(clock));
});

test('first frame ends loading if the clock starts with it', () => {
  const clock = [LOADING, span('playing', 1000, 2000, 0, 1)];
  const soon = new FrameTracker();
  present(soon, 930, 0, 50, 1);
  assert.equal(soon.correct(clock)[0]?.end, 930);
  // A still long before the clock starts does not end loading.
  const still = new FrameTracker();
  present(still, 300, 0, 1, 1);
  assert.equal(still.correct(clock)[0]?.end, 1000);
  // The first frame was not reported.
  const late = new FrameTracker();
  present(late, 1100, 0.1, 50, 5);
  assert.equal(late.correct(clock)[0]?.end, 1000);
});

test('standstill of some milliseconds is not a stall', () => {
  const frames = new FrameTracker();
  present(frames, 1000, 0, 150, 1);
  const clock = [
    LOADING,
    span('playing', 1000, 1200, 0, 0.2),
    span('stalled', 1200, 1208, 0.2, 0.2),
    span('playing', 1208, 4000, 0.2, 2.992),
  ];
  assert.deepEqual(summary(frames.correct(clock)), [
    ['loading', 0, 1000, 0],
    ['playing', 1000, 4000, 0],
  ]);
});

test('dropped frames are not a stall, even right before a stall', () => {
  const frames = new FrameTracker();
  const next = present(frames, 1000, 0, 50, 1);
  // Frames are dropped for a second, then the video buffer runs empty.
  frames.setBufferEmpty(3000, true);
  present(frames, 6000, 2.02, 50, next);
  frames.setBufferEmpty(6000, false);
  const clock = [
    LOADING,
    span('playing', 1000, 3000, 0, 2),
    span('stalled', 3000, 5980, 2, 2),
    span('playing', 5980, 8000, 2, 4.02),
  ];
  assert.deepEqual(summary(frames.correct(clock)), [
    ['loading', 0, 1000, 0],
    ['playing', 1000, 3000, 0],
    ['stalled', 3000, 6000, 2000],
    ['playing', 6000, 8000, 2020],
  ]);
  const busy = new FrameTracker();
  const later = present(busy, 1000, 0, 50, 1);
  busy.setBufferEmpty(3100, true);
  present(busy, 3200, 2.2, 50, later);
  busy.setBufferEmpty(3200, false);
  const ran = [LOADING, span('playing', 1000, 4200, 0, 3.2)];
  assert.deepEqual(summary(busy.correct(ran)), summary(ran));
});

test('unreported frames are not dated before the last refresh of the page', () => {
  const frames = new FrameTracker();
  present(frames, 1000, 0, 50, 1);
  // The compositor counts five more frames, which were replaced before they were shown.
  frames.add({ at: 5000, position: 1.1, presented: 56, previousRefresh: 4980 });
  const clock = [
    LOADING,
    span('playing', 1000, 2000, 0, 1),
    span('stalled', 2000, 4950, 1, 1),
    span('playing', 4950, 6000, 1, 2.05),
  ];
  assert.equal(frames.correct(clock)[2]?.end, 4980);
});

test('adjacent stalls are merged', () => {
  const clock = [
    LOADING,
    span('playing', 1000, 2000, 0, 1),
    span('stalled', 2000, 2400, 1, 1),
    span('stalled', 2400, 3400, 1.4, 1.4),
    span('playing', 3400, 4000, 1.4, 2),
  ];
  const stalls = new FrameTracker().correct(clock).filter(({ phase }) => phase === 'stalled');
  assert.deepEqual(summary(stalls), [['stalled', 2000, 3400, 1000]]);
});
