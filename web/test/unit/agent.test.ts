import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cmcdReport, parseAgent } from '../../src/collect/agent-link.ts';
import { InFlight } from '../../src/play/in-flight.ts';

const REPORT = {
  session: '4c2a9e40-1',
  buffer: 12.34,
  bitrateKbps: 3200,
  segmentDuration: 4.004,
  missing: 700_000,
  kbps: 8123.4,
  paused: false,
  waits: false,
  done: false,
};

test('report is CMCD with the keys that the agent reads', () => {
  assert.equal(cmcdReport(REPORT), 'bl=12340,br=3200,d=4004,mtp=8123,ot=av,sid="4c2a9e40-1",tandem-missing=700000');
  // YouTube's player knows no bitrates and sizes.
  const youtube = { ...REPORT, bitrateKbps: null, segmentDuration: null, missing: null, kbps: null };
  assert.equal(cmcdReport({ ...youtube, buffer: 0, waits: true }), 'bl=0,ot=av,sid="4c2a9e40-1",su');
  assert.equal(cmcdReport({ ...youtube, paused: true }), 'bl=12340,ot=av,pr=0,sid="4c2a9e40-1"');
  assert.match(cmcdReport({ ...REPORT, waits: true, done: true }), /tandem-done,tandem-missing=0$/);
});

test('agent is on this host', () => {
  const address = (text: string) => parseAgent(text)?.href ?? null;
  assert.equal(address(' 127.0.0.1:9465 '), 'http://127.0.0.1:9465/player');
  assert.equal(address('http://[::1]:9465/'), 'http://[::1]:9465/player');
  assert.equal(address('localhost:9465'), 'http://localhost:9465/player');
  for (const wrong of ['', '10.0.0.1:9465', '127.0.0.1.evil.example:1', 'https://127.0.0.1:1', 'http://a@127.0.0.1:1'])
    assert.equal(address(wrong), null, wrong);
});

test('missing bytes are those of the requests on their way', () => {
  const requests = new InFlight();
  assert.equal(requests.missing(), 0);
  const video = { url: 'v', bytesLoaded: 0, bytesTotal: 0, duration: 2, representation: { bandwidth: 800_000 } };
  requests.update(video);
  assert.equal(requests.missing(), 200_000);
  requests.update({ ...video, bytesLoaded: 50_000, bytesTotal: 180_000 });
  requests.update({ url: 'a', bytesLoaded: 1000, bytesTotal: 3000, duration: 2 });
  assert.equal(requests.missing(), 132_000);
  requests.remove(video);
  assert.equal(requests.missing(), 2000);
});
