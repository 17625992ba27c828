/**
 * A server that serves the page and a video, as fast as it is told, and notes every byte that it sends.
 */

import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** How one answer is given. */
export interface Manner {
  /** Wait so long before the first byte (ms). */
  readonly hold?: number;
  /** Not faster than this. */
  readonly kbps?: number;
  /** Where to pause, as a part of the body, and for how long (ms). */
  readonly breaks?: readonly { readonly at: number; readonly ms: number }[];
  /** Break the connection after this part of the body. */
  readonly cutAt?: number;
}

/** What was sent. Times are milliseconds since 1970, as `performance.timeOrigin + performance.now()`. */
export interface Answer {
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingMessage['headers'];
  readonly asked: number;
  status: number;
  /** When each part of the body was handed to the kernel, and its size. */
  readonly parts: { at: number; bytes: number }[];
  /** The last byte was sent; not so where it was cut, or the client went. */
  whole: boolean;
}

/** What a client posted to the collector. */
export interface Posted {
  readonly at: number;
  readonly id: string;
  readonly body: string;
  readonly status: number;
}

const TYPES: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.mpd': 'application/dash+xml',
  '.m4s': 'video/iso.segment',
  '.mp4': 'video/mp4',
};

/** Parts are sent this often (ms). */
const TICK_MS = 20;

export class TestServer {
  readonly answers: Answer[] = [];
  readonly posted: Posted[] = [];
  /** How an answer is given; by default at once and whole. The number says how often the path was asked for before. */
  manner: (path: string, before: number) => Manner = () => ({});
  /** What the collector answers: 'there', a status, or nothing at all. */
  collector: 'there' | 'gone' | number = 'there';
  /** Where it tells what it sent and what was posted; nowhere by default. */
  tellAt: string | null = null;
  /** What the collector wants to be shown, if anything. */
  token: string | null = null;
  readonly #folders: readonly (readonly [string, string])[];
  readonly #extra = new Map<string, { type: string; body: string }>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Ends what is held back: a process of tests lives as long as its last timer. */
  readonly #stopped = new AbortController();
  readonly #stored = new Map<string, string>();

  private constructor(folders: readonly (readonly [string, string])[]) {
    this.#folders = folders;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  /**
   * @param folders what lies under which path; the first that fits
   * @param host an address of this machine
   */
  static async start(folders: { readonly [path: string]: string }, host = '127.0.0.1', port = 0): Promise<TestServer> {
    const server = new TestServer(Object.entries(folders));
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject);
      server.#server.listen(port, host, resolve);
    });
    return server;
  }

  get origin(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address}:${port}`;
  }

  /** Serves a document that is in no folder. */
  put(path: string, type: string, body: string): void {
    this.#extra.set(path, { type, body });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = now();
    const { pathname, search } = new URL(request.url ?? '/', 'http://server');
    if (pathname === '/api/sessions' && request.method === 'POST') return this.#collect(request, response);
    if (pathname === this.tellAt) {
      const { answers, posted } = this;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ answers, posted }));
      return;
    }
    const before = this.answers.filter(({ path }) => path === pathname).length;
    const { headers } = request;
    const answer: Answer = { path: pathname, query: search, headers, asked, status: 200, parts: [], whole: false };
    this.answers.push(answer);
    const { hold = 0, kbps, cutAt, breaks = [] } = this.manner(pathname, before);
    const { signal } = this.#stopped;
    if (hold > 0) await sleep(hold, undefined, { signal });
    const body = await this.#body(pathname);
    if (body === undefined) {
      answer.status = 404;
      response.writeHead(404).end();
      return;
    }
    const [from, to] = range(headers.range, body.bytes.length);
    answer.status = headers.range === undefined ? 200 : 206;
    const part = body.bytes.subarray(from, to);
    response.writeHead(answer.status, {
      'Content-Type': body.type,
      'Content-Length': part.length,
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'no-store',
      'Timing-Allow-Origin': '*',
      ...(headers.range === undefined ? {} : { 'Content-Range': `bytes ${from}-${to - 1}/${body.bytes.length}` }),
    });
    response.flushHeaders();
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    const end = Math.ceil(part.length * (cutAt ?? 1));
    // Breaks are at places of the whole body, and a range may begin behind some.
    const stops = breaks.map(({ at, ms }) => ({ at: Math.ceil(at * body.bytes.length) - from, ms }));
    let started = now();
    for (let sent = 0; sent < end && !response.destroyed; ) {
      const [stop] = stops.filter(({ at }) => at >= sent && at > 0);
      const allowed = kbps === undefined ? end : Math.ceil(((now() - started + TICK_MS) * kbps) / 8);
      const upTo = Math.min(end, stop?.at ?? end, Math.max(allowed, sent));
      if (upTo > sent) {
        answer.parts.push({ at: now(), bytes: upTo - sent });
        response.write(part.subarray(sent, upTo));
        sent = upTo;
      }
      if (sent === stop?.at) {
        await sleep(stop.ms, undefined, { signal });
        started += stop.ms;
        stops.splice(stops.indexOf(stop), 1);
      } else if (sent < end) await sleep(TICK_MS, undefined, { signal });
    }
    if (cutAt !== undefined) {
      response.socket?.destroy();
      return;
    }
    answer.whole = !response.destroyed;
    response.end();
  }

  async #body(path: string): Promise<{ type: string; bytes: Buffer } | undefined> {
    const extra = this.#extra.get(path);
    if (extra !== undefined) return { type: extra.type, bytes: Buffer.from(extra.body) };
    for (const [prefix, folder] of this.#folders) {
      if (!path.startsWith(prefix)) continue;
      const rest = normalize(path.slice(prefix.length));
      if (rest.startsWith('..')) return undefined;
      const file = join(folder, rest === '' || rest === '.' ? 'index.html' : rest);
      const bytes = await readFile(file).catch(() => undefined);
      if (bytes !== undefined) return { type: TYPES[extname(file)] ?? 'application/octet-stream', bytes };
    }
    return undefined;
  }

  /** As docs/reference/session.md says: 201, 200 for the same again, 409 for another of that id. */
  async #collect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.collector === 'gone') {
      request.socket.destroy();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { id } = JSON.parse(body) as { id: string };
    let status: number;
    if (this.token !== null && request.headers.authorization !== `Bearer ${this.token}`) status = 401;
    else if (this.collector !== 'there') status = this.collector;
    else {
      const stored = this.#stored.get(id);
      status = stored === undefined ? 201 : stored === body ? 200 : 409;
      if (stored === undefined) this.#stored.set(id, body);
    }
    this.posted.push({ at: now(), id, body, status });
    const told = status < 300 ? { id, url: `/sessions/${id}` } : { error: 'not now', problems: [] };
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(told));
  }
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

function range(header: string | undefined, length: number): [number, number] {
  const found = /^bytes=(\d+)-(\d*)$/.exec(header ?? '');
  if (found === null) return [0, length];
  const to = found[2] === '' ? length : Math.min(Number(found[2]) + 1, length);
  return [Number(found[1]), to];
}
