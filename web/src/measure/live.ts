/** A session while it goes on: what the player tells is measured, sampled and kept. */

import type { Listener, Playback } from '../play/playback.ts';
import { type Look, Meter, type Phase, type Span } from './meter.ts';
import { type P1203, p1203Of } from './p1203.ts';
import { type Picture, Pictures } from './pictures.ts';
import { type Display, type Head, record, type Session, type Told } from './record.ts';

/** What is known of a session before anything is played. */
export type Given = Pick<Head, 'id' | 'label' | 'settings' | 'versions' | 'rule' | 'viewing'> & {
  readonly url: string;
  readonly contentId: string;
  readonly title: string | null;
  readonly version: string;
};

/** A sample of the player's state. Times are milliseconds of `performance.now()`. */
export type Sampled = Told['samples'][number] & { readonly bitrateKbps: number | null };

/** How often the player's state is sampled (ms), and how many samples are kept before every second goes. */
const SAMPLE_MS = 500;
const MOST_SAMPLES = 4000;

export class LiveSession implements Listener {
  readonly start: number;
  readonly #given: Given;
  readonly #meter: Meter;
  readonly #pictures = new Pictures();
  readonly #told = {
    segments: [] as Told['segments'][number][],
    abandoned: [] as Told['abandoned'][number][],
    audio: [] as Told['audio'][number][],
    switches: [] as Told['switches'][number][],
    failures: [] as Told['failures'][number][],
  };
  readonly #changed: () => void;
  #samples: Sampled[] = [];
  #every = SAMPLE_MS;
  #playback: Playback | undefined;
  #last: Session | undefined;

  /**
   * @param start when the viewer pressed the button, in milliseconds of `performance.now()`
   * @param changed is called when the session goes from one phase to another, and when it is over
   */
  constructor(given: Given, start: number, changed: () => void) {
    this.#given = given;
    this.start = start;
    this.#meter = new Meter(start);
    this.#changed = changed;
  }

  /** What plays it. Until this is said there is nothing to sample. */
  attach(playback: Playback): void {
    this.#playback = playback;
  }

  get id(): string {
    return this.#given.id;
  }

  get over(): boolean {
    return this.#meter.over;
  }

  get complete(): boolean {
    return this.#meter.complete;
  }

  /** What it is now, as the viewer sees it. */
  get phase(): Phase {
    return this.spans().at(-1)?.phase ?? 'loading';
  }

  get samples(): readonly Sampled[] {
    return this.#samples;
  }

  /** All of it until now, as the viewer saw it. */
  spans(): Span[] {
    return this.#pictures.seen(this.#meter.spans(performance.now()));
  }

  look(look: Look): void {
    const { phase, over } = this.#meter;
    this.#meter.look(look);
    if (this.#meter.phase !== phase || this.#meter.over !== over) {
      this.sample(true);
      this.#changed();
    }
  }

  picture(picture: Picture): void {
    if (!this.over) this.#pictures.show(picture);
  }

  blink(): void {
    this.#pictures.blink();
  }

  dry(at: number, dry: boolean): void {
    if (!this.over) this.#pictures.dry(at, dry);
  }

  segment(segment: Told['segments'][number]): void {
    if (!this.over) this.#told.segments.push(segment);
  }

  abandoned(abandoned: Told['abandoned'][number]): void {
    if (!this.over) this.#told.abandoned.push(abandoned);
  }

  audio(audio: Told['audio'][number]): void {
    if (!this.over) this.#told.audio.push(audio);
  }

  switched(change: Told['switches'][number]): void {
    if (!this.over) this.#told.switches.push(change);
  }

  failed(failure: Told['failures'][number]): void {
    if (this.over) return;
    this.#told.failures.push(failure);
    if (failure.fatal) this.close();
  }

  /** Why it ended, where something went wrong. */
  get failure(): string | undefined {
    return this.#told.failures.findLast(({ fatal }) => fatal)?.message;
  }

  /** Notes the player's state, if it is time to or `now` says so. */
  sample(now = false): void {
    const at = performance.now();
    const before = this.#samples.at(-1);
    if (this.#playback === undefined || this.#last !== undefined) return;
    if (before !== undefined && at - before.at < (now ? 1 : this.#every)) return;
    const { position, buffer, kbps, level, bitrateKbps } = this.#playback.status();
    this.#samples.push({ at, position, buffer, kbps, level, bitrateKbps });
    if (this.#samples.length > MOST_SAMPLES) {
      this.#samples = this.#samples.filter((_, index) => index % 2 === 0);
      this.#every *= 2;
    }
  }

  /** Ends it now, in whatever it is. */
  close(): void {
    if (this.#meter.over) return;
    this.sample(true);
    this.#meter.close(performance.now());
    this.#changed();
  }

  /** The record, as if it ended now where it has not. */
  record(): Session {
    if (this.#last !== undefined) return this.#last;
    const { over, complete } = this.#meter;
    const told = { ...this.#told, samples: this.#samples };
    const session = record(this.#head(), this.start, this.spans(), complete, told);
    if (over) this.#last = session;
    return session;
  }

  /** As P.1203's input; `null` where the player does not tell enough. */
  p1203(): P1203 | null {
    return p1203Of(this.record(), this.spans(), this.#told.segments);
  }

  #head(): Head {
    const { id, label, settings, versions, rule, viewing, url, contentId, title, version } = this.#given;
    const facts = this.#playback?.facts();
    return {
      id,
      started_at: new Date(performance.timeOrigin + this.start).toISOString(),
      player: {
        name: 'tandem-web',
        version,
        engine: facts?.engine ?? null,
        user_agent: navigator.userAgent.slice(0, 512),
      },
      video: {
        url,
        kind: this.#playback?.kind ?? 'file',
        content_id: contentId,
        title,
        duration_s: facts?.duration ?? null,
        segment_duration_s: facts?.segmentDuration ?? null,
        levels: facts?.levels ?? [],
      },
      settings,
      viewing,
      label,
      versions,
      rule,
      extra: facts?.extra ?? {},
    };
  }
}

/** The screen that this page is on. The eyes are assumed to be as far away as the standard's tests have them. */
export function display(): Display {
  const handheld = matchMedia('(pointer: coarse)').matches && Math.min(screen.width, screen.height) < 600;
  const pixels = (css: number) => Math.max(1, Math.round(css * devicePixelRatio));
  return { handheld, width: pixels(screen.width), height: pixels(screen.height), distance_cm: handheld ? 40 : 150 };
}
