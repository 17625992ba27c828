/** Store of session records that a collector has not accepted yet. */

/** A session record waiting for delivery; the object is stored in IndexedDB as it is. */
export interface StoredRecord {
  readonly id: string;
  /**
   * JSON text. Every attempt sends the same text, because the collector compares records of one
   * id.
   */
  readonly record: string;
  /** Last final refusal; that collector does not get the record again. */
  readonly refused: Refusal | null;
}

export interface Refusal {
  /** Address of the collector. */
  readonly collector: string;
  readonly reason: string;
}

export interface Store {
  /** Returns whether the record outlives the page once it is stored. */
  put(record: StoredRecord): Promise<boolean>;
  /** Returns the ids of all records in order. */
  ids(): Promise<string[]>;
  get(id: string): Promise<StoredRecord | undefined>;
  remove(id: string): Promise<void>;
}

const OBJECT_STORE = 'sessions';

/** Opens the IndexedDB store, or a store in memory if the browser grants no database. */
export function openStore(name = 'tandem'): Store {
  const opened = openDatabase(name).then(databaseStore, memoryStore);
  return {
    put: async (record) => (await opened).put(record),
    ids: async () => (await opened).ids(),
    get: async (id) => (await opened).get(id),
    remove: async (id) => (await opened).remove(id),
  };
}

/** Returns a store that lasts as long as the page. */
export function memoryStore(): Store {
  const records = new Map<string, StoredRecord>();
  return {
    async put(record) {
      records.set(record.id, record);
      return false;
    },
    async ids() {
      return [...records.keys()].sort();
    },
    async get(id) {
      return records.get(id);
    },
    async remove(id) {
      records.delete(id);
    },
  };
}

export interface OverflowStore extends Store {
  /** Why some records are in memory only; `null` if none are. */
  readonly problem: string | null;
}

/**
 * Returns a store that keeps in memory the records that `store` fails to take, as when the quota is
 * exceeded, so that they are delivered nevertheless.
 */
export function overflowStore(store: Store): OverflowStore {
  const overflow = new Map<string, StoredRecord>();
  let failure = '';
  return {
    get problem() {
      return overflow.size === 0 ? null : failure;
    },
    async put(record) {
      try {
        const isDurable = await store.put(record);
        overflow.delete(record.id);
        return isDurable;
      } catch (error) {
        failure = String(error);
        overflow.set(record.id, record);
        return false;
      }
    },
    async ids() {
      return [...new Set([...(await store.ids()), ...overflow.keys()])].sort();
    },
    async get(id) {
      return overflow.get(id) ?? store.get(id);
    },
    async remove(id) {
      overflow.delete(id);
      await store.remove(id);
    },
  };
}

function databaseStore(database: IDBDatabase): Store {
  // Wait for the end of the transaction: the success of a request does not imply a write to disk.
  const change = (act: (objects: IDBObjectStore) => void) =>
    new Promise<void>((resolve, reject) => {
      const transaction = database.transaction(OBJECT_STORE, 'readwrite', { durability: 'strict' });
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
      act(transaction.objectStore(OBJECT_STORE));
    });
  return {
    put: async (record) => {
      await change((objects) => objects.put(record));
      return true;
    },
    remove: (id) => change((objects) => objects.delete(id)),
    ids: () =>
      result(database.transaction(OBJECT_STORE).objectStore(OBJECT_STORE).getAllKeys() as IDBRequest<string[]>),
    get: (id) => result(database.transaction(OBJECT_STORE).objectStore(OBJECT_STORE).get(id)),
  };
}

async function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(OBJECT_STORE, { keyPath: 'id' });
  return result(request);
}

/** Returns the result of an IndexedDB request as a promise. */
function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
