/** What has not reached a collector yet, kept in the browser so that it outlives the page. */

/** A session's record as it is to be sent. */
export interface Kept {
  readonly id: string;
  /** JSON. It is sent as it is, however often: the collector compares. */
  readonly record: string;
  /** Why the collector will not have it; such a record is not sent again. */
  readonly refused: string | null;
}

/** Where it is kept. */
export interface Keep {
  put(kept: Kept): Promise<void>;
  /** In the order of their ids. */
  all(): Promise<Kept[]>;
  remove(id: string): Promise<void>;
}

const STORE = 'sessions';

/** In IndexedDB, or where a browser has or grants none, in this page alone. */
export function openKeep(name = 'tandem'): Keep {
  const opened = open(name).then(databaseKeep, memoryKeep);
  return {
    put: async (kept) => (await opened).put(kept),
    all: async () => (await opened).all(),
    remove: async (id) => (await opened).remove(id),
  };
}

export function memoryKeep(): Keep {
  const kept = new Map<string, Kept>();
  return {
    async put(one) {
      kept.set(one.id, one);
    },
    async all() {
      return [...kept.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    async remove(id) {
      kept.delete(id);
    },
  };
}

function databaseKeep(database: IDBDatabase): Keep {
  // A transaction's end, and not a request's success, says that it is on the disk.
  const change = (act: (store: IDBObjectStore) => void) =>
    new Promise<void>((resolve, reject) => {
      const transaction = database.transaction(STORE, 'readwrite', { durability: 'strict' });
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
      act(transaction.objectStore(STORE));
    });
  return {
    put: (kept) => change((store) => store.put(kept)),
    remove: (id) => change((store) => store.delete(id)),
    all: () => answer(database.transaction(STORE).objectStore(STORE).getAll() as IDBRequest<Kept[]>),
  };
}

async function open(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
  return answer(request);
}

function answer<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
