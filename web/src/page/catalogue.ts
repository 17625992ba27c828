/**
 * Catalogue of titles, a JSON document (docs/how-to/web.md): `{"videos": [{"title": …, "url": …,
 * "kind"?, "description"?, "duration_s"?}]}`. Each `url` is relative to the catalogue.
 */

export interface Title {
  readonly title: string;
  readonly url: string;
  readonly description: string;
  readonly duration: number | null;
}

/** Fetches a catalogue; returns no titles if it is missing or invalid. */
export async function fetchCatalogue(address: string): Promise<Title[]> {
  const url = new URL(address, document.baseURI);
  const response = await fetch(url).catch(() => undefined);
  if (response?.ok !== true) return [];
  return parseCatalogue(await response.json().catch(() => null), response.url || url.href);
}

/** Parses a catalogue. Entries without a title or a valid address are skipped. */
export function parseCatalogue(document: unknown, base: string): Title[] {
  const videos = (document as { videos?: unknown } | null)?.videos;
  if (!Array.isArray(videos)) return [];
  return videos.flatMap((video: unknown): Title[] => {
    if (typeof video !== 'object' || video === null) return [];
    const { title, url, description, duration_s } = video as { [name: string]: unknown };
    if (typeof title !== 'string' || typeof url !== 'string' || !URL.canParse(url, base)) return [];
    return [
      {
        title,
        url: new URL(url, base).href,
        description: typeof description === 'string' ? description : '',
        duration: typeof duration_s === 'number' && duration_s > 0 ? duration_s : null,
      },
    ];
  });
}

/** Returns the titles that contain every word, in any order; case and accents are ignored. */
export function searchTitles(titles: readonly Title[], query: string): Title[] {
  const words = normalize(query).split(/\s+/).filter(Boolean);
  return titles.filter(({ title, description }) => {
    const text = normalize(`${title} ${description}`);
    return words.every((word) => text.includes(word));
  });
}

/** Removes accents and upper case. */
function normalize(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
