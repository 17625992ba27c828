/**
 * Delivery queue of session records: a record is stored first, then sent, and removed when the
 * collector confirms it. Sending a record twice is harmless: the collector keeps one per id.
 */

import type { SendResult } from './send.ts';
import type { Store, StoredRecord } from './store.ts';

export interface OutboxStatus {
  /** Number of stored records that wait for the collector. */
  readonly waiting: number;
  /** Number of stored records that the collector refused. */
  readonly refused: number;
  /** The last record accepted, and its address at the collector. */
  readonly delivered: { readonly id: string; readonly url: string | null } | null;
  /** Reason of the last failure; `null` after a success. */
  readonly reason: string | null;
  /**
   * Time until the next automatic attempt (ms); `null` if no record waits or no collector is set.
   */
  readonly retryMs: number | null;
}

/** Delay of the first retry (ms); it doubles with each failure up to the maximum. */
const MIN_RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;

export interface OutboxEnvironment {
  readonly store: Store;
  /** Sends one record; `null` without a collector. */
  readonly send: ((id: string, record: string) => Promise<SendResult>) | null;
  /** Calls the function after the delay (ms). */
  readonly schedule: (act: () => void, ms: number) => void;
}

export class Outbox {
  readonly #environment: () => OutboxEnvironment;
  readonly #onStatus: (status: OutboxStatus) => void;
  #delivered: OutboxStatus['delivered'] = null;
  #reason: string | null = null;
  #retryMs = MIN_RETRY_MS;
  /** Generation of the retry timer: a later pass invalidates earlier timers. */
  #timer = 0;
  #sending: Promise<void> | undefined;
  #passRequested = false;

  constructor(environment: () => OutboxEnvironment, onStatus: (status: OutboxStatus) => void) {
    this.#environment = environment;
    this.#onStatus = onStatus;
  }

  /**
   * Stores a record and starts to send. The record outlives the page once the promise resolves.
   */
  async add(id: string, record: string): Promise<void> {
    const stored: StoredRecord = { id, record, refused: null };
    await this.#environment().store.put(stored);
    void this.flush();
  }

  /** Sends all stored records now, including those added before it returns. */
  flush(): Promise<void> {
    this.#passRequested = true;
    this.#sending ??= this.#runPasses().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #runPasses(): Promise<void> {
    while (this.#passRequested) {
      this.#passRequested = false;
      await this.#sendAll();
    }
  }

  async #sendAll(): Promise<void> {
    const { store, send, schedule } = this.#environment();
    const timer = ++this.#timer;
    let unreachable = false;
    for (const stored of await store.all()) {
      if (stored.refused !== null || send === null || unreachable) continue;
      const result = await send(stored.id, stored.record);
      if (result.kind === 'accepted') {
        await store.remove(stored.id);
        this.#delivered = { id: stored.id, url: result.url };
        this.#reason = null;
        this.#retryMs = MIN_RETRY_MS;
      } else {
        this.#reason = result.reason;
        if (result.kind === 'refused') await store.put({ ...stored, refused: result.reason });
        else unreachable = true;
      }
    }
    const left = await store.all();
    const waiting = left.filter(({ refused }) => refused === null).length;
    const retryMs = unreachable ? this.#retryMs : null;
    if (unreachable) {
      this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
      schedule(() => {
        if (timer === this.#timer) void this.flush();
      }, retryMs ?? 0);
    }
    const refused = left.length - waiting;
    this.#onStatus({ waiting, refused, delivered: this.#delivered, reason: this.#reason, retryMs });
  }
}
