import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CheckpointWriter, recoverAbandoned, removeCheckpoint } from '../../src/collect/checkpoint.ts';
import { Destination, parseCollector } from '../../src/collect/destination.ts';
import { type Collector, Outbox, type OutboxStatus } from '../../src/collect/outbox.ts';
import type { SendResult } from '../../src/collect/send.ts';
import { memoryStore, overflowStore, type Store, type StoredRecord } from '../../src/collect/store.ts';

/** Creates an outbox with a given collector; its timers fire only when the test calls them. */
function createOutbox(answer: (record: string) => SendResult, store = memoryStore()) {
  const sent: string[] = [];
  const collector = { address: COLLECTOR };
  const timers: { act: () => void; ms: number }[] = [];
  const statuses: OutboxStatus[] = [];
  const send = async (_id: string, record: string) => {
    sent.push(record);
    return answer(record);
  };
  const outbox = new Outbox(
    () => ({
      store,
      collector: { address: collector.address, send },
      schedule: (act, ms) => timers.push({ act, ms }),
    }),
    (status) => statuses.push(status),
  );
  return { outbox, store, sent, timers, statuses, collector };
}

async function storedRecords(store: Store): Promise<(StoredRecord | undefined)[]> {
  return Promise.all((await store.ids()).map(store.get));
}

const COLLECTOR = 'https://collector.example/api/sessions';

const UNAVAILABLE: SendResult = { kind: 'unavailable', reason: 'connection refused' };
const ACCEPTED: SendResult = { kind: 'accepted', url: null };

test('undelivered record stays stored and is retried with exponential backoff', async () => {
  const { outbox, store, sent, timers, statuses } = createOutbox(() => UNAVAILABLE);
  await outbox.add('a', '1');
  await outbox.flush();
  for (let attempt = 0; attempt < 7; attempt++) {
    timers.at(-1)?.act();
    await outbox.flush();
  }
  assert.ok(sent.length > 7);
  assert.deepEqual(await storedRecords(store), [{ id: 'a', record: '1', refused: null }]);
  assert.equal(statuses.at(-1)?.waiting, 1);
  const delays = timers.map(({ ms }) => ms);
  assert.deepEqual(delays.slice(0, 3), [2000, 4000, 8000]);
  assert.equal(Math.max(...delays), 60_000);
});

test('stored records are sent once each when the collector returns', async () => {
  let answer: SendResult = UNAVAILABLE;
  const { outbox, store, sent, timers, statuses } = createOutbox(() => answer);
  await outbox.add('a', '1');
  await outbox.add('b', '2');
  await outbox.flush();
  answer = ACCEPTED;
  sent.length = 0;
  timers.at(-1)?.act();
  await outbox.flush();
  assert.deepEqual(sent, ['1', '2']);
  assert.deepEqual(await storedRecords(store), []);
  assert.deepEqual([statuses.at(-1)?.waiting, statuses.at(-1)?.delivered?.id], [0, 'b']);
});

test('refused record stays stored, is not sent again and does not block others', async () => {
  const { outbox, store, sent } = createOutbox((record) =>
    record === '1' ? { kind: 'refused', reason: '422 no' } : ACCEPTED,
  );
  await outbox.add('a', '1');
  await outbox.add('b', '2');
  await outbox.flush();
  await outbox.flush();
  assert.deepEqual(sent.filter((record) => record === '1').length, 1);
  assert.deepEqual(await storedRecords(store), [
    { id: 'a', record: '1', refused: { collector: COLLECTOR, reason: '422 no' } },
  ]);
});

test('record whose upload fails by itself is retried and does not block others', async () => {
  let answer: SendResult = { kind: 'retry', reason: '503 no space' };
  const { outbox, store, sent, timers, statuses } = createOutbox((record) => (record === '1' ? answer : ACCEPTED));
  for (const id of ['1', '2', '3']) await store.put({ id, record: id, refused: null });
  await outbox.flush();
  assert.deepEqual(sent, ['1', '2', '3']);
  const { waiting, reason, retryMs, delivered } = statuses.at(-1) ?? {};
  assert.deepEqual([waiting, reason, retryMs, delivered?.id], [1, '503 no space', 2000, '3']);
  answer = ACCEPTED;
  timers.at(-1)?.act();
  await outbox.flush();
  assert.deepEqual(await storedRecords(store), []);
});

