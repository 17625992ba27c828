/**
 * A catalogue: a JSON document with titles to choose from.
 *
 * `{"videos": [{"title": …, "url": …, "kind"?, "description"?, "duration_s"?}]}`, with each `url` relative
 * to the catalogue. See docs/how-to/web.md.
 */

export interface Title {
  readonly title: string;
  readonly url: string;
  readonly description: string;
  readonly duration: number | null;
}

/** The titles at an address; none where there is no catalogue. */
export async function catalogue(address: string): Promise<Title[]> {
  const url = new URL(address, document.baseURI);
  const answer = await fetch(url).catch(() => undefined);
  if (answer?.ok !== true) return [];
  return titles(await answer.json().catch(() => null), answer.url || url.href);
}

/** Reads a catalogue. What is no title is left out: a catalogue may hold what another page understands. */
export function titles(document: unknown, base: string): Title[] {
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

/** The titles with all of the words, wherever they are, whatever their case and accents. */
export function search(all: readonly Title[], words: string): Title[] {
  const wanted = plain(words).split(/\s+/).filter(Boolean);
  return all.filter(({ title, description }) => {
    const text = plain(`${title} ${description}`);
    return wanted.every((word) => text.includes(word));
  });
}

function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
