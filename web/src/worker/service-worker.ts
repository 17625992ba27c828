/**
 * Service worker: the page's own files work offline. It answers requests for these alone; media,
 * catalogues, collectors and other pages of the origin never pass its cache.
 *
 * The page itself comes from the network if it answers in time, so an update arrives with the next
 * visit. It names its script and style with their hashes, so the cached ones always fit the page.
 */

/** Set by the build: the page's files with their digests, and a hash of them all. */
declare const FILES: readonly (readonly [path: string, integrity: string])[];
declare const BUILD: string;

const worker = self as unknown as ServiceWorkerGlobalScope;

const CACHE_PREFIX = 'tandem-page-';
const CACHE = CACHE_PREFIX + BUILD;

/** Wait for the network before a cached file is used (ms). */
const NETWORK_TIMEOUT_MS = 4_000;

const scope = new URL(worker.registration.scope);
const files = new Set(FILES.map(([path]) => new URL(path, scope).href));

worker.addEventListener('install', (event) => {
  event.waitUntil(install());
  // Requests of players need not wait for the start of a stopped worker, where the browser allows it.
  const { addRoutes } = event as { addRoutes?: (routes: unknown) => Promise<void> };
  const destinations = ['', 'video', 'audio'].map((requestDestination) => ({ requestDestination }));
  if (addRoutes !== undefined)
    event.waitUntil(addRoutes.call(event, [{ condition: { or: destinations }, source: 'network' }]).catch(() => {}));
});

worker.addEventListener('activate', (event) => event.waitUntil(activate()));

worker.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET') return;
  const { origin, pathname, search } = new URL(request.url);
  const address = `${origin}${pathname}`;
  if (request.mode === 'navigate' && address === scope.href) event.respondWith(page(request));
  else if (files.has(address + search))
    event.respondWith(search === '' ? networkFirst(request, address) : cacheFirst(request));
});

/** Caches the files of this build; fails if the server has others. */
async function install(): Promise<void> {
  const cache = await caches.open(CACHE);
  const requests = FILES.map(([path, integrity]) => {
    const hasHash = path.includes('?');
    return new Request(new URL(path, scope), { integrity, cache: hasHash ? 'default' : 'no-cache' });
  });
  await cache.addAll(requests);
  await worker.skipWaiting();
}

/** Deletes the files of earlier builds: open pages have loaded theirs. */
async function activate(): Promise<void> {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(CACHE_PREFIX) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

async function page(request: Request): Promise<Response> {
  const response = await networkFirst(request, scope.href);
  if (response.status !== 401) return response;
  // Only a navigation without a worker shows the browser's question for the collector's token.
  await worker.registration.unregister();
  return Response.redirect(request.url);
}

/** Fetches a request; uses the cached file if the network fails or takes too long. */
async function networkFirst(request: Request, file: string): Promise<Response> {
  const fetched = fetch(request);
  fetched.catch(() => {});
  const cached = await findCached(file);
  if (cached === undefined) return fetched;
  const late = new Promise<Response>((resolve) => setTimeout(() => resolve(cached), NETWORK_TIMEOUT_MS));
  return Promise.race([fetched, late]).catch(() => cached);
}

async function cacheFirst(request: Request): Promise<Response> {
  return (await findCached(request.url)) ?? fetch(request);
}

/** Looks up a file of this build. `caches.open` would create the cache again that a newer worker has deleted. */
function findCached(file: string): Promise<Response | undefined> {
  return caches.match(file, { cacheName: CACHE });
}
