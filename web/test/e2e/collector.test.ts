/** The page with a real collector, `tandem serve`, that is killed and restarted. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { Session } from '../../src/measure/record.ts';
import { schemaErrors } from '../session-schema.ts';
import { hasTandem, TANDEM } from '../tandem-binary.ts';
import { hasChromium, launch, open } from './browser.ts';
import { hasFfmpeg, testVideo } from './test-video.ts';

const skip = [
  hasChromium ? '' : 'Chromium',
  hasFfmpeg ? '' : 'ffmpeg',
  hasTandem ? '' : 'the program tandem (build it with `cargo build -p tandem-cli`)',
].filter(Boolean);

/** Entry of the session list, in part. */
interface ListEntry {
  readonly id: string;
  readonly complete: boolean;
}

test('record reaches `tandem serve`, also after a kill and restart of the collector', {
  skip: skip.length === 0 ? false : `needs ${skip.join(', ')}`,
}, async () => {
  const folder = await testVideo({ seconds: 4, segmentSeconds: 1, fps: 25, kbps: [200], audio: false });
  const directory = await mkdtemp(join(tmpdir(), 'tandem-collector-'));
  const serve = (listen: string) =>
    Collector.start([
      '--listen',
      listen,
      '--web',
      'dist',
      '--content',
      folder,
      '--database',
      join(directory, 'sessions.db'),
    ]);
  let collector = await serve('127.0.0.1:0');
  const { origin } = collector;
  const get = async (path: string) => (await fetch(`${origin}${path}`)).json() as Promise<unknown>;
  const listed = async () => ((await get('/api/sessions')) as { sessions: ListEntry[] }).sessions;
  const browser = await launch();
  try {
    const { page, errors } = await open(browser);
    const begin = async () => {
      await page.getByLabel('Address of').fill(`${origin}/content/manifest.mpd`);
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 0.5);
    };
    const end = () => page.getByRole('button', { name: 'End session' }).click();

    // Play to the end; the page learns of the end with a delay.
    await page.goto(`${origin}/?maxBuffer=4`);
    await begin();
    await page.getByText('Session delivered to the collector').waitFor();
    const [first, ...more] = await listed();
    assert.deepEqual(more, []);
    const session = (await get(`/api/sessions/${first?.id}`)) as Session;
    assert.deepEqual(schemaErrors(session), [], 'the record conforms to its schema');
    assert.equal(session.complete, true);
    assert.deepEqual(
      session.segments.map(({ segment }) => segment),
      [0, 1, 2, 3],
    );
    await page.getByRole('link', { name: 'view session' }).click();
    await page.getByText(session.id.slice(0, 8)).first().waitFor();

    // The collector is down at the end of the second session.
    await page.goto(`${origin}/?maxBuffer=4`);
    await begin();
    await collector.kill();
    await end();
    await page.getByText('1 session stored in this browser').waitFor();
    collector = await serve(new URL(origin).host);
    assert.deepEqual(
      (await listed()).map(({ id }) => id),
      [session.id],
      'an accepted record survives a kill',
    );
    await page.getByText('Session delivered to the collector').waitFor({ timeout: 70_000 });
    const both = await listed();
    assert.equal(both.length, 2);
    assert.equal(new Set(both.map(({ id }) => id)).size, 2);
    const second = (await get(`/api/sessions/${both.find(({ id }) => id !== session.id)?.id}`)) as Session;
    assert.deepEqual(schemaErrors(second), []);
    assert.deepEqual(await get(`/api/sessions/${session.id}`), session);
    await page.reload();
    await page.getByLabel('Address of').waitFor();
    assert.equal(await page.locator('#outbox-status').innerText(), '');
    assert.equal((await listed()).length, 2);

    // From the player to the sessions, and deletion by a form, whose origin the browser sends.
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.locator(`a[href="/sessions/${session.id}"]`).click();
    await page.getByRole('link', { name: 'delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete this session' }).click();
    await page.waitForURL(`${origin}/sessions`);
    assert.deepEqual(
      (await listed()).map(({ id }) => id),
      [second.id],
    );
    await page.getByRole('link', { name: 'Delete these sessions' }).click();
    await page.getByRole('button', { name: 'Delete 1 session' }).click();
    await page.getByText('No sessions yet.').waitFor();
    assert.deepEqual(await listed(), []);
    assert.deepEqual(errors, []);
  } finally {
    await browser.close();
    await collector.kill();
    await rm(directory, { recursive: true, force: true });
  }
});

test('page plays private content and posts with the password that the browser asked for', {
  skip: skip.length === 0 ? false : `needs ${skip.join(', ')}`,
}, async () => {
  const folder = await testVideo({ seconds: 4, segmentSeconds: 1, fps: 25, kbps: [200], audio: false });
  const directory = await mkdtemp(join(tmpdir(), 'tandem-collector-'));
  const database = join(directory, 's.db');
  const options = ['--web', 'dist', '--content', folder, '--private-content', '--database', database];
  const collector = await Collector.start(['--listen', '127.0.0.1:0', ...options], { TANDEM_TOKEN: 'sesame' });
  const browser = await launch();
  try {
    const manifest = `${collector.origin}/content/manifest.mpd`;
    assert.equal((await fetch(manifest)).status, 401);
    const { page, errors } = await open(browser, { httpCredentials: { username: 'me', password: 'sesame' } });
    await page.goto(`${collector.origin}/?maxBuffer=4`);
    await page.getByLabel('Address of').fill(manifest);
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await page.locator('#phase[data-phase=finished]').waitFor();
    await page.getByText('Session delivered to the collector').waitFor();
    assert.deepEqual(errors, []);
  } finally {
    await browser.close();
    await collector.kill();
    await rm(directory, { recursive: true, force: true });
  }
});

class Collector {
  private constructor(
    readonly origin: string,
    readonly child: ChildProcess,
  ) {}

  static async start(arguments_: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Collector> {
    const env = { ...process.env, ...variables };
    const child = spawn(TANDEM, ['serve', ...arguments_], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const [address] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new Collector(new URL(address).origin, child);
  }

  /** Kills the process without a shutdown. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}
