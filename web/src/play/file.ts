/** Playback of a plain file by the browser's own player. */

import { bufferAhead, mediaError, mediaErrorKind, observeMedia } from './media.ts';
import type { MediaInfo, Playback, PlayerListener, PlayerStatus } from './playback.ts';

export class FilePlayback implements Playback {
  readonly kind = 'file';
  readonly #video: HTMLVideoElement;
  readonly #stopObserving: () => void;
  readonly #stopped = new AbortController();
  #bytes: number | null = null;

  constructor(video: HTMLVideoElement, url: string, listener: PlayerListener) {
    this.#video = video;
    this.#stopObserving = observeMedia(video, listener);
    const signal = this.#stopped.signal;
    video.addEventListener(
      'error',
      () => {
        const message = mediaError(video);
        const kind = mediaErrorKind(video);
        listener.onError({ at: performance.now(), message, segment: null, status: null, fatal: true, kind });
      },
      { signal },
    );
    video.src = url;
    video.play().catch(() => {
      // The error event reports a failure. If autoplay is blocked, the viewer presses play.
    });
    void this.#fetchSize(url);
  }

  mediaInfo(): MediaInfo {
    const { duration, videoWidth, videoHeight } = this.#video;
    const kbps = this.#kbps();
    const size = videoWidth > 0 ? { width: videoWidth, height: videoHeight } : { width: null, height: null };
    return {
      duration: Number.isFinite(duration) ? duration : null,
      segmentDuration: null,
      levels: kbps === null ? [] : [{ bitrate_kbps: kbps, codec: null, fps: null, ...size }],
      engine: null,
      extra: {},
    };
  }

  status(): PlayerStatus {
    const kbps = this.#kbps();
    return {
      position: this.#video.currentTime,
      buffer: bufferAhead(this.#video),
      kbps: null,
      level: kbps === null ? null : 0,
      bitrateKbps: kbps,
      missing: this.#video.networkState === HTMLMediaElement.NETWORK_IDLE ? 0 : null,
    };
  }

  stop(): void {
    this.#stopped.abort();
    this.#stopObserving();
    this.#video.removeAttribute('src');
    this.#video.load();
  }

  /** Fetches the file's size: with the duration it gives the mean bitrate. */
  async #fetchSize(url: string): Promise<void> {
    try {
      const response = await fetch(url, { method: 'HEAD', signal: this.#stopped.signal });
      const length = Number(response.headers.get('content-length'));
      if (response.ok && length > 0) this.#bytes = length;
    } catch {
      // Blocked by CORS: the bitrate stays unknown.
    }
  }

  #kbps(): number | null {
    const { duration } = this.#video;
    return this.#bytes !== null && Number.isFinite(duration) && duration > 0 ? this.#bytes / 125 / duration : null;
  }
}
