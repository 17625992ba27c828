/**
 * Export of a session as input of ITU-T P.1203 (10/2017): I.GEN, I.11, I.13 and I.23 for mode 0.
 * An implementation of the standard can score the document; this module has none of its
 * coefficients.
 *
 * Times are seconds, bitrates kbit/s. The Rust crate `qoe` writes the same format.
 */

import type { Span } from './phase-tracker.ts';
import { type Display, type LoadedSegment, playedSegments, type Session } from './record.ts';

export interface P1203 {
  readonly I11: { readonly segments: readonly AudioSegment[]; readonly streamId: 1 };
  readonly I13: { readonly segments: readonly VideoSegment[]; readonly streamId: 1 };
  readonly I23: { readonly stalling: readonly (readonly [number, number])[]; readonly streamId: 1 };
  readonly IGen: {
    readonly device: 'mobile' | 'pc';
    readonly displaySize: string;
    readonly viewingDistance: string;
  };
}

export interface AudioSegment {
  readonly bitrate: number;
  readonly codec: string;
  readonly duration: number;
  readonly start: number;
}

export interface VideoSegment extends AudioSegment {
  readonly fps: number;
  readonly resolution: string;
}

/** A played part of the video at one quality. */
export interface PlayedVideo {
  readonly duration: number;
  readonly bitrate: number;
  readonly codec: string;
  readonly fps: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Builds the document. Each segment starts at the end of the previous one. An initial load time of
 * zero is left out.
 *
 * @param stalls position in the video and length of each stall
 */
export function p1203Input(
  display: Display,
  audio: readonly { duration: number; bitrate: number; codec: string }[],
  video: readonly PlayedVideo[],
  initial: number,
  stalls: readonly (readonly [number, number])[],
): P1203 {
  return {
    I11: {
      segments: withStartTimes(audio, ({ bitrate, codec, duration }, start) => ({ bitrate, codec, duration, start })),
      streamId: 1,
    },
    I13: {
      segments: withStartTimes(video, ({ bitrate, codec, duration, fps, width, height }, start) => ({
        bitrate,
        codec,
        duration,
        fps,
        resolution: `${width}x${height}`,
        start,
      })),
      streamId: 1,
    },
    I23: { stalling: [...(initial > 0 ? [[0, initial] as const] : []), ...stalls], streamId: 1 },
    IGen: {
      device: display.handheld ? 'mobile' : 'pc',
      displaySize: `${display.width}x${display.height}`,
      viewingDistance: `${display.distance_cm}cm`,
    },
  };
}

/** Converts a session; returns `null` if the player does not report the segments played. */
export function sessionToP1203(
  session: Session,
  spans: readonly Span[],
  segments: readonly LoadedSegment[],
): P1203 | null {
  const video: PlayedVideo[] = [];
  for (const { segment, duration } of playedSegments(spans, segments)) {
    const { codec, fps, width, height } = segment.quality;
    if (codec === null || fps === null || width === null || height === null) return null;
    const bitrate = segment.bytes / 125 / segment.duration;
    video.push({ duration, bitrate, codec, fps, width, height });
  }
  if (video.length === 0) return null;
  const audio = session.audio.map(({ duration_s, bitrate_kbps, codec }) => ({
    duration: duration_s,
    bitrate: bitrate_kbps,
    codec,
  }));
  const stalls = session.stalls.map(({ position_s, start_s, end_s }) => [position_s, end_s - start_s] as const);
  return p1203Input(session.viewing, audio, video, session.kpis.initial_load_s, stalls);
}

/** Translates a codec of RFC 6381 (`avc1.64001f`) to its name in P.1203; `null` if it has none. */
export function codecName(codecs: string): string | null {
  const [name = '', ...rest] = codecs.trim().toLowerCase().split('.');
  switch (name) {
    case 'avc1':
    case 'avc3':
      return 'h264';
    case 'hvc1':
    case 'hev1':
      return 'h265';
    case 'vp9':
    case 'vp09':
      return 'vp9';
    case 'av01':
      return 'av1';
    case 'ac-3':
      return 'ac3';
    case 'mp4a':
      // ISO/IEC 14496-3 object types: 2 is AAC LC, 5 is HE-AAC, 29 is HE-AAC v2.
      if (rest[0] === '40') return rest[1] === '2' ? 'aaclc' : ['5', '29'].includes(rest[1] ?? '') ? 'heaac' : null;
      return rest[0] === '6b' || rest[0] === '69' ? 'mp2' : null;
    default:
      return null;
  }
}

/** Maps segments together with their start times. */
function withStartTimes<T extends { readonly duration: number }, U>(
  segments: readonly T[],
  convert: (segment: T, start: number) => U,
): U[] {
  let end = 0;
  return segments.map((segment) => {
    const start = end;
    end += segment.duration;
    return convert(segment, start);
  });
}
