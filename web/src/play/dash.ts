/** A DASH manifest, by dash.js: the reference player, with CMCD (CTA-5004) and the rules of the field. */

import { type FragmentRequest, MediaPlayer, type MediaPlayerClass, type Representation } from 'dashjs';
import { codecName } from '../measure/p1203.ts';
import type { Quality } from '../measure/record.ts';
import { bufferAhead, mediaError, watch } from './media.ts';
import type { Facts, Listener, Playback, Status } from './playback.ts';

export interface DashOptions {
  /** The session's id and the video's name, for CMCD. */
  readonly sessionId: string;
  readonly contentId: string;
  readonly rule: Rule;
  readonly cmcd: 'query' | 'header' | 'off';
  /** How much the buffer holds (s). */
  readonly maxBuffer: number;
}

/** dash.js's rules: by throughput with an empty buffer and BOLA with a full one, or one of the two alone. */
export type Rule = 'dynamic' | 'throughput' | 'bola';

/** What dash.js tells of a request and its types do not. */
type Request = FragmentRequest & { readonly endDate: Date | null; readonly representation?: Representation };

/** dash.js's codes of errors after which nothing comes: no manifest, none that can be played, no way to play. */
const FATAL = new Set([10, 11, 23, 25, 31, 32, 34, 35]);

export class DashPlayback implements Playback {
  readonly kind = 'dash';
  readonly #video: HTMLVideoElement;
  readonly #listener: Listener;
  readonly #player: MediaPlayerClass;
  readonly #stopWatching: () => void;
  #representations: Representation[] = [];
  #segmentDuration: number | null = null;
  #internalSeek = false;
  #level: number | null = null;
  #stopped = false;

