/** Trials against the clock, on a machine that other work may hold up. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { TestContext } from 'node:test';

/** Delay of this process (ms) from which the machine does not keep time: two or more refreshes of the screen. */
const MAX_DELAY_MS = 40;

/** Trials before a failure stands in any case. */
const TRIALS = 3;

/**
 * Runs a trial. A failure while the machine held up this process says nothing about the page, so the
 * trial runs again; a failure on a machine that kept time stands at once.
 */
export async function timedTrial(t: TestContext, trial: () => Promise<void>): Promise<void> {
  for (let number = 1; ; number += 1) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    try {
      return await trial();
    } catch (error) {
      const longest = delay.max / 1e6;
      if (number === TRIALS || longest < MAX_DELAY_MS) throw error;
      t.diagnostic(`trial ${number} failed while the machine was late by ${longest.toFixed(0)} ms: ${error}`);
    } finally {
      delay.disable();
    }
  }
}