test('pass ends at an unavailable collector, and the next one begins with another record', async () => {
  const { outbox, store, sent } = createOutbox((record) => (record === '2' ? UNAVAILABLE : ACCEPTED));
  for (const id of ['1', '2', '3']) await store.put({ id, record: id, refused: null });
  await outbox.flush();
  assert.deepEqual(sent, ['1', '2']);
  await outbox.flush();
  assert.deepEqual(sent, ['1', '2', '3', '2']);
  assert.deepEqual(await store.ids(), ['2']);
});

/** Returns a store with space for a number of records. */
function smallStore(space: number): Store {
  const store = memoryStore();
  return {
    ...store,
    async put(record) {
      const others = (await store.ids()).filter((id) => id !== record.id);
      if (others.length >= space) throw new DOMException('quota exceeded', 'QuotaExceededError');
      await store.put(record);
      return true;
    },
  };
}

test('record for which the store has no space is delivered, as are the stored ones', async () => {
  let answer: SendResult = UNAVAILABLE;
  const store = overflowStore(smallStore(1));
  const { outbox, sent, statuses } = createOutbox(() => answer, store);
  assert.deepEqual([await outbox.add('a', '1'), await outbox.add('b', '2')], [true, false]);
  await outbox.flush();
  assert.deepEqual([store.problem, statuses.at(-1)?.waiting], ['QuotaExceededError: quota exceeded', 2]);
  answer = ACCEPTED;
  sent.length = 0;
  await outbox.flush();
  assert.deepEqual(sent.sort(), ['1', '2']);
  assert.deepEqual([store.problem, await storedRecords(store)], [null, []]);
});

test('record that a full store does not take starts the delivery of the stored ones', async () => {
  const store = smallStore(1);
  const { outbox, sent } = createOutbox(() => ACCEPTED, store);
  await store.put({ id: 'a', record: '1', refused: null });
  await assert.rejects(outbox.add('b', '2'), /quota exceeded/);
  await new Promise(setImmediate);
  assert.deepEqual(sent, ['1']);
});

test('failure of the store at one record does not end the pass', async () => {
  const store = memoryStore();
  const { outbox, timers, statuses } = createOutbox(() => ACCEPTED, {
    ...store,
    remove: async (id) => {
      if (id === 'a') throw new Error('cannot remove');
      await store.remove(id);
    },
  });
  for (const id of ['a', 'b']) await store.put({ id, record: id, refused: null });
  await outbox.flush();
  const { waiting, reason, delivered } = statuses.at(-1) ?? {};
  assert.deepEqual([waiting, reason, delivered?.id, timers.length], [1, 'Error: cannot remove', 'b', 1]);
});

test('pass reads each record once, and none without a collector', async () => {
  const store = memoryStore();
  for (const id of ['a', 'b']) await store.put({ id, record: id, refused: null });
  const log: string[] = [];
  let collector: Collector | null = null;
  const get = (id: string) => {
    log.push(`read ${id}`);
    return store.get(id);
  };
  const statuses: OutboxStatus[] = [];
  const outbox = new Outbox(
    () => ({ store: { ...store, get }, collector, schedule: () => {} }),
    (status) => statuses.push(status),
  );
  await outbox.flush();
  assert.deepEqual([log, statuses.at(-1)?.waiting], [[], 2]);
  const send = async (id: string): Promise<SendResult> => {
    log.push(`send ${id}`);
    return { kind: 'retry', reason: '503' };
  };
  collector = { address: COLLECTOR, send };
  await outbox.flush();
  assert.deepEqual(log, ['read a', 'send a', 'read b', 'send b']);
});

test('failure is shown before the next record is sent', async () => {
  const { outbox, store, statuses } = createOutbox((record) => {
    if (record === '2') assert.deepEqual([statuses.at(-1)?.waiting, statuses.at(-1)?.reason], [2, '503']);
    return { kind: 'retry', reason: '503' };
  });
  for (const id of ['1', '2']) await store.put({ id, record: id, refused: null });
  await outbox.flush();
  assert.equal(statuses.at(-1)?.reason, '503');
});

test('record refused by one collector is sent to another', async () => {
  let answer: SendResult = { kind: 'refused', reason: '413 too large' };
  const { outbox, store, sent, statuses, collector } = createOutbox(() => answer);
  await outbox.add('a', '1');
  await outbox.flush();
  assert.deepEqual([statuses.at(-1)?.waiting, statuses.at(-1)?.refused], [0, 1]);
  answer = ACCEPTED;
  collector.address = 'https://other.example/api/sessions';
  await outbox.flush();
  assert.deepEqual(sent, ['1', '1']);
  assert.deepEqual(await storedRecords(store), []);
});

