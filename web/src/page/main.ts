/** Entry point of the page: connects the form, the player, the KPI panel and the collector. */

import { AgentLink, type BufferReport } from '../collect/agent-link.ts';
import { CheckpointWriter, recoverAbandoned, removeCheckpoint } from '../collect/checkpoint.ts';
import { COLLECTOR_KEY, Destination } from '../collect/destination.ts';
import { lazyStorage } from '../collect/lazy-storage.ts';
import { Outbox, type OutboxStatus } from '../collect/outbox.ts';
import { send, sendOnUnload } from '../collect/send.ts';
import { holdSessionLock, lockedSessions } from '../collect/session-lock.ts';
import { openStore, overflowStore } from '../collect/store.ts';
import { currentDisplay, LiveSession } from '../measure/live.ts';
import type { Phase, Span } from '../measure/phase-tracker.ts';
import type { State } from '../measure/record.ts';
import { recordText } from '../measure/record-text.ts';
import { DashPlayback } from '../play/dash.ts';
import { FilePlayback } from '../play/file.ts';
import type { Playback } from '../play/playback.ts';
import { YouTubePlayback } from '../play/youtube.ts';
import { connectAgentSettings } from './agent-settings.ts';
import { fetchCatalogue, searchTitles, type Title } from './catalogue.ts';
import { Chart } from './chart.ts';
import { registerWorker } from './install.ts';
import { KpiPanel, showStalls } from './kpi-panel.ts';
import {
  collectorPages,
  DEFAULTS,
  parseSettings,
  parseSource,
  parseStored,
  type Settings,
  type Source,
} from './settings.ts';
import { YouTubeSearch } from './youtube-search.ts';

/** Set by the build. */
declare const VERSION: string;

const RENDER_INTERVAL_MS = 250;
const CHECKPOINT_INTERVAL_MS = 5_000;

/** A buffer that reaches this near to the end of the video is complete (s). */
const END_TOLERANCE_S = 0.3;

const SETTINGS_KEY = 'tandem.settings';

const byId = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const page = {
  source: byId<HTMLFormElement>('source'),
  url: byId<HTMLInputElement>('url'),
  kind: byId<HTMLSelectElement>('kind'),
  urlError: byId('url-error'),
  stop: byId<HTMLButtonElement>('stop'),
  options: byId<HTMLFormElement>('options'),
  token: byId<HTMLInputElement>('token'),
  agent: byId<HTMLInputElement>('agent'),
  agentToken: byId<HTMLInputElement>('agent-token'),
  agentStatus: byId('agent-status'),
  video: byId<HTMLVideoElement>('video'),
  youtube: byId('youtube'),
  youtubeSizes: byId('youtube-sizes'),
  phase: byId('phase'),
  progress: byId('progress'),
  announce: byId('announce'),
  playbackError: byId('playback-error'),
  stalls: byId('stalls'),
  noStalls: byId('no-stalls'),
  stallsScroll: byId('stalls-scroll'),
  saveJson: byId<HTMLButtonElement>('save-json'),
  saveP1203: byId<HTMLButtonElement>('save-p1203'),
  delivery: byId('delivery'),
  outboxStatus: byId('outbox-status'),
  collectorQuestion: byId('collector-question'),
  collectorNamed: byId('collector-named'),
  collectorConfirm: byId<HTMLButtonElement>('collector-confirm'),
  collectorDecline: byId<HTMLButtonElement>('collector-decline'),
  tokenOrigin: byId('token-origin'),
  collectorLinks: byId('collector-links'),
  sessionsLink: byId<HTMLAnchorElement>('sessions-link'),
  compareLink: byId<HTMLAnchorElement>('compare-link'),
  sendStored: byId<HTMLButtonElement>('send-stored'),
  catalogue: byId('catalogue'),
  search: byId<HTMLInputElement>('search'),
  matchCount: byId('match-count'),
  titles: byId('titles'),
};
const kpiPanel = new KpiPanel(byId('kpis'), byId('live'));
const bufferChart = new Chart(byId('buffer-chart'), 'Buffer', 's');
const rateChart = new Chart(byId('rate-chart'), 'Bitrate and throughput', 'Mbit/s');

