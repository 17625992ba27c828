/**
 * Search for YouTube videos, by keyboard or pointer.
 *
 * Only a person sets the key and starts a search: no parameter of a link does. The key stays in this
 * browser, and the page sends it to YouTube's API alone.
 */

import { type Definition, formatDuration, SearchError, searchVideos, thumbnail, type Video } from './youtube-data.ts';

const KEY_STORAGE = 'tandem.youtube-key';

export interface SearchElements {
  readonly form: HTMLFormElement;
  readonly words: HTMLInputElement;
  readonly definition: HTMLSelectElement;
  readonly key: HTMLInputElement;
  readonly status: HTMLElement;
  readonly results: HTMLElement;
}

export class YouTubeSearch {
  readonly #page: SearchElements;
  readonly #play: (video: Video, at: number) => void;
  /** Number of the latest search; answers to earlier ones are dropped. */
  #latest = 0;

  constructor(page: SearchElements, play: (video: Video, at: number) => void) {
    this.#page = page;
    this.#play = play;
    page.key.value = storedKey();
    page.key.addEventListener('change', () => storeKey(page.key.value.trim()));
    page.form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#search();
    });
    page.words.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowDown') this.#focus(0, event);
    });
    page.results.addEventListener('keydown', (event) => this.#move(event));
  }

  async #search(): Promise<void> {
    const { words, definition, key, status, results } = this.#page;
    const [text, secret] = [words.value.trim(), key.value.trim()];
    if (text === '' || secret === '') {
      status.textContent = text === '' ? 'Enter words to search for.' : 'Enter an API key of the YouTube Data API v3.';
      (text === '' ? words : key).focus();
      return;
    }
    const search = ++this.#latest;
    results.replaceChildren();
    status.textContent = 'Searching.';
    try {
      const videos = await searchVideos(secret, text, definition.value as Definition);
      if (search !== this.#latest) return;
      results.replaceChildren(...videos.map((video) => this.#item(video)));
      const count = videos.length === 1 ? '1 video' : `${videos.length} videos`;
      status.textContent = videos.length === 0 ? 'No video found.' : `${count}. Arrow keys choose, Enter plays.`;
    } catch (error) {
      if (search !== this.#latest) return;
      status.textContent = error instanceof SearchError ? error.message : 'The search failed.';
    }
  }

  #item(video: Video): HTMLLIElement {
    const image = Object.assign(document.createElement('img'), {
      src: thumbnail(video.id),
      alt: '',
      width: 160,
      height: 90,
      loading: 'lazy',
      referrerPolicy: 'no-referrer',
    });
    const title = Object.assign(document.createElement('span'), { className: 'title', textContent: video.title });
    const details = [video.channel, formatDuration(video.duration), video.isHigh ? 'HD' : ''].filter(Boolean);
    const about = Object.assign(document.createElement('span'), {
      className: 'muted',
      textContent: details.join(' · '),
    });
    const text = Object.assign(document.createElement('span'), { className: 'text' });
    text.append(title, ' ', about);
    const button = Object.assign(document.createElement('button'), { type: 'button' });
    button.append(image, text);
    button.addEventListener('click', ({ timeStamp }) => this.#play(video, timeStamp));
    const item = document.createElement('li');
    item.append(button);
    return item;
  }

  #move(event: KeyboardEvent): void {
    const buttons = this.#buttons();
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const targets: { readonly [key: string]: number } = {
      ArrowDown: Math.min(at + 1, buttons.length - 1),
      ArrowUp: at - 1,
      Home: 0,
      End: buttons.length - 1,
      Escape: -1,
    };
    const target = targets[event.key];
    if (at >= 0 && target !== undefined) this.#focus(target, event);
  }

  /** Focuses a result, or the search field before the first one. */
  #focus(index: number, event: KeyboardEvent): void {
    event.preventDefault();
    const target = index < 0 ? this.#page.words : this.#buttons()[index];
    target?.focus();
  }

  #buttons(): HTMLButtonElement[] {
    return [...this.#page.results.querySelectorAll('button')];
  }
}

function storedKey(): string {
  try {
    return localStorage.getItem(KEY_STORAGE) ?? '';
  } catch {
    // Storage denied.
    return '';
  }
}

/** Stores the key, or removes it if it is empty. */
function storeKey(key: string): void {
  try {
    if (key === '') localStorage.removeItem(KEY_STORAGE);
    else localStorage.setItem(KEY_STORAGE, key);
  } catch {
    // Storage denied: the key lasts as long as the page.
  }
}
