/** KPI panel beside the video, and the table of stalls. */

import { EMOS_MAX } from '../measure/emos.ts';
import { MOS_MAX } from '../measure/mos.ts';
import type { Phase, Span } from '../measure/phase-tracker.ts';
import type { Session } from '../measure/record.ts';
import type { PlayerStatus } from '../play/playback.ts';

/** Elements of one KPI. */
interface KpiView {
  readonly value: HTMLElement;
  readonly level?: HTMLElement;
}

export class KpiPanel {
  readonly #kpis: { readonly [name in 'initial' | 'frequency' | 'stall' | 'mos' | 'emos']: KpiView };
  readonly #live: { readonly [name in 'buffer' | 'bitrate' | 'throughput' | 'stalls' | 'switches' | 'mean']: KpiView };

  constructor(kpis: HTMLElement, live: HTMLElement) {
    kpis.replaceChildren();
    live.replaceChildren();
    this.#kpis = {
      initial: addKpi(kpis, 'Initial load time, T_init', true),
      frequency: addKpi(kpis, 'Rebuffering frequency, f_rebuf', true),
      stall: addKpi(kpis, 'Mean rebuffering time, T_rebuf', true),
      mos: addKpi(kpis, 'MOS, Mok et al. 2011', true),
      emos: addKpi(kpis, 'eMOS, Claeys et al. 2014', true),
    };
    this.#live = {
      buffer: addKpi(live, 'Buffer', false),
      bitrate: addKpi(live, 'Bitrate', false),
      throughput: addKpi(live, 'Throughput', false),
      mean: addKpi(live, 'Mean bitrate', false),
      stalls: addKpi(live, 'Stalls', false),
      switches: addKpi(live, 'Switches', false),
    };
  }

  show(session: Session | undefined, status: PlayerStatus | undefined): void {
    const kpis = session?.kpis;
    // Without a picture there is no stall and no score.
    const shown = kpis?.initial_load_open === false ? kpis : undefined;
    const { initial, frequency, stall, mos, emos } = this.#kpis;
    showValue(initial, kpis?.initial_load_s, 's', 2, kpis?.mok.initial_level);
    showValue(
      frequency,
      shown?.stalls_per_s ?? (shown === undefined ? undefined : Number.POSITIVE_INFINITY),
      '/s',
      3,
      shown?.mok.frequency_level,
    );
    showValue(stall, shown?.mean_stall_s, 's', 2, shown?.mok.stall_level);
    showScore(mos, shown?.mok.mos, `1.48 to ${MOS_MAX.toFixed(2)}, from load time and stalls`);
    showScore(emos, shown?.emos, `0 to ${EMOS_MAX.toFixed(2)}, from bitrate levels and stalls`);
    const live = this.#live;
    showValue(live.buffer, status?.buffer, 's', 1);
    showValue(live.bitrate, toMbps(status?.bitrateKbps), 'Mbit/s', 2);
    showValue(live.throughput, toMbps(status?.kbps), 'Mbit/s', 2);
    showValue(live.mean, toMbps(kpis?.mean_bitrate_kbps), 'Mbit/s', 2);
    showValue(live.stalls, kpis?.stalls, '', 0);
    showValue(live.switches, kpis?.switches, '', 0);
  }
}

/** Fills the table of stalls; returns their number. The next phase determines how a stall ended. */
export function showStalls(body: HTMLElement, spans: readonly Span[], start: number): number {
  const rows = spans.flatMap((span, index) => (span.phase === 'stalled' ? [{ span, next: spans[index + 1] }] : []));
  body.replaceChildren(
    ...rows.map(({ span, next }, index) => {
      const row = document.createElement('tr');
      const end = span.open || next === undefined ? 'still open' : ENDED_BY[next.phase];
      const length = (span.end - span.start) / 1000;
      const cells = [`${index + 1}`, seconds(span.start - start), length.toFixed(3), span.from.toFixed(3), end];
      row.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: text })));
      return row;
    }),
  );
  return rows.length;
}

const ENDED_BY: { readonly [phase in Phase]: string } = {
  playing: 'playback resumed',
  paused: 'pause',
  seeking: 'seek',
  stalled: 'stall',
  loading: 'loading',
};

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function toMbps(kbps: number | null | undefined): number | undefined {
  return kbps === null || kbps === undefined ? undefined : kbps / 1000;
}

/** Appends a KPI to a description list. */
function addKpi(list: HTMLElement, name: string, hasLevel: boolean): KpiView {
  const group = document.createElement('div');
  const term = Object.assign(document.createElement('dt'), { textContent: name });
  const description = document.createElement('dd');
  const value = Object.assign(document.createElement('span'), { className: 'value' });
  description.append(value);
  group.append(term, description);
  list.append(group);
  if (!hasLevel) return { value };
  const level = Object.assign(document.createElement('span'), { className: 'level' });
  description.append(level);
  return { value, level };
}

/** Shows a score with its scale. */
function showScore(view: KpiView, score: number | null | undefined, scale: string): void {
  showValue(view, score ?? undefined, '', 2);
  if (view.level !== undefined) view.level.textContent = scale;
}

function showValue(
  { value, level }: KpiView,
  to: number | undefined,
  unit: string,
  digits: number,
  mosLevel?: number,
): void {
  const isKnown = to !== undefined;
  const number = isKnown ? (Number.isFinite(to) ? to.toFixed(digits) : '∞') : '–';
  const unitElement = document.createElement('span');
  unitElement.className = 'unit';
  unitElement.textContent = isKnown && unit !== '' ? ` ${unit}` : '';
  value.replaceChildren(number, unitElement);
  if (level === undefined || mosLevel === undefined) {
    if (level !== undefined) level.textContent = '';
    delete level?.dataset.level;
    return;
  }
  level.textContent = `level ${mosLevel} of 3`;
  level.dataset.level = String(mosLevel);
}
