/**
 * What was on the screen. The clock of a video is not what its viewer sees: it comes to stand a picture or two
 * before the last one has had its time, and while the sound goes on it runs, for seconds, with a picture that stands.
 * So where the browser tells of its pictures, a stall goes from the end of the last picture to the next one.
 *
 * Times are milliseconds on the meter's clock, positions are seconds in the video.
 */

import type { Phase, Span } from './meter.ts';

/** A picture that was shown. */
export interface Picture {
  /** When it was on the screen, by the compositor. */
  readonly at: number;
  /** Where in the video it belongs. */
  readonly position: number;
  /** How many have been shown, with this one: nobody hears of all of them. */
  readonly count: number;
  /** When the page last had the time to hear of one: those of which nobody told came after that. */
  readonly after: number;
}

/** A time in which no picture followed. */
interface Gap {
  /** When the last picture had had its time, and when the next one came. */
  readonly start: number;
  readonly end: number;
  /** The position that was due, and the one that came. */
  readonly from: number;
  readonly to: number;
}

/**
 * A gap is longer than this (ms), and so is a stall: what is shorter looks like a few pictures that were dropped, and
 * browsers stop their clocks for some milliseconds at the beginning of a video.
 */
const LEAST_MS = 100;

/** Further than this (ms) from when the clock began to run, the first picture was a still one. */
const STILL_MS = 250;

/** So many of the last pictures say how long one stays. */
const REMEMBERED = 61;

export class Pictures {
  readonly #gaps: Gap[] = [];
  readonly #dry: { readonly start: number; end: number }[] = [];
  readonly #stays: number[] = [];
  #first: Picture | undefined;
  #last: Picture | undefined;