const query = new URLSearchParams(location.search);
/** Settings that the viewer entered. Those of a link apply to this visit and are not stored. */
let enteredSettings = parseSettings(storedSettings(), DEFAULTS);
let settings = parseSettings(Object.fromEntries(query), enteredSettings);
const destination = new Destination({
  storage: lazyStorage,
  base: document.baseURI,
  linked: query.get('collector'),
  mayAsk: window.top === window,
});
const agent = new AgentLink((text) => {
  page.agentStatus.textContent = text;
});
let session: LiveSession | undefined;
let playback: Playback | undefined;
const checkpoints = new CheckpointWriter(lazyStorage);
let releaseSessionLock = () => {};
let lastRender = 0;
let lastCheckpoint = 0;

// ---------------------------------------------------------------- session

function startSession(source: Source, title: string | null, start: number, muted: boolean): void {
  endSession();
  const id = newSessionId();
  const live = new LiveSession(
    {
      id,
      url: source.url,
      contentId: source.name.slice(0, 64),
      title,
      label: settings.label === '' ? null : settings.label,
      rule: source.kind === 'dash' ? settings.rule : 'fixed',
      settings: {
        max_buffer_s: source.kind === 'dash' ? settings.maxBuffer : null,
        cmcd: source.kind === 'dash' ? settings.cmcd : 'off',
      },
      viewing: currentDisplay(),
      versions: {},
      version: VERSION,
    },
    start,
    () => onSessionChange(live),
  );
  session = live;
  releaseSessionLock = holdSessionLock(id);
  page.playbackError.hidden = true;
  page.delivery.textContent = '';
  page.stop.disabled = false;
  page.saveJson.disabled = false;
  page.saveP1203.disabled = false;
  page.video.hidden = source.kind === 'youtube';
  page.youtube.hidden = source.kind !== 'youtube';
  page.youtubeSizes.hidden = source.kind !== 'youtube';
  if (muted) page.video.muted = true;
  playback = createPlayback(source, live, muted);
  live.attach(playback);
  void reportToAgent(live, true);
  announce(`Loading ${title ?? source.name}.`);
  render(true);
}

function createPlayback(source: Source, live: LiveSession, muted: boolean): Playback {
  switch (source.kind) {
    case 'dash': {
      const { rule, cmcd, maxBuffer } = settings;
      const options = { sessionId: live.id, contentId: source.name.slice(0, 64), rule, cmcd, maxBuffer };
      return new DashPlayback(page.video, source.url, options, live);
    }
    case 'file':
      return new FilePlayback(page.video, source.url, live);
    case 'youtube':
      return new YouTubePlayback(page.youtube, source.name, { muted }, live);
  }
}

/** Ends the current session, if any, and stops its player. */
function endSession(): void {
  session?.close();
  playback?.stop();
  playback = undefined;
}

function onSessionChange(live: LiveSession): void {
  if (live !== session) return;
  void reportToAgent(live, true);
  if (live.ended) onSessionEnd(live);
  render(true);
}

function onSessionEnd(live: LiveSession): void {
  page.stop.disabled = true;
  const record = writeCheckpoint(live, true);
  releaseSessionLock();
  const { kpis, state } = live.record();
  const outcome = { finished: 'The video has ended.', left: 'The session has ended.', failed: 'The session failed.' };
  const { mos, mos_max } = kpis.mok;
  const score = mos === null ? 'no picture' : `mean opinion score ${mos.toFixed(2)} of ${mos_max.toFixed(2)}`;
  announce(`${outcome[state]} ${kpis.stalls} stalls, ${score}.`);
  if (live.fatalError !== undefined) {
    page.playbackError.textContent = `Playback failed: ${live.fatalError}`;
    page.playbackError.hidden = false;
  }
  void outbox.add(live.id, record).then((isDurable) => {
    // Otherwise the next page recovers the checkpoint.
    if (isDurable) removeCheckpoint(lazyStorage, live.id);
  });
  // Keep the last frame on the screen at the end of a video.
  if (live.complete) return;
  // Defer: the player may be in the middle of dispatching an event.
  setTimeout(() => {
    if (live !== session) return;
    playback?.stop();
    playback = undefined;
  });
}

/** Writes a checkpoint of the session; returns its record as text. */
function writeCheckpoint(live: LiveSession, last: boolean): string {
  if (checkpoints.isRecovered(live.id)) {
    // The collector would refuse another record of the same id.
    live.rename(newSessionId());
    releaseSessionLock();
    releaseSessionLock = holdSessionLock(live.id);
  }
  const record = recordText(live.record());
  checkpoints.write({ id: live.id, record }, last, Date.now());
  return record;
}

/** @param now reports at once, as at a change of phase */
async function reportToAgent(live: LiveSession, now: boolean): Promise<void> {
  const player = playback;
  if (player !== undefined) await agent.report(() => bufferReport(live, player), now);
}

