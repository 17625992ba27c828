/**
 * When a video loaded, played, stalled, paused and sought: a machine that is told what the player's clock
 * showed and when, and does nothing by itself.
 *
 * Nothing is measured by when an event was heard: events wait in a queue behind whatever the page is busy
 * with. What is exact is the pair of a time and the position that the player's clock showed at that time.
 * While a video plays, its position runs as fast as time does. So from any look at a clock that runs, one
 * can tell when it began to run, and from the position at which it stands, when it came to stand. Events
 * only say what a standstill was: a stall, a pause or a seek.
 *
 * Times are milliseconds on one monotonic clock, positions are seconds in the video.
 */

/** One look at the player. */
export interface Look {
  /** When. */
  readonly at: number;
  /** What its clock shows. */
  readonly position: number;
  /** How fast the clock runs when it runs; 1 is as time does. */
  readonly rate: number;
  /** The viewer has stopped it. */
  readonly paused: boolean;
  /** It is on its way to another position. */
  readonly seeking: boolean;
  /** It has what it needs to play on. */
  readonly ready: boolean;
  /** It has played to the end. */
  readonly ended: boolean;
}

/** What a stretch of the session was. */
export type Phase = 'loading' | 'playing' | 'stalled' | 'paused' | 'seeking';

/** A stretch of the session. Each begins where the one before it ends. */
export interface Span {
  readonly phase: Phase;
  readonly start: number;
  readonly end: number;
  /** The position at its start and end; they differ only in playing and in seeking. */
  readonly from: number;
  readonly to: number;
  /** The session ended in it. */
  readonly open: boolean;
}

/**
 * A clock that stands this long, and should run, stalls, even if no event says so (ms). Longer than any
 * interval at which a player is known to refresh its position.
 */
const STANDSTILL_MS = 600;

/** A clock may step back by this much when it comes to stand (s). */
const STEP_BACK_S = 0.1;

/**
 * A clock that has just begun to run may stutter: one that follows the sound shows what has been handed to
 * the sound card, and stands until that is heard. Looks of this long (ms) say since when it runs evenly.
 */
const SETTLE_MS = 2000;

/** What is shorter (ms) is the clock's resolution and nothing else. */
const SHORTEST_MS = 1;

export class Meter {
  readonly #spans: Span[] = [];
  #phase: Phase = 'loading';
  #start: number;
  /** The position at its start; of a seek, the one that it goes to. */
  #from = 0;
  /** Of a seek, the position that it left. */
  #left = 0;
  #last: Look | undefined;
  /** While playing: the last look at which the clock had moved. */
  #moved: Look | undefined;
  /** While a run settles: when it began by each of its looks, and at the earliest. */
  #settling: { readonly since: number[]; readonly earliest: number } | undefined;
  #complete = false;
  #over = false;

  /** @param start when the viewer pressed the button */
  constructor(readonly start: number) {
    this.#start = start;
  }

  /** What it does now. */
  get phase(): Phase {
    return this.#phase;
  }

  /** The video was played to its end, or the session was closed: looks change nothing any more. */
  get over(): boolean {
    return this.#over;
  }

  /** The video was played to its end. */
  get complete(): boolean {
    return this.#complete;
  }

