/**
 * A session in the form that ITU-T P.1203 takes as its input, so that who has an implementation of the
 * standard can score it. Nothing here scores: no coefficient of the standard is known to it.
 *
 * The form is the public one of ITU-T P.1203 (10/2017), its inputs I.GEN, I.11, I.13 and I.23, for mode 0.
 * Times are seconds, bitrates kbit/s. The same as `crates/qoe/src/p1203.rs`.
 */

import type { Span } from './meter.ts';
import { type Display, type Fetched, type Session, shown } from './record.ts';

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

/** A stretch of video that was seen. */
export interface Seen {
  readonly duration: number;
  readonly bitrate: number;
  readonly codec: string;
  readonly fps: number;
  readonly width: number;
  readonly height: number;
}

/**
 * The document. Each segment starts where the one before it ends; a wait at the start of no length is left
 * out.
 *
 * @param stalls of each the position in the video and the length
 */
export function p1203(
  display: Display,
  audio: readonly { duration: number; bitrate: number; codec: string }[],
  video: readonly Seen[],
  initial: number,
  stalls: readonly (readonly [number, number])[],
): P1203 {
  return {
    I11: {
      segments: following(audio, ({ bitrate, codec, duration }, start) => ({ bitrate, codec, duration, start })),
      streamId: 1,
    },
    I13: {
      segments: following(video, ({ bitrate, codec, duration, fps, width, height }, start) => ({
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

/** A session as that document; `null` where the player does not tell what it showed. */
export function p1203Of(session: Session, spans: readonly Span[], segments: readonly Fetched[]): P1203 | null {
  const video: Seen[] = [];
  for (const { segment, duration } of shown(spans, segments)) {
    const level = session.video.levels[segment.level];
    if (level === undefined) return null;
    const { codec, fps, width, height } = level;
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
  return p1203(session.viewing, audio, video, session.kpis.initial_load_s, stalls);
}

/**
 * A codec of RFC 6381 (`avc1.64001f`) as the standard spells it, or `null` for one that it does not know.
 */
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
      // ISO/IEC 14496-3 object types: 2 is AAC LC, 5 and 29 are HE-AAC and its second version.
      if (rest[0] === '40') return rest[1] === '2' ? 'aaclc' : ['5', '29'].includes(rest[1] ?? '') ? 'heaac' : null;
      return rest[0] === '6b' || rest[0] === '69' ? 'mp2' : null;
    default:
      return null;
  }
}

function following<T extends { readonly duration: number }, U>(
  all: readonly T[],
  at: (one: T, start: number) => U,
): U[] {
  let start = 0;
  return all.map((one) => {
    const begun = start;
    start += one.duration;
    return at(one, begun);
  });
}
