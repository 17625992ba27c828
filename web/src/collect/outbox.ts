/**
 * Delivery queue of session records: a record is stored first, then sent, and removed when the
 * collector confirms it. Sending a record twice is harmless: the collector keeps one per id.
 */

import type { SendResult } from './send.ts';
import type { Store, StoredRecord } from './store.ts';

export interface OutboxStatus {
  /** Number of stored records that wait for a collector. */
  readonly waiting: number;
  /** Number of stored records that the collector in use refused. */
  readonly refused: number;
  /** The last record accepted, and its address at the collector. */
  readonly delivered: { readonly id: string; readonly url: string | null } | null;
  /** Reason of the last failure; `null` after a pass in which a record was accepted and none failed. */
  readonly reason: string | null;
  /**
   * Time until the next automatic attempt (ms), during a pass that after it; `null` if no record waits or
   * no collector is set.
   */
  readonly retryMs: number | null;
}

/** Delay of the first retry (ms); it doubles with each failure up to the maximum. */
const MIN_RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;

export interface Collector {
  readonly address: string;
  /** Sends one record. */
  readonly send: (id: string, record: string) => Promise<SendResult>;
}

export interface OutboxEnvironment {
  readonly store: Store;
  /** Collector in use, if any. */
  readonly collector: Collector | null;
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
  /** Id of the record at which the last pass ended, because the collector was unavailable. */
  #endedAt: string | null = null;
  #sending: Promise<void> | undefined;
  #passRequested = false;

  constructor(environment: () => OutboxEnvironment, onStatus: (status: OutboxStatus) => void) {
    this.#environment = environment;
    this.#onStatus = onStatus;
  }

  /**
   * Stores a record and starts to send.
   *
   * @returns whether the record now outlives the page
   */
  async add(id: string, record: string): Promise<boolean> {
    try {
      return await this.#environment().store.put({ id, record, refused: null });
    } finally {
      // Also if there was no space for this record: the delivery of others frees some.
      void this.flush();
    }
  }

  /** Sends all waiting records now, including those added before it returns. */
  flush(): Promise<void> {
    this.#passRequested = true;
    this.#sending ??= this.#runPasses().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Sends all stored records now, also refused ones: a person may have corrected the collector. */
  async sendAgain(): Promise<void> {
    const { store } = this.#environment();
    for (const id of await store.ids()) {
      const stored = await store.get(id);
      if (stored !== undefined && stored.refused !== null) await store.put({ ...stored, refused: null });
    }
    await this.flush();
  }

  async #runPasses(): Promise<void> {
    while (this.#passRequested) {
      this.#passRequested = false;
      await this.#sendAll();
    }
  }

  async #sendAll(): Promise<void> {
    const { store, schedule } = this.#environment();
    const timer = ++this.#timer;
    /** Address of the collector that is unavailable. */
    let unavailable: string | null = null;
    /** Reason of the last failure in this pass. */
    let failure: string | null = null;
    let isRetryNeeded = false;
    const ids = inTurn(await store.ids(), this.#endedAt);
    this.#endedAt = null;
    let left = ids.length;
    /** Address of the collector for each refused record. */
    const refusals: string[] = [];
    const showStatus = (retryMs: number | null) => {
      const { collector } = this.#environment();
      const refused = refusals.filter((address) => address === collector?.address).length;
      this.#onStatus({ waiting: left - refused, refused, delivered: this.#delivered, reason: this.#reason, retryMs });
    };
    for (const id of ids) {
      if (this.#environment().collector === null) break;
      try {
        const stored = await store.get(id);
        // A person may have changed the collector since the record before.
        const { collector } = this.#environment();
        // Another page may have delivered the record.
        if (stored === undefined) left--;
        if (stored === undefined || collector === null) continue;
        if (isRefused(stored, collector)) {
          refusals.push(collector.address);
          continue;
        }
        if (collector.address === unavailable) continue;
        const result = await this.#send(stored, collector, store);
        if (result.kind === 'accepted') {
          left--;
          this.#reason = failure;
          this.#retryMs = MIN_RETRY_MS;
        } else {
          failure = result.reason;
          this.#reason = failure;
          if (result.kind === 'refused') refusals.push(collector.address);
          else isRetryNeeded = true;
          if (result.kind === 'unavailable') {
            unavailable = collector.address;
            this.#endedAt = id;
          }
        }
      } catch (error) {
        // The store failed at this record.
        failure = String(error);
        this.#reason = failure;
        isRetryNeeded = true;
      }
      // The next record may take minutes.
      showStatus(this.#retryMs);
    }
    const retryMs = isRetryNeeded ? this.#retryMs : null;
    if (retryMs !== null) {
      this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
      schedule(() => {
        if (timer === this.#timer) void this.flush();
      }, retryMs);
    }
    showStatus(retryMs);
  }

  /** Sends a record, and updates the store by the result. */
  async #send(stored: StoredRecord, collector: Collector, store: Store): Promise<SendResult> {
    const result = await collector.send(stored.id, stored.record);
    if (result.kind === 'accepted') {
      this.#delivered = { id: stored.id, url: result.url };
      await store.remove(stored.id);
    } else if (result.kind === 'refused') {
      await store.put({ ...stored, refused: { collector: collector.address, reason: result.reason } });
    }
    return result;
  }
}

/**
 * Orders the ids from the one after `endedAt` on: the browser does not tell an unreachable collector
 * from a server that resets the connection of one record, which must not block the others.
 */
function inTurn(ids: readonly string[], endedAt: string | null): string[] {
  const isNext = (id: string) => endedAt === null || id > endedAt;
  return [...ids.filter(isNext), ...ids.filter((id) => !isNext(id))];
}

/** Whether this collector refused the record for good; another one may accept it. */
function isRefused({ refused }: StoredRecord, collector: Collector): boolean {
  return refused?.collector === collector.address;
}
