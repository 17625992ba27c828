/** The page: what the viewer does, goes to the player; what the player does, is shown and kept. */

import { openKeep } from '../collect/keep.ts';
import { Outbox, type Standing } from '../collect/outbox.ts';
import { send, sendAtLast } from '../collect/send.ts';
import * as will from '../collect/will.ts';
import { display, LiveSession } from '../measure/live.ts';
import type { Phase } from '../measure/meter.ts';
import { DashPlayback } from '../play/dash.ts';
import { FilePlayback } from '../play/file.ts';
import type { Playback } from '../play/playback.ts';
import { YouTubePlayback } from '../play/youtube.ts';
import { catalogue, search, type Title } from './catalogue.ts';
import { Chart } from './chart.ts';
import { Figures, showStalls } from './figures.ts';
import { DEFAULTS, type Settings, type Source, settings, source } from './settings.ts';

/** Set when the page is built. */
declare const VERSION: string;

/** How often the figures are drawn anew, and the record written down (ms). */
const DRAW_MS = 250;
const WILL_MS = 5_000;

const SETTINGS_KEY = 'tandem.settings';

const byId = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const page = {
  source: byId<HTMLFormElement>('source'),
  url: byId<HTMLInputElement>('url'),
  kind: byId<HTMLSelectElement>('kind'),
  problem: byId('url-problem'),
  stop: byId<HTMLButtonElement>('stop'),
  options: byId<HTMLFormElement>('options'),
  token: byId<HTMLInputElement>('token'),
  video: byId<HTMLVideoElement>('video'),
  youtube: byId('youtube'),
  phase: byId('phase'),
  now: byId('now'),
  announce: byId('announce'),
  failure: byId('failure'),
  stalls: byId('stalls'),
  noStalls: byId('no-stalls'),
  stallsScroll: byId('stalls-scroll'),
  saveJson: byId<HTMLButtonElement>('save-json'),
  saveP1203: byId<HTMLButtonElement>('save-p1203'),
  sent: byId('sent'),
  kept: byId('kept'),
  sendKept: byId<HTMLButtonElement>('send-kept'),
  catalogue: byId('catalogue'),
  search: byId<HTMLInputElement>('search'),
  found: byId('found'),
  titles: byId('titles'),
};
const figures = new Figures(byId('kpis'), byId('live'));
const bufferChart = new Chart(byId('buffer-chart'), 'Buffer', 's');
const rateChart = new Chart(byId('rate-chart'), 'Bitrate and throughput', 'Mbit/s');

const query = new URLSearchParams(location.search);
let chosen = settings(Object.fromEntries(query), settings(remembered(), DEFAULTS));
let session: LiveSession | undefined;
let playback: Playback | undefined;
let drawn = 0;
let written = 0;

// ---------------------------------------------------------------- a session

function begin(from: Source, title: string | null, start: number, muted: boolean): void {
  end();
  const id = newId();
  const live = new LiveSession(
    {
      id,
      url: from.url,
      contentId: from.name.slice(0, 64),
      title,
      label: chosen.label === '' ? null : chosen.label,
      rule: from.kind === 'dash' ? chosen.rule : 'fixed',
      settings: {
        max_buffer_s: from.kind === 'dash' ? chosen.maxBuffer : null,
        cmcd: from.kind === 'dash' ? chosen.cmcd : 'off',
      },
      viewing: display(),
      versions: {},
      version: VERSION,
    },
    start,
    () => changed(live),
  );
  session = live;
  page.failure.hidden = true;
  page.sent.textContent = '';
  page.stop.disabled = false;
  page.saveJson.disabled = false;
  page.saveP1203.disabled = false;
  page.video.hidden = from.kind === 'youtube';
  page.youtube.hidden = from.kind !== 'youtube';
  if (muted) page.video.muted = true;
  playback = play(from, live, muted);
  live.attach(playback);
  announce(`Loading ${title ?? from.name}.`);
  draw(true);
}

function play(from: Source, live: LiveSession, muted: boolean): Playback {
  switch (from.kind) {
    case 'dash': {
      const { rule, cmcd, maxBuffer } = chosen;
      const options = { sessionId: live.id, contentId: from.name.slice(0, 64), rule, cmcd, maxBuffer };
      return new DashPlayback(page.video, from.url, options, live);
    }
    case 'file':
      return new FilePlayback(page.video, from.url, live);
    case 'youtube':
      return new YouTubePlayback(page.youtube, from.name, { api: query.get('youtube-api'), muted }, live);
  }
}

/** Ends the session, if there is one, and lets go of its video. */
function end(): void {
  session?.close();
  playback?.stop();
  playback = undefined;
}

function changed(live: LiveSession): void {
  if (live !== session) return;
  if (live.over) over(live);
  draw(true);
}

