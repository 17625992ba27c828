/** The current session: collects the reports of a player and builds the session record. */

import type { Playback, PlayerListener } from '../play/playback.ts';
import { type Frame, FrameTracker } from './frame-tracker.ts';
import { type P1203, sessionToP1203 } from './p1203.ts';
import { type Phase, PhaseTracker, type PlayerState, type Span } from './phase-tracker.ts';
import {
  type AbandonedRequest,
  type AudioSegment,
  type BufferSample,
  buildRecord,
  type Display,
  type LoadedSegment,
  type PlayerError,
  type QualitySwitch,
  type Session,
  type SessionHeader,
} from './record.ts';
import { shorten } from './text.ts';

/** Description of a session before playback. */
export type SessionOptions = Pick<SessionHeader, 'id' | 'label' | 'settings' | 'versions' | 'rule' | 'viewing'> & {
  readonly url: string;
  readonly contentId: string;
  readonly title: string | null;
  readonly version: string;
};

/** Sample of the player's status. Times are milliseconds of `performance.now()`. */
export type StatusSample = BufferSample & { readonly bitrateKbps: number | null };

/**
 * Initial sampling interval (ms). It doubles, and half of the samples go, at the maximum number.
 */
const SAMPLE_INTERVAL_MS = 500;
const MAX_SAMPLES = 4000;

