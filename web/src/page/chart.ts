/**
 * SVG chart of lines over the time of a session, with bands for its phases. Pointer and arrow keys
 * read values at a time; the accessible label summarises the lines.
 */

import type { Span } from '../measure/phase-tracker.ts';

/** A line. Points are ordered by time. */
export interface Line {
  readonly name: string;
  /** CSS class. */
  readonly className: string;
  /** Time (s) and value; `null` interrupts the line. */
  readonly points: readonly (readonly [number, number | null])[];
  /** Draws steps: a value holds until the next one. */
  readonly steps?: boolean;
}

const HEIGHT = 160;
const MARGIN = { top: 8, right: 8, bottom: 20, left: 48 };

export class Chart {
  readonly #title: string;
  readonly #unit: string;
  readonly #svg = element('svg', { role: 'img', tabindex: '0', 'aria-roledescription': 'chart' });
  readonly #readout = document.createElement('figcaption');
  #lines: readonly Line[] = [];
  #spans: readonly Span[] = [];
  #start = 0;
  #end = 1;
  /** Time at which values are read (s). */
  #cursor: number | undefined;

  constructor(figure: HTMLElement, title: string, unit: string) {
    this.#title = title;
    this.#unit = unit;
    figure.replaceChildren(this.#readout, this.#svg);
    this.#svg.addEventListener('pointermove', (event) => this.#setCursor(this.#timeAt(event)));
    this.#svg.addEventListener('pointerleave', () => this.#setCursor(undefined));
    this.#svg.addEventListener('keydown', (event) => this.#onKey(event));
    this.#svg.addEventListener('blur', () => this.#setCursor(undefined));
    new ResizeObserver(() => this.#draw()).observe(this.#svg);
    this.show([], [], 0, 1);
  }

  /**
   * Shows lines and phases.
   *
   * @param start start of the session on the clock of the spans (ms)
   * @param duration length of the time axis (s)
   */
  show(lines: readonly Line[], spans: readonly Span[], start: number, duration: number): void {
    this.#lines = lines;
    this.#spans = spans;
    this.#start = start;
    this.#end = Math.max(duration, 1);
    this.#draw();
  }

  #timeAt(event: PointerEvent): number {
    const box = this.#svg.getBoundingClientRect();
    const fraction = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
    return Math.min(Math.max(fraction, 0), 1) * this.#end;
  }

  #onKey(event: KeyboardEvent): void {
    const at = this.#cursor ?? this.#end;
    const step = this.#end / 50;
    const to = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: this.#end }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#setCursor(Math.min(Math.max(to, 0), this.#end));
  }

  #setCursor(cursor: number | undefined): void {
    this.#cursor = cursor;
    // Screen readers announce the values only while the cursor is active.
    if (cursor === undefined) this.#readout.removeAttribute('aria-live');
    else this.#readout.setAttribute('aria-live', 'polite');
    this.#draw();
  }

  #draw(): void {
    const width = Math.max(this.#svg.clientWidth, 200);
    const toX = (time: number) => MARGIN.left + (time / this.#end) * (width - MARGIN.left - MARGIN.right);
    const maximum = Math.max(...this.#lines.flatMap(({ points }) => points.map(([, value]) => value ?? 0)), 0);
    const ticks = axisTicks(maximum);
    const top = ticks.at(-1) ?? 1;
    const toY = (value: number) => HEIGHT - MARGIN.bottom - (value / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
    const parts: SVGElement[] = [];
    for (const { phase, start, end } of this.#spans) {
      if (phase === 'playing') continue;
      const [x, right] = [toX((start - this.#start) / 1000), toX((end - this.#start) / 1000)];
      const height = HEIGHT - MARGIN.top - MARGIN.bottom;
      parts.push(
        element('rect', { class: `band ${phase}`, x, y: MARGIN.top, width: Math.max(right - x, 0.5), height }),
      );
    }
    for (const tick of ticks) {
      const y = toY(tick);
      parts.push(element('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }));
      parts.push(svgText(formatNumber(tick), { x: MARGIN.left - 6, y: y + 4, 'text-anchor': 'end' }));
    }
    for (const tick of axisTicks(this.#end).filter((time) => time <= this.#end))
      parts.push(svgText(`${formatNumber(tick)} s`, { x: toX(tick), y: HEIGHT - 5, 'text-anchor': 'middle' }));
    for (const line of this.#lines)
      parts.push(element('path', { class: `line ${line.className}`, d: path(line, toX, toY) }));
    if (this.#cursor !== undefined) {
      const x = toX(this.#cursor);
      parts.push(element('line', { class: 'cursor', x1: x, x2: x, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }));
    }
    this.#svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    this.#svg.setAttribute('preserveAspectRatio', 'none');
    this.#svg.replaceChildren(...parts);
    this.#svg.setAttribute('aria-label', this.#label());
    this.#readout.textContent =
      this.#cursor === undefined ? `${this.#title}, ${this.#unit}` : this.#valuesAt(this.#cursor);
  }

  #valuesAt(time: number): string {
    const values = this.#lines.map(({ name, points }) => {
      const value = points.findLast(([at]) => at <= time)?.[1] ?? null;
      return `${name} ${value === null ? 'no data' : `${formatNumber(value)} ${this.#unit}`}`;
    });
    const at = this.#start + time * 1000;
    const phase = this.#spans.find(({ start, end }) => start <= at && at <= end)?.phase;
    return [`at ${time.toFixed(1)} s`, ...values, ...(phase === undefined ? [] : [phase])].join(', ');
  }

  #label(): string {
    const lines = this.#lines.map(({ name, points }) => {
      const values = points.flatMap(([, value]) => (value === null ? [] : [value]));
      const last = values.at(-1);
      if (last === undefined) return `${name}: no data`;
      const range = `minimum ${formatNumber(Math.min(...values))}, maximum ${formatNumber(Math.max(...values))}`;
      return `${name}: last ${formatNumber(last)} ${this.#unit}, ${range}`;
    });
    return [`${this.#title} over ${formatNumber(this.#end)} s.`, ...lines.map((line) => `${line}.`)].join(' ');
  }
}

/** Returns the path data of a line. */
function path(line: Line, toX: (time: number) => number, toY: (value: number) => number): string {
  let data = '';
  let isDrawing = false;
  for (const [time, value] of line.points) {
    if (value === null) {
      isDrawing = false;
      continue;
    }
    const [x, y] = [toX(time).toFixed(1), toY(value).toFixed(1)];
    if (!isDrawing) data += `M${x} ${y}`;
    else if (line.steps === true) data += `H${x}V${y}`;
    else data += `L${x} ${y}`;
    isDrawing = true;
  }
  return data;
}

/** Returns about five round numbers from 0 to at least `maximum`; 0 and 1 without data. */
export function axisTicks(maximum: number): number[] {
  if (maximum <= 0) return [0, 1];
  const rough = Math.max(maximum, 1e-3) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? rough;
  return Array.from({ length: Math.max(Math.ceil(maximum / step - 1e-9) + 1, 2) }, (_, index) => index * step);
}

function formatNumber(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/** Creates an SVG element. */
function element<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: { readonly [name: string]: string | number },
): SVGElementTagNameMap[K] {
  const created = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  return created;
}

function svgText(text: string, attributes: { readonly [name: string]: string | number }): SVGElement {
  const created = element('text', attributes);
  created.textContent = text;
  return created;
}
