/**
 * The record of a session, in the form of docs/reference/session.md: what the collector takes, and what is written
 * to a file. Times are seconds since the start, bitrates kbit/s, sizes bytes.
 */

import { linear } from './linear.ts';
import type { Span } from './meter.ts';
import { levels, meanStall, mos, stallFrequency, type Viewing } from './mok.ts';

export interface Session {
  readonly format: 'tandem-session/1';
  readonly id: string;
  readonly started_at: string;
  readonly player: {
    readonly name: string;
    readonly version: string;
    readonly engine: string | null;
    readonly user_agent: string | null;
  };
  readonly video: Video;
  readonly settings: { readonly max_buffer_s: number | null; readonly cmcd: 'query' | 'header' | 'off' | null };
  readonly viewing: Display;
  readonly label: string | null;
  readonly versions: { readonly [name: string]: string };
  readonly rule: string;
  readonly complete: boolean;
  readonly duration_s: number;
  readonly played_s: number;
  readonly kpis: Kpis;
  readonly stalls: readonly Stall[];
  readonly switches: readonly Switch[];
  readonly segments: readonly Segment[];
  readonly abandoned: readonly Abandoned[];
  readonly pauses: readonly { readonly start_s: number; readonly end_s: number }[];
  readonly seeks: readonly Seek[];
  readonly samples: readonly Sample[];
  readonly audio: readonly Audio[];
  readonly errors: readonly Failure[];
  readonly extra: { readonly [name: string]: unknown };
}

export interface Video {
  readonly url: string | null;
  readonly kind: 'dash' | 'file' | 'youtube';
  readonly content_id: string | null;
  readonly title: string | null;
  readonly duration_s: number | null;
  readonly segment_duration_s: number | null;
  /** From the lowest to the highest. */
  readonly levels: readonly Quality[];
}

export interface Quality {
  readonly bitrate_kbps: number;
  /** As P.1203 spells it: `h264`, `h265`, `vp9`, `av1`. */
  readonly codec: string | null;
  readonly fps: number | null;
  readonly width: number | null;
  readonly height: number | null;
}

/** What it is seen on, for P.1203. */
export interface Display {
  readonly handheld: boolean;
  readonly width: number;
  readonly height: number;
  readonly distance_cm: number;
}

export interface Kpis {
  readonly initial_load_s: number;
  readonly initial_load_open: boolean;
  readonly stalls_per_s: number | null;
  readonly mean_stall_s: number;
  readonly stalls: number;
  readonly stalled_s: number;
  readonly mean_bitrate_kbps: number | null;
  readonly switches: number;
  readonly mok: {
    readonly initial_level: number;
    readonly frequency_level: number;
    readonly stall_level: number;
    readonly mos: number;
  };
  readonly linear: number | null;
}

export interface Stall {
  readonly start_s: number;
  readonly end_s: number;
  readonly position_s: number;
  readonly open: boolean;
}

export interface Switch {
  readonly segment: number | null;
  readonly from_level: number;
  readonly to_level: number;
  readonly position_s: number | null;
}

export interface Seek {
  readonly start_s: number;
  readonly end_s: number;
  readonly from_s: number;
  readonly to_s: number;
}

export interface Segment {
  readonly segment: number;
  readonly level: number;
  readonly bitrate_kbps: number;
  readonly size_bytes: number;
  readonly duration_s: number;
  readonly asked_s: number;
  readonly first_byte_s: number;
  readonly arrived_s: number;
  readonly buffer_s: number;
}

export interface Abandoned {
  readonly segment: number;
  readonly level: number;
  readonly got_bytes: number;
  readonly asked_s: number;
  readonly at_s: number;
}

export interface Sample {
  readonly at_s: number;
  readonly buffer_s: number;
  readonly throughput_kbps: number | null;
  readonly position_s: number;
  readonly level: number | null;
}

export interface Audio {
  readonly duration_s: number;
  readonly bitrate_kbps: number;
  readonly codec: string;
}

export interface Failure {
  readonly at_s: number;
  readonly message: string;
  readonly segment: number | null;
  readonly status: number | null;
  readonly fatal: boolean;
}

