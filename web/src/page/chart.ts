/**
 * A chart over the time of a session, drawn as SVG: lines, and bands for what the session was meanwhile.
 * It is read by the pointer and by the arrow keys, and its label says in words what it shows.
 */

import type { Span } from '../measure/meter.ts';

/** A line. Its points are in the order of their times. */
export interface Line {
  readonly name: string;
  /** Its class in the style sheet. */
  readonly look: string;
  /** Time (s) and value; `null` where there is none. */
  readonly points: readonly (readonly [number, number | null])[];
  /** A value holds until the next one. */
  readonly steps?: boolean;
}

const HEIGHT = 160;
const MARGIN = { top: 8, right: 8, bottom: 20, left: 40 };

export class Chart {
  readonly #title: string;
  readonly #unit: string;
  readonly #svg = element('svg', { role: 'img', tabindex: '0', 'aria-roledescription': 'chart' });
  readonly #readout = document.createElement('figcaption');
  #lines: readonly Line[] = [];
  #spans: readonly Span[] = [];
  #start = 0;
  #end = 1;
  /** Where the reader is (s), or nowhere. */
  #cursor: number | undefined;

  constructor(figure: HTMLElement, title: string, unit: string) {
    this.#title = title;
    this.#unit = unit;
    figure.replaceChildren(this.#readout, this.#svg);
    this.#svg.addEventListener('pointermove', (event) => this.#read(this.#timeAt(event)));
    this.#svg.addEventListener('pointerleave', () => this.#read(undefined));
    this.#svg.addEventListener('keydown', (event) => this.#key(event));
    this.#svg.addEventListener('blur', () => this.#read(undefined));
    new ResizeObserver(() => this.#draw()).observe(this.#svg);
    this.show([], [], 0, 1);
  }

  /** Shows these lines from `start` to `end`; the spans are in milliseconds on a clock that shows `start`. */
  show(lines: readonly Line[], spans: readonly Span[], start: number, end: number): void {
    this.#lines = lines;
    this.#spans = spans;
    this.#start = start;
    this.#end = Math.max(end, 1);
    this.#draw();
  }

  #timeAt(event: PointerEvent): number {
    const box = this.#svg.getBoundingClientRect();
    const across = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
    return Math.min(Math.max(across, 0), 1) * this.#end;
  }

  #key(event: KeyboardEvent): void {
    const at = this.#cursor ?? this.#end;
    const step = this.#end / 50;
    const to = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: this.#end }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#read(Math.min(Math.max(to, 0), this.#end));
  }

  #read(cursor: number | undefined): void {
    this.#cursor = cursor;
    // Said aloud only while somebody reads it.
    if (cursor === undefined) this.#readout.removeAttribute('aria-live');
    else this.#readout.setAttribute('aria-live', 'polite');
    this.#draw();
  }

  #draw(): void {
    const width = Math.max(this.#svg.clientWidth, 200);
    const across = (time: number) => MARGIN.left + (time / this.#end) * (width - MARGIN.left - MARGIN.right);
    const most = Math.max(...this.#lines.flatMap(({ points }) => points.map(([, value]) => value ?? 0)), 0);
    const ticks = scale(most);
    const top = ticks.at(-1) ?? 1;
    const up = (value: number) => HEIGHT - MARGIN.bottom - (value / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
    const parts: SVGElement[] = [];
    for (const { phase, start, end } of this.#spans) {
      if (phase === 'playing') continue;
      const [x, right] = [across((start - this.#start) / 1000), across((end - this.#start) / 1000)];
      const height = HEIGHT - MARGIN.top - MARGIN.bottom;
      parts.push(
        element('rect', { class: `band ${phase}`, x, y: MARGIN.top, width: Math.max(right - x, 0.5), height }),
      );
    }
    for (const tick of ticks) {
      const y = up(tick);
      parts.push(element('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }));
      parts.push(words(number(tick), { x: MARGIN.left - 6, y: y + 4, 'text-anchor': 'end' }));
    }
    for (const tick of scale(this.#end).filter((time) => time <= this.#end))
      parts.push(words(`${number(tick)} s`, { x: across(tick), y: HEIGHT - 5, 'text-anchor': 'middle' }));
    for (const line of this.#lines)
      parts.push(element('path', { class: `line ${line.look}`, d: path(line, across, up) }));
    if (this.#cursor !== undefined) {
      const x = across(this.#cursor);
      parts.push(element('line', { class: 'cursor', x1: x, x2: x, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }));
    }
    this.#svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    this.#svg.setAttribute('preserveAspectRatio', 'none');
    this.#svg.replaceChildren(...parts);
    this.#svg.setAttribute('aria-label', this.#words());
    this.#readout.textContent =
      this.#cursor === undefined ? `${this.#title}, ${this.#unit}` : this.#valuesAt(this.#cursor);
  }

  #valuesAt(time: number): string {
    const values = this.#lines.map(({ name, points }) => {
      const value = points.findLast(([at]) => at <= time)?.[1] ?? null;
      return `${name} ${value === null ? 'unknown' : `${number(value)} ${this.#unit}`}`;
    });
    const at = this.#start + time * 1000;
    const phase = this.#spans.find(({ start, end }) => start <= at && at <= end)?.phase;
    return [`at ${time.toFixed(1)} s`, ...values, ...(phase === undefined ? [] : [phase])].join(', ');
  }

  #words(): string {
    const lines = this.#lines.map(({ name, points }) => {
      const values = points.flatMap(([, value]) => (value === null ? [] : [value]));
      const last = values.at(-1);
      if (last === undefined) return `${name}: nothing yet`;
      const range = `from ${number(Math.min(...values))} to ${number(Math.max(...values))}`;
      return `${name}: ${number(last)} ${this.#unit} last, ${range}`;
    });
    return [`${this.#title} over ${number(this.#end)} s.`, ...lines.map((line) => `${line}.`)].join(' ');
  }
}

function path(line: Line, across: (time: number) => number, up: (value: number) => number): string {
  let drawn = '';
  let pen = false;
  for (const [time, value] of line.points) {
    if (value === null) {
      pen = false;
      continue;
    }
    const [x, y] = [across(time).toFixed(1), up(value).toFixed(1)];
    if (!pen) drawn += `M${x} ${y}`;
    else if (line.steps === true) drawn += `H${x}V${y}`;
    else drawn += `L${x} ${y}`;
    pen = true;
  }
  return drawn;
}

/** Round numbers from 0 to at least `most`, some four of them. */
function scale(most: number): number[] {
  const rough = Math.max(most, 1e-3) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough) ?? rough;
  return Array.from({ length: Math.max(Math.ceil(most / step - 1e-9) + 1, 2) }, (_, index) => index * step);
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

function element<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: { readonly [name: string]: string | number },
): SVGElementTagNameMap[K] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

function words(text: string, attributes: { readonly [name: string]: string | number }): SVGElement {
  const made = element('text', attributes);
  made.textContent = text;
  return made;
}