test('change of the collector during a pass applies to the next record', async () => {
  const sent: [string, string][] = [];
  const store = memoryStore();
  for (const id of ['a', 'b', 'c']) await store.put({ id, record: id, refused: null });
  const outbox = new Outbox(
    () => {
      const address = sent.length === 0 ? 'https://first.example/' : 'https://second.example/';
      const send = async (id: string): Promise<SendResult> => {
        sent.push([address, id]);
        return ACCEPTED;
      };
      return { store, collector: { address, send }, schedule: () => {} };
    },
    () => {},
  );
  await outbox.flush();
  assert.deepEqual(sent, [
    ['https://first.example/', 'a'],
    ['https://second.example/', 'b'],
    ['https://second.example/', 'c'],
  ]);
});

test('removal of the collector during a pass ends it', async () => {
  const sent: string[] = [];
  const store = memoryStore();
  for (const id of ['a', 'b']) await store.put({ id, record: id, refused: null });
  const send = async (id: string): Promise<SendResult> => {
    sent.push(id);
    return ACCEPTED;
  };
  const outbox = new Outbox(
    () => ({ store, collector: sent.length === 0 ? { address: COLLECTOR, send } : null, schedule: () => {} }),
    () => {},
  );
  await outbox.flush();
  assert.deepEqual(sent, ['a']);
});

