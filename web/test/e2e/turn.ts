/**
 * Pages whose first picture is held to 20 ms load one after the other, also those of another file of tests: where two
 * load at once on few processors, pictures are late on the screen.
 */

import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** An abstract socket: Linux forgets it with the process that holds it. */
const NAME = '\0tandem-web-loading';

/** Waits until no other page loads. What it returns says that this one plays; to be called once or more often. */
export async function turn(): Promise<() => void> {
  for (;;) {
    const held = createServer();
    const mine = await new Promise<boolean>((resolve, reject) => {
      held.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
      );
      held.listen(NAME, () => resolve(true));
    });
    if (mine) return () => void held.close();
    await sleep(100);
  }
}
