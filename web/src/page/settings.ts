/**
 * Settings of the page. The query string overrides stored settings, which override the defaults.
 */

import { shorten } from '../measure/text.ts';
import type { Rule } from '../play/dash.ts';

export interface Settings {
  readonly rule: Rule;
  readonly maxBuffer: number;
  readonly cmcd: 'query' | 'header' | 'off';
  readonly catalogue: string;
  readonly label: string;
}

export const DEFAULTS: Settings = {
  rule: 'dynamic',
  maxBuffer: 30,
  cmcd: 'query',
  catalogue: 'catalogue.json',
  label: '',
};

/** Parses settings; a missing or invalid value is taken from `base`. */
export function parseSettings(from: { readonly [name: string]: unknown }, base: Settings): Settings {
  const choice = <T extends string>(value: unknown, choices: readonly T[], fallback: T) =>
    choices.find((choice) => choice === value) ?? fallback;
  const text = (value: unknown, fallback: string) => (typeof value === 'string' ? value.trim() : fallback);
  // An object from a damaged storage may have no number.
  const { maxBuffer } = from;
  const seconds = typeof maxBuffer === 'number' || typeof maxBuffer === 'string' ? Number(maxBuffer) : Number.NaN;
  return {
    rule: choice(from.rule, ['dynamic', 'throughput', 'bola'], base.rule),
    maxBuffer: seconds >= 2 && seconds <= 600 ? seconds : base.maxBuffer,
    cmcd: choice(from.cmcd, ['query', 'header', 'off'], base.cmcd),
    catalogue: text(from.catalogue, base.catalogue),
    label: shorten(text(from.label, base.label), 200),
  };
}

/** Reads stored settings; none if the text is damaged. */
export function parseStored(text: string | null): { readonly [name: string]: unknown } {
  try {
    const stored: unknown = JSON.parse(text ?? '{}');
    return typeof stored === 'object' && stored !== null ? { ...stored } : {};
  } catch {
    return {};
  }
}

/** Returns the addresses of the collector's pages; `null` without a collector. */
export function collectorPages(
  collector: URL | null,
  label: string,
): { readonly sessions: string; readonly compare: string } | null {
  if (collector === null) return null;
  const root = collector.href.replace(/\/api\/sessions\/?([?#].*)?$/, '');
  const query = label === '' ? '' : `?${new URLSearchParams({ label })}`;
  return { sessions: `${root}/sessions${query}`, compare: `${root}/compare${query}` };
}

/** A video to play. */
export interface Source {
  readonly kind: 'dash' | 'file' | 'youtube';
  readonly url: string;
  /** Content id: the end of the path, or the id of a YouTube video. */
  readonly name: string;
}

/**
 * Parses an address entered by the viewer.
 *
 * @returns the source, or an error message
 */
export function parseSource(address: string, kind: string, base: string): Source | string {
  const given = address.trim();
  if (given === '') return 'Enter an address.';
  const video = youtubeId(given, kind === 'youtube');
  if (video !== null && (kind === 'auto' || kind === 'youtube'))
    return { kind: 'youtube', url: `https://www.youtube.com/watch?v=${video}`, name: video };
  if (kind === 'youtube') return 'Invalid address or id of a YouTube video.';
  if (!URL.canParse(given, base)) return 'Invalid address. Example: https://example.org/manifest.mpd';
  const url = new URL(given, base);
  if (!['http:', 'https:', 'blob:'].includes(url.protocol))
    return `Unsupported protocol ${url.protocol.slice(0, -1)}; use http or https.`;
  if (url.username !== '' || url.password !== '')
    return 'Remove the password from the address: the session record includes the address.';
  const name = url.pathname.split('/').filter(Boolean).slice(-2).join('/') || url.host;
  const dash = kind === 'dash' || (kind !== 'file' && url.pathname.toLowerCase().endsWith('.mpd'));
  return { kind: dash ? 'dash' : 'file', url: url.href, name };
}

/** Extracts the id of a YouTube video: eleven letters, digits, `-` and `_`. */
function youtubeId(given: string, acceptBareId: boolean): string | null {
  const id = /^[A-Za-z0-9_-]{11}$/;
  if (acceptBareId && id.test(given)) return given;
  if (!URL.canParse(given)) return null;
  const { host, pathname, searchParams } = new URL(given);
  const [first = '', second = ''] = pathname.split('/').filter(Boolean);
  const found = /^(www\.|m\.|music\.)?youtube(-nocookie)?\.com$/.test(host)
    ? first === 'watch'
      ? searchParams.get('v')
      : ['embed', 'shorts', 'live', 'v'].includes(first)
        ? second
        : null
    : host === 'youtu.be'
      ? first
      : null;
  return found !== null && id.test(found) ? found : null;
}
