/**
 * Program on the device of the test bed: plays a video in Chromium beside `tandem agent` with the
 * policy `qoe`, three times, attacks the agent's port from other pages, and prints the results as JSON.
 * While the buffer fills, chance divides the data between the paths, so the margin is small.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { launch, open } from '../e2e/browser.ts';
import { TestServer } from '../e2e/test-server.ts';
import { waitForListener } from './listener.ts';

const [tandem = '', upstream = '', plain = '', secure = '', file = ''] = process.argv.slice(2);
const PROXY_PORT = 1080;
const AGENT_PORT = 9465;
const TOKEN = '0123456789abcdef0123456789abcdef';
/** Beyond the agent's time limit for silent players, with the duration of a segment. */
const FORGOTTEN_MS = 7_000;

const folder = await mkdtemp(join(tmpdir(), 'tandem-agent-'));
const socket = join(folder, 'agent.sock');
await writeFile(join(folder, 'token'), TOKEN);
await writeFile(
  join(folder, 'agent.toml'),
  `policy = "qoe:margin=3s:rescue=1s"
state = "${folder}/state"
[[interface]]
match = "wifi"
kind = "wifi"
[[interface]]
match = "lte"
kind = "lte"
[status]
socket = "${socket}"
[players]
listen = "127.0.0.1:${AGENT_PORT}"
token_file = "token"
origins = ["${secure}"]
`,
);

const start = (...arguments_: string[]) => spawn(tandem, arguments_, { stdio: ['ignore', 'inherit', 'inherit'] });
const programs: ChildProcess[] = [start('agent', '--config', join(folder, 'agent.toml'))];
await waitForListener(AGENT_PORT);
programs.push(
  start(
    'proxy',
    ...['--upstream', upstream, '--listen', `127.0.0.1:${PROXY_PORT}`, '--agent', socket],
    ...['--allow-destination', '10.77.0.0/16'],
  ),
);
await waitForListener(PROXY_PORT);

interface Status {
  readonly interfaces: readonly { readonly name: string; readonly down_bytes: number }[];
  readonly players: readonly { readonly session: string; readonly missing_bytes: number | null }[];
}

function agentStatus(): Status {
  const printed = execFileSync(tandem, ['agent', 'status', '--format', 'json', '--socket', socket]);
  return JSON.parse(printed.toString()) as Status;
}

const received = () => Object.fromEntries(agentStatus().interfaces.map(({ name, down_bytes }) => [name, down_bytes]));

/** Plays the video once; returns the data that each interface received, and what the agent knew. */
async function play(browser: Browser, origin: string, tellsAgent: boolean): Promise<unknown> {
  const { page, context, errors } = await open(browser, { ignoreHTTPSErrors: true });
  // A person answers the browser's question whether the page may reach this device.
  if (tellsAgent) await context.grantPermissions(['local-network-access'], { origin });
  await page.goto(`${origin}/?maxBuffer=10`);
  if (tellsAgent) {
    await page.getByText('Settings').click();
    await page.getByLabel('Agent of this device').fill(`127.0.0.1:${AGENT_PORT}`);
    await page.getByLabel('Agent token').fill(TOKEN);
    await page.keyboard.press('Tab');
  }
  const before = received();
  await page.getByLabel('Address of').fill(new URL(file, origin).href);
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 3, undefined, {
    polling: 200,
    timeout: 60_000,
  });
  const { players } = agentStatus();
  const note = await page.locator('#agent-status').textContent();
  await page.locator('#phase[data-phase=finished], #phase[data-phase=failed]').waitFor({ timeout: 60_000 });
  const after = received();
  await context.close();
  const bytes = (name: string) => (after[name] ?? 0) - (before[name] ?? 0);
  return { wifi: bytes('wifi'), lte: bytes('lte'), players: players.length, note, errors };
}

/**
 * Reports of pages that are not configured, with the right token: from another port of this device,
 * and from a host name that was made to point here (DNS rebinding). Returns what the pages saw.
 */
async function attack(): Promise<unknown> {
  const site = await TestServer.start({});
  site.put('/evil', 'text/html', '<!doctype html><title>evil</title>');
  const browser = await launch(undefined, 'MAP rebound.test 127.0.0.1');
  const seen: string[] = [];
  try {
    for (const address of [`${site.origin}/evil`, `http://rebound.test:${AGENT_PORT}/player`]) {
      const { page, context } = await open(browser);
      await page.goto(address);
      const send = ({ url, token, mode }: { url: string; token: string; mode: RequestMode }) => {
        const headers: HeadersInit = mode === 'cors' ? { Authorization: `Bearer ${token}` } : {};
        return fetch(url, { method: 'POST', mode, headers, body: 'bl=1000,ot=v' }).then(
          (response) => `${response.type} ${response.status}`,
          () => 'blocked',
        );
      };
      const url = address.includes('rebound') ? address : `http://127.0.0.1:${AGENT_PORT}/player`;
      for (const mode of ['cors', 'no-cors'] as const)
        seen.push(await page.evaluate(send, { url, token: TOKEN, mode }));
      await context.close();
    }
  } finally {
    await browser.close();
    await site.stop();
  }
  return { seen, players: agentStatus().players.length };
}

const browser = await launch(`http://127.0.0.1:${PROXY_PORT}`);
try {
  const read = await play(browser, plain, false);
  const told = await play(browser, secure, true);
  await sleep(FORGOTTEN_MS);
  const silent = await play(browser, secure, false);
  const attacks = await attack();
  console.log(JSON.stringify({ plain: read, secure: told, silent, attacks }));
} finally {
  await browser.close();
  for (const program of programs) program.kill();
  await Promise.all(
    programs.map((program) => program.exitCode ?? new Promise((resolve) => program.on('exit', resolve))),
  );
  await rm(folder, { recursive: true, force: true });
}
