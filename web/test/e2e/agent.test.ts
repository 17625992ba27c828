/**
 * The page's reports to an agent in Chromium, with a stand-in for `tandem agent` that keeps them.
 * kernel/agent.test.ts has the agent itself.
 */

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { hasChromium, launch, open } from './browser.ts';
import { TestServer } from './test-server.ts';
import { hasFfmpeg, testVideo } from './test-video.ts';
import { mockApiScript } from './youtube-mock.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';

/** Keeps the reports of a page of this origin. */
class StandIn {
  readonly reports: string[] = [];
  readonly tokens = new Set<string | undefined>();
  status = 204;
  readonly #server;

  constructor(origin: () => string) {
    this.#server = createServer(async (request, response) => {
      assert.equal(request.headers.origin, origin());
      response.setHeader('Access-Control-Allow-Origin', origin());
      response.setHeader('Access-Control-Allow-Headers', 'authorization, content-type');
      if (request.method === 'POST') {
        this.tokens.add(request.headers.authorization);
        this.reports.push(await text(request));
      }
      response.writeHead(request.method === 'POST' ? this.status : 204);
      response.end(this.status === 401 && request.method === 'POST' ? 'missing or wrong token\n' : undefined);
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

test('page reports the buffer to the agent that a person entered, also of YouTube', {
  skip: hasChromium && hasFfmpeg ? false : 'needs Chromium and ffmpeg',
}, async () => {
  const folder = await testVideo({ seconds: 12, segmentSeconds: 1, fps: 50, kbps: [200, 600], audio: false });
  const server = await TestServer.start({ '/video/': folder, '/': 'dist' });
  const agent = new StandIn(() => server.origin);
  const address = await agent.start();
  const browser = await launch();
  try {
    const { page, errors } = await open(browser);
    const body = mockApiScript('/video/whole.mp4');
    await page.route('https://www.youtube.com/iframe_api', (route) =>
      route.fulfill({ contentType: 'text/javascript', body }),
    );
    const play = async (video: string) => {
      await page.getByLabel('Address of').fill(video);
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.locator('#phase[data-phase=playing]').waitFor();
    };
    // No parameter of a link names an agent.
    const parameters = { agent: address, 'agent-token': TOKEN, agentToken: TOKEN, token: TOKEN };
    await page.goto(`${server.origin}/?${new URLSearchParams(parameters)}`);
    await play('/video/manifest.mpd');
    await page.waitForTimeout(1200);
    assert.equal(agent.reports.length, 0);
    await page.getByRole('button', { name: 'End session' }).click();

    await page.getByText('Settings').click();
    await page.getByLabel('Agent of this device').fill('10.0.0.1:9465');
    await page.keyboard.press('Tab');
    await page.getByText('Expected a loopback address').waitFor();
    await page.getByLabel('Agent of this device').fill(address);
    await page.getByLabel('Agent token').fill(TOKEN);
    await page.keyboard.press('Tab');
    await play('/video/manifest.mpd');
    await page.getByText('The agent takes reports.').waitFor();
    while (agent.reports.length < 4) await page.waitForTimeout(50);
    await page.getByRole('button', { name: 'End session' }).click();
    while (!agent.reports.at(-1)?.includes('tandem-done')) await page.waitForTimeout(50);
    assert.match(agent.reports[0] ?? '', /^bl=0,ot=av,sid="[\w-]{36}",su,tandem-missing=\d+$/);
    const playing = /^bl=\d+,br=(200|600),d=1000,(mtp=\d+,)?ot=av,sid="[\w-]{36}",(tandem-done,)?tandem-missing=\d+$/;
    assert.ok(
      agent.reports.some((report) => playing.test(report)),
      agent.reports.join('\n'),
    );
    assert.deepEqual([...agent.tokens], [`Bearer ${TOKEN}`]);

    // After a reload the browser still knows the agent.
    await page.goto(server.origin);
    agent.reports.length = 0;
    await play('https://youtu.be/onXpKXbnbE0');
    while (!agent.reports.some((report) => /^bl=[1-9]\d*,ot=av,sid="[\w-]{36}"/.test(report)))
      await page.waitForTimeout(50);

    agent.status = 401;
    await page.getByText('Settings').click();
    await page.getByText('The agent refuses reports: missing or wrong token.').waitFor();
    const refused = agent.reports.length;
    await page.waitForTimeout(1500);
    assert.equal(agent.reports.length, refused, 'a refused page waits before it reports again');
    assert.deepEqual(errors, []);
  } finally {
    await browser.close();
    agent.stop();
    await server.stop();
  }
});