  /**
   * All of the session until `at`, without a gap. What has not ended by then is closed there and marked
   * as open, playing too.
   */
  spans(at: number): Span[] {
    // A seek or a pause happened, however short it was.
    const acts = new Set<Phase>(['seeking', 'paused']);
    const spans = this.#spans.filter(({ phase, start, end }) => acts.has(phase) || end - start >= SHORTEST_MS);
    if (this.#over) return spans;
    const end = Math.max(at, this.#start);
    const to = this.#phase === 'playing' ? (this.#moved?.position ?? this.#from) : this.#from;
    spans.push(this.#span(end, to, true));
    return spans;
  }

  /** Tells what the player shows. Looks come in the order of their times. */
  look(look: Look): void {
    if (this.#over) return;
    switch (this.#phase) {
      case 'loading':
        this.#stand(look, look.paused || look.seeking);
        break;
      case 'playing':
        this.#play(look);
        break;
      case 'stalled':
        if (look.seeking) this.#seek(look, look.at, this.#from);
        else if (look.paused && !look.ended) this.#turn('paused', look.at, look.position);
        else this.#stand(look, !look.ready);
        break;
      case 'paused':
        if (look.seeking) this.#seek(look, look.at, this.#from);
        else if (!look.paused && !look.ready && !look.ended) this.#turn('stalled', look.at, look.position);
        else this.#stand(look, look.paused);
        break;
      case 'seeking':
        if (look.paused && !look.seeking) this.#turn('paused', look.at, look.position);
        else this.#stand(look, look.paused || look.seeking || !look.ready);
        break;
    }
    this.#last = look;
    if (look.ended) this.#finish(look);
  }

  /** Ends the session, in whatever it is. */
  close(at: number): void {
    if (this.#over) return;
    this.#spans.splice(0, Infinity, ...this.spans(at));
    this.#over = true;
  }

  /** A look at a clock that stood: does it run now, and since when? */
  #stand(look: Look, held: boolean): void {
    const last = this.#last;
    const advance = last === undefined ? 0 : look.position - this.#from;
    if (held || last === undefined || advance <= 0) {
      // Where it stands may still change, as at the start of a video that does not start at 0.
      if (advance !== 0 || last === undefined) this.#from = look.position;
      return;
    }
    const begun = look.at - (advance / look.rate) * 1000;
    const from = this.#from;
    // It did not run when it was last looked at.
    const since = clamp(begun, Math.max(this.#start, last.at), look.at);
    const first = this.#phase === 'loading';
    const earliest = this.#start;
    this.#turn('playing', since, from);
    this.#moved = look;
    this.#settling = first ? undefined : { since: [begun], earliest };
  }

  /** This run, and so the end of what was before it, gets another beginning. */
  #begin(at: number): void {
    const before = this.#spans.at(-1);
    if (before === undefined) return;
    this.#start = Math.max(at, before.start);
    this.#spans[this.#spans.length - 1] = { ...before, end: this.#start };
  }

  #settle(look: Look): void {
    if (this.#settling === undefined) return;
    const { since, earliest } = this.#settling;
    since.push(look.at - ((look.position - this.#from) / look.rate) * 1000);
    this.#begin(clamp(median(since), earliest, look.at));
    if (look.at - this.#start > SETTLE_MS) this.#settling = undefined;
  }

  #play(look: Look): void {
    if (look.ended) return;
    const moved = this.#moved ?? look;
    if (look.seeking) {
      // The position is the new one already. Until now it ran.
      this.#seek(look, look.at, moved.position + ((look.at - moved.at) / 1000) * moved.rate);
      return;
    }
    const advance = look.position - moved.position;
    if (advance > 0 || advance < -STEP_BACK_S) this.#moved = look;
    const silent = advance <= 0 && look.at - moved.at >= STANDSTILL_MS;
    if (!look.paused && look.ready && !silent) {
      if (advance > 0) this.#settle(look);
      return;
    }
    // It stands at this position. When did it come to be there?
    const reached = clamp(moved.at + (Math.max(advance, 0) / look.rate) * 1000, this.#start, look.at);
    this.#turn(look.paused ? 'paused' : 'stalled', reached, Math.max(look.position, moved.position));
  }

  #seek(look: Look, at: number, left: number): void {
    this.#turn('seeking', at, left);
    this.#left = left;
    this.#from = look.position;
  }

  #finish(look: Look): void {
    const moved = this.#phase === 'playing' ? this.#moved : undefined;
    const advance = moved === undefined ? 0 : Math.max(look.position - moved.position, 0);
    const end = moved === undefined ? look.at : moved.at + (advance / look.rate) * 1000;
    this.#end(clamp(end, this.#start, look.at), moved === undefined ? this.#from : look.position);
    this.#complete = true;
    this.#over = true;
  }

  /** What was ends, at a position, and something else begins there. */
  #turn(phase: Phase, at: number, position: number): void {
    this.#end(at, position);
    this.#phase = phase;
    this.#start = Math.max(at, this.#start);
    this.#from = position;
    this.#moved = undefined;
    this.#settling = undefined;
  }

  #end(at: number, position: number): void {
    const to = this.#phase === 'playing' ? position : this.#from;
    this.#spans.push(this.#span(Math.max(at, this.#start), to, false));
  }

  #span(end: number, to: number, open: boolean): Span {
    const from = this.#phase === 'seeking' ? this.#left : this.#from;
    return { phase: this.#phase, start: this.#start, end, from, to, open };
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
