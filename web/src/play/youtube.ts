/**
 * A YouTube video, by the IFrame Player API (developers.google.com/youtube/iframe_api_reference).
 *
 * The API tells states and no events of the media, and nothing of bitrates, sizes or the network. So a
 * session has stalls, pauses, seeks and changes of quality, and no segments.
 */

import type { Look } from '../measure/meter.ts';
import type { Facts, Listener, Playback, Status } from './playback.ts';

export interface YouTubeOptions {
  /** Where the API's script is; `null` is where YouTube has it. */
  readonly api: string | null;
  readonly muted: boolean;
}

/** What of the API is used here. */
interface Player {
  playVideo(): void;
  mute(): void;
  getCurrentTime(): number;
  getDuration(): number;
  getVideoLoadedFraction(): number;
  getPlaybackRate(): number;
  getPlaybackQuality(): string;
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

/** From the lowest to the highest, as the API spells them. A level of a session is an index into these. */
export const QUALITIES = ['tiny', 'small', 'medium', 'large', 'hd720', 'hd1080', 'hd1440', 'hd2160', 'highres'];

const ERRORS: { readonly [code: number]: string } = {
  2: 'the id is none of a video',
  5: 'the browser cannot play it',
  100: 'there is no such video, or it is private',
  101: 'its owner does not let it play on other pages',
  150: 'its owner does not let it play on other pages',
  153: 'the browser does not tell it which page it is on',
};

const SCRIPT = 'https://www.youtube.com/iframe_api';

/** How often the player is asked for its position (ms). */
const ASK_MS = 50;

/** A position that is further than this from where playing leads was sought (s). */
const JUMP_S = 1;

/** For so long a player that buffers may still turn out to be seeking (ms). */
const UNDECIDED_MS = 400;

export class YouTubePlayback implements Playback {
  readonly kind = 'youtube';
  readonly #listener: Listener;
  readonly #mount: HTMLElement;
  #player: Player | undefined;
  #ready = false;
  #timer = 0;
  #state: number = STATE.unstarted;
  #started = false;
  #stopped = false;
  #seeking = false;
  #quality: number | null = null;
  /** The last look that was told, to know a jump by. */
  #last: Look | undefined;
  /** Looks since it began to buffer, until it is known why. */
  #undecided: Look[] | undefined;
  /** It buffers, and not because it seeks. */
  #decided = false;

  constructor(mount: HTMLElement, id: string, options: YouTubeOptions, listener: Listener) {
    this.#mount = mount;
    this.#listener = listener;
    loadApi(options.api ?? SCRIPT).then(
      (api) => this.#create(api, id, options.muted),
      (error: unknown) => this.#fail(error instanceof Error ? error.message : String(error)),
    );
  }

  facts(): Facts {
    const duration = this.#ready ? (this.#player?.getDuration() ?? 0) : 0;
    return {
      duration: duration > 0 ? duration : null,
      segmentDuration: null,
      levels: [],
      engine: 'YouTube IFrame Player API',
      extra: { youtube_qualities: QUALITIES },
    };
  }

  status(): Status {
    const player = this.#ready ? this.#player : undefined;
    const position = player?.getCurrentTime() ?? 0;
    const loaded = (player?.getVideoLoadedFraction() ?? 0) * (player?.getDuration() ?? 0);
    return { position, buffer: Math.max(loaded - position, 0), kbps: null, level: this.#quality, bitrateKbps: null };
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#player?.destroy();
    this.#mount.replaceChildren();
  }

  #create(api: Api, videoId: string, muted: boolean): void {
    if (this.#stopped) return;
    // The API puts its frame in the place of an element of ours.
    const place = document.createElement('div');
    this.#mount.replaceChildren(place);
    this.#player = new api.Player(place, {
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
          this.#timer = setInterval(() => this.#ask(), ASK_MS);
        },
        onStateChange: ({ data }) => {
          if (this.#stopped) return;
          this.#state = data;
          this.#ask();
        },
        onPlaybackQualityChange: ({ data }) => {
          if (!this.#stopped) this.#changeQuality(data);
        },
        onError: ({ data }) => this.#fail(ERRORS[data] ?? `error ${data}`),
      },
    });
  }

  #fail(message: string): void {
    if (!this.#stopped)
      this.#listener.failed({ at: performance.now(), message, segment: null, status: null, fatal: true });
  }

  #ask(): void {
    if (this.#player === undefined || !this.#ready) return;
    const { playing, paused, cued, ended, buffering } = STATE;
    const at = performance.now();
    const position = this.#player.getCurrentTime();
    const rate = this.#player.getPlaybackRate() || 1;
    if (this.#quality === null && this.#state === playing) this.#changeQuality(this.#player.getPlaybackQuality());
    if (this.#state === playing) this.#started = true;
    const look: Look = {
      at,
      position,
      rate,
      paused: this.#state === paused || this.#state === cued,
      seeking: false,
      ready: this.#state === playing,
      ended: this.#state === ended,
    };
    const jumped = this.#jumped(look);
    if (jumped) this.#seeking = true;
    else if (this.#state === playing || this.#state === paused) this.#seeking = false;
    // A player that seeks buffers first, perhaps plays again, and says where it is a little later.
    if (this.#state === buffering && this.#started && !this.#seeking && !this.#decided) this.#undecided ??= [];
    if (this.#state !== buffering) this.#decided = false;
    if (this.#undecided !== undefined && !jumped) {
      this.#undecided.push(look);
      if (at - (this.#undecided[0] ?? look).at < UNDECIDED_MS && !look.ended) return;
      this.#decided = this.#state === buffering;
      this.#flush();
      return;
    }
    this.#flush();
    this.#tell(look);
  }

  /** Tells what was held back, now that it is known what it was. */
  #flush(): void {
    const looks = this.#undecided ?? [];
    this.#undecided = undefined;
    for (const look of looks) this.#tell(look);
  }

  #tell(look: Look): void {
    this.#last = look;
    this.#listener.look({ ...look, seeking: this.#seeking });
  }

  #jumped(look: Look): boolean {
    const last = this.#last;
    if (last === undefined || !this.#started || look.ended) return false;
    const most = ((look.at - last.at) / 1000) * look.rate;
    const moved = look.position - last.position;
    return moved > most + JUMP_S || moved < -JUMP_S;
  }

  #changeQuality(name: string): void {
    const to = QUALITIES.indexOf(name);
    const from = this.#quality;
    if (to < 0 || to === from) return;
    this.#quality = to;
    if (from !== null) this.#listener.switched({ from, to, position: this.#player?.getCurrentTime() ?? 0 });
  }
}

let loading: Promise<Api> | undefined;

/** The API's script, once for the page: it calls a global function when it is there. */
function loadApi(address: string): Promise<Api> {
  if (window.YT?.Player !== undefined) return Promise.resolve(window.YT);
  loading ??= new Promise<Api>((resolve, reject) => {
    window.onYouTubeIframeAPIReady = () => {
      if (window.YT === undefined) reject(new Error('the player API of YouTube is not what it should be'));
      else resolve(window.YT);
    };
    const script = document.createElement('script');
    script.src = address;
    script.onerror = () => {
      loading = undefined;
      reject(new Error('the player API of YouTube cannot be reached'));
    };
    document.head.append(script);
  });
  return loading;
}