export class LiveSession implements PlayerListener {
  readonly start: number;
  readonly #startedAt: string;
  #options: SessionOptions;
  readonly #phases: PhaseTracker;
  readonly #frames = new FrameTracker();
  readonly #log = {
    segments: [] as LoadedSegment[],
    abandoned: [] as AbandonedRequest[],
    audio: [] as AudioSegment[],
    switches: [] as QualitySwitch[],
    errors: [] as PlayerError[],
  };
  readonly #onChange: () => void;
  #samples: StatusSample[] = [];
  #sampleIntervalMs = SAMPLE_INTERVAL_MS;
  #playback: Playback | undefined;
  /** The record of the ended session. */
  #final: Session | undefined;

  /**
   * @param start time at which the viewer pressed the button, in milliseconds of
   *   `performance.now()`
   * @param onChange called on each change of phase and at the end of the session
   */
  constructor(options: SessionOptions, start: number, onChange: () => void) {
    this.#options = options;
    this.start = start;
    // `performance.timeOrigin` is no base: the wall clock may have been set, or the device suspended, since.
    this.#startedAt = new Date(Date.now() - (performance.now() - start)).toISOString();
    this.#phases = new PhaseTracker(start);
    this.#onChange = onChange;
  }

  /** Sets the playback that `sample` reads; before that, no samples are taken. */
  attach(playback: Playback): void {
    this.#playback = playback;
  }

  get id(): string {
    return this.#options.id;
  }

  /** Gives the session another id, before its record is final. */
  rename(id: string): void {
    this.#options = { ...this.#options, id };
  }

  get ended(): boolean {
    return this.#phases.ended;
  }

  get complete(): boolean {
    return this.#phases.complete;
  }

  /** Current phase, corrected by the frames presented. */
  get phase(): Phase {
    return this.spans().at(-1)?.phase ?? 'loading';
  }

  get samples(): readonly StatusSample[] {
    return this.#samples;
  }

  /** Returns the session until now, corrected by the frames presented. */
  spans(): Span[] {
    return this.#frames.correct(this.#phases.spans(performance.now()));
  }

  onState(state: PlayerState): void {
    const { phase, ended } = this.#phases;
    this.#phases.update(state);
    if (this.#phases.phase !== phase || this.#phases.ended !== ended) {
      this.sample(true);
      this.#onChange();
    }
  }

  onFrame(frame: Frame): void {
    if (!this.ended) this.#frames.add(frame);
  }

  onVisibilityChange(): void {
    this.#frames.restart();
  }

  onBufferEmpty(at: number, empty: boolean): void {
    if (!this.ended) this.#frames.setBufferEmpty(at, empty);
  }

  onSegment(segment: LoadedSegment): void {
    if (!this.ended) this.#log.segments.push(segment);
  }

  onAbandoned(request: AbandonedRequest): void {
    if (!this.ended) this.#log.abandoned.push(request);
  }

  onAudioSegment(segment: AudioSegment): void {
    if (!this.ended) this.#log.audio.push(segment);
  }

  onQualitySwitch(change: QualitySwitch): void {
    if (!this.ended) this.#log.switches.push(change);
  }

  onError(error: PlayerError): void {
    if (this.ended) return;
    this.#log.errors.push(error);
    if (error.fatal) this.close();
  }

  /** Message of the error that ended the session. */
  get fatalError(): string | undefined {
    return this.#log.errors.findLast(({ fatal }) => fatal)?.message;
  }

  /** Samples the player's status if the interval has elapsed, or at once if `now` is set. */
  sample(now = false): void {
    const at = performance.now();
    const last = this.#samples.at(-1);
    if (this.#playback === undefined || this.#final !== undefined) return;
    if (last !== undefined && at - last.at < (now ? 1 : this.#sampleIntervalMs)) return;
    const { position, buffer, kbps, level, bitrateKbps } = this.#playback.status();
    this.#samples.push({ at, position, buffer, kbps, level, bitrateKbps });
    if (this.#samples.length > MAX_SAMPLES) {
      this.#samples = this.#samples.filter((_, index) => index % 2 === 0);
      this.#sampleIntervalMs *= 2;
    }
  }

  /** Ends the session in its current phase. */
  close(): void {
    if (this.#phases.ended) return;
    this.sample(true);
    this.#phases.close(performance.now());
    this.#onChange();
  }

  /** Returns the record; a running session is recorded as if it ended now. */
  record(): Session {
    if (this.#final !== undefined) return this.#final;
    const { ended, complete } = this.#phases;
    const log = { ...this.#log, samples: this.#samples };
    const session = buildRecord(this.#header(), this.start, this.spans(), complete, log);
    if (ended) this.#final = session;
    return session;
  }

  /** Returns the input of P.1203, or `null` if the player reports too little. */
  p1203(): P1203 | null {
    return sessionToP1203(this.record(), this.spans(), this.#log.segments);
  }

  #header(): SessionHeader {
    const { id, label, settings, versions, rule, viewing, url, contentId, title, version } = this.#options;
    const media = this.#playback?.mediaInfo();
    return {
      id,
      started_at: this.#startedAt,
      player: {
        name: 'tandem-web',
        version,
        engine: media?.engine ?? null,
        user_agent: shorten(navigator.userAgent, 512),
      },
      video: {
        url,
        kind: this.#playback?.kind ?? 'file',
        content_id: contentId,
        title,
        duration_s: media?.duration ?? null,
        segment_duration_s: media?.segmentDuration ?? null,
        levels: media?.levels ?? [],
      },
      settings,
      viewing,
      label,
      device: deviceName(),
      zone: timeZone(),
      versions,
      rule,
      extra: media?.extra ?? {},
    };
  }
}

/** Returns the platform and kind of the device, such as `Android phone`; `null` if unknown. */
function deviceName(): string | null {
  const { userAgentData } = navigator as { userAgentData?: { readonly platform?: string; readonly mobile?: boolean } };
  const platform = userAgentData?.platform ?? /\(([^;)]*)/.exec(navigator.userAgent)?.[1] ?? '';
  const kind = (userAgentData?.mobile ?? currentDisplay().handheld) ? 'phone' : '';
  return shorten([platform, kind].filter(Boolean).join(' '), 128) || null;
}

/** Returns the device's time zone, such as `Europe/Berlin`. */
function timeZone(): string | null {
  return Intl.DateTimeFormat().resolvedOptions().timeZone?.slice(0, 64) ?? null;
}

/** Returns the viewer's display, with the viewing distance of the tests in P.1203. */
export function currentDisplay(): Display {
  const handheld = matchMedia('(pointer: coarse)').matches && Math.min(screen.width, screen.height) < 600;
  const pixels = (css: number) => Math.max(1, Math.round(css * devicePixelRatio));
  return { handheld, width: pixels(screen.width), height: pixels(screen.height), distance_cm: handheld ? 40 : 150 };
}
