/**
 * The collector that gets the sessions, and its token.
 *
 * Only a person chooses a collector: in the settings, or by confirming the address that a link
 * names. Confirmed addresses are kept by origin. A token belongs to one origin and is not stored.
 */

/** Key of the stored choices, which all pages of an origin share. */
export const COLLECTOR_KEY = 'tandem.collector';

/** Collector of the page's own origin. */
export const OWN_COLLECTOR = '/api/sessions';

/** Parses an address of a collector; `null` unless it is an HTTP address without credentials. */
export function parseCollector(address: string, base: string): URL | null {
  if (address.trim() === '' || !URL.canParse(address.trim(), base)) return null;
  const url = new URL(address.trim(), base);
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  return isHttp && url.username === '' && url.password === '' ? url : null;
}

/** Stored choices. */
interface Choices {
  /** Address entered in the settings; empty to keep sessions in the browser. */
  readonly entered: string;
  /** Confirmed address of each origin. */
  readonly confirmed: { readonly [origin: string]: string };
}

const DEFAULTS: Choices = { entered: OWN_COLLECTOR, confirmed: {} };

export interface DestinationOptions {
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>;
  /** Address to which relative addresses refer. */
  readonly base: string;
  /** Address that the link to this page names, if any. */
  readonly linked: string | null;
  /** False in a frame, whose surrounding page could trick a viewer into a click. */
  readonly mayAsk: boolean;
}

export class Destination {
  readonly #storage: DestinationOptions['storage'];
  readonly #base: string;
  readonly #tokens = new Map<string, string>();
  /** Choices as stored when this page last read or wrote them. */
  #storedText: string | null = null;
  #choices = DEFAULTS;
  #address: string;
  /** The address comes from the link of this visit, not from the settings. */
  #isLinked = false;
  #question: URL | null = null;

  constructor({ storage, base, linked, mayAsk }: DestinationOptions) {
    this.#storage = storage;
    this.#base = base;
    this.#readChoices();
    this.#address = this.#choices.entered;
    if (linked === null) return;
    const url = parseCollector(linked, base);
    this.#isLinked = linked.trim() === '' || (url !== null && this.#isKnown(url));
    if (this.#isLinked) this.#address = linked.trim();
    else if (url !== null && mayAsk) this.#question = url;
  }

  /** Address in use, as entered; empty if sessions stay in the browser. */
  get address(): string {
    return this.#address;
  }

  /** Address that gets the sessions; `null` without a collector and while a question is open. */
  get url(): URL | null {
    return this.#question === null ? parseCollector(this.#address, this.#base) : null;
  }

  /** Address named by the link that waits for a person's confirmation. */
  get question(): URL | null {
    return this.#question;
  }

  /** Token for the collector in use; empty without one. */
  get token(): string {
    return this.#tokens.get(this.url?.origin ?? '') ?? '';
  }

  /** Keeps the token for the origin of the collector in use. */
  setToken(token: string): void {
    if (this.url !== null) this.#tokens.set(this.url.origin, token);
  }

  /**
   * Uses and stores the address that a person entered in the settings. An empty one withdraws earlier
   * confirmations.
   */
  enter(address: string): void {
    this.#question = null;
    this.#address = address.trim();
    this.#isLinked = false;
    this.#readChoices();
    const confirmed = this.#address === '' ? {} : this.#choices.confirmed;
    this.#store({ confirmed, entered: this.#address });
  }

  /** Answers the question: the linked collector is confirmed, or the entered one stays. */
  answer(isConfirmed: boolean): void {
    const url = this.#question;
    this.#question = null;
    if (url === null || !isConfirmed) return;
    this.#address = url.href;
    this.#isLinked = true;
    this.#readChoices();
    this.#store({ ...this.#choices, confirmed: { ...this.#choices.confirmed, [url.origin]: url.href } });
  }

  /**
   * Follows a choice that a person made on another page of this origin. The collector of this visit's
   * link stays as long as it is a known one.
   *
   * @returns whether the choices have changed
   */
  follow(): boolean {
    if (!this.#readChoices()) return false;
    const linked = this.#isLinked ? parseCollector(this.#address, this.#base) : null;
    this.#isLinked &&= linked === null || this.#isKnown(linked);
    if (!this.#isLinked) this.#address = this.#choices.entered;
    return true;
  }

  /**
   * Whether a person has chosen this collector. The own one needs no choice, unless the person emptied
   * the settings. Whole addresses are compared: another path of a known server may do something else.
   */
  #isKnown({ origin, href }: URL): boolean {
    const { entered, confirmed } = this.#choices;
    const addresses = entered === '' ? [] : [entered, OWN_COLLECTOR];
    return confirmed[origin] === href || addresses.some((known) => parseCollector(known, this.#base)?.href === href);
  }

  /** Reads the stored choices, if they have changed; returns whether they have. */
  #readChoices(): boolean {
    let text: string | null = null;
    try {
      text = this.#storage.getItem(COLLECTOR_KEY);
    } catch {
      // Storage denied: the choice lasts as long as the page.
    }
    if (text === this.#storedText) return false;
    this.#storedText = text;
    this.#choices = parseChoices(text);
    return true;
  }

  #store(choices: Choices): void {
    this.#choices = choices;
    const text = JSON.stringify(choices);
    try {
      this.#storage.setItem(COLLECTOR_KEY, text);
      this.#storedText = text;
    } catch {
      // Storage denied or full: the choice lasts as long as the page.
    }
  }
}

function parseChoices(text: string | null): Choices {
  try {
    const { entered, confirmed } = JSON.parse(text ?? '{}') as Partial<Choices>;
    return {
      entered: typeof entered === 'string' ? entered : DEFAULTS.entered,
      confirmed: typeof confirmed === 'object' && confirmed !== null ? confirmed : DEFAULTS.confirmed,
    };
  } catch {
    return DEFAULTS;
  }
}
