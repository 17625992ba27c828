/**
 * Playback of a YouTube video by the IFrame Player API
 * (developers.google.com/youtube/iframe_api_reference).
 *
 * The API reports player states, but no media events, bitrates, sizes or network times. So a
 * session has stalls, pauses, seeks and quality switches, and no segments.
 */

import type { PlayerState } from '../measure/phase-tracker.ts';
import type { MediaInfo, Playback, PlayerListener, PlayerStatus } from './playback.ts';

export interface YouTubeOptions {
  readonly muted: boolean;
}

/** The part of the API's player in use. */
interface Player {
  playVideo(): void;
  mute(): void;
  getCurrentTime(): number;
  getDuration(): number;
  getVideoLoadedFraction(): number;
  getPlaybackRate(): number;
  getPlaybackQuality(): string;
  getAvailableQualityLevels?(): readonly string[];
  destroy(): void;
}

interface PlayerOptions {
  readonly videoId: string;
  readonly width: string;
  readonly height: string;
  readonly playerVars: { readonly [name: string]: string | number };
  readonly events: {
    readonly onReady: () => void;
    readonly onStateChange: (event: { readonly data: number }) => void;
    readonly onPlaybackQualityChange: (event: { readonly data: string }) => void;
    readonly onError: (event: { readonly data: number }) => void;
  };
}

interface Api {
  readonly Player: new (element: HTMLElement, options: PlayerOptions) => Player;
}

declare global {
  interface Window {
    YT?: Api;
    onYouTubeIframeAPIReady?: () => void;
  }
}

const STATE = { unstarted: -1, ended: 0, playing: 1, paused: 2, buffering: 3, cued: 5 } as const;

/**
 * Quality names of the API in ascending order. A level of a session is an index into this list.
 */
export const QUALITIES = ['tiny', 'small', 'medium', 'large', 'hd720', 'hd1080', 'hd1440', 'hd2160', 'highres'];

/** Lines of the picture of each quality. */
const LINES = ['144p', '240p', '360p', '480p', '720p', '1080p', '1440p', '2160p', 'above 2160p'];

const ERRORS: { readonly [code: number]: string } = {
  2: 'invalid video id',
  5: 'video not playable in this browser',
  100: 'video not found or private',
  101: 'embedding disabled by the owner of the video',
  150: 'embedding disabled by the owner of the video',
  153: 'the browser sends no referrer, which YouTube requires',
};

const API_URL = 'https://www.youtube.com/iframe_api';

const POLL_INTERVAL_MS = 50;

/** Minimum difference from the expected position that indicates a seek (s). */
const MIN_SEEK_S = 1;

/** Time for which states are held back while buffering may turn out to be a seek (ms). */
const MAX_HOLD_MS = 400;

export class YouTubePlayback implements Playback {
  readonly kind = 'youtube';
  readonly #listener: PlayerListener;
  readonly #mount: HTMLElement;
  #player: Player | undefined;
  #ready = false;
  #timer = 0;
  #state: number = STATE.unstarted;
  #started = false;
  #stopped = false;
  #seeking = false;
  #quality: number | null = null;
  /** Last reported state, for the detection of seeks. */
  #last: PlayerState | undefined;
  /** States held back since buffering began, until its cause is known. */
  #held: PlayerState[] | undefined;
  /** Buffering is a stall, not a seek. */
  #isStall = false;

  constructor(mount: HTMLElement, id: string, options: YouTubeOptions, listener: PlayerListener) {
    this.#mount = mount;
    this.#listener = listener;
    loadApi().then(
      (api) => this.#create(api, id, options.muted),
      (error: unknown) => this.#reportError(error instanceof Error ? error.message : String(error)),
    );
  }

  mediaInfo(): MediaInfo {
    const duration = this.#ready ? (this.#player?.getDuration() ?? 0) : 0;
    return {
      duration: duration > 0 ? duration : null,
      segmentDuration: null,
      levels: [],
      engine: 'YouTube IFrame Player API',
      extra: { youtube_qualities: QUALITIES },
    };
  }

