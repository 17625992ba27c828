import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryKeep } from '../../src/collect/keep.ts';
import { Outbox, type Standing } from '../../src/collect/outbox.ts';
import type { Sent } from '../../src/collect/send.ts';
import * as will from '../../src/collect/will.ts';

/** An outbox whose collector answers this, and whose alarms ring when they are told to. */
function outbox(answer: (record: string) => Sent) {
  const keep = memoryKeep();
  const sent: string[] = [];
  const alarms: { act: () => void; ms: number }[] = [];
  const standings: Standing[] = [];
  const send = async (record: string) => {
    sent.push(record);
    return answer(record);
  };
  const box = new Outbox(
    () => ({ keep, send, later: (act, ms) => alarms.push({ act, ms }) }),
    (standing) => standings.push(standing),
  );
  return { box, keep, sent, alarms, standings };
}

const LATER: Sent = { kind: 'later', why: 'nobody is there' };
const THERE: Sent = { kind: 'there', url: null };

test('what does not arrive is kept, and asked about less and less often', async () => {
  const { box, keep, sent, alarms, standings } = outbox(() => LATER);
  await box.add('a', '1');
  await box.flush();
  for (let times = 0; times < 7; times++) {
    alarms.at(-1)?.act();
    await box.flush();
  }
  assert.ok(sent.length > 7);
  assert.deepEqual(await keep.all(), [{ id: 'a', record: '1', refused: null }]);
  assert.equal(standings.at(-1)?.waiting, 1);
  const pauses = alarms.map(({ ms }) => ms);
  assert.deepEqual(pauses.slice(0, 3), [2000, 4000, 8000]);
  assert.equal(Math.max(...pauses), 60_000);
});

test('when the collector is back all of it is sent, each once', async () => {
  let answer: Sent = LATER;
  const { box, keep, sent, alarms, standings } = outbox(() => answer);
  await box.add('a', '1');
  await box.add('b', '2');
  await box.flush();
  answer = THERE;
  sent.length = 0;
  alarms.at(-1)?.act();
  await box.flush();
  assert.deepEqual(sent, ['1', '2']);
  assert.deepEqual(await keep.all(), []);
  assert.deepEqual([standings.at(-1)?.waiting, standings.at(-1)?.arrived?.id], [0, 'b']);
});

test('what is refused is kept, not sent again, and does not keep the others', async () => {
  const { box, keep, sent } = outbox((record) => (record === '1' ? { kind: 'refused', why: '422 no' } : THERE));
  await box.add('a', '1');
  await box.add('b', '2');
  await box.flush();
  await box.flush();
  assert.deepEqual(sent.filter((record) => record === '1').length, 1);
  assert.deepEqual(await keep.all(), [{ id: 'a', record: '1', refused: '422 no' }]);
});

function storage(): Storage {
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

test('a page finds what another one left, and not what another one still writes', () => {
  const store = storage();
  will.write(store, 'left', '1', true, 1000);
  will.write(store, 'writes', '2', false, 1000);
  store.setItem('tandem.session.broken', '{');
  store.setItem('other', 'x');
  const ids = (now: number) => will.orphans(store, now).map(({ id }) => id);
  assert.deepEqual(ids(2000), ['left']);
  // Not a word from it for minutes: it is gone.
  assert.deepEqual(ids(200_000), ['left', 'writes']);
  will.revoke(store, 'left');
  assert.deepEqual(ids(200_000), ['writes']);
});
