/** The page and the real collector, `tandem serve`, which is killed in mid-play and started again. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { Session } from '../../src/measure/record.ts';
import { misfits } from '../schema.ts';
import { hasTandem, TANDEM } from '../tandem.ts';
import { hasChromium, launch, open } from './browser.ts';
import { hasFfmpeg, video } from './video.ts';

const skip = [
  hasChromium ? '' : 'Chromium',
  hasFfmpeg ? '' : 'ffmpeg',
  hasTandem ? '' : 'the program tandem, which `cargo test` builds',
].filter(Boolean);

/** What the list of sessions has of each. */
interface Listed {
  readonly id: string;
  readonly complete: boolean;
}

test('a record reaches `tandem serve`, also where that is killed in mid-play and comes back later', {
  skip: skip.length === 0 ? false : `needs ${skip.join(', ')}`,
}, async () => {
  const folder = await video({ seconds: 4, segmentSeconds: 1, fps: 25, kbps: [200], audio: false });
  const kept = await mkdtemp(join(tmpdir(), 'tandem-collector-'));
  const serve = (listen: string) =>
    Collector.start([
      '--listen',
      listen,
      '--web',
      'dist',
      '--content',
      folder,
      '--database',
      join(kept, 'sessions.db'),
    ]);
  let collector = await serve('127.0.0.1:0');
  const { origin } = collector;
  const get = async (path: string) => (await fetch(`${origin}${path}`)).json() as Promise<unknown>;
  const listed = async () => ((await get('/api/sessions')) as { sessions: Listed[] }).sessions;
  const browser = await launch();
  try {
    const { page, errors } = await open(browser);
    const begin = async () => {
      await page.getByLabel('Address of').fill(`${origin}/content/manifest.mpd`);
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 0.5);
    };
    const end = () => page.getByRole('button', { name: 'End session' }).click();

    // To its end: then the page hears of that later than it was.
    await page.goto(`${origin}/?maxBuffer=4`);
    await begin();
    await page.getByText('The collector has this session').waitFor();
    const [first, ...more] = await listed();
    assert.deepEqual(more, []);
    const session = (await get(`/api/sessions/${first?.id}`)) as Session;
    assert.deepEqual(misfits(session), [], 'the record has the form of docs/reference/session.md');
    assert.equal(session.complete, true);
    assert.deepEqual(
      session.segments.map(({ segment }) => segment),
      [0, 1, 2, 3],
    );
    await page.getByRole('link', { name: 'see it there' }).click();
    await page.getByText(session.id.slice(0, 8)).first().waitFor();

    // Of the second it hears only when it is there again.
    await page.goto(`${origin}/?maxBuffer=4`);
    await begin();
    await collector.kill();
    await end();
    await page.getByText('1 session is kept in this browser').waitFor();
    collector = await serve(new URL(origin).host);
    assert.deepEqual(
      (await listed()).map(({ id }) => id),
      [session.id],
      'what it had said that it has, it has after a kill',
    );
    await page.getByText('The collector has this session').waitFor({ timeout: 70_000 });
    const both = await listed();
    assert.equal(both.length, 2);
    assert.equal(new Set(both.map(({ id }) => id)).size, 2);
    const second = (await get(`/api/sessions/${both.find(({ id }) => id !== session.id)?.id}`)) as Session;
    assert.deepEqual(misfits(second), []);
    assert.deepEqual(await get(`/api/sessions/${session.id}`), session);
    await page.reload();
    await page.getByLabel('Address of').waitFor();
    assert.equal(await page.locator('#kept').innerText(), '');
    assert.equal((await listed()).length, 2);
    assert.deepEqual(errors, []);
  } finally {
    await browser.close();
    await collector.kill();
    await rm(kept, { recursive: true, force: true });
  }
});

class Collector {
  private constructor(
    readonly origin: string,
    readonly child: ChildProcess,
  ) {}

  static async start(arguments_: readonly string[]): Promise<Collector> {
    const child = spawn(TANDEM, ['serve', ...arguments_], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [address] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new Collector(new URL(address).origin, child);
  }

  /** Without a moment to put anything in order. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}
