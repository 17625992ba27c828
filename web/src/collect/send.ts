/** Sends a session's record to a collector, as docs/session.md says. */

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

export async function send(collector: string, record: string): Promise<Sent> {
  let answer: Response;
  try {
    answer = await fetch(collector, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: record,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    return { kind: 'later', why: error instanceof Error ? error.message : String(error) };
  }
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok) return { kind: 'there', url: text(body, 'url') };
  const why = [`${answer.status}`, text(body, 'error') ?? answer.statusText].filter(Boolean).join(' ');
  // RFC 9110: of the client's errors only these two may go away by waiting. A web server that knows of no
  // collector says 404 or 405: it may be that the collector is not there yet.
  const passing = answer.status >= 500 || [404, 405, 408, 429].includes(answer.status);
  return passing ? { kind: 'later', why } : { kind: 'refused', why };
}

/**
 * Sends it while the page goes away, when there is no time for an answer.
 *
 * @returns whether the browser has taken it; that it arrives nobody says
 */
export function sendAtLast(collector: string, record: string): boolean {
  return navigator.sendBeacon(collector, new Blob([record], { type: 'application/json' }));
}

function text(body: unknown, member: string): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const value = (body as { [name: string]: unknown })[member];
  return typeof value === 'string' ? value : null;
}