  constructor(video: HTMLVideoElement, url: string, options: DashOptions, listener: Listener) {
    this.#video = video;
    this.#listener = listener;
    this.#player = MediaPlayer().create();
    this.#player.updateSettings({
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
        // What an earlier session found out is no part of this one.
        lastBitrateCachingInfo: { enabled: false },
        lastMediaSettingsCachingInfo: { enabled: false },
      },
    });
    const events = MediaPlayer.events;
    this.#on(events.STREAM_INITIALIZED, () => this.#readLevels());
    this.#on(events.FRAGMENT_LOADING_COMPLETED, (event) =>
      this.#fetched(event as { request: Request; error?: Problem | null }),
    );
    this.#on(events.FRAGMENT_LOADING_ABANDONED, (event) => this.#abandoned(event as { request: Request }));
    this.#on(events.QUALITY_CHANGE_RENDERED, (event) => this.#rendered(event as Rendered));
    this.#on(events.ERROR, (event) => this.#failed(event as { error: Problem | string }));
    for (const [event, dry] of [
      [events.BUFFER_EMPTY, true],
      [events.BUFFER_LOADED, false],
    ] as const) {
      this.#on(event, (told) => {
        if ((told as { mediaType: string }).mediaType === 'video') listener.dry(performance.now(), dry);
      });
    }
    this.#on('gapCausedInternalSeek', () => {
      this.#internalSeek = true;
    });
    video.addEventListener('seeked', this.#seeked);
    video.addEventListener('error', this.#broken);
    this.#stopWatching = watch(video, listener, () => this.#internalSeek);
    this.#player.initialize(video, url, true);
  }

  facts(): Facts {
    const duration = this.#video.duration;
    return {
      duration: Number.isFinite(duration) ? duration : null,
      segmentDuration: this.#segmentDuration,
      levels: this.#representations.map(quality),
      engine: `dash.js ${this.#player.getVersion()}`,
      extra: {},
    };
  }

  status(): Status {
    const kbps = this.#player.getAverageThroughput('video');
    return {
      position: this.#video.currentTime,
      buffer: bufferAhead(this.#video),
      kbps: Number.isFinite(kbps) && kbps > 0 ? kbps : null,
      level: this.#level,
      bitrateKbps: this.#level === null ? null : (this.#representations[this.#level]?.bandwidth ?? 0) / 1000,
    };
  }

  stop(): void {
    this.#stopped = true;
    this.#stopWatching();
    this.#video.removeEventListener('seeked', this.#seeked);
    this.#video.removeEventListener('error', this.#broken);
    this.#player.destroy();
  }

  readonly #seeked = () => {
    this.#internalSeek = false;
  };

  readonly #broken = () => {
    this.#tellFailure(mediaError(this.#video), null, null, true);
  };

  #on(event: string, handle: (event: unknown) => void): void {
    this.#player.on(event as never, (told: unknown) => {
      if (!this.#stopped) handle(told);
    });
  }

  #readLevels(): void {
    const all = this.#player.getRepresentationsByType('video');
    this.#representations = [...all].sort((a, b) => a.bandwidth - b.bandwidth);
  }

  #levelOf(request: Request): number {
    return this.#representations.findIndex(({ id }) => id === (request.representation?.id ?? request.representationId));
  }

  #fetched({ request, error }: { request: Request; error?: Problem | null }): void {
    if (error != null) {
      this.#tellFailure(
        error.message ?? 'a request failed',
        request.index,
        error.data?.response?.status ?? null,
        false,
      );
      return;
    }
    if (request.type !== 'MediaSegment') return;
    if (request.mediaType === 'audio') this.#fetchedAudio(request);
    if (request.mediaType !== 'video') return;
    if (this.#representations.length === 0) this.#readLevels();
    const level = this.#levelOf(request);
    const representation = this.#representations[level];
    if (representation === undefined) return;
    this.#segmentDuration = Math.max(this.#segmentDuration ?? 0, request.duration);
    const asked = since(request.startDate);
    const arrived = since(request.endDate ?? new Date());
    const end = request.startTime + request.duration;
    const there = bufferAhead(this.#video);
    const joins = Math.abs(this.#video.currentTime + there - request.startTime) < 0.1;
    this.#listener.segment({
      segment: request.index,
      level,
      bitrateKbps: representation.bandwidth / 1000,
      bytes: request.bytesTotal || request.bytesLoaded,
      position: request.startTime,
      duration: request.duration,
      asked,
      firstByte: Math.min(since(request.firstByteDate ?? request.startDate), arrived),
      arrived,
      // It is not in the element's buffer yet.
      buffer: joins || there === 0 ? Math.max(end - this.#video.currentTime, 0) : there,
    });
  }

  #fetchedAudio(request: Request): void {
    const representation = request.representation;
    const codec = codecName(representation?.codecs ?? '');
    if (representation !== undefined && codec !== null)
      this.#listener.audio({ duration: request.duration, bitrateKbps: representation.bandwidth / 1000, codec });
  }

  #abandoned({ request }: { request: Request }): void {
    const level = this.#levelOf(request);
    if (request.mediaType !== 'video' || level < 0) return;
    this.#listener.abandoned({
      segment: request.index,
      level,
      bytes: request.bytesLoaded || 0,
      asked: since(request.startDate),
      at: performance.now(),
    });
  }

  #rendered({ mediaType, newRepresentation }: Rendered): void {
    if (mediaType !== 'video') return;
    const level = this.#representations.findIndex(({ id }) => id === newRepresentation.id);
    if (level >= 0) this.#level = level;
  }

  #failed({ error }: { error: Problem | string }): void {
    if (typeof error === 'string') this.#tellFailure(error, null, null, true);
    else this.#tellFailure(error.message ?? 'unknown', null, null, FATAL.has(error.code ?? 0));
  }

  #tellFailure(message: string, segment: number | null, status: number | null, fatal: boolean): void {
    if (!this.#stopped) this.#listener.failed({ at: performance.now(), message, segment, status, fatal });
  }
}

interface Problem {
  readonly code?: number;
  readonly message?: string;
  readonly data?: { readonly response?: { readonly status?: number } };
}

interface Rendered {
  readonly mediaType: string;
  readonly newRepresentation: Representation;
}

function quality(representation: Representation): Quality {
  const { bandwidth, codecs, frameRate, width, height } = representation;
  return {
    bitrate_kbps: bandwidth / 1000,
    codec: codecName(codecs?.match(/codecs="([^"]*)"/)?.[1] ?? codecs ?? ''),
    fps: frameRate > 0 ? frameRate : null,
    width: width > 0 ? width : null,
    height: height > 0 ? height : null,
  };
}

/** dash.js takes its times from the wall clock. */
function since(date: Date): number {
  return date.getTime() - performance.timeOrigin;
}
