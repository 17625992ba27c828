/** Playback of a DASH manifest by dash.js, with CMCD (CTA-5004). */

import {
  type FragmentRequest,
  MediaPlayer,
  type MediaPlayerClass,
  type MediaPlayerSettingClass,
  type Representation,
} from 'dashjs';
import { codecName } from '../measure/p1203.ts';
import type { QualityLevel, ReasonKind } from '../measure/record.ts';
import { GapJumps } from './gap.ts';
import { InFlight } from './in-flight.ts';
import { bufferAhead, mediaError, mediaErrorKind, observeMedia } from './media.ts';
import type { MediaInfo, Playback, PlayerListener, PlayerStatus } from './playback.ts';
import { fromWallClock, readClocks, requestTimes } from './wall-clock.ts';

export interface DashOptions {
  /** Session and content id, for CMCD. */
  readonly sessionId: string;
  readonly contentId: string;
  readonly rule: Rule;
  readonly cmcd: 'query' | 'header' | 'off';
  /** Buffer capacity (s). */
  readonly maxBuffer: number;
}

/** Bitrate rule of dash.js. `dynamic` uses throughput at low and BOLA at high buffer levels. */
export type Rule = 'dynamic' | 'throughput' | 'bola';

/** A request of dash.js, with the members that its type declarations lack. */
type Request = FragmentRequest & { readonly endDate: Date | null; readonly representation?: Representation };

/**
 * Error codes of dash.js that end playback: manifest not loaded (11, 25), not parsed (10, 31),
 * without streams (32) or multiplexed (34); Media Source Extensions (23) or media type (35) not
 * supported.
 */
const FATAL_CODES = new Map<number, ReasonKind>([
  [10, 'manifest'],
  [11, 'network'],
  [23, 'decode'],
  [25, 'network'],
  [31, 'manifest'],
  [32, 'manifest'],
  [34, 'manifest'],
  [35, 'decode'],
]);

/** Error codes of dash.js for a media (27) or initialization segment (28) after its last retry. */
const SEGMENT_CODES: readonly (number | undefined)[] = [27, 28];

/** Buffer with which playback may stand still (s): dash.js's `gaps.threshold`. */
const DRY_BUFFER_S = 0.3;

/** Maximum by which the duration in a manifest may exceed the video (s). */
const EMPTY_REST_S = 0.1;

export class DashPlayback implements Playback {
  readonly kind = 'dash';
  readonly #video: HTMLVideoElement;
  readonly #listener: PlayerListener;
  readonly #player: MediaPlayerClass;
  readonly #stopObserving: () => void;
  /** Video representations of a period in ascending order of bitrate: the first period with the most. */
  #representations: readonly Representation[] = [];
  #segmentDuration: number | null = null;
  readonly #gapJumps = new GapJumps();
  readonly #inFlight = new InFlight();
  /** By media type, the segment that dash.js requested last, and its failure. */
  readonly #requested = new Map<string, { readonly request: Request; failure?: DashError }>();
  /** The manifest claims a rest at the end of the video that does not exist. */
  #isRestEmpty = false;
  /** Representation on the screen, and its level. */
  #shown: { readonly representation: Representation; readonly level: number } | undefined;
  /** Arrival of the last segment, on the clock of `performance.now()`. */
  #lastArrived = 0;
  #stopped = false;

