/**
 * Lock that serialises the loading of pages across test processes. If two pages load at once on
 * few processors, frames are late by more than the 20 ms allowed for the first frame.
 */

import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Abstract Unix socket: Linux removes it when the process that holds it exits. */
const SOCKET = '\0tandem-web-loading';

/** Waits for the lock; the returned function releases it and may be called repeatedly. */
export async function acquireLoadingLock(): Promise<() => void> {
  for (;;) {
    const server = createServer();
    const isHeld = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
      );
      server.listen(SOCKET, () => resolve(true));
    });
    if (isHeld) return () => void server.close();
    await sleep(100);
  }
}
