/** What every kind of video tells the session that measures it, and what it is asked for. */

import type { Look } from '../measure/meter.ts';
import type { Picture } from '../measure/pictures.ts';
import type { Quality, Told } from '../measure/record.ts';

/** Where a playback tells what happens. Times are milliseconds of `performance.now()`. */
export interface Listener {
  /** The player's clock, whenever it may have changed. */
  look(look: Look): void;
  /** A picture was on the screen. Not every player says so, and none of each. */
  picture(picture: Picture): void;
  /** The page came into view or went out of it: pictures that are shown meanwhile are not told. */
  blink(): void;
  /** The player has no pictures to show next, or has some again. */
  dry(at: number, dry: boolean): void;
  segment(segment: Told['segments'][number]): void;
  abandoned(abandoned: Told['abandoned'][number]): void;
  audio(audio: Told['audio'][number]): void;
  switched(change: Told['switches'][number]): void;
  failed(failure: Told['failures'][number]): void;
}

/** What is known of the video; each of it may become known late or never. */
export interface Facts {
  readonly duration: number | null;
  readonly segmentDuration: number | null;
  /** From the lowest to the highest. */
  readonly levels: readonly Quality[];
  /** What plays, with its version. */
  readonly engine: string | null;
  readonly extra: { readonly [name: string]: unknown };
}

/** What a player shows at a moment. */
export interface Status {
  readonly position: number;
  /** How much is there to play on from here (s). */
  readonly buffer: number;
  /** What the player believes that the network carries. */
  readonly kbps: number | null;
  /** Which of the levels is on the screen, and its bitrate. */
  readonly level: number | null;
  readonly bitrateKbps: number | null;
}

export interface Playback {
  readonly kind: 'dash' | 'file' | 'youtube';
  facts(): Facts;
  status(): Status;
  /** Lets go of the network and the screen. Nothing is told after that. */
  stop(): void;
}
