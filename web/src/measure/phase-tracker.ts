/**
 * State machine that divides a session into phases: loading, playing, stalled, paused, seeking.
 *
 * The page reports events late, so their times are not used. A player state pairs a time with the
 * position at that time, and the position of a playing video advances at the playback rate. The
 * start of playback follows from any later state, the start of a standstill from the position at
 * which the clock stopped. Events only distinguish a stall from a pause or a seek.
 *
 * Times are milliseconds on one monotonic clock, positions are seconds in the video.
 */

/** State of the player at one instant. */
export interface PlayerState {
  readonly at: number;
  readonly position: number;
  /** Playback rate; 1 is real time. */
  readonly rate: number;
  readonly paused: boolean;
  readonly seeking: boolean;
  /** Enough data is buffered to continue. */
  readonly ready: boolean;
  /** The end of the video is reached. */
  readonly ended: boolean;
}

export type Phase = 'loading' | 'playing' | 'stalled' | 'paused' | 'seeking';

/** Interval of the session in one phase. Each starts where the previous one ends. */
export interface Span {
  readonly phase: Phase;
  readonly start: number;
  readonly end: number;
  /** Positions at start and end; they differ only while playing and seeking. */
  readonly from: number;
  readonly to: number;
  /** The session ended in this phase. */
  readonly open: boolean;
}

/**
 * Standstill of the clock that counts as a stall even without an event (ms). It exceeds the
 * interval at which known players update their position.
 */
const STANDSTILL_MS = 600;

/** Backward step of the clock that may occur when it stops (s). */
const MAX_STEP_BACK_S = 0.1;

/**
 * Time after a start in which the clock may be uneven (ms). A clock that follows the audio output
 * counts samples handed to the sound card, and waits until they are heard.
 */
const CLOCK_SETTLE_MS = 2000;

/** Resolution of the clock (ms): shorter spans are artefacts. */
const CLOCK_RESOLUTION_MS = 1;

export class PhaseTracker {
  readonly #spans: Span[] = [];
  #phase: Phase = 'loading';
  #start: number;
  /** Position at the start of the phase; the target position of a seek. */
  #from = 0;
  /** Position before the seek. */
  #seekOrigin = 0;
  #last: PlayerState | undefined;
  /** While playing: the last state in which the clock had advanced. */
  #advanced: PlayerState | undefined;
  /**
   * While the clock settles: one estimate of the start of playback per state, and its lower bound.
   */
  #settling: { readonly estimates: number[]; readonly earliest: number } | undefined;
  #complete = false;
  #ended = false;