/** A segment that came, and where in the video it belongs. Times are milliseconds on the meter's clock. */
export interface Fetched {
  readonly segment: number;
  readonly level: number;
  readonly bitrateKbps: number;
  readonly bytes: number;
  /** Position of its start and its length in the video (s). */
  readonly position: number;
  readonly duration: number;
  readonly asked: number;
  readonly firstByte: number;
  readonly arrived: number;
  /** What was in the buffer when it was whole, with it (s). */
  readonly buffer: number;
}

/** What a player tells of a session beside its clock. Times are milliseconds on the meter's clock. */
export interface Told {
  readonly segments: readonly Fetched[];
  readonly abandoned: readonly { segment: number; level: number; bytes: number; asked: number; at: number }[];
  readonly audio: readonly { duration: number; bitrateKbps: number; codec: string }[];
  /** Only of a player that tells no segments: its own word on changes of quality. */
  readonly switches: readonly { from: number; to: number; position: number }[];
  readonly samples: readonly {
    at: number;
    buffer: number;
    kbps: number | null;
    position: number;
    level: number | null;
  }[];
  readonly failures: readonly {
    at: number;
    message: string;
    segment: number | null;
    status: number | null;
    fatal: boolean;
  }[];
}

/** Who and what the session is of. */
export type Head = Pick<
  Session,
  'id' | 'started_at' | 'player' | 'video' | 'settings' | 'viewing' | 'label' | 'versions' | 'rule' | 'extra'
>;

/** A stretch of one segment that was seen. */
export interface Shown {
  readonly segment: Fetched;
  /** How much of it (s). */
  readonly duration: number;
  /** Where in the video that began (s). */
  readonly position: number;
}

/**
 * The segments that were seen, in the order in which they were. Where one came more than once, in
 * different bitrates, the one that was there last when its turn came is the one that was seen.
 */
export function shown(spans: readonly Span[], segments: readonly Fetched[]): Shown[] {
  const copies = new Map<number, Fetched[]>();
  for (const segment of segments) {
    const same = copies.get(segment.segment);
    if (same === undefined) copies.set(segment.segment, [segment]);
    else same.push(segment);
  }
  const inOrder = [...copies.values()].sort((a, b) => (a[0]?.position ?? 0) - (b[0]?.position ?? 0));
  const seen: Shown[] = [];
  for (const span of spans) {
    if (span.phase !== 'playing') continue;
    for (const same of inOrder) {
      const [first] = same;
      if (first === undefined) continue;
      const from = Math.max(span.from, first.position);
      const to = Math.min(span.to, first.position + first.duration);
      if (to - from < LEAST_SHOWN_S) continue;
      const turn = span.start + (from - span.from) * 1000;
      const segment = same.findLast((copy) => copy.arrived <= turn) ?? first;
      const last = seen.at(-1);
      // A stall or a pause in the middle of a segment does not make it two.
      if (last?.segment === segment && Math.abs(last.position + last.duration - from) < LEAST_SHOWN_S)
        seen[seen.length - 1] = { ...last, duration: last.duration + (to - from) };
      else seen.push({ segment, duration: to - from, position: from });
    }
  }
  return seen;
}

/** As much as docs/reference/session.md lets a record hold. */
const MOST = { url: 4096, title: 512, message: 1000, errors: 1000, segments: 20_000 } as const;

/** Less than this of a segment is an edge that two clocks draw differently, and was not seen (s). */
const LEAST_SHOWN_S = 0.02;

/**
 * The record of a session, as if it ended at the end of the last span. That a video has ended is heard some
 * milliseconds after it has: what a player told in between is no part of the session.
 *
 * @param start when the viewer pressed the button, in milliseconds on the meter's clock
 */
