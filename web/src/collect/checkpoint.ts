/**
 * Checkpoints of the running session in `localStorage`, from which the next page on this origin
 * recovers it. `localStorage` is synchronous: an unloading page has no time for IndexedDB.
 */

import type { LazyStorage } from './lazy-storage.ts';

const PREFIX = 'tandem.session.';

/**
 * Age at which the page of a checkpoint counts as gone (ms), unless it holds the lock of its session.
 * Browsers wake most hidden pages each minute.
 */
const ABANDONED_AFTER_MS = 150_000;

/** A checkpoint as stored, in JSON. */
interface Checkpoint {
  /** Wall-clock time of writing (ms). */
  readonly at: number;
  /** No further checkpoint follows: the session has ended, or another page has recovered it. */
  readonly last: boolean;
  readonly record: string;
}

/** A session record as JSON text. */
export interface SessionText {
  readonly id: string;
  readonly record: string;
}

/** Writes the checkpoints of this page's sessions. */
export class CheckpointWriter {
  readonly #storage: LazyStorage;
  #written: { readonly id: string; readonly text: string } | null = null;

  constructor(storage: LazyStorage) {
    this.#storage = storage;
  }

  /** Replaces the checkpoint of a session. If the quota is exceeded, the previous one stays. */
  write({ id, record }: SessionText, last: boolean, now: number): void {
    const text = checkpointText({ at: now, last, record });
    try {
      this.#storage.setItem(PREFIX + id, text);
      this.#written = { id, text };
    } catch {
      // Quota exceeded or storage denied.
    }
  }

  /**
   * Whether another page took this session for abandoned while this page slept. The collector may have
   * a record with its id.
   */
  isRecovered(id: string): boolean {
    try {
      return this.#written?.id === id && this.#storage.getItem(PREFIX + id) !== this.#written.text;
    } catch {
      return false;
    }
  }
}

export function removeCheckpoint(storage: LazyStorage, id: string): void {
  try {
    storage.removeItem(PREFIX + id);
  } catch {
    // Storage denied.
  }
}

/**
 * Recovers the sessions whose page is gone, ordered by id. Their checkpoints stay until removed,
 * but change, which shows a page that was only asleep that its session was recovered.
 *
 * @param locked ids of the sessions whose pages hold their locks
 */
export function recoverAbandoned(storage: LazyStorage, now: number, locked: ReadonlySet<string>): SessionText[] {
  const found: SessionText[] = [];
  try {
    const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '');
    for (const key of keys.filter((key) => key.startsWith(PREFIX)).sort()) {
      const id = key.slice(PREFIX.length);
      const checkpoint = parse(storage.getItem(key));
      if (checkpoint === null) continue;
      const { at, last, record } = checkpoint;
      const isAbandoned = Math.abs(now - at) > ABANDONED_AFTER_MS && !locked.has(id);
      if (!last && !isAbandoned) continue;
      found.push({ id, record });
      if (!last) storage.setItem(key, checkpointText({ ...checkpoint, last: true }));
    }
  } catch {
    // Storage denied.
  }
  return found;
}

function checkpointText(checkpoint: Checkpoint): string {
  return JSON.stringify(checkpoint);
}

function parse(text: string | null): Checkpoint | null {
  try {
    const { at, last, record } = JSON.parse(text ?? 'null') as Checkpoint;
    return typeof at === 'number' && typeof record === 'string' ? { at, last: last === true, record } : null;
  } catch {
    return null;
  }
}
