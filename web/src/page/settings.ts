/** What the viewer has set: from the address of the page, else from the last visit, else by default. */

import type { Rule } from '../play/dash.ts';

export interface Settings {
  readonly rule: Rule;
  readonly maxBuffer: number;
  readonly cmcd: 'query' | 'header' | 'off';
  /** Empty: sessions stay in this browser. */
  readonly collector: string;
  readonly catalogue: string;
  readonly label: string;
}

export const DEFAULTS: Settings = {
  rule: 'dynamic',
  maxBuffer: 30,
  cmcd: 'query',
  collector: '/api/sessions',
  catalogue: 'catalogue.json',
  label: '',
};

/** Reads settings from anything; what is no setting is left as `base` has it. */
export function settings(from: { readonly [name: string]: unknown }, base: Settings): Settings {
  const among = <T extends string>(value: unknown, all: readonly T[], or: T) => all.find((one) => one === value) ?? or;
  const text = (value: unknown, or: string) => (typeof value === 'string' ? value.trim() : or);
  const seconds = Number(from.maxBuffer || Number.NaN);
  return {
    rule: among(from.rule, ['dynamic', 'throughput', 'bola'], base.rule),
    maxBuffer: seconds >= 2 && seconds <= 600 ? seconds : base.maxBuffer,
    cmcd: among(from.cmcd, ['query', 'header', 'off'], base.cmcd),
    collector: text(from.collector, base.collector),
    catalogue: text(from.catalogue, base.catalogue),
    label: text(from.label, base.label).slice(0, 200),
  };
}

/** What kind of video is at an address. */
export type Source =
  | { readonly kind: 'dash' | 'file'; readonly url: string; readonly name: string }
  | { readonly kind: 'youtube'; readonly url: string; readonly name: string };

/**
 * Reads an address as the viewer has it.
 *
 * @returns the source, or in words why it is none
 */
export function source(address: string, kind: string, base: string): Source | string {
  const given = address.trim();
  if (given === '') return 'Type an address first.';
  const video = youtubeId(given, kind === 'youtube');
  if (video !== null && (kind === 'auto' || kind === 'youtube'))
    return { kind: 'youtube', url: `https://www.youtube.com/watch?v=${video}`, name: video };
  if (kind === 'youtube') return 'This is no address of a YouTube video, and no id of one.';
  if (!URL.canParse(given, base)) return 'This is no address. One looks like https://example.org/manifest.mpd';
  const url = new URL(given, base);
  if (!['http:', 'https:', 'blob:'].includes(url.protocol))
    return `${url.protocol} is not played here, only http and https.`;
  if (url.username !== '' || url.password !== '')
    return 'An address with a password in it would end up in the record. Leave it out.';
  const name = url.pathname.split('/').filter(Boolean).slice(-2).join('/') || url.host;
  const dash = kind === 'dash' || (kind !== 'file' && url.pathname.toLowerCase().endsWith('.mpd'));
  return { kind: dash ? 'dash' : 'file', url: url.href, name };
}

/** The id of a YouTube video: eleven letters, digits, `-` and `_`. */
function youtubeId(given: string, bare: boolean): string | null {
  const id = /^[A-Za-z0-9_-]{11}$/;
  if (bare && id.test(given)) return given;
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
