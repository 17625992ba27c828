import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MOS_MAX } from '../../src/measure/mos.ts';
import { sessionToP1203 } from '../../src/measure/p1203.ts';
import type { Span } from '../../src/measure/phase-tracker.ts';
import {
  buildRecord,
  type LoadedSegment,
  type PlayerLog,
  playedSegments,
  type Session,
  type SessionHeader,
} from '../../src/measure/record.ts';
import { MAX_RECORD_BYTES, recordText } from '../../src/measure/record-text.ts';
import { schemaErrors } from '../session-schema.ts';

const HEADER: SessionHeader = {
  id: '0193a6f2-7d1e-7c52-9a4e-5b8f0e6a1c3d',
  started_at: '2026-11-22T08:25:04.123Z',
  player: { name: 'tandem-web', version: '0.1.0', engine: 'dash.js', user_agent: null },
  video: {
    url: 'http://host/a.mpd',
    kind: 'dash',
    content_id: 'a',
    title: null,
    duration_s: 6,
    segment_duration_s: 3,
    levels: [
      { bitrate_kbps: 1000, codec: 'h264', fps: 30, width: 640, height: 360 },
      { bitrate_kbps: 2500, codec: 'h264', fps: 30, width: 1280, height: 720 },
    ],
  },
  settings: { max_buffer_s: 25, cmcd: 'query' },
  viewing: { handheld: false, width: 1920, height: 1080, distance_cm: 150 },
  label: null,
  device: 'phone',
  zone: 'Europe/Berlin',
  versions: {},
  rule: 'bola',
  extra: {},
};

const NO_QUALITY = { bitrate_kbps: 0, codec: null, fps: null, width: null, height: null };

const EMPTY_LOG: PlayerLog = { segments: [], abandoned: [], audio: [], switches: [], samples: [], errors: [] };

/** Start of the session (ms). */
const START = 10_000;

function span(phase: Span['phase'], start: number, end: number, from: number, to: number): Span {
  return { phase, start: START + start, end: START + end, from, to, open: false };
}

function loaded(segment: number, level: number, arrived: number): LoadedSegment {
  const quality = HEADER.video.levels[level] ?? NO_QUALITY;
  const bitrateKbps = quality.bitrate_kbps;
  const times = { asked: START + arrived - 250, firstByte: START + arrived - 200, arrived: START + arrived };
  return {
    segment,
    level,
    quality,
    bitrateKbps,
    bytes: bitrateKbps * 375,
    position: segment * 3,
    duration: 3,
    ...times,
    buffer: 3,
  };
}

/** The example of docs/reference/session.md. */
const SPANS = [
  span('loading', 0, 250, 0, 0),
  span('playing', 250, 3250, 0, 3),
  span('stalled', 3250, 4250, 3, 3),
  span('playing', 4250, 7250, 3, 6),
];
const SEGMENTS = [loaded(0, 0, 250), loaded(1, 1, 4250)];

test('record matches the example of the documentation', () => {
  const session = buildRecord(HEADER, START, SPANS, true, { ...EMPTY_LOG, segments: SEGMENTS });
  assert.deepEqual(schemaErrors(session), []);
  assert.equal(session.duration_s, 7.25);
  assert.equal(session.played_s, 6);
  assert.deepEqual(session.kpis, {
    initial_load_s: 0.25,
    initial_load_open: false,
    stalls_per_s: 1 / 6,
    mean_stall_s: 1,
    stalls: 1,
    stalled_s: 1,
    mean_bitrate_kbps: 1750,
    switches: 1,
    mok: { initial_level: 1, frequency_level: 3, stall_level: 1, mos: session.kpis.mok.mos, mos_max: MOS_MAX },
    emos: 0,
    linear: 1 + 2.5 - 1.5 - 4.3,
  });
  assert.ok(Math.abs((session.kpis.mok.mos ?? 0) - 1.8308) < 1e-9);
  assert.deepEqual([session.state, session.reason], ['finished', null]);
  assert.deepEqual(session.stalls, [{ start_s: 3.25, end_s: 4.25, position_s: 3, open: false }]);
  assert.deepEqual(session.switches, [{ segment: 1, from_level: 0, to_level: 1, position_s: 3 }]);
  assert.equal(session.segments[1]?.asked_s, 4);
});

test('last copy of a segment that arrived before its playback counts as played', () => {
  const copies = [loaded(0, 0, 250), loaded(1, 0, 1000), loaded(1, 1, 2000), loaded(0, 1, 3000)];
  assert.deepEqual(
    playedSegments(SPANS, copies).map(({ segment, duration }) => [segment.segment, segment.level, duration]),
    [
      [0, 0, 3],
      [1, 1, 3],
    ],
  );
});

