import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PhaseTracker } from '../../src/measure/phase-tracker.ts';
import { GapJumps, isGapJump, type Ranges } from '../../src/play/gap.ts';

function ranges(...parts: readonly (readonly [number, number])[]): Ranges {
  const part = (index: number) => parts[index] ?? [Number.NaN, Number.NaN];
  return { length: parts.length, start: (index) => part(index)[0], end: (index) => part(index)[1] };
}

const BUFFERED = ranges([0, 4], [5, 9]);

test('jump from the end of a buffered range to the start of the next is no seek of the viewer', () => {
  // From, to; whether the player itself jumps.
  const table: [number, number, boolean][] = [
    [4, 5, true],
    [3.8, 5, true],
    [4.5, 5.000_001, true],
    [2, 5, false],
    [4, 6, false],
    [4, 2, false],
    [6, 5, false],
  ];
  for (const [from, to, expected] of table)
    assert.equal(isGapJump(BUFFERED, from, to, 20), expected, `${from} to ${to}`);
  assert.ok(isGapJump(ranges([0.5, 4]), 0, 0.5, 20), 'a video that starts late');
  assert.ok(isGapJump(ranges([0, 19]), 18.9, 20, 20), 'a missing end');
  assert.ok(isGapJump(ranges([0, 19]), 18.9, 19, 20), 'the first step of a jump over a missing end');
  assert.ok(isGapJump(ranges([0, 19]), 18.9, 19.5, 20), 'a missing end, of which dash.js shows the last half second');
  assert.ok(isGapJump(ranges([0, 19.8]), 19.8, 19.5, 20), 'the same from within that half second');
  assert.ok(!isGapJump(ranges([0, 19.8]), 19.8, 19.3, 20), 'a seek back from the end');
  assert.ok(!isGapJump(ranges([0, 20]), 18.9, 20, 20), 'a seek to the end of a loaded video');
  assert.ok(!isGapJump(ranges([0, 15]), 15, 20, 20), 'a gap too long for dash.js');
});

test('jump over a gap is a stall in the spans, and a seek of the viewer is a seek', () => {
  for (const [target, phases] of [
    [5, ['loading', 'playing', 'stalled', 'playing']],
    [8, ['loading', 'playing', 'stalled', 'seeking', 'playing']],
  ] as const) {
    const tracker = new PhaseTracker(0);
    const jumps = new GapJumps();
    const report = (at: number, currentTime: number, seeking: boolean, ready: boolean) => {
      const isJump = jumps.update({ currentTime, duration: 20, seeking, buffered: BUFFERED });
      const state = { at, position: currentTime, rate: 1, paused: false, ended: false };
      tracker.update({ ...state, seeking: seeking && !isJump, ready: ready && !seeking });
    };
    report(0, 0, false, false);
    for (let at = 1000; at <= 5000; at += 50) report(at, (at - 1000) / 1000, false, true);
    for (let at = 5050; at <= 5500; at += 50) report(at, 4, false, false);
    for (let at = 5550; at <= 5700; at += 50) report(at, target, true, false);
    for (let at = 5750; at <= 7000; at += 50) report(at, target + (at - 5700) / 1000, false, true);
    assert.deepEqual(
      tracker.spans(7000).map(({ phase }) => phase),
      phases,
    );
  }
});
