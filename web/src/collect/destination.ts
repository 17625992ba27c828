/**
 * The collector that gets the sessions, and its token.
 *
 * Only a person chooses a collector: in the settings, or by confirming the address that a link
 * names. Confirmed addresses are kept by origin. A token belongs to one origin and is not stored.
 */

const STORAGE_KEY = 'tandem.collector';

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
  #choices: Choices;
  #address: string;
  #question: URL | null = null;

  constructor({ storage, base, linked, mayAsk }: DestinationOptions) {
    this.#storage = storage;
    this.#base = base;
    this.#choices = readChoices(storage);
    this.#address = this.#choices.entered;
    if (linked === null) return;
    const url = parseCollector(linked, base);
    if (linked.trim() === '') this.#address = '';
    else if (url !== null && this.#isKnown(url)) this.#address = linked.trim();
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

  /** Uses and stores the address that a person entered in the settings. */
  enter(address: string): void {
    this.#question = null;
    this.#address = address.trim();
    this.#store({ ...this.#choices, entered: this.#address });
  }

  /** Answers the question: the linked collector is confirmed, or the entered one stays. */
  answer(isConfirmed: boolean): void {
    const url = this.#question;
    this.#question = null;
    if (url === null || !isConfirmed) return;
    this.#address = url.href;
    this.#store({ ...this.#choices, confirmed: { ...this.#choices.confirmed, [url.origin]: url.href } });
  }

  /** Whole addresses are compared: another path of a known server may do something else. */
  #isKnown({ origin, href }: URL): boolean {
    return (
      this.#choices.confirmed[origin] === href ||
      [this.#choices.entered, OWN_COLLECTOR].some((known) => parseCollector(known, this.#base)?.href === href)
    );
  }

  #store(choices: Choices): void {
    this.#choices = choices;
    try {
      this.#storage.setItem(STORAGE_KEY, JSON.stringify(choices));
    } catch {
      // Storage denied: the choice lasts as long as the page.
    }
  }
}

function readChoices(storage: DestinationOptions['storage']): Choices {
  try {
    const { entered, confirmed } = JSON.parse(storage.getItem(STORAGE_KEY) ?? '{}') as Partial<Choices>;
    return {
      entered: typeof entered === 'string' ? entered : OWN_COLLECTOR,
      confirmed: typeof confirmed === 'object' && confirmed !== null ? confirmed : {},
    };
  } catch {
    return { entered: OWN_COLLECTOR, confirmed: {} };
  }
}