test('segments of several periods with the same numbers are no copies of each other', () => {
  const second = [loaded(0, 1, 1000), loaded(1, 1, 2000)].map((segment) => ({
    ...segment,
    position: segment.position + 6,
  }));
  const spans = [span('loading', 0, 250, 0, 0), span('playing', 250, 12_250, 0, 12)];
  const segments = [loaded(0, 0, 250), loaded(1, 0, 500), ...second];
  const { kpis, switches } = buildRecord(HEADER, START, spans, true, { ...EMPTY_LOG, segments });
  assert.deepEqual([kpis.mean_bitrate_kbps, kpis.linear], [1750, 2 * (1 + 2.5) - 1.5]);
  assert.deepEqual(switches, [{ segment: 0, from_level: 0, to_level: 1, position_s: 6 }]);
});

test('segment that extends beyond its period is played up to the next period', () => {
  const at = (segment: number, level: number, position: number) => ({
    ...loaded(segment, level, 100),
    position,
    duration: 4,
  });
  const first = [0, 4, 8].map((position, segment) => at(segment, 0, position));
  const second = [10, 14, 18].map((position, segment) => at(segment, 1, position));
  const spans = [
    span('loading', 0, 250, 0, 0),
    span('playing', 250, 11_250, 0, 11),
    span('stalled', 11_250, 12_250, 11, 11),
    span('playing', 12_250, 21_250, 11, 20),
  ];
  const log = { ...EMPTY_LOG, segments: [...first, ...second] };
  const { kpis, switches } = buildRecord(HEADER, START, spans, true, log);
  assert.equal(kpis.mean_bitrate_kbps, 1750);
  assert.deepEqual(switches, [{ segment: 0, from_level: 0, to_level: 1, position_s: 10 }]);
});

test('reports after the end of the video are left out of the record', () => {
  const end = Math.max(...SPANS.map((span) => span.end));
  const sample = { buffer: 0, kbps: null, position: 6, level: 0 };
  const { duration_s, ...session } = buildRecord(HEADER, START, SPANS, true, {
    ...EMPTY_LOG,
    segments: [loaded(0, 0, 250), loaded(1, 0, end - START + 5)],
    abandoned: [{ segment: 1, level: 0, bytes: 5, asked: START, at: end + 5 }],
    samples: [
      { ...sample, at: end },
      { ...sample, at: end + 5 },
    ],
    errors: [{ at: end + 5, message: 'too late', segment: null, status: null, fatal: false }],
  });
  assert.deepEqual(
    session.segments.map(({ segment }) => segment),
    [0],
  );
  assert.deepEqual(session.abandoned, []);
  assert.deepEqual(
    session.samples.map(({ at_s }) => at_s),
    [duration_s],
  );
  assert.equal(session.errors[0]?.at_s, duration_s);
});

test('session without playback has an open load time and no stall frequency', () => {
  const none = buildRecord(HEADER, START, [{ ...span('loading', 0, 900, 0, 0), open: true }], false, EMPTY_LOG);
  assert.equal(none.kpis.initial_load_open, true);
  assert.equal(none.kpis.initial_load_s, 0.9);
  assert.equal(none.kpis.stalls_per_s, 0);
  assert.equal(none.kpis.linear, null);
  assert.deepEqual([none.kpis.mok.mos, none.kpis.emos, none.state], [null, null, 'left']);
  assert.deepEqual(schemaErrors(none), []);
  const stalled = [span('loading', 0, 100, 0, 0), { ...span('stalled', 100, 900, 0, 0), open: true }];
  const only = buildRecord(HEADER, START, stalled, false, EMPTY_LOG).kpis;
  assert.equal(only.stalls_per_s, null);
  assert.equal(only.mok.frequency_level, 3);
});

test('failed session has a state and a reason', () => {
  const loading = [{ ...span('loading', 0, 900, 0, 0), open: true }];
  const error = {
    at: START + 900,
    message: 'HTTP 404',
    segment: null,
    status: 404,
    fatal: true,
    kind: 'http',
  } as const;
  const failed = buildRecord(HEADER, START, loading, false, { ...EMPTY_LOG, errors: [error] });
  assert.deepEqual(schemaErrors(failed), []);
  assert.deepEqual([failed.state, failed.reason], ['failed', { kind: 'http', message: 'HTTP 404' }]);
  assert.equal(failed.kpis.mok.mos, null);
  const recovered = { ...EMPTY_LOG, errors: [{ ...error, fatal: false }] };
  assert.equal(buildRecord(HEADER, START, loading, false, recovered).state, 'left');
});

test('P.1203 input has the segments played, with bitrates from their sizes', () => {
  const session = buildRecord(HEADER, START, SPANS, true, { ...EMPTY_LOG, segments: SEGMENTS });
  const input = sessionToP1203(session, SPANS, SEGMENTS);
  assert.deepEqual(
    input?.I13.segments.map(({ bitrate, duration, start, resolution }) => [bitrate, duration, start, resolution]),
    [
      [1000, 3, 0, '640x360'],
      [2500, 3, 3, '1280x720'],
    ],
  );
  assert.deepEqual(input?.I23.stalling, [
    [0, 0.25],
    [3, 1],
  ]);
});

