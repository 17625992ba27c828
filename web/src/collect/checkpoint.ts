/**
 * Checkpoints of the running session in `localStorage`, from which the next page on this origin
 * recovers it. `localStorage` is synchronous: an unloading page has no time for IndexedDB.
 */

const PREFIX = 'tandem.session.';

/**
 * Age at which the page of a checkpoint counts as gone (ms). Browsers wake a hidden page each
 * minute.
 */
const ABANDONED_AFTER_MS = 150_000;

/** A checkpoint as stored, in JSON. */
interface Checkpoint {
  /** Wall-clock time of writing (ms). */
  readonly at: number;
  /** The session has ended or its page is unloading: no further checkpoint follows. */
  readonly last: boolean;
  readonly record: string;
}

/** A session record as JSON text. */
export interface SessionText {
  readonly id: string;
  readonly record: string;
}

/** Replaces the checkpoint of a session. If the quota is exceeded, the previous one stays. */
export function writeCheckpoint(storage: Storage, session: SessionText, last: boolean, now: number): void {
  const checkpoint: Checkpoint = { at: now, last, record: session.record };
  try {
    storage.setItem(PREFIX + session.id, JSON.stringify(checkpoint));
  } catch {
    // Quota exceeded or storage denied.
  }
}

export function removeCheckpoint(storage: Storage, id: string): void {
  try {
    storage.removeItem(PREFIX + id);
  } catch {
    // Storage denied.
  }
}

/**
 * Returns the sessions whose page is gone, ordered by id. Their checkpoints stay until removed.
 */
export function abandonedSessions(storage: Storage, now: number): SessionText[] {
  const found: SessionText[] = [];
  try {
    for (let index = 0; index < storage.length; index++) {
      const key = storage.key(index);
      if (key === null || !key.startsWith(PREFIX)) continue;
      const checkpoint = parse(storage.getItem(key));
      if (checkpoint !== null && (checkpoint.last || Math.abs(now - checkpoint.at) > ABANDONED_AFTER_MS))
        found.push({ id: key.slice(PREFIX.length), record: checkpoint.record });
    }
  } catch {
    // Storage denied.
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function parse(text: string | null): Checkpoint | null {
  try {
    const { at, last, record } = JSON.parse(text ?? 'null') as Checkpoint;
    return typeof at === 'number' && typeof record === 'string' ? { at, last: last === true, record } : null;
  } catch {
    return null;
  }
}
