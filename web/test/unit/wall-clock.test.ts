import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromWallClock, requestTimes } from '../../src/play/wall-clock.ts';

/** A request of 300 ms that has just ended, by a wall clock that reads `wall` ms then. */
function request(wall: number) {
  return { startDate: new Date(wall - 300), firstByteDate: new Date(wall - 200), endDate: new Date(wall) };
}

test('times of a request do not depend on the wall clock before it', () => {
  for (const wall of [1_000_000, 1_000_000 - 2000, 1_000_000 + 3_600_000])
    assert.deepEqual(requestTimes(request(wall), 0, { monotonic: 5000, wall }), {
      asked: 4700,
      firstByte: 4800,
      arrived: 5000,
    });
});

test('times of a request are in order after a step of the wall clock during it', () => {
  const before = request(1_000_000);
  for (const step of [-2000, -250, -150, 150, 2000]) {
    const wall = 1_000_000 + step;
    for (const dates of [
      { ...before, endDate: new Date(wall) },
      { ...before, firstByteDate: new Date(wall - 200), endDate: new Date(wall) },
    ]) {
      const { asked, firstByte, arrived } = requestTimes(dates, 0, { monotonic: 5000, wall });
      assert.ok(asked <= firstByte && firstByte <= arrived && arrived <= 5000, `${step} ms`);
    }
  }
});

test('request reported after another one did not arrive before it', () => {
  const now = { monotonic: 5000, wall: 1_000_000 };
  assert.equal(requestTimes(request(now.wall - 10), 4995, now).arrived, 4995);
});

test('time ahead of the wall clock is now', () => {
  assert.equal(fromWallClock(new Date(1_002_000), { monotonic: 5000, wall: 1_000_000 }), 5000);
});