/** Says what has changed since it was last said. */
function sayPhase(phase: Phase | 'none' | 'over'): void {
  if (page.phase.dataset.phase === phase) return;
  page.phase.dataset.phase = phase;
  page.phase.textContent = { none: 'no session', over: 'ended' }[phase as 'none'] ?? phase;
  if (phase === 'stalled') announce('Stalled.');
  else if (phase === 'playing') announce('Playing.');
  else if (phase === 'paused') announce('Paused.');
}

function over(live: LiveSession): void {
  page.stop.disabled = true;
  const { kpis } = live.record();
  const ended = live.complete ? 'The video has ended.' : 'The session has ended.';
  announce(`${ended} ${kpis.stalls} stalls, mean opinion score ${kpis.mok.mos.toFixed(2)}.`);
  if (live.failure !== undefined) {
    page.failure.textContent = `It cannot go on: ${live.failure}`;
    page.failure.hidden = false;
  }
  const text = JSON.stringify(live.record());
  will.write(localStorage, live.id, text, true, Date.now());
  outbox.add(live.id, text).then(
    () => will.revoke(localStorage, live.id),
    () => {
      // The database would not have it. The will is still there for the next page.
    },
  );
  // At the end of a video its last picture stays.
  if (live.complete) return;
  // Not from within an event of the player's own.
  setTimeout(() => {
    if (live !== session) return;
    playback?.stop();
    playback = undefined;
  });
}

