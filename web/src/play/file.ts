/** A plain file: the browser's own player fetches and plays it. */

import { bufferAhead, mediaError, watch } from './media.ts';
import type { Facts, Listener, Playback, Status } from './playback.ts';

export class FilePlayback implements Playback {
  readonly kind = 'file';
  readonly #video: HTMLVideoElement;
  readonly #stopWatching: () => void;
  readonly #gone = new AbortController();
  #bytes: number | null = null;

  constructor(video: HTMLVideoElement, url: string, listener: Listener) {
    this.#video = video;
    this.#stopWatching = watch(video, listener);
    const signal = this.#gone.signal;
    video.addEventListener(
      'error',
      () => {
        const message = mediaError(video);
        listener.failed({ at: performance.now(), message, segment: null, status: null, fatal: true });
      },
      { signal },
    );
    video.src = url;
    video.play().catch(() => {
      // Said by the error event, or the viewer has to press play.
    });
    void this.#askSize(url);
  }

  facts(): Facts {
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

  status(): Status {
    const kbps = this.#kbps();
    return {
      position: this.#video.currentTime,
      buffer: bufferAhead(this.#video),
      kbps: null,
      level: kbps === null ? null : 0,
      bitrateKbps: kbps,
    };
  }

  stop(): void {
    this.#gone.abort();
    this.#stopWatching();
    this.#video.removeAttribute('src');
    this.#video.load();
  }

  /** A file says no bitrate; its size and length do. */
  async #askSize(url: string): Promise<void> {
    try {
      const answer = await fetch(url, { method: 'HEAD', signal: this.#gone.signal });
      const length = Number(answer.headers.get('content-length'));
      if (answer.ok && length > 0) this.#bytes = length;
    } catch {
      // Another origin that does not let us ask: the bitrate stays unknown.
    }
  }

  #kbps(): number | null {
    const { duration } = this.#video;
    return this.#bytes !== null && Number.isFinite(duration) && duration > 0 ? this.#bytes / 125 / duration : null;
  }
}
