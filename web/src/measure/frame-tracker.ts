/**
 * Correction of stall bounds by the frames that the compositor presented.
 *
 * The clock of a video stops one or two frames early, and continues for seconds over a frozen
 * frame while audio remains. Where the browser reports frames, a stall lasts from the end of the
 * last frame's display time to the next frame.
 *
 * Times are milliseconds on the clock of `PhaseTracker`, positions are seconds in the video.
 */

import type { Phase, Span } from './phase-tracker.ts';

/** A presented frame. The browser reports some of the frames only. */
export interface Frame {
  /** Presentation time by the compositor. */
  readonly at: number;
  /** Presentation timestamp in the video. */
  readonly position: number;
  /** Number of frames presented so far, including this one and unreported ones. */
  readonly presented: number;
  /** Last time at which the page could have received a report: unreported frames are later. */
  readonly previousRefresh: number;
}

/** Interval without a frame. */
interface Gap {
  /** End of the last frame's display time, and presentation of the next frame. */
  readonly start: number;
  readonly end: number;
  /** Position of the frame that was due, and of the frame presented. */
  readonly from: number;
  readonly to: number;
}

/**
 * Minimum length of a gap and of a stall (ms). Shorter ones look like dropped frames, and browsers
 * stop the clock for some milliseconds at the start of a video.
 */
const MIN_STALL_MS = 100;

/** Maximum difference between clock and frames for the same event (ms). */
const MAX_CLOCK_SKEW_MS = 250;

/** Number of recent frame durations from which the median is taken. */
const FRAME_DURATIONS = 61;

export class FrameTracker {
  readonly #gaps: Gap[] = [];
  /** Intervals in which the video buffer was empty. */
  readonly #empty: { readonly start: number; end: number }[] = [];
  readonly #durationsMs: number[] = [];
  #first: Frame | undefined;
  #last: Frame | undefined;

