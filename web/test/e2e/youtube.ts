/**
 * A stand-in of YouTube's IFrame Player API, as its reference describes it: the script calls a global function
 * when it is there, states are numbers, and positions and states reach the page late and in steps, since in
 * truth they come by messages from another page.
 */

/** How often the position is told, and how late everything is (ms). */
export const STEP_MS = 100;
export const LATE_MS = 10;

/** The script, for a player that plays this file whatever the video's id. */
export function iframeApi(file: string): string {
  return `(${standIn.toString()})(${JSON.stringify(file)}, ${STEP_MS}, ${LATE_MS});`;
}

interface Options {
  readonly videoId: string;
  readonly playerVars: { readonly autoplay?: number };
  readonly events: { readonly [name: string]: ((event: { target: unknown; data: unknown }) => void) | undefined };
}

/** Runs in the page: it may use nothing from outside of it. */
function standIn(file: string, stepMs: number, lateMs: number): void {
  class Player {
    readonly #media = document.createElement('video');
    readonly #events: Options['events'];
    readonly #timer: number;
    #told = { position: 0, duration: 0, loaded: 0 };
    #state = -1;

    constructor(element: HTMLElement, { videoId, events }: Options) {
      this.#events = events;
      const media = this.#media;
      media.dataset.videoId = videoId;
      element.replaceWith(media);
      if (videoId === 'unavailable') {
        this.#say('onError', 100);
        this.#timer = 0;
        return;
      }
      const states = { waiting: 3, seeking: 3, playing: 1, pause: 2, ended: 0 };
      for (const [event, state] of Object.entries(states)) {
        media.addEventListener(event, () => {
          if (event === 'pause' && media.ended) return;
          this.#state = state;
          this.#say('onStateChange', state);
        });
      }
      media.addEventListener('playing', () => this.#say('onPlaybackQualityChange', 'small'), { once: true });
      this.#timer = window.setInterval(() => this.#refresh(), stepMs);
      media.src = file;
      media.addEventListener('loadedmetadata', () => this.#say('onReady', null), { once: true });
    }

    #refresh(): void {
      const { currentTime, duration, buffered } = this.#media;
      const end = buffered.length > 0 ? buffered.end(buffered.length - 1) : 0;
      const told = { position: currentTime, duration: duration || 0, loaded: end / duration || 0 };
      setTimeout(() => {
        this.#told = told;
      }, lateMs);
    }

    #say(name: string, data: unknown): void {
      setTimeout(() => this.#events[name]?.({ target: this, data }), lateMs);
    }

    playVideo(): void {
      void this.#media.play();
    }
    pauseVideo(): void {
      this.#media.pause();
    }
    seekTo(seconds: number): void {
      this.#media.currentTime = seconds;
    }
    mute(): void {
      this.#media.muted = true;
    }
    getCurrentTime(): number {
      return this.#told.position;
    }
    getDuration(): number {
      return this.#told.duration;
    }
    getVideoLoadedFraction(): number {
      return this.#told.loaded;
    }
    getPlaybackRate(): number {
      return this.#media.playbackRate;
    }
    getPlaybackQuality(): string {
      return 'small';
    }
    getPlayerState(): number {
      return this.#state;
    }
    destroy(): void {
      clearInterval(this.#timer);
      this.#media.remove();
    }
  }
  Object.assign(window, { YT: { Player } });
  setTimeout(() => (window as { onYouTubeIframeAPIReady?: () => void }).onYouTubeIframeAPIReady?.());
}