function bufferReport(live: LiveSession, player: Playback): BufferReport {
  const { position, buffer, kbps, bitrateKbps, missing } = player.status();
  const { duration, segmentDuration } = player.mediaInfo();
  const { id: session, phase, ended } = live;
  const isComplete = duration !== null && buffer > 0 && position + buffer > duration - END_TOLERANCE_S;
  return {
    session,
    buffer,
    bitrateKbps,
    segmentDuration,
    missing,
    kbps,
    paused: phase === 'paused',
    waits: phase === 'loading' || phase === 'stalled' || phase === 'seeking',
    done: ended || isComplete,
  };
}

/** Returns a random UUID. `crypto.randomUUID` exists on secure origins only. */
function newSessionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  // RFC 9562, section 5.4: version 4, variant 10.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

// ---------------------------------------------------------------- display

function announce(text: string): void {
  page.announce.textContent = text;
}

/** Updates the phase or, at the end, the state, and announces a change of phase to screen readers. */
function showPhase(phase: Phase | State | 'none'): void {
  if (page.phase.dataset.phase === phase) return;
  page.phase.dataset.phase = phase;
  page.phase.textContent = { none: 'no session', left: 'left before the end' }[phase as 'none'] ?? phase;
  if (phase === 'stalled') announce('Stalled.');
  else if (phase === 'playing') announce('Playing.');
  else if (phase === 'paused') announce('Paused.');
}

/** @param now renders at once, even if the interval has not elapsed */
function render(now = false): void {
  const at = performance.now();
  if (!now && at - lastRender < RENDER_INTERVAL_MS) return;
  lastRender = at;
  const live = session;
  const record = live?.record();
  kpiPanel.show(record, playback?.status());
  showPhase(live === undefined ? 'none' : live.ended ? live.record().state : live.phase);
  if (playback instanceof YouTubePlayback) page.youtubeSizes.textContent = playback.sizes();
  if (live === undefined || record === undefined) return;
  page.progress.textContent = `${record.played_s.toFixed(1)} s played in ${record.duration_s.toFixed(1)} s`;
  const spans = live.spans();
  const stalls = showStalls(page.stalls, spans, live.start);
  page.noStalls.hidden = stalls > 0;
  page.stallsScroll.hidden = stalls === 0;
  renderCharts(live, spans, record.duration_s);
}

function renderCharts({ samples, start }: LiveSession, spans: readonly Span[], duration: number): void {
  const points = (value: (sample: (typeof samples)[number]) => number | null) =>
    samples.map((sample) => [(sample.at - start) / 1000, value(sample)] as const);
  const toMbps = (kbps: number | null) => (kbps === null ? null : kbps / 1000);
  const buffer = points((sample) => sample.buffer);
  const throughput = points(({ kbps }) => toMbps(kbps));
  const bitrate = points(({ bitrateKbps }) => toMbps(bitrateKbps));
  bufferChart.show([{ name: 'buffer', className: 'buffer', points: buffer }], spans, start, duration);
  rateChart.show(
    [
      { name: 'throughput', className: 'throughput', points: throughput },
      { name: 'bitrate', className: 'bitrate', points: bitrate, steps: true },
    ],
    spans,
    start,
    duration,
  );
}

setInterval(() => {
  const live = session;
  if (live === undefined || live.ended) return;
  live.sample();
  void reportToAgent(live, false);
  render();
  const now = performance.now();
  if (now - lastCheckpoint >= CHECKPOINT_INTERVAL_MS) {
    lastCheckpoint = now;
    writeCheckpoint(live, false);
  }
}, RENDER_INTERVAL_MS);

// ---------------------------------------------------------------- collector

const database = openStore();
const store = overflowStore({
  ...database,
  remove: async (id) => {
    await database.remove(id);
    // Of a record in memory only, the checkpoint is the copy that outlives the page.
    removeCheckpoint(lazyStorage, id);
  },
});
const outbox = new Outbox(() => {
  const { url, token } = destination;
  return {
    store,
    collector: url === null ? null : { address: url.href, send: (id, record) => send(url, id, record, token) },
    schedule: (act, ms) => setTimeout(act, ms),
  };
}, showOutboxStatus);

