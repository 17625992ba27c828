/**
 * The record of a session that is still going on, kept where it can be written in one stroke: a page that
 * goes away has no time for a database. The next page on this origin finds it.
 */

const PREFIX = 'tandem.session.';

/** A page that has not written for so long is gone: browsers wake a hidden page once a minute (ms). */
const GONE_MS = 150_000;

interface Will {
  /** When it was written, by the wall clock (ms). */
  readonly at: number;
  /** The page was going away. */
  readonly last: boolean;
  readonly record: string;
}

/** Writes it, over what was written before. Where there is no room, what was there stays. */
export function write(store: Storage, id: string, record: string, last: boolean, now: number): void {
  const will: Will = { at: now, last, record };
  try {
    store.setItem(PREFIX + id, JSON.stringify(will));
  } catch {
    // No room, or none granted.
  }
}

export function revoke(store: Storage, id: string): void {
  try {
    store.removeItem(PREFIX + id);
  } catch {
    // None granted.
  }
}

/** Those whose page is gone. They stay until they are revoked. */
export function orphans(store: Storage, now: number): { id: string; record: string }[] {
  const found: { id: string; record: string }[] = [];
  try {
    for (let index = 0; index < store.length; index++) {
      const key = store.key(index);
      if (key === null || !key.startsWith(PREFIX)) continue;
      const will = read(store.getItem(key));
      if (will !== null && (will.last || Math.abs(now - will.at) > GONE_MS))
        found.push({ id: key.slice(PREFIX.length), record: will.record });
    }
  } catch {
    // None granted.
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function read(text: string | null): Will | null {
  try {
    const { at, last, record } = JSON.parse(text ?? 'null') as Will;
    return typeof at === 'number' && typeof record === 'string' ? { at, last: last === true, record } : null;
  } catch {
    return null;
  }
}