test('P.1203 input has the quality of each segment in its own period', () => {
  const [segment] = SEGMENTS;
  assert.ok(segment !== undefined);
  const session = buildRecord(HEADER, START, SPANS, true, { ...EMPTY_LOG, segments: [segment] });
  const quality = { ...segment.quality, codec: 'h265', width: 960, height: 540 };
  const input = sessionToP1203(session, SPANS, [{ ...segment, quality }]);
  assert.deepEqual(
    input?.I13.segments.map(({ codec, resolution }) => [codec, resolution]),
    [['h265', '960x540']],
  );
  assert.equal(sessionToP1203(session, SPANS, [{ ...segment, quality: NO_QUALITY }]), null);
});

test('audio of the record and of P.1203 is the audio played, each part once', () => {
  const audio = (number: number, bitrateKbps: number, arrived: number) => ({
    position: number * 3,
    duration: 3,
    bitrateKbps,
    codec: 'aaclc',
    arrived: START + arrived,
  });
  const spans = [...SPANS.slice(0, 3), span('playing', 4250, 6250, 3, 5)];
  const log = {
    ...EMPTY_LOG,
    segments: SEGMENTS,
    audio: [audio(0, 64, 250), audio(1, 64, 300), audio(2, 64, 400), audio(1, 128, 4000)],
  };
  const session = buildRecord(HEADER, START, spans, false, log);
  assert.deepEqual(
    session.audio.map(({ duration_s, bitrate_kbps }) => [duration_s, bitrate_kbps]),
    [
      [3, 64],
      [2, 128],
    ],
  );
  const input = sessionToP1203(session, spans, SEGMENTS);
  const seconds = (parts: readonly { duration: number }[] = []) => parts.reduce((sum, part) => sum + part.duration, 0);
  assert.deepEqual([seconds(input?.I11.segments), seconds(input?.I13.segments)], [5, 5]);
});

test('schema check reports missing, unknown and out-of-range members', () => {
  const session = buildRecord(HEADER, START, SPANS, true, { ...EMPTY_LOG, segments: SEGMENTS });
  const { rule: _, ...without } = session;
  assert.deepEqual(schemaErrors(without), ['the record lacks rule']);
  assert.deepEqual(schemaErrors({ ...session, nonsense: 1 }), ['the record has the unknown member nonsense']);
  const kpis = { ...session.kpis, mok: { ...session.kpis.mok, stall_level: 4 } };
  assert.deepEqual(schemaErrors({ ...session, kpis }), ['.kpis.mok.stall_level is 4, too high']);
});

test('long values are truncated to the limits of the record', () => {
  const errors = Array.from({ length: 1200 }, () => ({
    at: START + 1,
    message: 'x'.repeat(2000),
    segment: null,
    status: 0,
    fatal: false,
  }));
  const video = { ...HEADER.video, url: `http://host/${'x'.repeat(5000)}`, title: 'x'.repeat(5000) };
  assert.deepEqual(schemaErrors(buildRecord({ ...HEADER, video }, START, SPANS, true, { ...EMPTY_LOG, errors })), []);
});

test('texts are cut between characters, and halves of surrogate pairs are replaced', () => {
  const errors = [{ at: START + 1, message: `${'x'.repeat(999)}😀`, segment: null, status: 0, fatal: true }];
  const header = {
    ...HEADER,
    label: `\udc00${'x'.repeat(198)}😀`,
    video: { ...HEADER.video, title: `\ud83d ${'x'.repeat(509)}😀` },
  };
  const session = buildRecord(header, START, SPANS, false, { ...EMPTY_LOG, errors });
  assert.deepEqual(schemaErrors(session), []);
  assert.equal(session.label, `\ufffd${'x'.repeat(198)}`);
  assert.equal(session.video.title, `\ufffd ${'x'.repeat(509)}`);
  assert.deepEqual([session.reason?.message, session.errors[0]?.message], ['x'.repeat(999), 'x'.repeat(999)]);
});

test('record of a long session has at most the bytes that a collector accepts', () => {
  const seconds = 20_000 * 3;
  const segments = Array.from({ length: 20_000 }, (_, index) => loaded(index, index % 2, 250.123 + index * 3000.456));
  const audio = segments.map((segment) => ({ ...segment, bitrateKbps: 128.123, codec: 'aaclc' }));
  const spans = [span('playing', 0, seconds * 1001, 0, seconds)];
  const errors = [{ at: START + 1, message: 'the end', segment: null, status: null, fatal: true }];
  const whole = buildRecord(HEADER, START, spans, false, { ...EMPTY_LOG, segments, audio, errors });
  assert.ok(JSON.stringify(whole).length > MAX_RECORD_BYTES);
  const text = recordText(whole);
  assert.ok(new TextEncoder().encode(text).length <= MAX_RECORD_BYTES);
  const session = JSON.parse(text) as Session;
  assert.deepEqual(schemaErrors(session), []);
  assert.deepEqual([session.kpis, session.errors], [whole.kpis, whole.errors]);
  assert.ok(session.segments.length > 10_000);
  assert.deepEqual(session.segments, whole.segments.slice(0, session.segments.length));
});
