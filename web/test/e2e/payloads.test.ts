/**
 * Script payloads in every text of a record, against all pages of the collector that show it. The
 * pages' policy is switched off, so that only their escaping protects them; a second pass has it on.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { hasTandem, TANDEM } from '../tandem-binary.ts';
import { hasChromium, launch, open } from './browser.ts';

const skip = [
  hasChromium ? '' : 'Chromium',
  hasTandem ? '' : 'the program tandem (build it with `cargo build -p tandem-cli`)',
].filter(Boolean);

/** Each calls `hit()` if it runs. */
const PAYLOADS = [
  '<script>hit()</script>',
  '<img src=x: onerror=hit()>',
  '<svg onload=hit()>',
  '<svg><script>hit()</script></svg>',
  '<iframe srcdoc="<script>parent.hit()</script>"></iframe>',
  '<iframe src="javascript:parent.hit()"></iframe>',
  '<details open ontoggle=hit()>x</details>',
  '<input autofocus onfocus=hit()>',
  '<video src=x: onerror=hit()></video>',
  '<body onload=hit()>',
  '<style onload=hit()></style>',
  '<math><mtext><mglyph><style></math><img src=x: onerror=hit()>',
  '<noscript><p title="</noscript><img src=x: onerror=hit()>">',
  '"><script>hit()</script>',
  "'><script>hit()</script>",
  '" onmouseover="hit()" autofocus onfocus="hit()" x="',
  "' onfocus='hit()' autofocus x='",
  '</title><script>hit()</script>',
  '</script><script>hit()</script>',
  '</style><script>hit()</script>',
  '--><script>hit()</script><!--',
  ']]><script>hit()</script>',
  '[x](javascript:hit())',
  '](javascript:hit()) [y](data:text/html,<svg onload=hit()>)',
  '`<b>`**<script>hit()</script>**\\<script>hit()</script>',
];

/** A record with the payload in its fifteen texts. */
function poisoned(example: string, id: string, payload: string): string {
  const record = JSON.parse(example);
  record.id = id;
  assert.ok(payload.length <= 64, 'the shortest texts have at most 64 characters');
  record.label = payload;
  record.device = payload;
  record.zone = payload;
  record.rule = payload;
  record.player = { name: payload, version: payload, engine: payload, user_agent: payload };
  record.video = { ...record.video, url: payload, title: payload, content_id: payload };
  record.versions = { [payload]: payload };
  record.state = 'failed';
  record.complete = false;
  record.reason = { kind: 'other', message: payload };
  record.errors = [{ at_s: 0.75, message: payload, segment: null, status: null, fatal: true }];
  record.extra = { [payload]: payload };
  return JSON.stringify(record);
}

test('texts of a record run no script on any page of the collector', {
  skip: skip.length === 0 ? false : `needs ${skip.join(', ')}`,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tandem-payloads-'));
  const child = spawn(TANDEM, ['-q', 'serve', '--listen', '127.0.0.1:0', '--database', join(directory, 's.db')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const browser = await launch();
  try {
    const [address] = (await once(createInterface(child.stdout), 'line')) as [string];
    const { origin } = new URL(address);
    const reference = await readFile('../docs/reference/session.md', 'utf8');
    const example = /```json\n(.*?)```/s.exec(reference)?.[1] ?? '';
    const paths = ['/sessions', '/compare', '/sessions/delete', '/none'];
    for (const [index, payload] of PAYLOADS.entries()) {
      const id = `payload-${index}`;
      const body = poisoned(example, id, payload);
      const headers = { 'Content-Type': 'application/json' };
      const answer = await fetch(`${origin}/api/sessions`, { method: 'POST', headers, body });
      assert.equal(answer.status, 201, await answer.text());
      const label = `?label=${encodeURIComponent(payload)}`;
      paths.push(`/sessions/${id}`, `/sessions/${id}/delete`);
      paths.push(`/sessions${label}`, `/compare${label}`, `/sessions/delete${label}`, `/sessions?x=${label.slice(7)}`);
    }
    for (const bypassCSP of [true, false]) {
      const { page, context } = await open(browser, { bypassCSP });
      const hits: string[] = [];
      await page.exposeFunction('hit', () => hits.push(page.url()));
      page.on('dialog', (dialog) => void dialog.dismiss());
      for (const path of paths) {
        await page.goto(origin + path);
        await useControls(page);
        assert.deepEqual(await foreignParts(page), [], path);
      }
      assert.deepEqual(hits, []);
      // The check itself: without the policy an unescaped payload would have run.
      await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<img src="x:" onerror="hit()">'));
      await page.waitForTimeout(500);
      assert.equal(hits.length, bypassCSP ? 1 : 0);
      await context.close();
    }
  } finally {
    await browser.close();
    child.kill('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  }
});

/** Opens what is folded, and points at and focuses every element. */
async function useControls(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const element of document.querySelectorAll<HTMLElement>('body *')) {
      if (element instanceof HTMLDetailsElement) element.open = true;
      for (const type of ['mouseover', 'focus', 'click'])
        if (type !== 'click' || !(element instanceof HTMLAnchorElement || element instanceof HTMLButtonElement))
          element.dispatchEvent(new Event(type, { bubbles: true }));
    }
  });
}

/** Elements and attributes that no page of the collector has. */
async function foreignParts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    for (const element of document.querySelectorAll('*')) {
      if (
        ['IFRAME', 'IMG', 'OBJECT', 'EMBED', 'VIDEO', 'INPUT', 'MATH', 'BASE'].includes(element.tagName.toUpperCase())
      )
        found.push(element.outerHTML.slice(0, 100));
      for (const { name, value } of element.attributes)
        if (name.startsWith('on') || /^\s*(javascript|data:text):?/i.test(value)) found.push(`${name}=${value}`);
    }
    for (const script of document.querySelectorAll('script:not([type])'))
      if (!script.textContent?.startsWith('\n')) found.push(script.outerHTML.slice(0, 100));
    return found;
  });
}
