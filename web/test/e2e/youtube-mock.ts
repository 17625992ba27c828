/**
 * Mock of YouTube's IFrame Player API, after its reference: the script calls a global function
 * when it is ready, and states are numbers. Positions and states reach the page late and in steps,
 * as the real API transports them by messages from another page.
 */

/** Interval of position updates, and delay of all messages (ms). */
export const STEP_MS = 100;
export const DELAY_MS = 10;

/** Returns the script of a player that plays this file for any video id. */
export function mockApiScript(file: string): string {
  return `(${mockApi.toString()})(${JSON.stringify(file)}, ${STEP_MS}, ${DELAY_MS});`;
}

interface Options {
  readonly videoId: string;
  readonly playerVars: { readonly autoplay?: number };
  readonly events: { readonly [name: string]: ((event: { target: unknown; data: unknown }) => void) | undefined };
}

/** Runs in the page, so it must not refer to other definitions of this file. */
function mockApi(file: string, stepMs: number, delayMs: number): void {
  class Player {
    readonly #media = document.createElement('video');
    readonly #events: Options['events'];
    readonly #timer: number;
    #status = { position: 0, duration: 0, loaded: 0 };
    #state = -1;

    constructor(element: HTMLElement, { videoId, events }: Options) {
      this.#events = events;
      const media = this.#media;
      media.dataset.videoId = videoId;
      element.replaceWith(media);
      if (videoId === 'unavailable') {
        this.#notify('onError', 100);
        this.#timer = 0;
        return;
      }
      const states = { waiting: 3, seeking: 3, playing: 1, pause: 2, ended: 0 };
      for (const [event, state] of Object.entries(states)) {
        media.addEventListener(event, () => {
          if (event === 'pause' && media.ended) return;
          this.#state = state;
          this.#notify('onStateChange', state);
        });
      }
      media.addEventListener('playing', () => this.#notify('onPlaybackQualityChange', 'small'), { once: true });
      this.#timer = window.setInterval(() => this.#refresh(), stepMs);
      media.src = file;
      media.addEventListener('loadedmetadata', () => this.#notify('onReady', null), { once: true });
    }

    #refresh(): void {
      const { currentTime, duration, buffered } = this.#media;
      const end = buffered.length > 0 ? buffered.end(buffered.length - 1) : 0;
      const status = { position: currentTime, duration: duration || 0, loaded: end / duration || 0 };
      setTimeout(() => {
        this.#status = status;
      }, delayMs);
    }

    #notify(name: string, data: unknown): void {
      setTimeout(() => this.#events[name]?.({ target: this, data }), delayMs);
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
      return this.#status.position;
    }
    getDuration(): number {
      return this.#status.duration;
    }
    getVideoLoadedFraction(): number {
      return this.#status.loaded;
    }
    getPlaybackRate(): number {
      return this.#media.playbackRate;
    }
    getPlaybackQuality(): string {
      return 'small';
    }
    getAvailableQualityLevels(): string[] {
      return ['large', 'medium', 'small', 'auto'];
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
