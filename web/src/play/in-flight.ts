/** Segments on their way to dash.js. */

/** The members of a request of dash.js in use. It updates `bytesLoaded` as data arrive. */
export interface SegmentRequest {
  readonly url: string | null;
  readonly bytesLoaded: number;
  readonly bytesTotal: number;
  readonly duration: number;
  readonly representation?: { readonly bandwidth: number };
}

export class InFlight {
  readonly #requests = new Map<string | null, SegmentRequest>();

  update(request: SegmentRequest): void {
    this.#requests.set(request.url, request);
  }

  remove(request: SegmentRequest): void {
    this.#requests.delete(request.url);
  }

  /** Bytes that have not arrived; a size that is not known yet follows from bitrate and duration. */
  missing(): number {
    let missing = 0;
    for (const { bytesLoaded, bytesTotal, duration, representation } of this.#requests.values()) {
      const total = bytesTotal > 0 ? bytesTotal : ((representation?.bandwidth ?? 0) * duration) / 8;
      missing += Math.max(total - (bytesLoaded || 0), 0) || 0;
    }
    return Math.round(missing);
  }
}
