/**
 * Search by the YouTube Data API v3 (developers.google.com/youtube/v3/docs), with the viewer's key.
 *
 * A search costs 100 units of the key's daily quota, 10,000 by default, and the details one.
 */

const API = 'https://www.googleapis.com/youtube/v3/';
const MAX_RESULTS = 12;
const TIMEOUT_MS = 15_000;

/** Definitions by which the API filters videos; it knows no other sizes. */
export type Definition = 'any' | 'high' | 'standard';

export interface Video {
  readonly id: string;
  readonly title: string;
  readonly channel: string;
  /** Length in seconds; `null` for a live stream. */
  readonly duration: number | null;
  /** At least 720 lines. */
  readonly isHigh: boolean;
}

/** The API's refusal, or a failure of the network, as a text for the viewer. */
export class SearchError extends Error {}

/** Searches for videos that a page may embed. */
export async function searchVideos(key: string, words: string, definition: Definition): Promise<Video[]> {
  const found = await request('search', {
    part: 'snippet',
    type: 'video',
    videoEmbeddable: 'true',
    maxResults: String(MAX_RESULTS),
    q: words,
    videoDefinition: definition,
    fields: 'items/id/videoId',
    key,
  });
  const ids = parseIds(found);
  if (ids.length === 0) return [];
  const fields = 'items(id,snippet(title,channelTitle),contentDetails(duration,definition))';
  return parseVideos(await request('videos', { part: 'snippet,contentDetails', id: ids.join(','), fields, key }), ids);
}

async function request(resource: string, parameters: { readonly [name: string]: string }): Promise<unknown> {
  // No cookies: the key alone identifies the caller.
  const response = await fetch(`${API}${resource}?${new URLSearchParams(parameters)}`, {
    credentials: 'omit',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => {
    throw new SearchError('YouTube cannot be reached.');
  });
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw new SearchError(refusal(response.status, answer));
  return answer;
}

const REFUSALS: { readonly [reason: string]: string } = {
  keyInvalid: 'YouTube does not know this API key.',
  API_KEY_INVALID: 'YouTube does not know this API key.',
  quotaExceeded: "The key's quota for today is used up.",
  dailyLimitExceeded: "The key's quota for today is used up.",
  rateLimitExceeded: 'Too many searches in a short time; try again in a minute.',
  accessNotConfigured: 'The YouTube Data API v3 is not enabled for this key.',
  SERVICE_DISABLED: 'The YouTube Data API v3 is not enabled for this key.',
  ipRefererBlocked: 'The key does not allow pages of this origin.',
  API_KEY_HTTP_REFERRER_BLOCKED: 'The key does not allow pages of this origin.',
};

/** Returns the reason for which the API refused a request. */
export function refusal(status: number, answer: unknown): string {
  const error = member(answer, 'error');
  const reasons = [...list(member(error, 'details')), ...list(member(error, 'errors'))];
  for (const reason of reasons.map((item) => member(item, 'reason')))
    if (typeof reason === 'string' && Object.hasOwn(REFUSALS, reason)) return REFUSALS[reason] ?? '';
  const message = member(error, 'message');
  const detail = typeof message === 'string' ? `: ${message.slice(0, 200)}` : '.';
  return `YouTube refused the search with status ${status}${detail}`;
}

/** Reads the ids of the videos found, best match first. */
export function parseIds(answer: unknown): string[] {
  const ids = list(member(answer, 'items')).map((item) => member(member(item, 'id'), 'videoId'));
  return [...new Set(ids.filter(isVideoId))].slice(0, MAX_RESULTS);
}

/** Reads the details of videos, in the order of `ids`. Invalid ones are skipped. */
export function parseVideos(answer: unknown, ids: readonly string[]): Video[] {
  const videos = list(member(answer, 'items')).flatMap((item): Video[] => {
    const [id, snippet, details] = ['id', 'snippet', 'contentDetails'].map((name) => member(item, name));
    const title = member(snippet, 'title');
    const channel = member(snippet, 'channelTitle');
    if (!isVideoId(id) || typeof title !== 'string' || title === '') return [];
    const duration = parseDuration(member(details, 'duration'));
    const isHigh = member(details, 'definition') === 'hd';
    return [{ id, title, channel: typeof channel === 'string' ? channel : '', duration, isHigh }];
  });
  return ids.flatMap((id) => videos.find((video) => video.id === id) ?? []);
}

/** Parses an ISO 8601 duration such as `PT1H2M3S`; `null` if it is zero or invalid. */
export function parseDuration(text: unknown): number | null {
  const parts = typeof text === 'string' ? /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text) : null;
  if (parts === null) return null;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  const total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  return total > 0 && Number.isFinite(total) ? total : null;
}

/** Formats a duration as `1:02:03` or `4:05`. */
export function formatDuration(seconds: number | null): string {
  if (seconds === null) return 'live';
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** Address of the video's thumbnail, 320 by 180 pixels. */
export function thumbnail(id: string): string {
  return `https://i.ytimg.com/vi/${id}/mqdefault.jpg`;
}

function isVideoId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{11}$/.test(value);
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as { [name: string]: unknown })[name] : undefined;
}