  /** @param start time at which the viewer pressed the button */
  constructor(readonly start: number) {
    this.#start = start;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** True after the end of the video or `close`: further states have no effect. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The video was played to its end. */
  get complete(): boolean {
    return this.#complete;
  }

  /**
   * Returns the session until `at` without gaps. The running phase ends there and is marked open.
   */
  spans(at: number): Span[] {
    // Pauses and seeks are actions of the viewer and count at any length.
    const actions = new Set<Phase>(['seeking', 'paused']);
    const spans = this.#spans.filter(
      ({ phase, start, end }) => actions.has(phase) || end - start >= CLOCK_RESOLUTION_MS,
    );
    if (this.#ended) return spans;
    const end = Math.max(at, this.#start);
    const to = this.#phase === 'playing' ? (this.#advanced?.position ?? this.#from) : this.#from;
    spans.push(this.#span(end, to, true));
    return spans;
  }

  /** Processes a player state. States arrive in the order of their times. */
  update(state: PlayerState): void {
    if (this.#ended) return;
    switch (this.#phase) {
      case 'loading':
        this.#detectStart(state, state.paused || state.seeking);
        break;
      case 'playing':
        this.#detectStop(state);
        break;
      case 'stalled':
        if (state.seeking) this.#startSeek(state, this.#from);
        else if (state.paused && !state.ended) this.#startPhase('paused', state.at, state.position);
        else this.#detectStart(state, !state.ready);
        break;
      case 'paused':
        if (state.seeking) this.#startSeek(state, this.#from);
        else if (!state.paused && !state.ready && !state.ended) this.#startPhase('stalled', state.at, state.position);
        else this.#detectStart(state, state.paused);
        break;
      case 'seeking':
        if (state.paused && !state.seeking) this.#startPhase('paused', state.at, state.position);
        else this.#detectStart(state, state.paused || state.seeking || !state.ready);
        break;
    }
    this.#last = state;
    if (state.ended) this.#finish(state);
  }

  /** Ends the session in its current phase. */
  close(at: number): void {
    if (this.#ended) return;
    this.#spans.splice(0, Infinity, ...this.spans(at));
    this.#ended = true;
  }

  /**
   * Starts playing if the clock has advanced since the last state.
   *
   * @param held the player cannot be playing in this state
   */
  #detectStart(state: PlayerState, held: boolean): void {
    const last = this.#last;
    const advance = last === undefined ? 0 : state.position - this.#from;
    if (held || last === undefined || advance <= 0) {
      // The position may change at a standstill: a video need not start at 0.
      if (advance !== 0 || last === undefined) this.#from = state.position;
      return;
    }
    const estimate = state.at - (advance / state.rate) * 1000;
    const from = this.#from;
    // The clock stood still in the last state.
    const start = clamp(estimate, Math.max(this.#start, last.at), state.at);
    const isFirst = this.#phase === 'loading';
    const earliest = this.#start;
    this.#startPhase('playing', start, from);
    this.#advanced = state;
    this.#settling = isFirst ? undefined : { estimates: [estimate], earliest };
  }

  /** Moves the start of the current phase, and with it the end of the previous one. */
  #moveStart(at: number): void {
    const previous = this.#spans.at(-1);
    if (previous === undefined) return;
    this.#start = Math.max(at, previous.start);
    this.#spans[this.#spans.length - 1] = { ...previous, end: this.#start };
  }

  /** Refines the start of playback to the median of the estimates until the clock has settled. */
  #refineStart(state: PlayerState): void {
    if (this.#settling === undefined) return;
    const { estimates, earliest } = this.#settling;
    estimates.push(state.at - ((state.position - this.#from) / state.rate) * 1000);
    this.#moveStart(clamp(median(estimates), earliest, state.at));
    if (state.at - this.#start > CLOCK_SETTLE_MS) this.#settling = undefined;
  }

  /** Ends playing if the player seeks, pauses or stalls. */
  #detectStop(state: PlayerState): void {
    if (state.ended) return;
    const advanced = this.#advanced ?? state;
    if (state.seeking) {
      // The position is already the target. Until now the clock ran.
      this.#startSeek(state, advanced.position + ((state.at - advanced.at) / 1000) * advanced.rate);
      return;
    }
    const advance = state.position - advanced.position;
    if (advance > 0 || advance < -MAX_STEP_BACK_S) this.#advanced = state;
    const standstill = advance <= 0 && state.at - advanced.at >= STANDSTILL_MS;
    if (!state.paused && state.ready && !standstill) {
      if (advance > 0) this.#refineStart(state);
      return;
    }
    // The clock stopped at this position; extrapolate the time at which it got there.
    const stopped = clamp(advanced.at + (Math.max(advance, 0) / state.rate) * 1000, this.#start, state.at);
    this.#startPhase(state.paused ? 'paused' : 'stalled', stopped, Math.max(state.position, advanced.position));
  }

  #startSeek(state: PlayerState, origin: number): void {
    this.#startPhase('seeking', state.at, origin);
    this.#seekOrigin = origin;
    this.#from = state.position;
  }

  #finish(state: PlayerState): void {
    const advanced = this.#phase === 'playing' ? this.#advanced : undefined;
    const advance = advanced === undefined ? 0 : Math.max(state.position - advanced.position, 0);
    const end = advanced === undefined ? state.at : advanced.at + (advance / state.rate) * 1000;
    this.#endPhase(clamp(end, this.#start, state.at), advanced === undefined ? this.#from : state.position);
    this.#complete = true;
    this.#ended = true;
  }

  /** Ends the current phase at a position and starts the next one there. */
  #startPhase(phase: Phase, at: number, position: number): void {
    this.#endPhase(at, position);
    this.#phase = phase;
    this.#start = Math.max(at, this.#start);
    this.#from = position;
    this.#advanced = undefined;
    this.#settling = undefined;
  }

  #endPhase(at: number, position: number): void {
    const to = this.#phase === 'playing' ? position : this.#from;
    this.#spans.push(this.#span(Math.max(at, this.#start), to, false));
  }

  #span(end: number, to: number, open: boolean): Span {
    const from = this.#phase === 'seeking' ? this.#seekOrigin : this.#from;
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
