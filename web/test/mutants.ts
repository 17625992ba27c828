/** Seeded mutations of texts and JSON values, for tests of everything foreign that the page reads. */

/** Number of mutants of each input: `TANDEM_MUTANTS`, or the short form. */
export const MUTANTS = Number(process.env.TANDEM_MUTANTS ?? '') || 300;

/** Texts that break careless code: markup, scripts, prototypes, surrogates, extreme numbers. */
export const HOSTILE = [
  '<img src=x: onerror=hit()>',
  '</script><script>hit()</script>',
  'javascript:hit()',
  'data:text/html,<script>hit()</script>',
  '__proto__',
  'constructor',
  'toString',
  '\ud800',
  '\u0000',
  '%',
  '%00%zz',
  '//[',
  'http://[::1',
  'http://a@b/',
  '-1e999',
  '9007199254740993',
  'null',
  '{',
  '',
];

/** Random numbers of a seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** Changes a text in one to four places. */
  text(text: string): string {
    let changed = text;
    for (let edits = 1 + this.below(4); edits > 0; edits--) {
      const at = this.below(changed.length + 1);
      const end = Math.min(at + this.below(9), changed.length);
      const insert = this.pick<() => string>([
        () => '',
        () => this.pick(HOSTILE),
        () => String.fromCharCode(this.below(0x10000)),
        () => changed.slice(this.below(changed.length + 1)).slice(0, 30),
      ]);
      changed = changed.slice(0, at) + insert() + changed.slice(end);
    }
    return changed;
  }

  /** A value of another kind, or with other members. JSON can express each. */
  value(value: unknown, depth = 0): unknown {
    if (this.below(3) === 0 || depth > 4) {
      const any: unknown[] = [null, true, 0, -1, 1e308, 'x', [], {}, [[]], this.pick(HOSTILE)];
      // Cannot be converted to a number or text.
      return this.pick([...any, { toString: 1, valueOf: 1 }, { length: 1e9 }]);
    }
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => (this.below(3) === 0 ? this.value(item, depth + 1) : item));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).filter(() => this.below(8) > 0);
    const changed = members.map(([name, member]): [string, unknown] => [
      this.below(12) === 0 ? this.pick(HOSTILE) : name,
      this.below(2) === 0 ? this.value(member, depth + 1) : member,
    ]);
    return Object.fromEntries(changed);
  }

  /** JSON text of a changed value, sometimes damaged. */
  json(value: unknown): string {
    const text = JSON.stringify(this.value(value)) ?? '';
    return this.below(3) === 0 ? this.text(text) : text;
  }
}

/** Calls a function with the generator of each mutant; a failure names the seed. */
export async function forEachMutant(act: (random: Random) => void | Promise<void>): Promise<void> {
  for (let seed = 0; seed < MUTANTS; seed++) {
    try {
      await act(new Random(seed));
    } catch (cause) {
      throw new Error(`mutant ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }
}
