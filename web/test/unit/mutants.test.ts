/**
 * Mutations of everything foreign that the page reads: stored sessions and settings, links,
 * catalogues, and answers of a collector. No exception escapes, and every address is one of HTTP.
 */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { cmcdReport, parseAgent } from '../../src/collect/agent-link.ts';
import { recoverAbandoned } from '../../src/collect/checkpoint.ts';
import { Destination } from '../../src/collect/destination.ts';
import { Outbox, type OutboxStatus } from '../../src/collect/outbox.ts';
import { send } from '../../src/collect/send.ts';
import { memoryStore, type StoredRecord } from '../../src/collect/store.ts';
import { codecName } from '../../src/measure/p1203.ts';
import { parseAgentChoice } from '../../src/page/agent-settings.ts';
import { parseCatalogue, searchTitles } from '../../src/page/catalogue.ts';
import { collectorPages, DEFAULTS, parseSettings, parseSource, parseStored } from '../../src/page/settings.ts';
import {
  formatDuration,
  parseDuration,
  parseIds,
  parseVideos,
  refusal,
  thumbnail,
} from '../../src/page/youtube-data.ts';
import { forEachMutant, type Random } from '../mutants.ts';

const BASE = 'https://host/page/';

/** Storage with these texts. */
function storageOf(texts: { readonly [key: string]: string }): Storage {
  const items = new Map(Object.entries(texts));
  return {
    get length() {
      return items.size;
    },
    key: (index) => [...items.keys()][index] ?? null,
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
    clear: () => items.clear(),
  };
}

function assertHttp(address: string): void {
  assert.match(new URL(address).protocol, /^https?:$/, address);
}

test('mutated checkpoints are sessions of text or nothing', () =>
  forEachMutant((random) => {
    const checkpoint = { at: 5, last: true, record: '{"schema":"tandem-session/2","id":"a"}' };
    const storage = storageOf({
      [`tandem.session.${random.text('a')}`]: random.json(checkpoint),
      'tandem.session.good': JSON.stringify(checkpoint),
      [random.text('tandem.other')]: random.json(checkpoint),
    });
    const found = recoverAbandoned(storage, 1e6, new Set());
    assert.ok(
      found.some(({ id }) => id === 'good'),
      'a damaged checkpoint hides another',
    );
    for (const { id, record } of found) assert.ok(typeof id === 'string' && typeof record === 'string');
  }));

test('mutated settings of storage and links are valid settings', () =>
  forEachMutant((random) => {
    const entered = { rule: 'bola', maxBuffer: 12, cmcd: 'header', catalogue: 'c.json', label: 'bus' };
    const stored = parseSettings(parseStored(random.json(entered)), DEFAULTS);
    const query = new URLSearchParams(random.text(new URLSearchParams(entered as never).toString()));
    for (const settings of [stored, parseSettings(Object.fromEntries(query), stored)]) {
      assert.ok(['dynamic', 'throughput', 'bola'].includes(settings.rule));
      assert.ok(['query', 'header', 'off'].includes(settings.cmcd));
      assert.ok(settings.maxBuffer >= 2 && settings.maxBuffer <= 600);
      assert.ok(typeof settings.catalogue === 'string' && settings.label.length <= 200);
    }
  }));

test('mutated addresses of links and catalogues are played over HTTP or not at all', () =>
  forEachMutant((random) => {
    const source = parseSource(
      random.text('https://host/film/manifest.mpd?a=1'),
      random.pick(['auto', 'dash', 'file']),
      BASE,
    );
    if (typeof source !== 'string') assert.match(new URL(source.url).protocol, /^(https?|blob):$/, source.url);
    const video = parseSource(random.text('https://www.youtube.com/watch?v=onXpKXbnbE0'), 'youtube', BASE);
    if (typeof video !== 'string') assert.match(video.url, /^https:\/\/www\.youtube\.com\/watch\?v=[\w-]{11}$/);
    const title = { title: 'Film', url: 'film.mpd', description: 'A film', duration_s: 5 };
    const titles = parseCatalogue(random.value({ videos: [title, title] }), BASE);
    searchTitles(titles, random.text('film'));
    for (const { title, url, description, duration } of titles) {
      assert.ok([title, url, description].every((text) => typeof text === 'string'));
      assert.ok(duration === null || duration > 0);
    }
    codecName(random.text('avc1.64001f'));
  }));