  /** Tells of a picture. */
  show(picture: Picture): void {
    this.#first ??= picture;
    const last = this.#last;
    this.#last = picture;
    if (last === undefined) return;
    const shown = picture.count - last.count;
    const advance = picture.position - last.position;
    const stay = this.#stay();
    // Those of which nobody told were shown just before this one: after a gap, somebody listens.
    const end = Math.min(Math.max(picture.at - (shown - 1) * stay, picture.after), picture.at);
    const start = last.at + stay;
    // A player may go on somewhat before or behind where it stood.
    if (end - start > LEAST_MS)
      this.#gaps.push({ start, end, from: last.position + stay / 1000, to: picture.position });
    else if (shown === 1 && advance > 0) {
      this.#stays.push(advance * 1000);
      if (this.#stays.length > REMEMBERED) this.#stays.shift();
    }
  }

  /** Tells that the player has no more pictures to show, or has some again. */
  dry(at: number, dry: boolean): void {
    const last = this.#dry.at(-1);
    if (dry) this.#dry.push({ start: at, end: Number.POSITIVE_INFINITY });
    else if (last !== undefined) last.end = Math.min(last.end, at);
  }

  /** Nobody sees the screen, or somebody does again: what is shown in between is not told. */
  blink(): void {
    this.#last = undefined;
  }

  /**
   * The session as it was seen, from what it was by the clock. A gap changes only what was playing or a stall by the
   * clock; where the clock ran all the time, it is a stall only if the player had no pictures to show.
   */
  seen(spans: readonly Span[]): Span[] {
    let seen = this.#fromFirstPicture(spans);
    const end = seen.at(-1)?.end ?? 0;
    const gaps = [...this.#gaps];
    const last = this.#last;
    if (last !== undefined) {
      const start = last.at + this.#stay();
      gaps.push({ start, end, from: last.position + this.#stay() / 1000, to: Number.NaN });
    }
    for (const gap of gaps) if (gap.end - gap.start > LEAST_MS) seen = this.#withGap(seen, gap);
    return joined(seen.map((span, index) => (index > 0 && unseen(span) ? { ...span, phase: 'playing' } : span)));
  }

  #fromFirstPicture(spans: readonly Span[]): Span[] {
    const [loading, playing, ...rest] = spans;
    const first = this.#first;
    if (first === undefined || loading?.phase !== 'loading' || playing?.phase !== 'playing') return [...spans];
    if (first.position > playing.from || Math.abs(first.at - loading.end) > STILL_MS) return [...spans];
    const at = Math.min(Math.max(first.at, loading.start), playing.end);
    return [{ ...loading, end: at }, { ...playing, start: at }, ...rest];
  }

  #withGap(spans: readonly Span[], gap: Gap): Span[] {
    const touched = (span: Span) => span.start < gap.end && span.end > gap.start;
    const inGap = spans.filter(touched);
    const open = Number.isNaN(gap.to);
    const stalls = inGap.filter(({ phase }) => phase === 'stalled');
    // A viewer who pauses or seeks in a stall ends it, and what the clock says of that is exact.
    if (inGap.some(({ phase }) => phase !== 'playing' && phase !== 'stalled')) return [...spans];
    const lastSpan = inGap.at(-1);
    const [stall, lastStall] = [stalls[0], stalls.at(-1)];
    let { start } = gap;
    let end = open ? (lastSpan?.end ?? gap.end) : gap.end;
    if (stall === undefined || lastStall === undefined) {
      // The clock ran. Where there were pictures to show, the browser had no time to show them.
      if (!this.#isDry(gap.start, gap.end) || (open && lastSpan?.open !== true)) return [...spans];
    } else {
      if (open && lastStall !== lastSpan) return [...spans];
      if (Math.abs(start - stall.start) > STILL_MS && !this.#isDry(start, stall.start)) start = stall.start;
      if (!open && Math.abs(end - lastStall.end) > STILL_MS && !this.#isDry(lastStall.end, end)) end = lastStall.end;
    }
    const from = start === gap.start ? gap.from : (stall?.from ?? gap.from);
    const to = open ? from : end === gap.end ? gap.to : (lastStall?.to ?? gap.to);
    const stood: Span = { phase: 'stalled', start, end, from, to: from, open: open && lastSpan?.open === true };
    const before = spans.filter((span) => span.start < start).map((span) => cutEnd(span, start, from));
    const after = spans.filter((span) => span.end > end).map((span) => cutStart(span, end, to));
    return [...before, stood, ...after];
  }

  /** The player had no pictures to show in most of this time. */
  #isDry(from: number, to: number): boolean {
    const dry = this.#dry.reduce(
      (sum, { start, end }) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)),
      0,
    );
    return dry > (to - from) / 2;
  }

  /** How long a picture stays (ms). */
  #stay(): number {
    const sorted = [...this.#stays].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  }
}

function cutEnd(span: Span, at: number, position: number): Span {
  if (span.end <= at) return span;
  // What stood by the clock before its last picture had had its time, was still playing.
  const phase: Phase = span.phase === 'stalled' ? 'playing' : span.phase;
  return { ...span, phase, end: at, to: Math.max(position, span.from), open: false };
}

function cutStart(span: Span, at: number, position: number): Span {
  if (span.start >= at) return span;
  const phase: Phase = span.phase === 'stalled' ? 'playing' : span.phase;
  return { ...span, phase, start: at, from: position, to: Math.max(position, span.to) };
}

function unseen({ phase, start, end, open }: Span): boolean {
  return phase === 'stalled' && !open && end - start <= LEAST_MS;
}

/** One stretch of playing, and one stall, where there were two with nothing in between. */
function joined(spans: readonly Span[]): Span[] {
  const all: Span[] = [];
  for (const span of spans) {
    const last = all.at(-1);
    const played = last?.phase === 'playing' && span.phase === 'playing' && Math.abs(last.to - span.from) < 1e-3;
    if (last !== undefined && (played || (last.phase === 'stalled' && span.phase === 'stalled')))
      all[all.length - 1] = { ...last, end: span.end, to: played ? span.to : last.to, open: span.open };
    else all.push(span);
  }
  return all;
}