function showOutboxStatus({ waiting, refused, delivered, reason, retryMs }: OutboxStatus): void {
  page.sendStored.hidden = waiting + refused === 0 || destination.url === null;
  page.delivery.replaceChildren();
  if (delivered !== null && delivered.id === session?.id) {
    page.delivery.append('Session delivered to the collector');
    if (delivered.url !== null) {
      const link = document.createElement('a');
      link.href = delivered.url;
      link.textContent = 'view session';
      page.delivery.append(': ', link);
    }
    page.delivery.append('.');
  }
  const messages: string[] = [];
  const sessions = (count: number) => (count === 1 ? '1 session' : `${count} sessions`);
  const cause = reason === null ? '' : ` (${reason})`;
  if (waiting > 0) {
    const missing = destination.question === null ? 'no collector is set' : 'the collector is not confirmed';
    const nextStep = retryMs === null ? missing : 'delivery is retried automatically';
    messages.push(`${sessions(waiting)} stored in this browser; ${nextStep}${cause}.`);
  }
  if (refused > 0) messages.push(`${sessions(refused)} refused by the collector, stored in this browser${cause}.`);
  if (store.problem !== null)
    messages.push(`Browser storage failed (${store.problem}); keep this page open until all sessions are delivered.`);
  page.outboxStatus.textContent = messages.join(' ');
}

/** Moves the checkpoints of abandoned sessions to the outbox, and sends all stored records. */
async function recoverAbandonedSessions(): Promise<void> {
  for (const { id, record } of recoverAbandoned(lazyStorage, Date.now(), await lockedSessions())) {
    const isDurable = await store.put({ id, record, refused: null });
    if (isDurable) removeCheckpoint(lazyStorage, id);
  }
  await outbox.flush();
}

addEventListener('pagehide', () => {
  const live = session;
  if (live === undefined || live.ended) return;
  // Ending the session writes its checkpoint first; sending may fail during unload.
  endSession();
  const { url, token } = destination;
  if (url !== null) sendOnUnload(url, recordText(live.record()), token);
});
addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  // A page in the back/forward cache gets no storage events.
  followDestination();
  void recoverAbandonedSessions();
});
// No key: the whole storage was cleared.
addEventListener('storage', ({ key }) => {
  if (key === COLLECTOR_KEY || key === null) followDestination();
});
addEventListener('online', () => void outbox.flush());
page.sendStored.addEventListener('click', () => void outbox.sendAgain());

// ---------------------------------------------------------------- forms

page.source.addEventListener('submit', (event) => {
  event.preventDefault();
  const source = parseSource(page.url.value, page.kind.value, document.baseURI);
  const isInvalid = typeof source === 'string';
  page.urlError.hidden = !isInvalid;
  page.urlError.textContent = isInvalid ? source : '';
  page.url.setAttribute('aria-invalid', String(isInvalid));
  if (isInvalid) page.url.focus();
  else startSession(source, null, event.timeStamp, false);
});

page.stop.addEventListener('click', () => endSession());

page.options.addEventListener('submit', (event) => event.preventDefault());
page.options.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement || target instanceof HTMLSelectElement)) return;
  if (target === page.agent || target === page.agentToken) return;
  if (target === page.token) destination.setToken(target.value);
  else if (target.name === 'collector') destination.enter(target.value);
  else changeSetting({ [target.name]: target.value });
  fillSettingsForm(settings);
  onDestinationChange();
});

/** Applies and stores a setting that the viewer entered. */
function changeSetting(entered: { readonly [name: string]: string }): void {
  const previousCatalogue = settings.catalogue;
  enteredSettings = parseSettings(entered, enteredSettings);
  settings = parseSettings(entered, settings);
  try {
    localStorage.setItem(SETTINGS_KEY, JSON.stringify(enteredSettings));
  } catch {
    // Storage denied: the settings last as long as the page.
  }
  if (settings.catalogue !== previousCatalogue) void loadCatalogue();
}

for (const button of [page.collectorConfirm, page.collectorDecline]) {
  button.addEventListener('click', () => {
    destination.answer(button === page.collectorConfirm);
    fillSettingsForm(settings);
    onDestinationChange();
  });
}

/** Follows a choice of the collector made on another page. */
function followDestination(): void {
  if (!destination.follow()) return;
  fillSettingsForm(settings);
  onDestinationChange();
}

function onDestinationChange(): void {
  showCollectorQuestion();
  void showCollectorLinks();
  void outbox.flush();
}

/** Asks whether the collector that the link names may get the sessions. */
function showCollectorQuestion(): void {
  const { question } = destination;
  page.collectorQuestion.hidden = question === null;
  page.collectorNamed.textContent = question?.href ?? '';
}

