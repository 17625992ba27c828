/** Uploads to a collector that is slow, silent or absent. */

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { send } from '../../src/collect/send.ts';

/** Starts a collector; returns its address. */
async function startCollector(t: TestContext, answer: RequestListener): Promise<URL> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/sessions`);
}

test('time to send a record grows with its length, and exceeds that which the collector allows', async (t) => {
  const timeouts: number[] = [];
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    timeouts.push(ms);
    return new AbortController().signal;
  });
  const collector = await startCollector(t, (request, response) => {
    request.resume().on('end', () => response.writeHead(201).end('{"id":"a"}'));
  });
  const MIB = 2 ** 20;
  // Two bytes for each character.
  for (const record of ['{}', 'x'.repeat(4 * MIB), 'é'.repeat(2 * MIB)])
    assert.equal((await send(collector, 'a', record, '')).kind, 'accepted');
  const allowed = [30_000, 94_000, 94_000];
  assert.ok(
    timeouts.every((ms, index) => ms > (allowed[index] ?? 0) && ms < 120_000),
    `${timeouts}`,
  );
  assert.equal(timeouts.length, allowed.length);
});

test('record without its whole answer in time fails by itself', async (t) => {
  const { timeout } = AbortSignal;
  t.mock.method(AbortSignal, 'timeout', () => timeout.call(AbortSignal, 100));
  const silent = await startCollector(t, () => {});
  const stalled = await startCollector(t, (_, response) => response.writeHead(201).write('{"id":'));
  for (const collector of [silent, stalled]) assert.equal((await send(collector, 'a', '{}', '')).kind, 'retry');
});

test('answer tells whether a failure concerns the record or every record', async (t) => {
  const kinds: { [kind: string]: number[] } = {};
  for (const status of [201, 400, 401, 403, 404, 405, 408, 409, 413, 421, 422, 429, 500, 503, 507]) {
    const collector = await startCollector(t, (request, response) => {
      request.resume().on('end', () => response.writeHead(status).end('{"error":"no"}'));
    });
    const { kind } = await send(collector, 'a', '{}', '');
    kinds[kind] = [...(kinds[kind] ?? []), status];
  }
  assert.deepEqual(kinds, {
    // Success that does not name the session comes from a server that is no collector.
    unavailable: [201, 401, 403, 404, 405, 421, 429],
    refused: [400, 409, 413, 422],
    retry: [408, 500, 503, 507],
  });
});

test('collector that cannot be reached is unavailable', async (t) => {
  const collector = await startCollector(t, (request) => request.socket.destroy());
  assert.equal((await send(collector, 'a', '{}', '')).kind, 'unavailable');
});