export function record(head: Head, start: number, spans: readonly Span[], complete: boolean, told: Told): Session {
  const since = (at: number) => Math.max(round((at - start) / 1000), 0);
  const end = spans.at(-1)?.end ?? start;
  const segments = told.segments.filter(({ arrived }) => arrived <= end);
  const lengths = (phase: Span['phase']) =>
    spans.reduce((sum, span) => (span.phase === phase ? sum + span.end - span.start : sum), 0) / 1000;
  const of = (phase: Span['phase']) => spans.filter((span) => span.phase === phase);

  const stalls = of('stalled').map((span) => ({
    start_s: since(span.start),
    end_s: since(span.end),
    position_s: round(span.from),
    open: span.open,
  }));
  const seen = shown(spans, segments);
  const switches = told.segments.length > 0 ? switchesOf(seen) : told.switches.map(switchOf);
  const played = round(lengths('playing'));
  const stalled = round(stalls.reduce((sum, stall) => sum + stall.end_s - stall.start_s, 0));
  const viewing: Viewing = { initial: round(lengths('loading')), stalls: stalls.length, stalled, played };
  const mok = levels(viewing);
  const frequency = stallFrequency(viewing);
  return {
    format: 'tandem-session/1',
    ...head,
    video: {
      ...head.video,
      url: (head.video.url?.length ?? 0) > MOST.url ? null : head.video.url,
      title: head.video.title?.slice(0, MOST.title) ?? null,
    },
    complete,
    duration_s: since(end),
    played_s: played,
    kpis: {
      initial_load_s: viewing.initial,
      initial_load_open: spans.every((span) => span.phase === 'loading'),
      stalls_per_s: Number.isFinite(frequency) ? frequency : null,
      mean_stall_s: meanStall(viewing),
      stalls: stalls.length,
      stalled_s: stalled,
      mean_bitrate_kbps: meanBitrate(seen),
      switches: switches.length,
      mok: {
        initial_level: mok.initial,
        frequency_level: mok.frequency,
        stall_level: mok.stall,
        mos: mos(mok),
      },
      linear:
        seen.length === 0
          ? null
          : linear(
              seen.map(({ segment }) => segment.bitrateKbps),
              stalled,
            ),
    },
    stalls,
    switches,
    segments: segments.slice(0, MOST.segments).map((segment) => ({
      segment: segment.segment,
      level: segment.level,
      bitrate_kbps: segment.bitrateKbps,
      size_bytes: segment.bytes,
      duration_s: round(segment.duration),
      asked_s: since(segment.asked),
      first_byte_s: since(segment.firstByte),
      arrived_s: since(segment.arrived),
      buffer_s: round(segment.buffer),
    })),
    abandoned: told.abandoned
      .filter(({ at }) => at <= end)
      .map(({ segment, level, bytes, asked, at }) => ({
        segment,
        level,
        got_bytes: bytes,
        asked_s: since(asked),
        at_s: since(at),
      })),
    pauses: of('paused').map((span) => ({ start_s: since(span.start), end_s: since(span.end) })),
    seeks: of('seeking').map((span) => ({
      start_s: since(span.start),
      end_s: since(span.end),
      from_s: round(span.from),
      to_s: round(span.to),
    })),
    samples: told.samples
      .filter(({ at }) => at <= end)
      .map(({ at, buffer, kbps, position, level }) => ({
        at_s: since(at),
        buffer_s: round(buffer),
        throughput_kbps: kbps,
        position_s: round(position),
        level,
      })),
    audio: told.audio.slice(0, MOST.segments).map(({ duration, bitrateKbps, codec }) => ({
      duration_s: round(duration),
      bitrate_kbps: bitrateKbps,
      codec,
    })),
    errors: told.failures.slice(-MOST.errors).map(({ at, message, segment, status, fatal }) => ({
      // Why it ended is told in any case.
      at_s: since(Math.min(at, end)),
      message: message.slice(0, MOST.message),
      segment,
      // A request that was never answered has none.
      status: status !== null && status >= 100 ? status : null,
      fatal,
    })),
  };
}

function switchesOf(seen: readonly Shown[]): Switch[] {
  const switches: Switch[] = [];
  for (const [index, { segment, position }] of seen.entries()) {
    const before = seen[index - 1]?.segment.level ?? segment.level;
    if (before !== segment.level)
      switches.push({
        segment: segment.segment,
        from_level: before,
        to_level: segment.level,
        position_s: round(position),
      });
  }
  return switches;
}

function switchOf({ from, to, position }: Told['switches'][number]): Switch {
  return { segment: null, from_level: from, to_level: to, position_s: round(position) };
}

/** Of the video that was seen, by the bitrates of its levels, weighed by time. */
function meanBitrate(seen: readonly Shown[]): number | null {
  const time = seen.reduce((sum, { duration }) => sum + duration, 0);
  const kbit = seen.reduce((sum, { segment, duration }) => sum + segment.bitrateKbps * duration, 0);
  return time > 0 ? kbit / time : null;
}

/** To a microsecond, which is finer than any clock of a browser. */
function round(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e6;
}