function memoryStorage(): Storage {
  const items = new Map<string, string>();
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

/** Writes a checkpoint as a page of its own. */
function writeCheckpoint(storage: Storage, id: string, last: boolean): CheckpointWriter {
  const writer = new CheckpointWriter(storage);
  writer.write({ id, record: id }, last, 1000);
  return writer;
}

/** Returns the ids of the sessions that a page recovers. */
function recoveredIds(storage: Storage, now: number, locked: readonly string[] = []): string[] {
  return recoverAbandoned(storage, now, new Set(locked)).map(({ id }) => id);
}

test('session is abandoned after its last checkpoint or without checkpoints for minutes', () => {
  const storage = memoryStorage();
  writeCheckpoint(storage, 'ended', true);
  writeCheckpoint(storage, 'running', false);
  storage.setItem('tandem.session.broken', '{');
  storage.setItem('other', 'x');
  assert.deepEqual(recoveredIds(storage, 2000), ['ended']);
  assert.deepEqual(recoveredIds(storage, 200_000), ['ended', 'running']);
  removeCheckpoint(storage, 'ended');
  assert.deepEqual(recoveredIds(storage, 200_000), ['running']);
});

test('session whose page holds its lock is not abandoned, however long the page sleeps', () => {
  const storage = memoryStorage();
  writeCheckpoint(storage, 'asleep', false);
  writeCheckpoint(storage, 'gone', false);
  assert.deepEqual(recoveredIds(storage, 1e9, ['asleep']), ['gone']);
  assert.deepEqual(recoveredIds(storage, 1e9), ['asleep', 'gone']);
});

test('page that slept sees that another one recovered its session', () => {
  const storage = memoryStorage();
  const [kept, recovered, removed] = ['kept', 'recovered', 'removed'].map((id) => writeCheckpoint(storage, id, false));
  recoverAbandoned(storage, 1e9, new Set(['kept']));
  removeCheckpoint(storage, 'removed');
  assert.equal(kept?.isRecovered('kept'), false);
  assert.equal(recovered?.isRecovered('recovered'), true);
  assert.equal(removed?.isRecovered('removed'), true);
  assert.equal(removed?.isRecovered('another session of the page'), false);
});

const BASE = 'https://player.example/watch/';

/** Opens the page by a link with this collector. */
function openDestination(storage: Storage, linked: string | null, mayAsk = true): Destination {
  return new Destination({ storage, base: BASE, linked, mayAsk });
}

test('collector of a link gets nothing before a person confirms it', () => {
  const storage = memoryStorage();
  const destination = openDestination(storage, 'https://evil.example/api/sessions');
  destination.setToken('secret');
  assert.deepEqual([destination.url, destination.token], [null, '']);
  assert.equal(destination.question?.href, 'https://evil.example/api/sessions');
  destination.answer(false);
  assert.equal(destination.url?.href, 'https://player.example/api/sessions');
  // Neither the refusal nor a change of another setting stores the link's collector.
  assert.equal(openDestination(storage, null).url?.href, 'https://player.example/api/sessions');
  assert.notEqual(openDestination(storage, 'https://evil.example/api/sessions').question, null);
});

test('confirmed collector is kept by its whole address and only for its links', () => {
  const storage = memoryStorage();
  const study = 'https://study.example/api/sessions';
  openDestination(storage, study).answer(true);
  const again = openDestination(storage, study);
  assert.deepEqual([again.question, again.url?.href], [null, study]);
  assert.equal(openDestination(storage, null).url?.href, 'https://player.example/api/sessions');
  assert.notEqual(openDestination(storage, 'https://study.example/sessions/delete').question, null);
});

test('link cannot name another path of the own origin, and a frame cannot ask', () => {
  assert.notEqual(openDestination(memoryStorage(), '/sessions/delete?confirm=3').question, null);
  assert.equal(openDestination(memoryStorage(), '/api/sessions').question, null);
  const framed = openDestination(memoryStorage(), 'https://evil.example/', false);
  assert.deepEqual([framed.question, framed.url?.origin], [null, 'https://player.example']);
});

test('emptying the collector withdraws confirmations, also that of the own collector', () => {
  const storage = memoryStorage();
  const study = 'https://study.example/api/sessions';
  openDestination(storage, study).answer(true);
  const linked = [study, '/api/sessions'];
  const pages = linked.map((link) => openDestination(storage, link));
  openDestination(storage, null).enter('');
  for (const page of pages) {
    page.follow();
    assert.deepEqual([page.url, page.question], [null, null]);
  }
  for (const link of linked) {
    const page = openDestination(storage, link);
    assert.deepEqual([page.url, page.question?.pathname], [null, '/api/sessions']);
    page.answer(true);
    assert.equal(openDestination(storage, link).question, null);
  }
  // A collector entered later is no confirmation of the others.
  openDestination(storage, null).enter('');
  openDestination(storage, null).enter('https://other.example/api/sessions');
  assert.notEqual(openDestination(storage, study).question, null);
});

test('page follows the collector that a person enters on another page', () => {
  const storage = memoryStorage();
  const [page, other] = [openDestination(storage, null), openDestination(storage, null)];
  page.enter('https://first.example/api/sessions');
  assert.deepEqual([other.follow(), other.url?.host, other.follow()], [true, 'first.example', false]);
  other.enter('');
  assert.deepEqual([page.follow(), page.address, page.url], [true, '', null]);
});

test('page keeps the choices that another page stored', () => {
  const storage = memoryStorage();
  const study = 'https://study.example/api/sessions';
  const [page, other] = [openDestination(storage, study), openDestination(storage, null)];
  other.enter('');
  page.answer(true);
  assert.equal(openDestination(storage, null).address, '');
  other.enter('https://other.example/api/sessions');
  assert.equal(openDestination(storage, study).url?.href, study);
});

test('page keeps the collector of its link while it is known, and its open question', () => {
  const storage = memoryStorage();
  const entered = 'https://first.example/api/sessions';
  const study = 'https://study.example/api/sessions';
  openDestination(storage, study).answer(true);
  const person = openDestination(storage, null);
  person.enter(entered);
  const pages = [study, entered, '', 'https://evil.example/'].map((linked) => openDestination(storage, linked));
  person.enter('/api/sessions');
  for (const page of pages) page.follow();
  assert.deepEqual(
    pages.map(({ address }) => address),
    [study, '/api/sessions', '', '/api/sessions'],
  );
  assert.deepEqual([pages[3]?.url, pages[3]?.question?.host], [null, 'evil.example']);
});

test('choice that storage did not take lasts as long as the page', () => {
  const storage = memoryStorage();
  openDestination(storage, null).enter('https://first.example/api/sessions');
  const full = () => {
    throw new DOMException('full', 'QuotaExceededError');
  };
  const page = openDestination({ ...storage, setItem: full }, null);
  page.enter('');
  assert.deepEqual([page.follow(), page.url], [false, null]);
});

test('token stays with the origin for which it was entered', () => {
  const destination = openDestination(memoryStorage(), null);
  destination.setToken('secret');
  destination.enter('https://other.example/api/sessions');
  assert.equal(destination.token, '');
  destination.enter('/api/sessions');
  assert.equal(destination.token, 'secret');
});

test('collector is an HTTP address without credentials', () => {
  for (const address of ['javascript:alert(1)', 'data:,x', 'blob:https://a/b', 'https://me:pw@host/', 'http://['])
    assert.equal(parseCollector(address, BASE), null, address);
  assert.equal(openDestination(memoryStorage(), 'javascript:alert(1)').question, null);
});
