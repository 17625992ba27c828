/**
 * Session record in the format of docs/reference/session.md, for the collector and for export.
 * Times are seconds since the start, bitrates kbit/s, sizes bytes.
 */

import { emos } from './emos.ts';
import { linearQoe } from './linear-qoe.ts';
import { levels, MOS_MAX, meanStall, mos, stallFrequency, type Viewing } from './mos.ts';
import type { Phase, Span } from './phase-tracker.ts';
import { shorten } from './text.ts';

export interface Session {
  readonly format: 'tandem-session/2';
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
  readonly device: string | null;
  readonly zone: string | null;
  readonly versions: { readonly [name: string]: string };
  readonly rule: string;
  readonly complete: boolean;
  readonly state: State;
  /** Of a failed session. */
  readonly reason: Reason | null;
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
  readonly errors: readonly SessionError[];
  readonly extra: { readonly [name: string]: unknown };
}

/** How a session ended: with the video, before it, or by an error. */
export type State = 'finished' | 'left' | 'failed';

export interface Reason {
  readonly kind: ReasonKind;
  readonly message: string;
}

export type ReasonKind = 'http' | 'network' | 'timeout' | 'manifest' | 'decode' | 'other';

export interface Video {
  readonly url: string | null;
  readonly kind: 'dash' | 'file' | 'youtube';
  readonly content_id: string | null;
  readonly title: string | null;
  readonly duration_s: number | null;
  readonly segment_duration_s: number | null;
  /** In ascending order of bitrate. */
  readonly levels: readonly QualityLevel[];
}

export interface QualityLevel {
  readonly bitrate_kbps: number;
  /** Codec name of P.1203: `h264`, `h265`, `vp9`, `av1`. */
  readonly codec: string | null;
  readonly fps: number | null;
  readonly width: number | null;
  readonly height: number | null;
}

/** Display of the viewer, for P.1203. */
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
    /** `null` without a picture. */
    readonly mos: number | null;
    readonly mos_max: number;
  };
  readonly emos: number | null;
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

export interface SessionError {
  readonly at_s: number;
  readonly message: string;
  readonly segment: number | null;
  readonly status: number | null;
  readonly fatal: boolean;
}

/** A loaded segment of any track. Times are milliseconds on the clock of `PhaseTracker`. */
export interface LoadedMedia {
  /** Position in the video, and length (s). */
  readonly position: number;
  readonly duration: number;
  readonly bitrateKbps: number;
  readonly arrived: number;
}

/** A loaded video segment. */
export interface LoadedSegment extends LoadedMedia {
  readonly segment: number;
  /** Index in the levels of the segment's period. */
  readonly level: number;
  readonly quality: QualityLevel;
  readonly bytes: number;
  readonly asked: number;
  readonly firstByte: number;
  /** Buffer level on arrival, including the segment (s). */
  readonly buffer: number;
}

export interface AbandonedRequest {
  readonly segment: number;
  readonly level: number;
  readonly bytes: number;
  readonly asked: number;
  readonly at: number;
}

export interface AudioSegment extends LoadedMedia {
  readonly codec: string;
}

export interface QualitySwitch {
  readonly from: number;
  readonly to: number;
  readonly position: number;
}

export interface BufferSample {
  readonly at: number;
  readonly buffer: number;
  readonly kbps: number | null;
  readonly position: number;
  readonly level: number | null;
}

export interface PlayerError {
  readonly at: number;
  readonly message: string;
  readonly segment: number | null;
  readonly status: number | null;
  readonly fatal: boolean;
  /** Kind of a fatal error; `other` if the player does not say it. */
  readonly kind?: ReasonKind;
}

/**
 * Reports of a player other than its state. Times are milliseconds on the clock of `PhaseTracker`.
 */
export interface PlayerLog {
  readonly segments: readonly LoadedSegment[];
  readonly abandoned: readonly AbandonedRequest[];
  readonly audio: readonly AudioSegment[];
  /** Used only if the player reports no segments. */
  readonly switches: readonly QualitySwitch[];
  readonly samples: readonly BufferSample[];
  readonly errors: readonly PlayerError[];
}

/** Members of a record that describe the session and not its course. */
export type SessionHeader = Pick<
  Session,
  | 'id'
  | 'started_at'
  | 'player'
  | 'video'
  | 'settings'
  | 'viewing'
  | 'label'
  | 'device'
  | 'zone'
  | 'versions'
  | 'rule'
  | 'extra'
>;

/** Played part of a segment. */
export interface PlayedSegment<S extends LoadedMedia = LoadedSegment> {
  readonly segment: S;
  /** Length of the part (s). */
  readonly duration: number;
  /** Position of the part in the video (s). */
  readonly position: number;
}

/** Limits of docs/reference/session.md. */
const LIMITS = { url: 4096, title: 512, label: 200, message: 1000, errors: 1000, segments: 20_000 } as const;