  constructor(video: HTMLVideoElement, url: string, options: DashOptions, listener: PlayerListener) {
    this.#video = video;
    this.#listener = listener;
    this.#player = MediaPlayer().create();
    this.#player.updateSettings(playerSettings(options));
    this.#subscribe();
    video.addEventListener('error', this.#onMediaError);
    this.#stopObserving = observeMedia(
      video,
      listener,
      () => this.#gapJumps.update(video),
      () => video.ended || this.#waitsForEmptyRest(),
    );
    // After `observeMedia`, which reports the stall that may end the session here.
    video.addEventListener('waiting', this.#onWaiting);
    this.#player.initialize(video, url, true);
  }

  #subscribe(): void {
    const events = MediaPlayer.events;
    this.#on(events.STREAM_INITIALIZED, () => this.#representationsOf(null));
    for (const event of [events.FRAGMENT_LOADING_STARTED, events.FRAGMENT_LOADING_PROGRESS])
      this.#on(event, (details) => this.#onFragmentProgress(details as { request: Request }));
    this.#on(events.FRAGMENT_LOADING_COMPLETED, (event) => this.#onFragmentLoaded(event as FragmentLoaded));
    this.#on(events.FRAGMENT_LOADING_ABANDONED, (event) => this.#onFragmentAbandoned(event as { request: Request }));
    this.#on(events.QUALITY_CHANGE_RENDERED, (event) => this.#onQualityRendered(event as QualityRendered));
    this.#on(events.ERROR, (event) => this.#onPlayerError(event as { error: DashError | string }));
    for (const [event, empty] of [
      [events.BUFFER_EMPTY, true],
      [events.BUFFER_LOADED, false],
    ] as const) {
      this.#on(event, (details) => {
        if ((details as { mediaType: string }).mediaType === 'video')
          this.#listener.onBufferEmpty(performance.now(), empty);
      });
    }
  }

  mediaInfo(): MediaInfo {
    const duration = this.#video.duration;
    return {
      duration: Number.isFinite(duration) ? duration : null,
      segmentDuration: this.#segmentDuration,
      levels: this.#representations.map(qualityLevel),
      engine: `dash.js ${this.#player.getVersion()}`,
      extra: {},
    };
  }

  status(): PlayerStatus {
    const kbps = this.#player.getAverageThroughput('video');
    return {
      position: this.#video.currentTime,
      buffer: bufferAhead(this.#video),
      kbps: Number.isFinite(kbps) && kbps > 0 ? kbps : null,
      level: this.#shown?.level ?? null,
      bitrateKbps: this.#shown === undefined ? null : this.#shown.representation.bandwidth / 1000,
      missing: this.#inFlight.missing(),
    };
  }

  stop(): void {
    this.#stopped = true;
    this.#stopObserving();
    this.#video.removeEventListener('error', this.#onMediaError);
    this.#video.removeEventListener('waiting', this.#onWaiting);
    this.#player.destroy();
  }

  readonly #onMediaError = () => {
    this.#reportError(mediaError(this.#video), null, null, mediaErrorKind(this.#video));
  };

  readonly #onWaiting = () => {
    // After a seek dash.js has yet to request the segment at the new position.
    if (!this.#video.seeking) this.#failIfDry();
  };

  #on(event: string, handle: (event: unknown) => void): void {
    this.#player.on(event as never, (details: unknown) => {
      if (!this.#stopped) handle(details);
    });
  }

  /**
   * Returns the video representations of a period in ascending order of bitrate.
   *
   * @param streamId the period; `null` for the active one
   */
  #representationsOf(streamId: string | null): readonly Representation[] {
    const all = this.#player.getRepresentationsByType('video', streamId);
    const ascending = [...all].sort((a, b) => a.bandwidth - b.bandwidth);
    if (ascending.length > this.#representations.length) this.#representations = ascending;
    return ascending;
  }

  /** Returns the level of a video representation in its period; -1 if the period is gone. */
  #levelOf({ id, mediaInfo }: Representation): number {
    return this.#representationsOf(mediaInfo?.streamInfo?.id ?? null).findIndex((other) => other.id === id);
  }

  #onFragmentProgress({ request }: { request: Request }): void {
    const { mediaType } = request;
    if (mediaType === 'video' || mediaType === 'audio') this.#requested.set(mediaType, { request });
    if (request.type === 'MediaSegment') this.#inFlight.update(request);
  }

  #onFragmentLoaded({ request, error }: FragmentLoaded): void {
    this.#inFlight.remove(request);
    // `onPlayerError` has reported the error.
    if (error != null || request.type !== 'MediaSegment') return;
    if (request.mediaType === 'audio') this.#onAudioLoaded(request);
    const { representation } = request;
    if (request.mediaType !== 'video' || representation === undefined) return;
    const level = this.#levelOf(representation);
    if (level < 0) return;
    this.#segmentDuration = Math.max(this.#segmentDuration ?? 0, request.duration);
    const times = requestTimes(request, this.#lastArrived, readClocks());
    this.#lastArrived = times.arrived;
    const end = request.startTime + request.duration;
    const ahead = bufferAhead(this.#video);
    const isContiguous = Math.abs(this.#video.currentTime + ahead - request.startTime) < 0.1;
    this.#listener.onSegment({
      segment: request.index,
      level,
      quality: qualityLevel(representation),
      bitrateKbps: representation.bandwidth / 1000,
      bytes: request.bytesTotal || request.bytesLoaded,
      position: request.startTime,
      duration: request.duration,
      ...times,
      // The element's buffer does not include the segment yet. A segment that does not start at
      // the end of the buffer does not extend it.
      buffer: isContiguous || ahead === 0 ? Math.max(end - this.#video.currentTime, 0) : ahead,
    });
  }

  #onAudioLoaded(request: Request): void {
    const representation = request.representation;
    const codec = codecName(representation?.codecs ?? '');
    if (representation !== undefined && codec !== null)
      this.#listener.onAudioSegment({
        position: request.startTime,
        duration: request.duration,
        bitrateKbps: representation.bandwidth / 1000,
        arrived: performance.now(),
        codec,
      });
  }

  #onFragmentAbandoned({ request }: { request: Request }): void {
    this.#inFlight.remove(request);
    const { representation } = request;
    if (request.type !== 'MediaSegment' || request.mediaType !== 'video' || representation === undefined) return;
    const level = this.#levelOf(representation);
    if (level < 0) return;
    const now = readClocks();
    this.#listener.onAbandoned({
      segment: request.index,
      level,
      bytes: request.bytesLoaded || 0,
      asked: fromWallClock(request.startDate, now),
      at: now.monotonic,
    });
  }

  #onQualityRendered({ mediaType, newRepresentation }: QualityRendered): void {
    if (mediaType !== 'video') return;
    const level = this.#levelOf(newRepresentation);
    if (level >= 0) this.#shown = { representation: newRepresentation, level };
  }

  #onPlayerError({ error }: { error: DashError | string }): void {
    if (typeof error === 'string') {
      this.#reportError(error, null, null, 'other');
      return;
    }
    this.#reportDashError(error, FATAL_CODES.get(error.code ?? 0) ?? null);
    const request = error.data?.request;
    const requested = this.#requested.get(request?.mediaType ?? '');
    // dash.js plays on without the segment index of a level.
    if (!SEGMENT_CODES.includes(error.code) || requested === undefined || requested.request !== request) return;
    if (requested.request.startTime > this.#video.duration - EMPTY_REST_S) {
      this.#isRestEmpty = true;
      return;
    }
    requested.failure = error;
    // dash.js now asks another server if the manifest names one.
    setTimeout(() => this.#failIfDry());
  }

  /** Ends playback if it has reached a lost segment. */
  #failIfDry(): void {
    const lost = [...this.#requested.values()].find(({ failure }) => failure !== undefined);
    if (lost?.failure !== undefined && bufferAhead(this.#video) < DRY_BUFFER_S)
      this.#reportDashError(lost.failure, 'network');
  }

  #waitsForEmptyRest(): boolean {
    const { currentTime, duration, readyState } = this.#video;
    const isNearEnd = duration - currentTime < EMPTY_REST_S + DRY_BUFFER_S;
    return this.#isRestEmpty && isNearEnd && readyState < HTMLMediaElement.HAVE_FUTURE_DATA;
  }

  #reportDashError({ message, data }: DashError, kind: ReasonKind | null): void {
    const status = data?.response?.status ?? null;
    const isHttp = kind === 'network' && status !== null && status >= 100;
    const text = message?.replace(/[?&]CMCD=[^& ]*/, '') ?? 'unknown error';
    // Requests other than of media segments have the index NaN.
    const index = data?.request?.index ?? Number.NaN;
    this.#reportError(text, Number.isNaN(index) ? null : index, status, isHttp ? 'http' : kind);
  }

  /** @param kind kind of a fatal error; `null` if playback continues */
  #reportError(message: string, segment: number | null, status: number | null, kind: ReasonKind | null): void {
    if (this.#stopped) return;
    const error = { at: performance.now(), message, segment, status, fatal: kind !== null };
    this.#listener.onError(kind === null ? error : { ...error, kind });
  }
}

