/**
 * Times of requests that dash.js stamps with the wall clock, on the clock of `performance.now()`. The
 * wall clock may step, and it counts the time of a suspend, so only ages are read from it.
 */

export interface RequestDates {
  readonly startDate: Date;
  readonly firstByteDate: Date | null;
  readonly endDate: Date | null;
}

export interface RequestTimes {
  readonly asked: number;
  readonly firstByte: number;
  readonly arrived: number;
}

/** Both clocks, read at the same time (ms). */
export interface ClockReading {
  readonly monotonic: number;
  readonly wall: number;
}

export function readClocks(): ClockReading {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Converts a past time; one that is ahead of the wall clock, which has stepped back, is now. */
export function fromWallClock(date: Date, now: ClockReading): number {
  return now.monotonic - Math.max(now.wall - date.getTime(), 0);
}

/**
 * Converts the times of a request that has just ended. They are in order, also if the clock has
 * stepped during the request.
 *
 * @param previous arrival before this one, for requests that are reported in order of arrival
 */
export function requestTimes(request: RequestDates, previous: number, now: ClockReading): RequestTimes {
  const { startDate, firstByteDate, endDate } = request;
  const arrived = Math.max(endDate === null ? now.monotonic : fromWallClock(endDate, now), previous);
  const firstByte = Math.min(fromWallClock(firstByteDate ?? startDate, now), arrived);
  const asked = Math.min(fromWallClock(startDate, now), firstByte);
  return { asked, firstByte, arrived };
}