  status(): PlayerStatus {
    const player = this.#ready ? this.#player : undefined;
    const position = player?.getCurrentTime() ?? 0;
    const loaded = (player?.getVideoLoadedFraction() ?? 0) * (player?.getDuration() ?? 0);
    const buffer = Math.max(loaded - position, 0);
    return { position, buffer, kbps: null, level: this.#quality, bitrateKbps: null, missing: null };
  }

  /**
   * Describes the size on the screen and the offered ones. The API only reports them: since October
   * 2019 its `setPlaybackQuality` has no effect.
   */
  sizes(): string {
    const offered = (this.#ready ? this.#player?.getAvailableQualityLevels?.() : undefined) ?? [];
    const lines = QUALITIES.flatMap((name, index) => (offered.includes(name) ? (LINES[index] ?? []) : []));
    const now = this.#quality === null ? 'Size not known yet' : `Size ${LINES[this.#quality]}, chosen by YouTube`;
    return lines.length === 0 ? `${now}.` : `${now}; offered: ${lines.join(', ')}.`;
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#player?.destroy();
    this.#mount.replaceChildren();
  }

  #create(api: Api, videoId: string, muted: boolean): void {
    if (this.#stopped) return;
    // The API replaces this element by its frame.
    const placeholder = document.createElement('div');
    this.#mount.replaceChildren(placeholder);
    this.#player = new api.Player(placeholder, {
      videoId,
      width: '100%',
      height: '100%',
      playerVars: { autoplay: 1, playsinline: 1, rel: 0, origin: location.origin },
      events: {
        onReady: () => {
          if (this.#stopped) return;
          this.#ready = true;
          if (muted) this.#player?.mute();
          this.#player?.playVideo();
          this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL_MS);
        },
        onStateChange: ({ data }) => {
          if (this.#stopped) return;
          this.#state = data;
          this.#poll();
        },
        onPlaybackQualityChange: ({ data }) => {
          if (!this.#stopped) this.#changeQuality(data);
        },
        onError: ({ data }) => this.#reportError(ERRORS[data] ?? `error ${data}`),
      },
    });
  }

  #reportError(message: string): void {
    if (!this.#stopped)
      this.#listener.onError({ at: performance.now(), message, segment: null, status: null, fatal: true });
  }

  #poll(): void {
    if (this.#player === undefined || !this.#ready) return;
    const { playing, paused, cued, ended, buffering } = STATE;
    const at = performance.now();
    const position = this.#player.getCurrentTime();
    const rate = this.#player.getPlaybackRate() || 1;
    if (this.#quality === null && this.#state === playing) this.#changeQuality(this.#player.getPlaybackQuality());
    if (this.#state === playing) this.#started = true;
    const state: PlayerState = {
      at,
      position,
      rate,
      paused: this.#state === paused || this.#state === cued,
      seeking: false,
      ready: this.#state === playing,
      ended: this.#state === ended,
    };
    const hasJumped = this.#hasJumped(state);
    if (hasJumped) this.#seeking = true;
    else if (this.#state === playing || this.#state === paused) this.#seeking = false;
    // A seek begins with buffering, and the API reports the new position later.
    if (this.#state === buffering && this.#started && !this.#seeking && !this.#isStall) this.#held ??= [];
    if (this.#state !== buffering) this.#isStall = false;
    if (this.#held !== undefined && !hasJumped) {
      this.#held.push(state);
      if (at - (this.#held[0] ?? state).at < MAX_HOLD_MS && !state.ended) return;
      this.#isStall = this.#state === buffering;
      this.#reportHeld();
      return;
    }
    this.#reportHeld();
    this.#report(state);
  }

  /** Reports the states held back; whether they belong to a seek is now known. */
  #reportHeld(): void {
    const states = this.#held ?? [];
    this.#held = undefined;
    for (const state of states) this.#report(state);
  }

  #report(state: PlayerState): void {
    this.#last = state;
    this.#listener.onState({ ...state, seeking: this.#seeking });
  }

  /** Returns whether the position differs from the position expected since the last state. */
  #hasJumped(state: PlayerState): boolean {
    const last = this.#last;
    if (last === undefined || !this.#started || state.ended) return false;
    const maxAdvance = ((state.at - last.at) / 1000) * state.rate;
    const advance = state.position - last.position;
    return advance > maxAdvance + MIN_SEEK_S || advance < -MIN_SEEK_S;
  }

  #changeQuality(name: string): void {
    const to = QUALITIES.indexOf(name);
    const from = this.#quality;
    if (to < 0 || to === from) return;
    this.#quality = to;
    if (from !== null) this.#listener.onQualitySwitch({ from, to, position: this.#player?.getCurrentTime() ?? 0 });
  }
}

let loading: Promise<Api> | undefined;

/** Loads the API's script once per page. The script calls a global function when it is ready. */
function loadApi(): Promise<Api> {
  if (window.YT?.Player !== undefined) return Promise.resolve(window.YT);
  loading ??= new Promise<Api>((resolve, reject) => {
    window.onYouTubeIframeAPIReady = () => {
      if (window.YT === undefined) reject(new Error('YouTube player API invalid'));
      else resolve(window.YT);
    };
    const script = document.createElement('script');
    script.src = API_URL;
    script.onerror = () => {
      loading = undefined;
      reject(new Error('YouTube player API unreachable'));
    };
    document.head.append(script);
  });
  return loading;
}