page.saveJson.addEventListener('click', () => {
  if (session !== undefined) saveAsFile(`session-${session.id}.json`, session.record());
});
page.saveP1203.addEventListener('click', () => {
  const input = session?.p1203() ?? null;
  if (session !== undefined && input !== null) saveAsFile(`p1203-${session.id}.json`, input);
  else announce('This player does not report the data that P.1203 requires.');
});

function saveAsFile(name: string, content: unknown): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(content, null, 2)], { type: 'application/json' }));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Shows the links to the pages of the collector that gets the sessions. */
async function showCollectorLinks(): Promise<void> {
  const pages = collectorPages(destination.url, settings.label);
  page.collectorLinks.hidden = true;
  if (pages === null) return;
  page.sessionsLink.href = pages.sessions;
  page.compareLink.href = pages.compare;
  // A server of static files has no such pages. Other origins do not tell.
  const isOwn = new URL(pages.sessions).origin === location.origin;
  const isServed = !isOwn || (await fetch(pages.sessions, { method: 'HEAD' }).catch(() => null))?.ok === true;
  page.collectorLinks.hidden = !isServed;
}

function fillSettingsForm({ rule, maxBuffer, cmcd, catalogue, label }: Settings): void {
  const { address: collector, token, url } = destination;
  page.token.value = token;
  page.tokenOrigin.textContent = url === null ? '' : `Sent to ${url.origin} only. `;
  const values = { rule, maxBuffer: String(maxBuffer), cmcd, collector, catalogue, label };
  for (const [name, value] of Object.entries(values)) {
    const field = page.options.elements.namedItem(name);
    if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = value;
  }
}

function storedSettings(): { readonly [name: string]: unknown } {
  try {
    return parseStored(localStorage.getItem(SETTINGS_KEY));
  } catch {
    // Storage denied.
    return {};
  }
}

// ---------------------------------------------------------------- catalogue

let titles: Title[] = [];

async function loadCatalogue(): Promise<void> {
  titles = settings.catalogue === '' ? [] : await fetchCatalogue(settings.catalogue);
  page.catalogue.hidden = titles.length === 0;
  showTitles();
}

function showTitles(): void {
  const matches = searchTitles(titles, page.search.value);
  page.matchCount.textContent = matches.length === 1 ? '1 title' : `${matches.length} titles`;
  page.titles.replaceChildren(...matches.map(titleItem));
}

/** Creates the list item of a title, with a button that plays it. */
function titleItem({ title, url, description, duration }: Title): HTMLLIElement {
  const item = document.createElement('li');
  const button = document.createElement('button');
  button.type = 'button';
  const length = duration === null ? '' : `${Math.round(duration)} s`;
  button.append(title, ' ');
  const details = Object.assign(document.createElement('span'), { className: 'muted' });
  details.textContent = [length, description].filter(Boolean).join(', ');
  button.append(details);
  button.addEventListener('click', ({ timeStamp }) => playTitle(url, title, timeStamp));
  item.append(button);
  return item;
}

function playTitle(address: string, title: string, at: number): void {
  page.url.value = address;
  page.kind.value = 'auto';
  const source = parseSource(address, 'auto', document.baseURI);
  if (typeof source !== 'string') startSession(source, title, at, false);
}

page.search.addEventListener('input', showTitles);
new YouTubeSearch(
  {
    form: byId<HTMLFormElement>('youtube-form'),
    words: byId<HTMLInputElement>('youtube-words'),
    definition: byId<HTMLSelectElement>('youtube-definition'),
    key: byId<HTMLInputElement>('youtube-key'),
    status: byId('youtube-status'),
    results: byId('youtube-results'),
  },
  ({ id, title }, at) => playTitle(`https://www.youtube.com/watch?v=${id}`, title, at),
);

// ---------------------------------------------------------------- start of the page

fillSettingsForm(settings);
connectAgentSettings(page.agent, page.agentToken, page.agentStatus, agent);
showCollectorQuestion();
kpiPanel.show(undefined, undefined);
void recoverAbandonedSessions();
void loadCatalogue();
void showCollectorLinks();
registerWorker(() => session !== undefined && !session.ended);
page.url.value = query.get('src') ?? '';
if (query.get('kind') !== null) page.kind.value = query.get('kind') ?? 'auto';
if (query.has('autoplay') && page.url.value !== '') {
  const source = parseSource(page.url.value, page.kind.value, document.baseURI);
  // Muted: without a user gesture, browsers block playback with sound.
  if (typeof source !== 'string') startSession(source, query.get('title'), performance.now(), true);
}
