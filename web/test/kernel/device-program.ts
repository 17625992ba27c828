/**
 * Program on the device of the test bed: plays a video in Chromium through the client half of
 * `tandem proxy`, and prints the results as JSON.
 */

import { spawn } from 'node:child_process';
import { launch, open, play } from '../e2e/browser.ts';
import { observeScreen } from '../e2e/screen-observer.ts';
import { waitForListener } from './listener.ts';
import { PLAYING } from './markers.ts';

const [tandem = '', upstream = '', content = '', file = ''] = process.argv.slice(2);
const PROXY_PORT = 1080;

const listen = `127.0.0.1:${PROXY_PORT}`;
// Both halves check destinations.
const rules = ['--allow-destination', '10.77.0.0/16'];
const proxy = spawn(tandem, ['proxy', '--upstream', upstream, '--listen', listen, ...rules], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
await waitForListener(PROXY_PORT);
const browser = await launch(`http://127.0.0.1:${PROXY_PORT}`);
const { page, errors } = await open(browser);
const readObservation = await observeScreen(page);
await play(page, content, file, { maxBuffer: '4', label: 'two subflows' });
await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 1, undefined, {
  polling: 200,
  timeout: 150_000,
});
console.log(PLAYING);
await page.locator('#phase[data-phase=finished], #phase[data-phase=failed]').waitFor({ timeout: 150_000 });
await page.getByText('Session delivered to the collector').waitFor({ timeout: 60_000 });
const truth = await readObservation();
const log: unknown = await page.evaluate(async () => (await fetch('/log')).json());
// `TANDEM_SCREENSHOT=FILE.png` takes the screenshot for the README.
const screenshot = process.env.TANDEM_SCREENSHOT;
if (screenshot !== undefined) {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: screenshot, fullPage: true });
}
await browser.close();
proxy.kill();
console.log(JSON.stringify({ truth, errors, log }));
