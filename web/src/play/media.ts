/** Observation of a media element: at every refresh of the screen and at every event. */

import type { PlayerState } from '../measure/phase-tracker.ts';
import type { ReasonKind } from '../measure/record.ts';
import type { PlayerListener } from './playback.ts';

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
 * Reports states and frames until the returned function is called.
 *
 * @param isInternalSeek returns true during a seek by the player itself, over a gap in the video;
 *   such a seek is part of the surrounding wait
 * @param isEnded returns true at the end of the video
 */
export function observeMedia(
  media: HTMLVideoElement,
  listener: PlayerListener,
  isInternalSeek = () => false,
  isEnded = () => media.ended,
): () => void {
  const report = () => listener.onState(readState(media, isInternalSeek(), isEnded()));
  for (const event of EVENTS) media.addEventListener(event, report);
  let refreshed = performance.now();
  let refresh = requestAnimationFrame(function onRefresh() {
    report();
    // Frame callbacks run before animation frames, so they see the previous refresh here.
    refreshed = performance.now();
    refresh = requestAnimationFrame(onRefresh);
  });
  // Frame callbacks may run late, but carry the presentation time. Some browsers lack them.
  let frame = media.requestVideoFrameCallback?.(function onFrame(
    _,
    { expectedDisplayTime, mediaTime, presentedFrames },
  ) {
    const presented = presentedFrames;
    listener.onFrame({ at: expectedDisplayTime, position: mediaTime, presented, previousRefresh: refreshed });
    frame = media.requestVideoFrameCallback(onFrame);
  });
  const onVisibilityChange = () => listener.onVisibilityChange();
  document.addEventListener('visibilitychange', onVisibilityChange);
  return () => {
    if (frame !== undefined) media.cancelVideoFrameCallback(frame);
    document.removeEventListener('visibilitychange', onVisibilityChange);
    for (const event of EVENTS) media.removeEventListener(event, report);
    cancelAnimationFrame(refresh);
  };
}

function readState(media: HTMLMediaElement, isInternalSeek: boolean, ended: boolean): PlayerState {
  return {
    at: performance.now(),
    position: media.currentTime,
    rate: media.playbackRate > 0 ? media.playbackRate : 1,
    paused: media.paused,
    seeking: media.seeking && !isInternalSeek,
    ready: media.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA && !media.seeking,
    ended,
  };
}

/** Returns the buffer level at the current position (s). */
export function bufferAhead(media: HTMLMediaElement): number {
  const position = media.currentTime;
  for (let index = 0; index < media.buffered.length; index++) {
    // The first sample of a video may be some milliseconds after position 0.
    if (media.buffered.start(index) <= position + 0.1 && position < media.buffered.end(index))
      return media.buffered.end(index) - position;
  }
  return 0;
}

/** Returns the message of a media element's error. */
export function mediaError(media: HTMLMediaElement): string {
  const messages = [
    '',
    'loading aborted',
    'network error',
    'decoding failed',
    'format not supported or file not found',
  ];
  const error = media.error;
  if (error === null) return 'unknown error';
  return [messages[error.code], error.message].filter(Boolean).join(': ');
}

/** Returns the kind of a media element's error. */
export function mediaErrorKind(media: HTMLMediaElement): ReasonKind {
  const kinds: readonly (ReasonKind | undefined)[] = ['other', 'other', 'network', 'decode'];
  return kinds[media.error?.code ?? 0] ?? 'other';
}
