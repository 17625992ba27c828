/**
 * The whole page in Chromium with mutated inputs at once: kept sessions and settings, parameters of a
 * link, a catalogue, a manifest, and a collector's answers. No exception escapes, and no HTML.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOSTILE, MUTANTS, Random } from '../mutants.ts';
import { hasChromium, launch, open } from './browser.ts';
import { TestServer } from './test-server.ts';

/** A page takes as long as many calls of a parser. */
const PAGES = Math.ceil(MUTANTS / 30);

const MANIFEST = `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT4S" minBufferTime="PT2S"
  profiles="urn:mpeg:dash:profile:isoff-live:2011"><ProgramInformation><Title>A film</Title></ProgramInformation>
  <Period><AdaptationSet mimeType="video/mp4" codecs="avc1.42c01e">
    <SegmentTemplate media="$RepresentationID$/$Number$.m4s" initialization="$RepresentationID$/init.mp4" duration="2" startNumber="1"/>
    <Representation id="low" bandwidth="500000" width="640" height="360"/><Representation id="high" bandwidth="2000000"/>
  </AdaptationSet></Period></MPD>`;

/** Texts that the page keeps from an earlier visit. */
function storedTexts(random: Random): { [key: string]: string } {
  const record = { schema: 'tandem-session/2', id: 'a', label: random.pick(HOSTILE) };
  const collector = 'https://collector.example/api/sessions';
  return {
    'tandem.settings': random.json({ rule: 'bola', maxBuffer: 12, cmcd: 'header', label: 'bus', catalogue: 'c.json' }),
    'tandem.collector': random.json({
      entered: '/api/sessions',
      confirmed: { 'https://collector.example': collector },
    }),
    'tandem.agent': random.json({ address: '127.0.0.1:9', token: 'a' }),
    'tandem.youtube-key': random.pick(HOSTILE),
    [`tandem.session.${random.text('a')}`]: random.json({ at: 5, last: true, record: random.json(record) }),
    'tandem.session.b': JSON.stringify({ at: 5, last: true, record: random.text('{}') }),
  };
}

function link(random: Random): string {
  const parameters = new URLSearchParams({ catalogue: '/catalogue.json', src: '/film.mpd', autoplay: '' });
  for (const [name, value] of [
    ['title', 'A film'],
    ['label', 'bus'],
    ['kind', random.pick(['auto', 'dash', 'file', 'youtube', random.pick(HOSTILE)])],
    ['collector', '/api/sessions'],
    ['rule', 'bola'],
    ['maxBuffer', '12'],
  ])
    if (random.below(3) > 0) parameters.set(name ?? '', random.text(value ?? ''));
  return random.below(4) === 0 ? random.text(parameters.toString()).replaceAll('#', '') : parameters.toString();
}

test('mutated inputs of the page raise no exception and become no HTML', {
  skip: hasChromium ? false : 'needs Chromium',
  timeout: 20_000 + 10_000 * PAGES,
}, async () => {
  const own = await TestServer.start({ '/': 'dist' });
  const browser = await launch();
  try {
    const reached = { catalogue: 0, manifest: 0, collector: 0, titles: 0 };
    for (let seed = 0; seed < PAGES; seed++) {
      const random = new Random(seed);
      const { page, context, errors } = await open(browser);
      const title = { title: 'Film', url: 'film.mpd', description: 'A film', duration_s: 5 };
      const answers: [keyof typeof reached, string, () => string][] = [
        ['catalogue', '**/catalogue.json', () => random.json({ videos: [title, title] })],
        ['manifest', '**/film.mpd*', () => random.text(MANIFEST)],
        ['collector', '**/api/sessions', () => random.json({ id: random.pick(['a', 'b']), url: random.pick(HOSTILE) })],
      ];
      for (const [name, pattern, body] of answers)
        await page.route(pattern, (route) => {
          reached[name]++;
          return route.fulfill({ status: random.pick([200, 200, 400, 500]), body: body() });
        });
      await page.addInitScript((texts) => {
        for (const [key, text] of Object.entries(texts)) localStorage.setItem(key, text);
      }, storedTexts(random));
      const address = `${own.origin}/?${link(random)}`;
      await page.goto(address);
      await page.waitForTimeout(300);
      const found = await page.evaluate(`({
          hit: window.hit,
          elements: document.querySelectorAll('img, iframe, object, embed, base, [onerror], [onload], [srcdoc]').length,
          scripts: document.scripts.length,
          titles: document.querySelectorAll('#titles li').length,
          links: [...document.links].map(({ href }) => href),
        })`);
      const { hit, elements, scripts, titles, links } = found as { [name: string]: unknown } & {
        titles: number;
        links: string[];
      };
      reached.titles += titles;
      const where = `mutant ${seed}: ${address}`;
      assert.deepEqual(
        { hit, elements, scripts, errors },
        { hit: undefined, elements: 0, scripts: 1, errors: [] },
        where,
      );
      for (const href of links) assert.match(href, /^https?:/, where);
      await context.close();
    }
    for (const [name, count] of Object.entries(reached)) assert.ok(count > 0, `no mutant reached the ${name}`);
  } finally {
    await browser.close();
    await own.stop();
  }
});
