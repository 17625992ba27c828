import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Phase, Span } from '../../src/measure/meter.ts';
import { Pictures } from '../../src/measure/pictures.ts';

/** Pictures 20 ms apart, from this position (s) on, the first of them at this time. */
function show(pictures: Pictures, at: number, position: number, count: number, first: number): number {
  for (let index = 0; index < count; index++)
    pictures.show({
      at: at + index * 20,
      position: position + index * 0.02,
      count: first + index,
      after: at + index * 20 - 2000,
    });
  return first + count;
}

function span(phase: Phase, start: number, end: number, from: number, to: number, open = false): Span {
  return { phase, start, end, from, to, open };
}

function told(spans: readonly Span[]): [Phase, number, number, number][] {
  return spans.map(({ phase, start, end, from }) => [
    phase,
    Math.round(start),
    Math.round(end),
    Math.round(from * 1000),
  ]);
}

const LOADING = span('loading', 0, 1000, 0, 0);

test('a stall goes from the end of the last picture to the next one, and not as the clock has it', () => {
  const pictures = new Pictures();
  const next = show(pictures, 1000, 0, 100, 1);
  show(pictures, 5040, 2, 50, next);
  // The clock stops 30 ms before the last picture has had its time.
  const clock = [
    LOADING,
    span('playing', 1000, 2970, 0, 1.97),
    span('stalled', 2970, 5030, 1.97, 1.97),
    span('playing', 5030, 6060, 1.97, 3),
  ];
  assert.deepEqual(told(pictures.seen(clock)), [
    ['loading', 0, 1000, 0],
    ['playing', 1000, 3000, 0],
    ['stalled', 3000, 5040, 2000],
    ['playing', 5040, 6060, 2000],
  ]);
});

test('a picture that stands while the sound goes on is a stall if the player has run dry, and else is not', () => {
  const clock = [LOADING, span('playing', 1000, 8000, 0, 7)];
  for (const dry of [true, false]) {
    const pictures = new Pictures();
    const next = show(pictures, 1000, 0, 100, 1);
    if (dry) pictures.dry(2700, true);
    // Those in between are never shown.
    show(pictures, 6000, 5, 50, next);
    if (dry) pictures.dry(6010, false);
    show(pictures, 7000, 6, 50, next + 50);
    const stall: ReturnType<typeof told> = [
      ['playing', 1000, 3000, 0],
      ['stalled', 3000, 6000, 2000],
      ['playing', 6000, 8000, 5000],
    ];
    const seen = told(pictures.seen(clock)).slice(1);
    assert.deepEqual(seen, dry ? stall : [['playing', 1000, 8000, 0]]);
  }
});

test('pictures of which nobody told are no gap', () => {
  const pictures = new Pictures();
  const next = show(pictures, 1000, 0, 50, 1);
  pictures.dry(1500, true);
  // The page was busy for a second, in which fifty were shown.
  show(pictures, 3000, 2, 50, next + 50);
  const clock = [LOADING, span('playing', 1000, 4000, 0, 3)];
  assert.deepEqual(told(pictures.seen(clock)), told(clock));
});

test('nobody looks while the page is hidden', () => {
  const pictures = new Pictures();
  const next = show(pictures, 1000, 0, 50, 1);
  pictures.dry(1500, true);
  pictures.blink();
  show(pictures, 9000, 8, 50, next);
  const clock = [LOADING, span('playing', 1000, 10_000, 0, 9)];
  assert.deepEqual(told(pictures.seen(clock)), told(clock));
});

test('a stall that is open begins with the end of the last picture too', () => {
  const pictures = new Pictures();
  show(pictures, 1000, 0, 100, 1);
  const clock = [LOADING, span('playing', 1000, 2970, 0, 1.97), span('stalled', 2970, 9000, 1.97, 1.97, true)];
  const seen = pictures.seen(clock);
  assert.deepEqual(told(seen).at(-1), ['stalled', 3000, 9000, 2000]);
  assert.equal(seen.at(-1)?.open, true);
});