/** An id as a UUID looks; `crypto.randomUUID` is there on secure origins only. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  // RFC 9562, section 5.4: version 4, variant 10.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

// ---------------------------------------------------------------- what is shown

function announce(text: string): void {
  page.announce.textContent = text;
}

function draw(now = false): void {
  const at = performance.now();
  if (!now && at - drawn < DRAW_MS) return;
  drawn = at;
  const live = session;
  const record = live?.record();
  figures.show(record, playback?.status());
  sayPhase(live === undefined ? 'none' : live.over ? 'over' : live.phase);
  if (live === undefined || record === undefined) return;
  const spans = live.spans();
  const seconds = (ms: number) => (ms - live.start) / 1000;
  page.now.textContent = `${record.played_s.toFixed(1)} s played in ${record.duration_s.toFixed(1)} s`;
  const stalls = showStalls(page.stalls, spans, live.start);
  page.noStalls.hidden = stalls > 0;
  page.stallsScroll.hidden = stalls === 0;
  const { samples } = live;
  const length = record.duration_s;
  const line = (value: (sample: (typeof samples)[number]) => number | null) =>
    samples.map((sample) => [seconds(sample.at), value(sample)] as const);
  const mega = (kbps: number | null) => (kbps === null ? null : kbps / 1000);
  bufferChart.show(
    [{ name: 'buffer', look: 'buffer', points: line(({ buffer }) => buffer) }],
    spans,
    live.start,
    length,
  );
  rateChart.show(
    [
      { name: 'throughput', look: 'throughput', points: line(({ kbps }) => mega(kbps)) },
      { name: 'bitrate', look: 'bitrate', points: line(({ bitrateKbps }) => mega(bitrateKbps)), steps: true },
    ],
    spans,
    live.start,
    length,
  );
}

setInterval(() => {
  const live = session;
  if (live === undefined || live.over) return;
  live.sample();
  draw();
  const now = performance.now();
  if (now - written >= WILL_MS) {
    written = now;
    will.write(localStorage, live.id, JSON.stringify(live.record()), false, Date.now());
  }
}, DRAW_MS);

// ---------------------------------------------------------------- the collector

const keep = openKeep();
const outbox = new Outbox(
  () => ({
    keep,
    send:
      chosen.collector === ''
        ? null
        : (record) => send(new URL(chosen.collector, document.baseURI).href, record, page.token.value),
    later: (act, ms) => setTimeout(act, ms),
  }),
  showStanding,
);

function showStanding({ waiting, refused, arrived, why, again }: Standing): void {
  page.sendKept.hidden = waiting === 0 || chosen.collector === '';
  page.sent.replaceChildren();
  if (arrived !== null && arrived.id === session?.id) {
    page.sent.append('The collector has this session');
    if (arrived.url !== null && URL.canParse(arrived.url, new URL(chosen.collector, document.baseURI))) {
      const link = document.createElement('a');
      link.href = new URL(arrived.url, new URL(chosen.collector, document.baseURI)).href;
      link.textContent = 'see it there';
      page.sent.append(': ', link);
    }
    page.sent.append('.');
  }
  const said: string[] = [];
  const sessions = (count: number) => (count === 1 ? '1 session is' : `${count} sessions are`);
  if (waiting > 0) {
    const then = again === null ? 'there is no collector to send to' : 'sent as soon as it answers';
    said.push(`${sessions(waiting)} kept in this browser, ${then}${why === null ? '' : ` (${why})`}.`);
  }
  if (refused > 0) said.push(`${sessions(refused)} kept which the collector refused${why === null ? '' : `: ${why}`}.`);
  page.kept.textContent = said.join(' ');
}

async function adoptOrphans(): Promise<void> {
  for (const { id, record } of will.orphans(localStorage, Date.now())) {
    if (id === session?.id && !session.over) continue;
    await keep.put({ id, record, refused: null });
    will.revoke(localStorage, id);
  }
  await outbox.flush();
}

addEventListener('pagehide', () => {
  const live = session;
  if (live === undefined || live.over) return;
  // What ends here is written first, and sent if that can be done in passing.
  end();
  const { collector } = chosen;
  if (collector !== '')
    sendAtLast(new URL(collector, document.baseURI).href, JSON.stringify(live.record()), page.token.value);
});
addEventListener('pageshow', (event) => {
  if (event.persisted) void adoptOrphans();
});
addEventListener('online', () => void outbox.flush());
page.sendKept.addEventListener('click', () => void outbox.flush());

// ---------------------------------------------------------------- what the viewer does

page.source.addEventListener('submit', (event) => {
  event.preventDefault();
  const from = source(page.url.value, page.kind.value, document.baseURI);
  const wrong = typeof from === 'string';
  page.problem.hidden = !wrong;
  page.problem.textContent = wrong ? from : '';
  page.url.setAttribute('aria-invalid', String(wrong));
  if (wrong) page.url.focus();
  else begin(from, null, event.timeStamp, false);
});

page.stop.addEventListener('click', () => end());

page.options.addEventListener('submit', (event) => event.preventDefault());
page.options.addEventListener('change', () => {
  const catalogueBefore = chosen.catalogue;
  chosen = settings(Object.fromEntries(new FormData(page.options)), chosen);
  fill(chosen);
  try {
    localStorage.setItem(SETTINGS_KEY, JSON.stringify(chosen));
  } catch {
    // Not granted: they hold for this page.
  }
  if (chosen.catalogue !== catalogueBefore) void readCatalogue();
  void outbox.flush();
});

page.saveJson.addEventListener('click', () => {
  if (session !== undefined) save(`session-${session.id}.json`, session.record());
});
page.saveP1203.addEventListener('click', () => {
  const input = session?.p1203() ?? null;
  if (session !== undefined && input !== null) save(`p1203-${session.id}.json`, input);
  else announce('This player does not tell what P.1203 needs to know.');
});

function save(name: string, document_: unknown): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(document_, null, 2)], { type: 'application/json' }));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function fill({ rule, maxBuffer, cmcd, collector, catalogue: at, label }: Settings): void {
  const values = { rule, maxBuffer: String(maxBuffer), cmcd, collector, catalogue: at, label };
  for (const [name, value] of Object.entries(values)) {
    const field = page.options.elements.namedItem(name);
    if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = value;
  }
}

function remembered(): { readonly [name: string]: unknown } {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(SETTINGS_KEY) ?? '{}');
    return typeof found === 'object' && found !== null ? { ...found } : {};
  } catch {
    return {};
  }
}

// ---------------------------------------------------------------- the catalogue

let titles: Title[] = [];

async function readCatalogue(): Promise<void> {
  titles = chosen.catalogue === '' ? [] : await catalogue(chosen.catalogue);
  page.catalogue.hidden = titles.length === 0;
  showTitles();
}

function showTitles(): void {
  const found = search(titles, page.search.value);
  page.found.textContent = found.length === 1 ? '1 title' : `${found.length} titles`;
  page.titles.replaceChildren(
    ...found.map(({ title, url, description, duration }) => {
      const item = document.createElement('li');
      const button = document.createElement('button');
      button.type = 'button';
      const length = duration === null ? '' : `${Math.round(duration)} s`;
      button.append(title, ' ');
      const more = Object.assign(document.createElement('span'), { className: 'quiet' });
      more.textContent = [length, description].filter(Boolean).join(', ');
      button.append(more);
      button.addEventListener('click', (event) => {
        page.url.value = url;
        page.kind.value = 'auto';
        const from = source(url, 'auto', document.baseURI);
        if (typeof from !== 'string') begin(from, title, event.timeStamp, false);
      });
      item.append(button);
      return item;
    }),
  );
}

page.search.addEventListener('input', showTitles);

// ---------------------------------------------------------------- at first

fill(chosen);
figures.show(undefined, undefined);
void adoptOrphans();
void readCatalogue();
page.url.value = query.get('src') ?? '';
if (query.get('kind') !== null) page.kind.value = query.get('kind') ?? 'auto';
if (query.has('autoplay') && page.url.value !== '') {
  const from = source(page.url.value, page.kind.value, document.baseURI);
  // Nobody has touched this page, and then browsers play what makes no sound.
  if (typeof from !== 'string') begin(from, query.get('title'), performance.now(), true);
}
