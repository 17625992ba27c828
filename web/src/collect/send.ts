/** Upload of a session record to a collector, by the protocol in docs/reference/session.md. */

/** Outcome of an upload. */
export type SendResult =
  /** The collector has stored the record; `url` is the session's page on the collector's origin. */
  | { readonly kind: 'accepted'; readonly url: string | null }
  /** Final refusal: the same request would fail again. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Temporary failure, perhaps of this record only: a timeout, or an error of the server. */
  | { readonly kind: 'retry'; readonly reason: string }
  /** No record would be accepted now: no connection, or a setting that a person can correct. */
  | { readonly kind: 'unavailable'; readonly reason: string };

/** Time for the connection and the answer. */
const RESPONSE_TIMEOUT_MS = 10_000;
/** Time in which a collector receives a record: this, and more by the minimum rate. */
const RECEIVE_TIMEOUT_MS = 30_000;
const MIN_BYTES_PER_S = 64 * 1024;

/** Length of a collector's reason that is shown and stored with a refused record. */
const MAX_REASON_CHARS = 200;

/**
 * Sends a record. It counts as stored only if the answer names its id: any web server may answer
 * with success.
 *
 * @param token bearer token of the collector, or an empty string
 */
export async function send(collector: URL, id: string, record: string, token: string): Promise<SendResult> {
  const signal = AbortSignal.timeout(timeoutMs(record));
  let response: Response;
  let text: string;
  try {
    response = await fetch(collector, { ...post(record, token), signal });
    text = await response.text();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: signal.aborted ? 'retry' : 'unavailable', reason };
  }
  const { ok, status, statusText } = response;
  const body = parseJson(text);
  if (ok && stringMember(body, 'id') === id)
    return { kind: 'accepted', url: sessionPage(collector, stringMember(body, 'url')) };
  if (ok) return { kind: 'unavailable', reason: `${status}, but the answer does not name the session` };
  const given = (stringMember(body, 'error') ?? statusText).slice(0, MAX_REASON_CHARS);
  const reason = [`${status}`, given].filter(Boolean).join(' ');
  if (status >= 500 || status === 408) return { kind: 'retry', reason };
  // RFC 9110: 429 is temporary. A web server without a collector answers 404 or 405, a missing token
  // 401 or 403, and an unknown host name 421: a person can correct these settings.
  return { kind: [401, 403, 404, 405, 421, 429].includes(status) ? 'unavailable' : 'refused', reason };
}

function timeoutMs(record: string): number {
  const bytes = new Blob([record]).size;
  return RESPONSE_TIMEOUT_MS + RECEIVE_TIMEOUT_MS + Math.ceil((bytes * 1000) / MIN_BYTES_PER_S);
}

/**
 * Sends a record while the page unloads, without waiting for the answer. Browsers limit such a
 * request to 64 KiB, and old ones abort it with the page; the next page sends those records.
 */
export function sendOnUnload(collector: URL, record: string, token: string): void {
  // Not a beacon: it follows redirects and cannot carry a token.
  fetch(collector, { ...post(record, token), keepalive: true }).catch(() => {});
}

function post(record: string, token: string): RequestInit {
  const type = { 'Content-Type': 'application/json' };
  return {
    method: 'POST',
    headers: token === '' ? type : { ...type, Authorization: `Bearer ${token}` },
    body: record,
    // A redirect would take the record to an address that nobody confirmed.
    redirect: 'error',
  };
}

/** Returns the address of a session's page if it is on the collector's origin. */
function sessionPage(collector: URL, address: string | null): string | null {
  if (address === null || !URL.canParse(address, collector)) return null;
  const url = new URL(address, collector);
  return url.origin === collector.origin ? url.href : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns a member of a JSON object if it is a string. */
function stringMember(body: unknown, name: string): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const value = (body as { [name: string]: unknown })[name];
  return typeof value === 'string' ? value : null;
}
