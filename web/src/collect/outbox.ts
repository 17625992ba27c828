/**
 * What is to be sent: kept first, then sent, and kept until the collector says that it has it. Sending
 * twice is harmless, since the collector keeps one session of an id.
 */

import type { Keep, Kept } from './keep.ts';
import type { Sent } from './send.ts';

/** How things stand. */
export interface Standing {
  /** How many are kept and wait for the collector. */
  readonly waiting: number;
  /** How many are kept because the collector will not have them. */
  readonly refused: number;
  /** The last session that arrived, and where the collector shows it. */
  readonly arrived: { readonly id: string; readonly url: string | null } | null;
  /** Why the last one did not. */
  readonly why: string | null;
  /** When it is tried again by itself (ms from now); `null` where nothing waits or nobody is to be asked. */
  readonly again: number | null;
}

/** How long to wait before the second try, and at most (ms). */
const SOON_MS = 2_000;
const LATE_MS = 60_000;

export interface Means {
  readonly keep: Keep;
  /** Sends one; `null` where there is no collector to send to. */
  readonly send: ((record: string) => Promise<Sent>) | null;
  readonly later: (act: () => void, ms: number) => void;
}

export class Outbox {
  readonly #means: () => Means;
  readonly #tell: (standing: Standing) => void;
  #arrived: Standing['arrived'] = null;
  #why: string | null = null;
  #pause = SOON_MS;
  #alarm = 0;
  #sending: Promise<void> | undefined;
  #more = false;

  constructor(means: () => Means, tell: (standing: Standing) => void) {
    this.#means = means;
    this.#tell = tell;
  }

  /** Keeps it; when this is done it outlives the page. Sending has begun then. */
  async add(id: string, record: string): Promise<void> {
    const kept: Kept = { id, record, refused: null };
    await this.#means().keep.put(kept);
    void this.flush();
  }

  /** Sends what is kept, now, and what is added meanwhile. */
  flush(): Promise<void> {
    this.#more = true;
    this.#sending ??= this.#flushAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #flushAll(): Promise<void> {
    while (this.#more) {
      this.#more = false;
      await this.#flush();
    }
  }

  async #flush(): Promise<void> {
    const { keep, send, later } = this.#means();
    const alarm = ++this.#alarm;
    let lost = false;
    for (const kept of await keep.all()) {
      if (kept.refused !== null || send === null || lost) continue;
      const sent = await send(kept.record);
      if (sent.kind === 'there') {
        await keep.remove(kept.id);
        this.#arrived = { id: kept.id, url: sent.url };
        this.#why = null;
        this.#pause = SOON_MS;
      } else {
        this.#why = sent.why;
        if (sent.kind === 'refused') await keep.put({ ...kept, refused: sent.why });
        else lost = true;
      }
    }
    const left = await keep.all();
    const waiting = left.filter(({ refused }) => refused === null).length;
    const again = lost ? this.#pause : null;
    if (lost) {
      this.#pause = Math.min(this.#pause * 2, LATE_MS);
      // Whoever flushes in the meantime sets another alarm.
      later(() => {
        if (alarm === this.#alarm) void this.flush();
      }, again ?? 0);
    }
    this.#tell({ waiting, refused: left.length - waiting, arrived: this.#arrived, why: this.#why, again });
  }
}
