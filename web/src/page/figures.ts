/** The figures beside the video, and the table of stalls. */

import type { Phase, Span } from '../measure/meter.ts';
import type { Session } from '../measure/record.ts';
import type { Status } from '../play/playback.ts';

interface Figure {
  readonly value: HTMLElement;
  readonly level?: HTMLElement;
}

export class Figures {
  readonly #kpis: { readonly [name in 'initial' | 'frequency' | 'stall' | 'mos']: Figure };
  readonly #live: { readonly [name in 'buffer' | 'bitrate' | 'throughput' | 'stalls' | 'switches' | 'mean']: Figure };

  constructor(kpis: HTMLElement, live: HTMLElement) {
    kpis.replaceChildren();
    live.replaceChildren();
    this.#kpis = {
      initial: figure(kpis, 'Initial load time, T_init', true),
      frequency: figure(kpis, 'Rebuffering frequency, f_rebuf', true),
      stall: figure(kpis, 'Mean rebuffering time, T_rebuf', true),
      mos: figure(kpis, 'Mean opinion score, 1 to 5', true),
    };
    this.#live = {
      buffer: figure(live, 'Buffer', false),
      bitrate: figure(live, 'Bitrate', false),
      throughput: figure(live, 'Throughput', false),
      mean: figure(live, 'Mean bitrate', false),
      stalls: figure(live, 'Stalls', false),
      switches: figure(live, 'Switches', false),
    };
  }

  show(session: Session | undefined, status: Status | undefined): void {
    const kpis = session?.kpis;
    const { initial, frequency, stall, mos } = this.#kpis;
    set(initial, kpis?.initial_load_s, 's', 2, kpis?.mok.initial_level);
    set(
      frequency,
      kpis?.stalls_per_s ?? (kpis === undefined ? undefined : Number.POSITIVE_INFINITY),
      '/s',
      3,
      kpis?.mok.frequency_level,
    );
    set(stall, kpis?.mean_stall_s, 's', 2, kpis?.mok.stall_level);
    set(mos, kpis?.mok.mos, '', 2);
    if (mos.level !== undefined) mos.level.textContent = kpis === undefined ? '' : '1.48 to 3.31 in this model';
    const live = this.#live;
    set(live.buffer, status?.buffer, 's', 1);
    set(live.bitrate, mega(status?.bitrateKbps), 'Mbit/s', 2);
    set(live.throughput, mega(status?.kbps), 'Mbit/s', 2);
    set(live.mean, mega(kpis?.mean_bitrate_kbps), 'Mbit/s', 2);
    set(live.stalls, kpis?.stalls, '', 0);
    set(live.switches, kpis?.switches, '', 0);
  }
}

/** One row for each stall; what followed it says how it ended. */
export function showStalls(body: HTMLElement, spans: readonly Span[], start: number): number {
  const rows = spans.flatMap((span, index) => (span.phase === 'stalled' ? [{ span, next: spans[index + 1] }] : []));
  body.replaceChildren(
    ...rows.map(({ span, next }, index) => {
      const row = document.createElement('tr');
      const end = span.open || next === undefined ? 'not ended' : ENDED_BY[next.phase];
      const length = (span.end - span.start) / 1000;
      const cells = [`${index + 1}`, seconds(span.start - start), length.toFixed(3), span.from.toFixed(3), end];
      row.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: text })));
      return row;
    }),
  );
  return rows.length;
}

const ENDED_BY: { readonly [phase in Phase]: string } = {
  playing: 'playing on',
  paused: 'a pause',
  seeking: 'a seek',
  stalled: 'a stall',
  loading: 'loading',
};

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function mega(kbps: number | null | undefined): number | undefined {
  return kbps === null || kbps === undefined ? undefined : kbps / 1000;
}

function figure(list: HTMLElement, name: string, large: boolean): Figure {
  const group = document.createElement('div');
  const term = Object.assign(document.createElement('dt'), { textContent: name });
  const given = document.createElement('dd');
  const value = Object.assign(document.createElement('span'), { className: 'value' });
  given.append(value);
  group.append(term, given);
  list.append(group);
  if (!large) return { value };
  const level = Object.assign(document.createElement('span'), { className: 'level' });
  given.append(level);
  return { value, level };
}

function set({ value, level }: Figure, to: number | undefined, unit: string, digits: number, mok?: number): void {
  const known = to !== undefined;
  const number = known ? (Number.isFinite(to) ? to.toFixed(digits) : '∞') : '–';
  const small = document.createElement('span');
  small.className = 'unit';
  small.textContent = known && unit !== '' ? ` ${unit}` : '';
  value.replaceChildren(number, small);
  if (level === undefined || mok === undefined) {
    if (level !== undefined) level.textContent = '';
    delete level?.dataset.level;
    return;
  }
  level.textContent = `level ${mok} of 3`;
  level.dataset.level = String(mok);
}