/** Minimum length of a played part (s). Shorter ones come from rounding at the segment's edges. */
const MIN_PLAYED_S = 0.02;

/**
 * Returns the segments played, in playback order. If a segment was loaded in several bitrates, the
 * last copy that arrived before its playback counts.
 */
export function playedSegments<S extends LoadedMedia>(
  spans: readonly Span[],
  segments: readonly S[],
): PlayedSegment<S>[] {
  const inOrder = copiesByPosition(segments);
  const played: PlayedSegment<S>[] = [];
  for (const span of spans) {
    if (span.phase !== 'playing') continue;
    for (const [index, copies] of inOrder.entries()) {
      const [first] = copies;
      if (first === undefined) continue;
      // The last segment of a period may extend into the next period, which replaces it.
      const next = inOrder[index + 1]?.[0]?.position ?? Number.POSITIVE_INFINITY;
      const from = Math.max(span.from, first.position);
      const to = Math.min(span.to, first.position + first.duration, next);
      if (to - from < MIN_PLAYED_S) continue;
      const playedAt = span.start + (from - span.from) * 1000;
      const segment = copies.findLast((copy) => copy.arrived <= playedAt) ?? first;
      const last = played.at(-1);
      // A stall or a pause within a segment does not split it.
      if (last?.segment === segment && Math.abs(last.position + last.duration - from) < MIN_PLAYED_S)
        played[played.length - 1] = { ...last, duration: last.duration + (to - from) };
      else played.push({ segment, duration: to - from, position: from });
    }
  }
  return played;
}

/**
 * Groups the copies of each segment, in the order of the video; copies keep their order of arrival.
 * The position identifies a segment, as a player may number the segments of each period from 0.
 */
function copiesByPosition<S extends LoadedMedia>(segments: readonly S[]): S[][] {
  const groups: S[][] = [];
  for (const segment of [...segments].sort((a, b) => a.position - b.position)) {
    const copies = groups.at(-1);
    if (copies?.[0] !== undefined && segment.position - copies[0].position < MIN_PLAYED_S) copies.push(segment);
    else groups.push([segment]);
  }
  for (const copies of groups) copies.sort((a, b) => a.arrived - b.arrived);
  return groups;
}

/**
 * Converts a time on the clock of `PhaseTracker` (ms) to seconds since the start of the session.
 */
type ToSeconds = (at: number) => number;

/**
 * Returns the record of a session that ends with the last span. Reports after that time are left
 * out: the page learns of the end of a video some milliseconds late.
 *
 * @param start time at which the viewer pressed the button, in milliseconds
 */
export function buildRecord(
  header: SessionHeader,
  start: number,
  spans: readonly Span[],
  complete: boolean,
  log: PlayerLog,
): Session {
  const since: ToSeconds = (at) => Math.max(round((at - start) / 1000), 0);
  const end = spans.at(-1)?.end ?? start;
  const segments = log.segments.filter(({ arrived }) => arrived <= end);
  const inPhase = (phase: Phase) => spans.filter((span) => span.phase === phase);
  const stalls = inPhase('stalled').map((span) => ({
    start_s: since(span.start),
    end_s: since(span.end),
    position_s: round(span.from),
    open: span.open,
  }));
  const played = playedSegments(spans, segments);
  const switches = log.segments.length > 0 ? switchesBetween(played) : log.switches.map(switchRecord);
  return {
    format: 'tandem-session/2',
    ...header,
    video: {
      ...header.video,
      url: (header.video.url?.length ?? 0) > LIMITS.url ? null : header.video.url,
      title: header.video.title === null ? null : shorten(header.video.title, LIMITS.title),
    },
    label: header.label === null ? null : shorten(header.label, LIMITS.label),
    complete,
    ...outcome(complete, log.errors),
    duration_s: since(end),
    played_s: phaseSeconds(spans, 'playing'),
    kpis: computeKpis(spans, stalls, switches, played, header.video.levels.length),
    stalls,
    switches,
    segments: segments.slice(0, LIMITS.segments).map((segment) => segmentRecord(segment, since)),
    abandoned: log.abandoned.filter(({ at }) => at <= end).map((request) => abandonedRecord(request, since)),
    pauses: inPhase('paused').map((span) => ({ start_s: since(span.start), end_s: since(span.end) })),
    seeks: inPhase('seeking').map((span) => ({
      start_s: since(span.start),
      end_s: since(span.end),
      from_s: round(span.from),
      to_s: round(span.to),
    })),
    samples: log.samples.filter(({ at }) => at <= end).map((sample) => sampleRecord(sample, since)),
    audio: playedSegments(spans, log.audio).slice(0, LIMITS.segments).map(audioRecord),
    errors: log.errors.slice(-LIMITS.errors).map((error) => errorRecord(error, end, since)),
  };
}

