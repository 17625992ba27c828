/** Looks at a media element: at every picture while it plays, and at all of its events. */

import type { Look } from '../measure/meter.ts';
import type { Listener } from './playback.ts';

const EVENTS = [
  'waiting',
  'playing',
  'play',
  'pause',
  'seeking',
  'seeked',
  'timeupdate',
  'ratechange',
  'canplay',
  'loadeddata',
  'ended',
] as const;

/**
 * Tells of every change until the returned function is called.
 *
 * @param internalSeek says that a seek now is the player's own, over a gap in the video. It is part of
 *   the wait in which it is.
 */
export function watch(media: HTMLVideoElement, listener: Listener, internalSeek = () => false): () => void {
  const look = () => listener.look(lookAt(media, internalSeek()));
  for (const event of EVENTS) media.addEventListener(event, look);
  let refreshed = performance.now();
  let frame = requestAnimationFrame(function again() {
    look();
    // The browser tells of pictures first: to them this was the refresh before.
    refreshed = performance.now();
    frame = requestAnimationFrame(again);
  });
  // The compositor says when it showed a picture, however late this is heard. Not every browser has it.
  let picture = media.requestVideoFrameCallback?.(function again(
    _,
    { expectedDisplayTime, mediaTime, presentedFrames },
  ) {
    listener.picture({ at: expectedDisplayTime, position: mediaTime, count: presentedFrames, after: refreshed });
    picture = media.requestVideoFrameCallback(again);
  });
  const blink = () => listener.blink();
  document.addEventListener('visibilitychange', blink);
  return () => {
    if (picture !== undefined) media.cancelVideoFrameCallback(picture);
    document.removeEventListener('visibilitychange', blink);
    for (const event of EVENTS) media.removeEventListener(event, look);
    cancelAnimationFrame(frame);
  };
}

function lookAt(media: HTMLMediaElement, internalSeek: boolean): Look {
  return {
    at: performance.now(),
    position: media.currentTime,
    rate: media.playbackRate > 0 ? media.playbackRate : 1,
    paused: media.paused,
    seeking: media.seeking && !internalSeek,
    ready: media.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA && !media.seeking,
    ended: media.ended,
  };
}

/** How much is there to play on from here (s). */
export function bufferAhead(media: HTMLMediaElement): number {
  const at = media.currentTime;
  for (let index = 0; index < media.buffered.length; index++) {
    // A video may begin some milliseconds after its own beginning.
    if (media.buffered.start(index) <= at + 0.1 && at < media.buffered.end(index))
      return media.buffered.end(index) - at;
  }
  return 0;
}

/** What went wrong, in words. */
export function mediaError(media: HTMLMediaElement): string {
  const words = ['', 'loading was aborted', 'the network failed', 'it cannot be decoded', 'it cannot be played here'];
  const error = media.error;
  if (error === null) return 'unknown';
  return [words[error.code], error.message].filter(Boolean).join(': ');
}
