/**
 * Reports of the player's buffer to `tandem agent` on this device (docs/how-to/agent.md, "Players"),
 * for its policy `qoe`. They work where the agent's proxy cannot read requests: with HTTPS and YouTube.
 */

/** Minimum interval of reports while a session runs (ms); the page offers one every 250 ms. */
const REPORT_INTERVAL_MS = 200;
/** Wait after a report that failed or was refused (ms). */
const RETRY_MS = 5_000;
const TIMEOUT_MS = 2_000;

/** State of the player; `null` where it is unknown. */
export interface BufferReport {
  readonly session: string;
  /** Buffer level (s). */
  readonly buffer: number;
  readonly bitrateKbps: number | null;
  readonly segmentDuration: number | null;
  /** Bytes of the requested segments that have not arrived. */
  readonly missing: number | null;
  readonly kbps: number | null;
  readonly paused: boolean;
  /** Playback waits for data. */
  readonly waits: boolean;
  /** No further data will be requested. */
  readonly done: boolean;
}

/** Encodes a report as CMCD (CTA-5004), with the agent's own keys `tandem-missing` and `tandem-done`. */
export function cmcdReport(report: BufferReport): string {
  const { session, buffer, bitrateKbps, segmentDuration, missing, kbps, paused, waits, done } = report;
  const integer = (name: string, value: number | null) =>
    value !== null && Number.isFinite(value) && value >= 0 ? [`${name}=${Math.round(value)}`] : [];
  return [
    ...integer('bl', buffer * 1000),
    ...integer('br', bitrateKbps === 0 ? null : bitrateKbps),
    ...integer('d', segmentDuration === null ? null : segmentDuration * 1000),
    ...integer('mtp', kbps),
    // The buffer of a media element is the part that all its tracks have.
    'ot=av',
    ...(paused ? ['pr=0'] : []),
    `sid="${session.replace(/[^\w-]/g, '')}"`,
    ...(waits && !done ? ['su'] : []),
    ...(done ? ['tandem-done'] : []),
    ...integer('tandem-missing', done ? 0 : missing),
  ].join(',');
}

/** Parses the agent's address: `127.0.0.1:9465`, or with `http://`. `null` if it is on another host. */
export function parseAgent(address: string): URL | null {
  const text = address.trim();
  const given = text.includes('://') ? text : `http://${text}`;
  if (text === '' || !URL.canParse(given)) return null;
  const { protocol, host, hostname, username, password, pathname, search } = new URL(given);
  const isLoopback = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname);
  const isPlain = protocol === 'http:' && username === '' && password === '' && pathname === '/' && search === '';
  return isLoopback && isPlain ? new URL(`http://${host}/player`) : null;
}

export class AgentLink {
  readonly #onStatus: (text: string) => void;
  #url: URL | null = null;
  #token = '';
  #nextReport = 0;
  #isReporting = false;

  /** @param onStatus called with a text for the viewer after each report, and when reports end */
  constructor(onStatus: (text: string) => void) {
    this.#onStatus = onStatus;
  }

  /** Sets the agent; `null` ends the reports. */
  set(url: URL | null, token: string): void {
    this.#url = url;
    this.#token = token;
    this.#nextReport = 0;
    this.#onStatus('');
  }

  /**
   * Reports the player's state, if the interval has elapsed and no report is on its way.
   *
   * @param now reports at once
   */
  async report(read: () => BufferReport, now: boolean): Promise<void> {
    const url = this.#url;
    const at = performance.now();
    const isEarly = at < this.#nextReport - (now ? REPORT_INTERVAL_MS : 0);
    if (url === null || this.#token === '' || isEarly || (this.#isReporting && !now)) return;
    this.#isReporting = true;
    this.#nextReport = at + REPORT_INTERVAL_MS;
    const problem = await this.#send(url, cmcdReport(read()));
    this.#isReporting = false;
    if (url !== this.#url) return;
    if (problem !== null) this.#nextReport = performance.now() + RETRY_MS;
    this.#onStatus(problem ?? 'The agent takes reports.');
  }

  /** Sends a report; returns the problem, if any. */
  async #send(url: URL, body: string): Promise<string | null> {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'text/plain' },
        body,
        credentials: 'omit',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
        // The last report of a page that is closed.
        keepalive: true,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (response.ok) return null;
      const reason = (await response.text()).trim().slice(0, 200);
      return `The agent refuses reports: ${reason === '' ? response.status : reason}.`;
    } catch {
      return 'The agent does not answer. It must name the origin of this page, and the browser may ask for a permission.';
    }
  }
}