/** Returns the state of a session, and the reason if it failed. */
function outcome(complete: boolean, errors: readonly PlayerError[]): Pick<Session, 'state' | 'reason'> {
  if (complete) return { state: 'finished', reason: null };
  const error = errors.findLast(({ fatal }) => fatal);
  if (error === undefined) return { state: 'left', reason: null };
  const reason = { kind: error.kind ?? 'other', message: shorten(error.message, LIMITS.message) };
  return { state: 'failed', reason };
}

function computeKpis(
  spans: readonly Span[],
  stalls: readonly Stall[],
  switches: readonly Switch[],
  played: readonly PlayedSegment[],
  levelCount: number,
): Kpis {
  const stalled = round(stalls.reduce((sum, stall) => sum + stall.end_s - stall.start_s, 0));
  const viewing: Viewing = {
    initial: phaseSeconds(spans, 'loading'),
    stalls: stalls.length,
    stalled,
    played: phaseSeconds(spans, 'playing'),
  };
  const { initial, frequency, stall } = levels(viewing);
  const stallsPerSecond = stallFrequency(viewing);
  const isOpen = spans.every((span) => span.phase === 'loading');
  const playedLevels = played.map(({ segment }) => segment.level);
  const bitratesKbps = played.map(({ segment }) => segment.bitrateKbps);
  return {
    initial_load_s: viewing.initial,
    initial_load_open: isOpen,
    stalls_per_s: Number.isFinite(stallsPerSecond) ? stallsPerSecond : null,
    mean_stall_s: meanStall(viewing),
    stalls: stalls.length,
    stalled_s: stalled,
    mean_bitrate_kbps: meanBitrate(played),
    switches: switches.length,
    mok: {
      initial_level: initial,
      frequency_level: frequency,
      stall_level: stall,
      mos: isOpen ? null : mos({ initial, frequency, stall }),
      mos_max: MOS_MAX,
    },
    emos: emos(playedLevels, levelCount, viewing),
    linear: played.length === 0 ? null : linearQoe(bitratesKbps, stalled),
  };
}

/** Returns the total time in a phase (s). */
function phaseSeconds(spans: readonly Span[], phase: Phase): number {
  return round(spans.reduce((sum, span) => (span.phase === phase ? sum + span.end - span.start : sum), 0) / 1000);
}

function segmentRecord(segment: LoadedSegment, since: ToSeconds): Segment {
  return {
    segment: segment.segment,
    level: segment.level,
    bitrate_kbps: segment.bitrateKbps,
    size_bytes: segment.bytes,
    duration_s: round(segment.duration),
    asked_s: since(segment.asked),
    first_byte_s: since(segment.firstByte),
    arrived_s: since(segment.arrived),
    buffer_s: round(segment.buffer),
  };
}

function audioRecord({ segment, duration }: PlayedSegment<AudioSegment>): Audio {
  return { duration_s: round(duration), bitrate_kbps: segment.bitrateKbps, codec: segment.codec };
}

function abandonedRecord({ segment, level, bytes, asked, at }: AbandonedRequest, since: ToSeconds): Abandoned {
  return { segment, level, got_bytes: bytes, asked_s: since(asked), at_s: since(at) };
}

function sampleRecord({ at, buffer, kbps, position, level }: BufferSample, since: ToSeconds): Sample {
  return { at_s: since(at), buffer_s: round(buffer), throughput_kbps: kbps, position_s: round(position), level };
}

function errorRecord(
  { at, message, segment, status, fatal }: PlayerError,
  end: number,
  since: ToSeconds,
): SessionError {
  return {
    // Keep an error reported after the end: it may be the cause of the end.
    at_s: since(Math.min(at, end)),
    message: shorten(message, LIMITS.message),
    segment,
    // A request without a response reports status 0.
    status: status !== null && status >= 100 ? status : null,
    fatal,
  };
}

/** Returns the level changes between consecutive played segments. */
function switchesBetween(played: readonly PlayedSegment[]): Switch[] {
  const switches: Switch[] = [];
  for (const [index, { segment, position }] of played.entries()) {
    const previousLevel = played[index - 1]?.segment.level ?? segment.level;
    if (previousLevel !== segment.level)
      switches.push({
        segment: segment.segment,
        from_level: previousLevel,
        to_level: segment.level,
        position_s: round(position),
      });
  }
  return switches;
}

function switchRecord({ from, to, position }: QualitySwitch): Switch {
  return { segment: null, from_level: from, to_level: to, position_s: round(position) };
}

/** Returns the mean bitrate of the levels played, weighted by time played. */
function meanBitrate(played: readonly PlayedSegment[]): number | null {
  const seconds = played.reduce((sum, { duration }) => sum + duration, 0);
  const kbit = played.reduce((sum, { segment, duration }) => sum + segment.bitrateKbps * duration, 0);
  return seconds > 0 ? kbit / seconds : null;
}

/** Rounds to a microsecond, below the resolution of browser clocks. */
function round(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e6;
}