interface FragmentLoaded {
  readonly request: Request;
  readonly error?: unknown;
}

interface DashError {
  readonly code?: number;
  readonly message?: string;
  readonly data?: { readonly request?: Partial<Request>; readonly response?: { readonly status?: number } };
}

interface QualityRendered {
  readonly mediaType: string;
  readonly newRepresentation: Representation;
}

function playerSettings(options: DashOptions): MediaPlayerSettingClass {
  return {
    streaming: {
      abr: {
        rules: {
          throughputRule: { active: options.rule !== 'bola' },
          bolaRule: { active: options.rule !== 'throughput' },
        },
      },
      buffer: {
        bufferTimeDefault: options.maxBuffer,
        bufferTimeAtTopQuality: options.maxBuffer,
        bufferTimeAtTopQualityLongForm: options.maxBuffer,
      },
      cmcd: {
        enabled: options.cmcd !== 'off',
        sid: options.sessionId,
        cid: options.contentId,
        mode: options.cmcd === 'header' ? 'header' : 'query',
      },
      // Do not restore the bitrate and the track settings that an earlier session stored.
      lastBitrateCachingInfo: { enabled: false },
      lastMediaSettingsCachingInfo: { enabled: false },
    },
  };
}

function qualityLevel(representation: Representation): QualityLevel {
  const { bandwidth, codecs, frameRate, width, height } = representation;
  return {
    bitrate_kbps: bandwidth / 1000,
    codec: codecName(codecs?.match(/codecs="([^"]*)"/)?.[1] ?? codecs ?? ''),
    fps: frameRate > 0 ? frameRate : null,
    width: width > 0 ? width : null,
    height: height > 0 ? height : null,
  };
}
