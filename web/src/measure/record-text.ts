/** Session record as JSON text within the size that a collector accepts. */

import type { Session } from './record.ts';

/** Limit of docs/reference/session.md. */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024;

/** Part of the lists that one more round of shortening keeps. */
const KEPT_PART = 0.9;
const MIN_KEPT_PART = 0.001;

/**
 * Returns the record as JSON. If it is too large, lists lose their ends, but the figures stay those of
 * the whole session. Segments lose the latest: P.1203 input starts with the first one. Errors lose the
 * oldest, since the last one may be the reason of the end.
 */
export function recordText(session: Session): string {
  let text = JSON.stringify(session);
  for (let kept = KEPT_PART; byteLength(text) > MAX_RECORD_BYTES && kept > MIN_KEPT_PART; kept *= KEPT_PART) {
    const count = (list: readonly unknown[]) => Math.ceil(list.length * kept);
    const { segments, audio, abandoned, errors } = session;
    text = JSON.stringify({
      ...session,
      segments: segments.slice(0, count(segments)),
      audio: audio.slice(0, count(audio)),
      abandoned: abandoned.slice(0, count(abandoned)),
      errors: errors.slice(errors.length - count(errors)),
    });
  }
  return text;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
