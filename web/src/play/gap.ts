/** Detection of seeks by the player itself over a gap in the buffered video. */

/** Buffered parts of a video (s), as in `HTMLMediaElement.buffered`. */
export interface Ranges {
  readonly length: number;
  start(index: number): number;
  end(index: number): number;
}

/** State of a media element. */
export interface MediaState {
  readonly currentTime: number;
  readonly duration: number;
  readonly seeking: boolean;
  readonly buffered: Ranges;
}

/** dash.js jumps from at most this far before the end of a buffered range (s): `gaps.threshold`. */
const JUMP_THRESHOLD_S = 0.3;
/** Tolerance for the target of a jump (s); browsers round positions to microseconds. */
const TARGET_TOLERANCE_S = 0.01;
/** dash.js jumps to the end of the video over at most this gap (s): `gaps.smallGapLimit`. */
const END_GAP_S = 1.5;
/** dash.js redirects a seek to the end of the video to this far before it (s): `seekDurationBackoff`. */
const END_BACKOFF_S = 0.5;

/**
 * Tells jumps over gaps from seeks of the viewer. dash.js has no event for a jump, so the position
 * before the seek and the buffered ranges decide.
 */
export class GapJumps {
  #position = 0;
  #target: number | undefined;
  #isJump = false;

  /** Returns whether the element is seeking over a gap. Called with each state of the element. */
  update({ currentTime, duration, seeking, buffered }: MediaState): boolean {
    if (!seeking) {
      this.#position = currentTime;
      this.#target = undefined;
      this.#isJump = false;
    } else if (this.#target !== currentTime) {
      this.#target = currentTime;
      this.#isJump = isGapJump(buffered, this.#position, currentTime, duration);
    }
    return this.#isJump;
  }
}

/**
 * True if a seek leads from the end of a buffered range, or from outside of any, to the start of
 * the next range or over a short rest to about the end of the video.
 */
export function isGapJump(ranges: Ranges, from: number, to: number, duration: number): boolean {
  const near = (position: number) => Math.abs(to - position) <= TARGET_TOLERANCE_S;
  let previousEnd = 0;
  for (let index = 0; index < ranges.length; index++) {
    const start = ranges.start(index);
    if (from < start && previousEnd - from < JUMP_THRESHOLD_S) return near(start);
    previousEnd = ranges.end(index);
  }
  if (previousEnd - from >= JUMP_THRESHOLD_S || duration - from >= END_GAP_S) return false;
  // dash.js seeks to the end of the buffer, and then to the video's end less the backoff.
  return (from < to && (near(previousEnd) || near(duration))) || near(duration - END_BACKOFF_S);
}
