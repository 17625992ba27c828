/**
 * Web Locks of running sessions. The browser frees a lock when its page is gone, but not while the page
 * sleeps. Pages of plain HTTP have no locks.
 */

const PREFIX = 'tandem.session.';

/** Holds the lock of a session until the returned function is called. */
export function holdSessionLock(id: string): () => void {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  // A frame without an origin of its own may not lock.
  if ('locks' in navigator) navigator.locks.request(PREFIX + id, () => released).catch(() => {});
  return release;
}

/** Returns the ids of the sessions whose pages on this origin hold their locks. */
export async function lockedSessions(): Promise<ReadonlySet<string>> {
  if (!('locks' in navigator)) return new Set();
  const { held = [] } = await navigator.locks.query().catch(() => ({ held: [] }));
  const names = held.map(({ name = '' }) => name).filter((name) => name.startsWith(PREFIX));
  return new Set(names.map((name) => name.slice(PREFIX.length)));
}