test('mutated addresses of the agent are on this host, and reports are one line of CMCD', () =>
  forEachMutant((random) => {
    const url = parseAgent(random.text('http://127.0.0.1:9465'));
    if (url !== null) {
      assert.match(url.hostname, /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/);
      assert.deepEqual([url.protocol, url.pathname, url.search, url.username], ['http:', '/player', '', '']);
    }
    const choice = parseAgentChoice(random.json({ address: '127.0.0.1:9465', token: 'a' }));
    assert.ok(typeof choice.address === 'string' && typeof choice.token === 'string');
    const any = () => random.pick([null, 0, -1, 2.5, 1e308, Number.NaN, Number.POSITIVE_INFINITY]);
    const report = cmcdReport({
      session: random.text('4c2a9e40'),
      buffer: any() ?? 0,
      bitrateKbps: any(),
      segmentDuration: any(),
      missing: any(),
      kbps: any(),
      paused: random.below(2) === 0,
      waits: random.below(2) === 0,
      done: random.below(2) === 0,
    });
    assert.match(report, /^[\w,="+-]*$/);
  }));

test('mutated answers of the search are videos of text with images of YouTube', () =>
  forEachMutant((random) => {
    const found = { items: [{ id: { videoId: 'onXpKXbnbE0' } }, { id: { videoId: 'aaaaaaaaaaa' } }] };
    const ids = parseIds(random.value(found));
    for (const id of ids) assert.equal(new URL(thumbnail(id)).href, `https://i.ytimg.com/vi/${id}/mqdefault.jpg`);
    const video = {
      id: 'onXpKXbnbE0',
      snippet: { title: 'A film', channelTitle: 'A channel' },
      contentDetails: { duration: 'PT4M5S', definition: 'hd' },
    };
    for (const { id, title, channel, duration } of parseVideos(random.value({ items: [video, video] }), ids)) {
      assert.ok(ids.includes(id) && typeof title === 'string' && typeof channel === 'string');
      assert.ok(duration === null || duration > 0);
      assert.match(formatDuration(duration), /^(live|\d+:\d\d(:\d\d)?)$/);
    }
    parseDuration(random.text('P1DT2H3M4S'));
    const error = {
      message: 'refused',
      errors: [{ reason: 'quotaExceeded' }],
      details: [{ reason: 'SERVICE_DISABLED' }],
    };
    assert.ok(refusal(403, random.value({ error })).length < 400);
  }));

test('mutated choices and links get no collector without a click', () =>
  forEachMutant((random) => {
    const address = 'https://collector.example/api/sessions';
    const choices = random.json({ entered: '', confirmed: { 'https://collector.example': address } });
    const storage = storageOf({ 'tandem.collector': choices });
    const linked = random.text(address);
    const destination = new Destination({ storage, base: BASE, linked, mayAsk: random.below(2) === 0 });
    for (const url of [destination.url, destination.question]) if (url !== null) assertHttp(url.href);
    if (destination.url !== null) {
      const isKnown = choices.includes(destination.url.href) || destination.url.origin === new URL(BASE).origin;
      // An address in the storage may be written in another way than its normal form.
      if (!isKnown)
        assert.ok(
          parsedTexts(choices).some(
            (text) => URL.canParse(text.trim(), BASE) && new URL(text.trim(), BASE).href === destination.url?.href,
          ),
        );
    }
    const pages = collectorPages(destination.url, random.text('bus'));
    if (pages !== null) for (const page of Object.values(pages)) assertHttp(page);
    destination.answer(random.below(2) === 0);
    destination.enter(random.text(address));
    destination.setToken('secret');
    if (destination.url !== null) assertHttp(destination.url.href);
  }));

/** All texts of a JSON document. */
function parsedTexts(json: string): string[] {
  const texts: string[] = [];
  JSON.parse(json, (_, value: unknown) => {
    if (typeof value === 'string') texts.push(value);
    return value;
  });
  return texts;
}

test('mutated answers of a collector delete no other session and link to its origin only', async () => {
  const fetchBefore = globalThis.fetch;
  try {
    await forEachMutant(async (random) => {
      const collector = new URL('https://collector.example/api/sessions');
      const body = random.json({ id: 'a', url: '/session/a', error: 'too large '.repeat(random.pick([1, 1000])) });
      const status = random.pick([200, 201, 204, 400, 401, 409, 413, 429, 500, 507]);
      globalThis.fetch = async () => {
        if (random.below(20) === 0) throw random.pick<unknown>([new TypeError('failed'), 'text', null, undefined]);
        return new Response(status === 204 ? null : body, { status, statusText: 'x' });
      };
      const result = await send(collector, 'a', '{}', '');
      if (result.kind === 'accepted') {
        assert.ok(status < 300 && (JSON.parse(body) as { id: unknown }).id === 'a');
        if (result.url !== null) assert.equal(new URL(result.url).origin, collector.origin);
      } else assert.ok(result.reason.length > 0 && result.reason.length < 400);
      await sendStored(random, async () => result);
    });
  } finally {
    globalThis.fetch = fetchBefore;
  }
});

/** Sends mutated stored records: each is removed only if it was accepted. */
async function sendStored(random: Random, answer: () => ReturnType<typeof send>): Promise<void> {
  const store = memoryStore();
  const refused = random.pick([null, { collector: BASE, reason: '422' }]);
  const kept = random.value({ id: 'a', record: '{"id":"a"}', refused });
  if (typeof kept !== 'object' || kept === null) return;
  await store.put({ ...kept, id: 'a' } as StoredRecord);
  await store.put({ id: 'b', record: '{}', refused: null });
  let status: OutboxStatus | undefined;
  const schedule = () => {};
  const outbox = new Outbox(
    () => ({ store, collector: { address: BASE, send: answer }, schedule }),
    (now) => {
      status = now;
    },
  );
  await outbox.flush();
  const left = (await store.ids()).length;
  assert.equal(status === undefined ? -1 : status.waiting + status.refused, left);
  if ((await answer()).kind !== 'accepted') assert.equal(left, 2);
}

test('page sets no HTML from text', async () => {
  const folder = join(process.cwd(), 'src');
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
  assert.ok(files.length > 15);
  for (const file of files) {
    const text = await readFile(join(folder, file), 'utf8');
    const unsafe =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|createContextualFragment|\beval\(|new Function/;
    assert.doesNotMatch(text, unsafe, file);
  }
});
