import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCollector } from '../../src/collect/destination.ts';
import { parseCatalogue, searchTitles } from '../../src/page/catalogue.ts';
import { axisTicks } from '../../src/page/chart.ts';
import { collectorPages, DEFAULTS, parseSettings, parseSource } from '../../src/page/settings.ts';
import { formatDuration, parseDuration } from '../../src/page/youtube-data.ts';

const BASE = 'http://host/page/';

test('address determines the kind of video', () => {
  const kinds: [string, string, string][] = [
    ['https://host/a/b/manifest.mpd?x=1', 'auto', 'dash https://host/a/b/manifest.mpd?x=1'],
    ['video/Manifest.MPD', 'auto', 'dash http://host/page/video/Manifest.MPD'],
    ['https://host/a.mp4', 'auto', 'file https://host/a.mp4'],
    ['https://host/stream', 'dash', 'dash https://host/stream'],
    ['https://host/a.mpd', 'file', 'file https://host/a.mpd'],
    ['https://www.youtube.com/watch?v=onXpKXbnbE0&t=3', 'auto', 'youtube https://www.youtube.com/watch?v=onXpKXbnbE0'],
    ['https://youtu.be/onXpKXbnbE0', 'auto', 'youtube https://www.youtube.com/watch?v=onXpKXbnbE0'],
    [
      'https://www.youtube-nocookie.com/embed/onXpKXbnbE0',
      'auto',
      'youtube https://www.youtube.com/watch?v=onXpKXbnbE0',
    ],
    ['onXpKXbnbE0', 'youtube', 'youtube https://www.youtube.com/watch?v=onXpKXbnbE0'],
    ['https://notyoutube.com/watch?v=onXpKXbnbE0', 'auto', 'file https://notyoutube.com/watch?v=onXpKXbnbE0'],
  ];
  for (const [address, kind, expected] of kinds) {
    const found = parseSource(address, kind, BASE);
    assert.ok(typeof found !== 'string', `${address}: ${found}`);
    assert.equal(`${found.kind} ${found.url}`, expected);
  }
});

test('invalid address gives an error message', () => {
  for (const [address, kind, message] of [
    ['  ', 'auto', /Enter an address/],
    ['ftp://host/a.mpd', 'auto', /ftp/],
    ['javascript:alert(1)', 'auto', /javascript/],
    ['http://user:secret@host/a.mpd', 'auto', /password/],
    ['https://host/a.mp4', 'youtube', /YouTube/],
    ['http://', 'auto', /Invalid address/],
  ] as const) {
    const found = parseSource(address, kind, BASE);
    assert.equal(typeof found, 'string', address);
    assert.match(found as string, message);
  }
});

test('invalid settings keep their previous values', () => {
  const given = { rule: 'bola', maxBuffer: '12', cmcd: 'loud', collector: '/c', label: 'x'.repeat(300), nonsense: 1 };
  const found = parseSettings(given, DEFAULTS);
  assert.deepEqual(found, { ...DEFAULTS, rule: 'bola', maxBuffer: 12, label: 'x'.repeat(200) });
  assert.equal(parseSettings({ label: `${'x'.repeat(199)}😀` }, DEFAULTS).label, 'x'.repeat(199));
  for (const maxBuffer of ['', '0', '-5', '1e9', 'many', null])
    assert.equal(parseSettings({ maxBuffer }, DEFAULTS).maxBuffer, 30);
});

test('axis without data ends at 1, and other axes at a round number above the data', () => {
  assert.deepEqual(axisTicks(0), [0, 1]);
  assert.deepEqual(axisTicks(7), [0, 2, 4, 6, 8]);
});

test('collector pages follow from the address of the collector', () => {
  const pages = (collector: string, label: string) => collectorPages(parseCollector(collector, BASE), label);
  assert.deepEqual(pages('/api/sessions', ''), { sessions: 'http://host/sessions', compare: 'http://host/compare' });
  assert.deepEqual(pages('https://c.example/q/api/sessions', 'a b'), {
    sessions: 'https://c.example/q/sessions?label=a+b',
    compare: 'https://c.example/q/compare?label=a+b',
  });
  assert.equal(pages('', ''), null);
});

test('catalogue skips invalid entries and resolves relative addresses', () => {
  const parsed = parseCatalogue(
    { videos: [{ title: 'A', url: 'a.mpd', duration_s: 20 }, { title: 'B' }, null, { title: 'C', url: 'http://[' }] },
    'http://host/list/catalogue.json',
  );
  assert.deepEqual(parsed, [{ title: 'A', url: 'http://host/list/a.mpd', description: '', duration: 20 }]);
  for (const invalid of [null, 3, {}, { videos: 'a' }]) assert.deepEqual(parseCatalogue(invalid, BASE), []);
});

test('search matches all words in any order and ignores case and accents', () => {
  const titles = parseCatalogue({ videos: [{ title: 'Pelícano azul', url: 'a', description: 'at Sea' }] }, BASE);
  const found = (words: string) => searchTitles(titles, words).length;
  assert.deepEqual(['', 'AZUL pelicano', 'sea azul', 'azul mountain'].map(found), [1, 1, 1, 0]);
});

test('durations of YouTube are read and shown', () => {
  const shown = (text: string) => formatDuration(parseDuration(text));
  assert.deepEqual(['PT9S', 'PT12M', 'PT1H2M3S', 'P1DT1S', 'P0D', 'soon'].map(shown), [
    '0:09',
    '12:00',
    '1:02:03',
    '24:00:01',
    'live',
    'live',
  ]);
});
