/** Sends a session's record to a collector, as docs/reference/session.md says. */

/** What became of it. */
export type Sent =
  /** The collector has it. */
  | { readonly kind: 'there'; readonly url: string | null }
  /** It will not take it, and would not if asked again. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Nobody answered, or not now. */
  | { readonly kind: 'later'; readonly why: string };

/** How long a collector may take to answer (ms). */
const PATIENCE_MS = 10_000;

/** @param token what the collector asks for, if anything */
export async function send(collector: string, record: string, token: string): Promise<Sent> {
  let answer: Response;
  try {
    answer = await fetch(collector, {
      method: 'POST',
      headers: headers(token),
      body: record,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    return { kind: 'later', why: error instanceof Error ? error.message : String(error) };
  }
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok) return { kind: 'there', url: text(body, 'url') };
  const why = [`${answer.status}`, text(body, 'error') ?? answer.statusText].filter(Boolean).join(' ');
  // RFC 9110: of the client's errors only 408 and 429 go away by waiting. A web server that knows of no collector
  // says 404 or 405, and one that wants a token 401 or 403: the viewer can see to that.
  const passing = answer.status >= 500 || [401, 403, 404, 405, 408, 429].includes(answer.status);
  return passing ? { kind: 'later', why } : { kind: 'refused', why };
}

/**
 * Sends it while the page goes away, when there is no time for an answer: that it arrives nobody says. Browsers
 * take 64 KiB in this way, and what is larger waits for the next page.
 */
export function sendAtLast(collector: string, record: string, token: string): void {
  const type = 'application/json';
  // A beacon cannot carry a token, and not every browser lets a request outlive its page otherwise.
  if (token === '') navigator.sendBeacon(collector, new Blob([record], { type }));
  else fetch(collector, { method: 'POST', headers: headers(token), body: record, keepalive: true }).catch(() => {});
}

function headers(token: string): { [name: string]: string } {
  const type = { 'Content-Type': 'application/json' };
  return token === '' ? type : { ...type, Authorization: `Bearer ${token}` };
}

function text(body: unknown, member: string): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const value = (body as { [name: string]: unknown })[member];
  return typeof value === 'string' ? value : null;
}
