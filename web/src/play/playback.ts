/** Interface between the players of each kind of video and the session that measures them. */

import type { Frame } from '../measure/frame-tracker.ts';
import type { PlayerState } from '../measure/phase-tracker.ts';
import type {
  AbandonedRequest,
  AudioSegment,
  LoadedSegment,
  PlayerError,
  QualityLevel,
  QualitySwitch,
} from '../measure/record.ts';

/** Receiver of a player's reports. Times are milliseconds of `performance.now()`. */
export interface PlayerListener {
  /** Called whenever the player's state may have changed. */
  onState(state: PlayerState): void;
  /** Called for some of the frames presented, by players that report frames. */
  onFrame(frame: Frame): void;
  /** Called when the page is hidden or shown; a hidden page gets no frame reports. */
  onVisibilityChange(): void;
  /** Called when the video buffer runs empty (`empty`) or is refilled. */
  onBufferEmpty(at: number, empty: boolean): void;
  onSegment(segment: LoadedSegment): void;
  onAbandoned(request: AbandonedRequest): void;
  onAudioSegment(segment: AudioSegment): void;
  onQualitySwitch(change: QualitySwitch): void;
  onError(error: PlayerError): void;
}

/** Description of the video. Any member may become known late or never. */
export interface MediaInfo {
  readonly duration: number | null;
  readonly segmentDuration: number | null;
  /** In ascending order of bitrate. */
  readonly levels: readonly QualityLevel[];
  /** Name and version of the playback engine. */
  readonly engine: string | null;
  readonly extra: { readonly [name: string]: unknown };
}

/** Current status of a player. */
export interface PlayerStatus {
  readonly position: number;
  /** Buffer level (s). */
  readonly buffer: number;
  /** The player's throughput estimate. */
  readonly kbps: number | null;
  /** Index of the level on the screen, and its bitrate. */
  readonly level: number | null;
  readonly bitrateKbps: number | null;
  /** Bytes of the requested segments that have not arrived; `null` if unknown. */
  readonly missing: number | null;
}

export interface Playback {
  readonly kind: 'dash' | 'file' | 'youtube';
  mediaInfo(): MediaInfo;
  status(): PlayerStatus;
  /** Stops loading and removes the video. No report follows. */
  stop(): void;
}
