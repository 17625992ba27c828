import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a connection to a local port succeeds. */
export async function waitForListener(port: number): Promise<void> {
  for (;;) {
    const isListening = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.on('connect', () => socket.destroy());
      socket.on('error', () => resolve(false));
    });
    if (isListening) return;
    await sleep(50);
  }
}