  /** Processes a reported frame. */
  add(frame: Frame): void {
    this.#first ??= frame;
    const last = this.#last;
    this.#last = frame;
    if (last === undefined) return;
    const presented = frame.presented - last.presented;
    const advance = frame.position - last.position;
    const durationMs = this.#frameMs();
    // Unreported frames directly precede this one: after a gap the page is idle and gets a report.
    const end = Math.min(Math.max(frame.at - (presented - 1) * durationMs, frame.previousRefresh), frame.at);
    const start = last.at + durationMs;
    // The position may jump at a gap, as players resume slightly before or after it.
    if (end - start > MIN_STALL_MS)
      this.#gaps.push({ start, end, from: last.position + durationMs / 1000, to: frame.position });
    else if (presented === 1 && advance > 0) {
      this.#durationsMs.push(advance * 1000);
      if (this.#durationsMs.length > FRAME_DURATIONS) this.#durationsMs.shift();
    }
  }

  /** Notes that the video buffer has run empty or has been refilled. */
  setBufferEmpty(at: number, empty: boolean): void {
    const last = this.#empty.at(-1);
    if (empty) this.#empty.push({ start: at, end: Number.POSITIVE_INFINITY });
    else if (last !== undefined) last.end = Math.min(last.end, at);
  }

  /**
   * Restarts gap detection after a change of the page's visibility: hidden pages get no reports.
   */
  restart(): void {
    this.#last = undefined;
  }

  /**
   * Returns the spans of the clock, corrected by the frames. A gap replaces only playing and
   * stalls. If the clock ran through it, the gap is a stall only if the video buffer was empty.
   */
  correct(spans: readonly Span[]): Span[] {
    let corrected = this.#endLoadingAtFirstFrame(spans);
    const end = corrected.at(-1)?.end ?? 0;
    const gaps = [...this.#gaps];
    const last = this.#last;
    if (last !== undefined) {
      const start = last.at + this.#frameMs();
      gaps.push({ start, end, from: last.position + this.#frameMs() / 1000, to: Number.NaN });
    }
    for (const gap of gaps) if (gap.end - gap.start > MIN_STALL_MS) corrected = this.#applyGap(corrected, gap);
    return mergeAdjacent(
      corrected.map((span, index) => (index > 0 && isTooShort(span) ? { ...span, phase: 'playing' } : span)),
    );
  }

  #endLoadingAtFirstFrame(spans: readonly Span[]): Span[] {
    const [loading, playing, ...rest] = spans;
    const first = this.#first;
    if (first === undefined || loading?.phase !== 'loading' || playing?.phase !== 'playing') return [...spans];
    // A frame long before the clock starts is a still. A frame after the start position is not the
    // first frame of playback.
    if (first.position > playing.from || Math.abs(first.at - loading.end) > MAX_CLOCK_SKEW_MS) return [...spans];
    const at = Math.min(Math.max(first.at, loading.start), playing.end);
    return [{ ...loading, end: at }, { ...playing, start: at }, ...rest];
  }

  #applyGap(spans: readonly Span[], gap: Gap): Span[] {
    const inGap = spans.filter((span) => span.start < gap.end && span.end > gap.start);
    const isOpen = Number.isNaN(gap.to);
    const stalls = inGap.filter(({ phase }) => phase === 'stalled');
    // A pause or a seek ends a stall, and the clock gives its exact bounds.
    if (inGap.some(({ phase }) => phase !== 'playing' && phase !== 'stalled')) return [...spans];
    const lastSpan = inGap.at(-1);
    const [stall, lastStall] = [stalls[0], stalls.at(-1)];
    let { start } = gap;
    let end = isOpen ? (lastSpan?.end ?? gap.end) : gap.end;
    if (stall === undefined || lastStall === undefined) {
      // The clock ran. With data in the buffer, the browser was too busy to present frames.
      if (!this.#isBufferEmpty(gap.start, gap.end) || (isOpen && lastSpan?.open !== true)) return [...spans];
    } else {
      if (isOpen && lastStall !== lastSpan) return [...spans];
      if (Math.abs(start - stall.start) > MAX_CLOCK_SKEW_MS && !this.#isBufferEmpty(start, stall.start))
        start = stall.start;
      const isEndSkewed = !isOpen && Math.abs(end - lastStall.end) > MAX_CLOCK_SKEW_MS;
      if (isEndSkewed && !this.#isBufferEmpty(lastStall.end, end)) end = lastStall.end;
    }
    const from = start === gap.start ? gap.from : (stall?.from ?? gap.from);
    const to = isOpen ? from : end === gap.end ? gap.to : (lastStall?.to ?? gap.to);
    const stalled: Span = { phase: 'stalled', start, end, from, to: from, open: isOpen && lastSpan?.open === true };
    const before = spans.filter((span) => span.start < start).map((span) => cutEnd(span, start, from));
    const after = spans.filter((span) => span.end > end).map((span) => cutStart(span, end, to));
    return [...before, stalled, ...after];
  }

  /** Returns whether the video buffer was empty for most of this time. */
  #isBufferEmpty(from: number, to: number): boolean {
    const emptyMs = this.#empty.reduce(
      (sum, { start, end }) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)),
      0,
    );
    return emptyMs > (to - from) / 2;
  }

  /** Returns the median display time of a frame (ms). */
  #frameMs(): number {
    const sorted = [...this.#durationsMs].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  }
}

function cutEnd(span: Span, at: number, position: number): Span {
  if (span.end <= at) return span;
  // The clock stood, but its last frame was still within its display time.
  const phase: Phase = span.phase === 'stalled' ? 'playing' : span.phase;
  return { ...span, phase, end: at, to: Math.max(position, span.from), open: false };
}

function cutStart(span: Span, at: number, position: number): Span {
  if (span.start >= at) return span;
  const phase: Phase = span.phase === 'stalled' ? 'playing' : span.phase;
  return { ...span, phase, start: at, from: position, to: Math.max(position, span.to) };
}

function isTooShort({ phase, start, end, open }: Span): boolean {
  return phase === 'stalled' && !open && end - start <= MIN_STALL_MS;
}

/** Merges adjacent playing spans at continuous positions, and adjacent stalls. */
function mergeAdjacent(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    const isContinuous = last?.phase === 'playing' && span.phase === 'playing' && Math.abs(last.to - span.from) < 1e-3;
    if (last !== undefined && (isContinuous || (last.phase === 'stalled' && span.phase === 'stalled')))
      merged[merged.length - 1] = { ...last, end: span.end, to: isContinuous ? span.to : last.to, open: span.open };
    else merged.push(span);
  }
  return merged;
}
