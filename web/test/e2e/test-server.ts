/** HTTP server for the page and a video. It shapes its responses and logs every byte sent. */

import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Shaping of a response. */
export interface ResponseProfile {
  /** Delay of the first byte (ms). */
  readonly delayMs?: number;
  /** Maximum rate. */
  readonly kbps?: number;
  /** Interruptions: position as a fraction of the body, and length (ms). */
  readonly interruptions?: readonly { readonly at: number; readonly ms: number }[];
  /** Fraction of the body after which the connection is reset. */
  readonly cutAt?: number;
}

/** Log of a response. Times are milliseconds since 1970. */
export interface LoggedResponse {
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingMessage['headers'];
  readonly asked: number;
  status: number;
  /** Time and size of each write to the socket. */
  readonly parts: { at: number; bytes: number }[];
  /** The whole body was sent. */
  complete: boolean;
}

/** Key and certificate as PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A record posted to the collector. */
export interface PostedRecord {
  readonly at: number;
  readonly id: string;
  readonly body: string;
  readonly status: number;
  /** The `Authorization` field. */
  readonly authorization: string | null;
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

/** Interval between writes (ms). */
const TICK_MS = 20;

export class TestServer {
  readonly responses: LoggedResponse[] = [];
  readonly posted: PostedRecord[] = [];
  /**
   * Profile of the next response, by path and number of earlier requests for it; unshaped by
   * default.
   */
  profile: (path: string, previousRequests: number) => ResponseProfile = () => ({});
  /** State of the collector; a number is the status that it answers. */
  collector: 'up' | 'down' | number = 'up';
  /** Path that serves the log as JSON. */
  logPath: string | null = null;
  /** Bearer token that the collector requires. */
  token: string | null = null;
  /** Members of the collector's answer that replace the id and address of the session. */
  answer: { readonly id?: string; readonly url?: string } = {};
  /** Address to which the collector redirects. */
  redirect: string | null = null;
  /** Number of redirected posts. */
  redirected = 0;
  /** Pages of all origins may use the collector, also with credentials. */
  allowsOrigins = false;
  readonly #folders: readonly (readonly [string, string])[];
  readonly #extra = new Map<string, { type: string; body: string }>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Cancels pending delays: timers would keep the test process alive. */
  readonly #stopped = new AbortController();
  readonly #stored = new Map<string, string>();

  readonly #scheme: 'http' | 'https';

  private constructor(folders: readonly (readonly [string, string])[], tls: Certificate | undefined) {
    this.#folders = folders;
    this.#scheme = tls === undefined ? 'http' : 'https';
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch(() => response.destroy());
    };
    this.#server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  /**
   * @param folders folder for each path prefix; the first match applies
   * @param host address to listen on
   * @param tls certificate for HTTPS
   */
  static async start(
    folders: { readonly [path: string]: string },
    host = '127.0.0.1',
    port = 0,
    tls?: Certificate,
  ): Promise<TestServer> {
    const server = new TestServer(Object.entries(folders), tls);
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject);
      server.#server.listen(port, host, resolve);
    });
    return server;
  }

  get origin(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `${this.#scheme}://${address}:${port}`;
  }

  /** Serves a document from memory. */
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
    if (this.allowsOrigins) {
      // A request with credentials needs the origin by name.
      response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '*');
      response.setHeader('Access-Control-Allow-Credentials', 'true');
      response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type');
    }
    if (pathname === '/api/sessions' && request.method === 'OPTIONS') {
      response.writeHead(204).end();
      return;
    }
    if (pathname === '/api/sessions' && request.method === 'POST') return this.#collect(request, response);
    if (pathname === this.logPath) {
      const { responses, posted } = this;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ responses, posted }));
      return;
    }
    const previousRequests = this.responses.filter(({ path }) => path === pathname).length;
    const { headers } = request;
    const log: LoggedResponse = {
      path: pathname,
      query: search,
      headers,
      asked,
      status: 200,
      parts: [],
      complete: false,
    };
    this.responses.push(log);
    const profile = this.profile(pathname, previousRequests);
    const { delayMs = 0 } = profile;
    if (delayMs > 0) await sleep(delayMs, undefined, { signal: this.#stopped.signal });
    const body = await this.#body(pathname);
    if (body === undefined) {
      log.status = 404;
      response.writeHead(404).end();
      return;
    }
    const [from, to] = range(headers.range, body.bytes.length);
    log.status = headers.range === undefined ? 200 : 206;
    response.writeHead(log.status, {
      'Content-Type': body.type,
      'Content-Length': to - from,
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
    // Interruptions are positions in the whole body; the range may start after some of them.
    const interruptions = (profile.interruptions ?? []).map(({ at, ms }) => ({
      at: Math.ceil(at * body.bytes.length) - from,
      ms,
    }));
    await this.#sendShaped(response, body.bytes.subarray(from, to), { ...profile, interruptions }, log);
  }

  /** Sends a body by its profile, in which interruptions are byte offsets. */
  async #sendShaped(
    response: ServerResponse,
    body: Buffer,
    { kbps, cutAt, interruptions = [] }: ResponseProfile,
    log: LoggedResponse,
  ): Promise<void> {
    const { signal } = this.#stopped;
    const end = Math.ceil(body.length * (cutAt ?? 1));
    const pending = [...interruptions];
    let started = now();
    for (let sent = 0; sent < end && !response.destroyed; ) {
      const [next] = pending.filter(({ at }) => at >= sent && at > 0);
      const allowed = kbps === undefined ? end : Math.ceil(((now() - started + TICK_MS) * kbps) / 8);
      const upTo = Math.min(end, next?.at ?? end, Math.max(allowed, sent));
      if (upTo > sent) {
        log.parts.push({ at: now(), bytes: upTo - sent });
        response.write(body.subarray(sent, upTo));
        sent = upTo;
      }
      if (sent === next?.at) {
        await sleep(next.ms, undefined, { signal });
        started += next.ms;
        pending.splice(pending.indexOf(next), 1);
      } else if (sent < end) await sleep(TICK_MS, undefined, { signal });
    }
    if (cutAt !== undefined) {
      response.socket?.destroy();
      return;
    }
    log.complete = !response.destroyed;
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

  /**
   * Collector by docs/reference/session.md: 201; 200 for a repetition; 409 for a different record.
   */
  async #collect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.collector === 'down') {
      request.socket.destroy();
      return;
    }
    if (this.redirect !== null) {
      this.redirected += 1;
      response.writeHead(307, { Location: this.redirect }).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { id } = JSON.parse(body) as { id: string };
    let status: number;
    if (this.token !== null && request.headers.authorization !== `Bearer ${this.token}`) status = 401;
    else if (this.collector !== 'up') status = this.collector;
    else {
      const stored = this.#stored.get(id);
      status = stored === undefined ? 201 : stored === body ? 200 : 409;
      if (stored === undefined) this.#stored.set(id, body);
    }
    this.posted.push({ at: now(), id, body, status, authorization: request.headers.authorization ?? null });
    const answer =
      status < 300 ? { id, url: `/sessions/${id}`, ...this.answer } : { error: 'unavailable', problems: [] };
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
  }
}

/** Returns the time in milliseconds since 1970. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

/** Parses a Range header; returns start and end (exclusive). */
function range(header: string | undefined, length: number): [number, number] {
  const found = /^bytes=(\d+)-(\d*)$/.exec(header ?? '');
  if (found === null) return [0, length];
  const to = found[2] === '' ? length : Math.min(Number(found[2]) + 1, length);
  return [Number(found[1]), to];
}