test('a pause in which the picture stands stays a pause', () => {
  const pictures = new Pictures();
  const next = show(pictures, 1000, 0, 50, 1);
  pictures.dry(1900, true);
  show(pictures, 5000, 1, 50, next);
  const clock = [
    LOADING,
    span('playing', 1000, 1990, 0, 0.99),
    span('paused', 1990, 4990, 0.99, 0.99),
    span('playing', 4990, 6000, 0.99, 2),
  ];
  assert.deepEqual(told(pictures.seen(clock)), told(clock));
});

test('the first picture ends the loading, if the clock begins to run with it', () => {
  const clock = [LOADING, span('playing', 1000, 2000, 0, 1)];
  const soon = new Pictures();
  show(soon, 930, 0, 50, 1);
  assert.equal(soon.seen(clock)[0]?.end, 930);
  // A still picture, long before: it is not what the viewer waits for.
  const still = new Pictures();
  show(still, 300, 0, 1, 1);
  assert.equal(still.seen(clock)[0]?.end, 1000);
  // One of the middle: the first was never told of.
  const late = new Pictures();
  show(late, 1100, 0.1, 50, 5);
  assert.equal(late.seen(clock)[0]?.end, 1000);
});

test('a clock that stands for some milliseconds is no stall', () => {
  const pictures = new Pictures();
  show(pictures, 1000, 0, 150, 1);
  const clock = [
    LOADING,
    span('playing', 1000, 1200, 0, 0.2),
    span('stalled', 1200, 1208, 0.2, 0.2),
    span('playing', 1208, 4000, 0.2, 2.992),
  ];
  assert.deepEqual(told(pictures.seen(clock)), [
    ['loading', 0, 1000, 0],
    ['playing', 1000, 4000, 0],
  ]);
});

test('a browser that has no time to show pictures does not stall, not even just before a stall', () => {
  const pictures = new Pictures();
  const next = show(pictures, 1000, 0, 50, 1);
  // Nothing is shown for a second, and then the player has run dry as well.
  pictures.dry(3000, true);
  show(pictures, 6000, 2.02, 50, next);
  pictures.dry(6000, false);
  const clock = [
    LOADING,
    span('playing', 1000, 3000, 0, 2),
    span('stalled', 3000, 5980, 2, 2),
    span('playing', 5980, 8000, 2, 4.02),
  ];
  assert.deepEqual(told(pictures.seen(clock)), [
    ['loading', 0, 1000, 0],
    ['playing', 1000, 3000, 0],
    ['stalled', 3000, 6000, 2000],
    ['playing', 6000, 8000, 2020],
  ]);
  const busy = new Pictures();
  const later = show(busy, 1000, 0, 50, 1);
  busy.dry(3100, true);
  show(busy, 3200, 2.2, 50, later);
  busy.dry(3200, false);
  const ran = [LOADING, span('playing', 1000, 4200, 0, 3.2)];
  assert.deepEqual(told(busy.seen(ran)), told(ran));
});

test('pictures of which nobody told came after the page last had the time to hear of one', () => {
  const pictures = new Pictures();
  show(pictures, 1000, 0, 50, 1);
  // The compositor counts five more, which were there for a moment and were never shown.
  pictures.show({ at: 5000, position: 1.1, count: 56, after: 4980 });
  const clock = [
    LOADING,
    span('playing', 1000, 2000, 0, 1),
    span('stalled', 2000, 4950, 1, 1),
    span('playing', 4950, 6000, 1, 2.05),
  ];
  assert.equal(pictures.seen(clock)[2]?.end, 4980);
});

test('two stalls with nothing in between are one', () => {
  const clock = [
    LOADING,
    span('playing', 1000, 2000, 0, 1),
    span('stalled', 2000, 2400, 1, 1),
    span('stalled', 2400, 3400, 1.4, 1.4),
    span('playing', 3400, 4000, 1.4, 2),
  ];
  const stalls = new Pictures().seen(clock).filter(({ phase }) => phase === 'stalled');
  assert.deepEqual(told(stalls), [['stalled', 2000, 3400, 1000]]);
});
