// Zooming and reading values. The page is complete without it: every chart is already drawn.
(() => {
  'use strict';
  const SVG = 'http://www.w3.org/2000/svg';
  const px = (v) => String(Math.round(v * 10) / 10);
  const clamp = (v, lo, hi) => Math.min(hi, Math.max(lo, v));
  const HEIGHT = { active: 1, promotion: 0.75, tail: 0.5, idle: 0.1, other: 0.3 };

  // The first index whose place is not before v.
  function lower(x, v) {
    let lo = 0, hi = x.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (x[mid] < v) lo = mid + 1; else hi = mid;
    }
    return lo;
  }

  function ticks(lo, hi, wish) {
    const raw = (hi - lo) / wish;
    let exponent = Math.floor(Math.log10(raw));
    let step = 10 ** exponent;
    for (const factor of [1, 2, 5, 10]) {
      if (factor * 10 ** exponent >= raw * (1 - 1e-9)) { step = factor * 10 ** exponent; break; }
    }
    if (step >= 10 ** (exponent + 1)) exponent += 1;
    const decimals = Math.max(0, -exponent);
    const values = [];
    for (let i = Math.ceil(lo / step - 1e-9); i <= hi / step + 1e-9; i++) values.push(Number((i * step).toFixed(Math.min(12, decimals))));
    return { values, decimals: Math.min(12, decimals) };
  }

  // Ticks of a logarithmic axis, whose coordinates are logarithms to base 10.
  function logTicks(lo, hi, wish) {
    if (hi - lo < 1) {
      const { values, decimals } = ticks(10 ** lo, 10 ** hi, wish);
      return { values: values.filter((v) => v > 0).map(Math.log10), decimals };
    }
    const sets = [[1, 2, 5], [1]].map((steps) => (d) => steps.map((s) => d + Math.log10(s)));
    for (let every = 2; every < 400; every++) sets.push((d) => d % every ? [] : [d]);
    for (const set of sets) {
      const values = [];
      for (let d = Math.floor(lo); d <= Math.ceil(hi); d++) values.push(...set(d).filter((v) => v >= lo - 1e-9 && v <= hi + 1e-9));
      if (values.length <= wish) return { values, decimals: 0 };
    }
    return { values: [], decimals: 0 };
  }
  // Label of a logarithmic tick.
  const logNumber = (v, decimals) => number(10 ** v, decimals || Math.max(0, Math.ceil(-v - 1e-9)));

  function number(v, decimals) {
    const text = v.toFixed(decimals);
    const [whole, fraction] = text.replace('-', '').split('.');
    const grouped = whole.length < 5 ? whole : whole.replace(/\B(?=(\d{3})+$)/g, '\u2009');
    const sign = v < 0 && Number(text) !== 0 ? '\u2212' : '';
    return sign + grouped + (fraction === undefined ? '' : '.' + fraction);
  }

  // At most four points a column, as the page was drawn: first, least, greatest, last.
  function thin(x, y, lo, hi, columns) {
    const first = Math.max(0, lower(x, lo) - 1);
    const last = Math.min(y.length, lower(x, hi) + 2);
    const out = [];
    if (last - first <= columns * 4) {
      for (let i = first; i < last; i++) out.push([x[i], y[i]]);
      return out;
    }
    const column = (i) => Math.floor((x[i] - lo) / (hi - lo) * columns);
    for (let start = first; start < last;) {
      let end = start, least = start, most = start;
      const here = column(start);
      for (; end < last && column(end) === here; end++) {
        if (y[end] === null) continue;
        if (y[least] === null || y[end] < y[least]) least = end;
        if (y[most] === null || y[end] > y[most]) most = end;
      }
      const kept = [...new Set([start, least, most, end - 1])].sort((a, b) => a - b);
      for (const i of kept) out.push([x[i], y[i]]);
      start = end;
    }
    return out;
  }

  function runs(points) {
    const out = [];
    let run = null;
    for (const p of points) {
      if (p[1] === null) { run = null; continue; }
      if (run === null) out.push(run = []);
      run.push(p);
    }
    return out;
  }

  // One path a shade; where many spans fall into one pixel it takes the shade that held longest.
  function blocks(track, lo, hi, place, top, bottom) {
    const found = [];
    const add = (from, to, shade) => {
      const last = found[found.length - 1];
      if (last && last[2] === shade && from - last[1] < 0.05) last[1] = to; else found.push([from, to, shade]);
    };
    let at = null, held = null;
    const settle = () => {
      if (at === null) return;
      let best = null;
      for (const shade of Object.keys(HEIGHT)) if (best === null || (held[shade] || 0) > (held[best] || 0)) best = shade;
      add(at, at + 1, best);
      at = null;
    };
    const s = track.s;
    for (let i = 0; i < s.length; i += 3) {
      if (s[i + 1] < lo || s[i] > hi) continue;
      const from = place(Math.max(s[i], lo)), to = place(Math.min(s[i + 1], hi)), shade = track.n[s[i + 2]][1];
      if (to <= from) continue;
      if (to - from >= 1) { settle(); add(from, to, shade); continue; }
      if (at !== Math.floor(from)) { settle(); at = Math.floor(from); held = {}; }
      held[shade] = (held[shade] || 0) + to - from;
    }
    settle();
    const paths = {};
    for (const [from, to, shade] of found) {
      const h = (bottom - top) * HEIGHT[shade];
      paths[shade] = (paths[shade] || '') + `M${px(from)} ${px(bottom - h)}h${px(to - from)}v${px(h)}h-${px(to - from)}z`;
    }
    return paths;
  }

  function start(figure, data) {
    const [least, greatest] = data.x;
    const grids = data.g.map((g) => Array.isArray(g) ? g : Float64Array.from({ length: g.n }, (_, i) => g.s + g.d * i));
    const svgs = [...figure.querySelectorAll('svg.plot')];
    let lo = least, hi = greatest, touched = false, frame = 0;
    const label = data.log ? logNumber : number;
    // As many ticks as have room for their labels.
    const fitting = (most, width) => {
      for (let wish = most; wish > 1; wish--) {
        const found = (data.log ? logTicks : ticks)(lo, hi, wish);
        const widest = Math.max(0, ...found.values.map((v) => label(v, found.decimals).length)) * 7 + 10;
        if (widest * found.values.length <= width) return found;
      }
      return (data.log ? logTicks : ticks)(lo, hi, 1);
    };

    const shown = () => svgs.find((svg) => svg.getClientRects().length > 0) || svgs[0];
    const span = (svg) => svg.dataset.x.split(' ').map(Number);
    const zoomed = () => lo > least || hi < greatest;

    function look(from, to) {
      const smallest = (greatest - least) / 20000;
      const width = clamp(to - from, smallest, greatest - least);
      const middle = (from + to) / 2;
      const begin = clamp(middle - width / 2, least, greatest - width);
      lo = begin; hi = begin + width;
      touched = true;
      figure.dataset.view = `${lo} ${hi}`;
      figure.classList.toggle('zoomed', zoomed());
      if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(shown()); });
    }

    function draw(svg) {
      const [left, right] = span(svg);
      const place = (v) => left + (v - lo) / (hi - lo) * (right - left);
      const columns = Math.max(1, Math.floor(right - left));

      const grid = svg.querySelector('.grid.x');
      const [top, bottom] = svg.dataset.y.split(' ').map(Number);
      const { values, decimals } = fitting(svg.classList.contains('wide') ? 9 : 5, right - left);
      grid.replaceChildren(...values.map((v) => {
        const g = document.createElementNS(SVG, 'g');
        g.setAttribute('transform', `translate(${px(place(v))},0)`);
        const line = g.appendChild(document.createElementNS(SVG, 'path'));
        line.setAttribute('d', `M0 ${top}V${bottom}`);
        const text = g.appendChild(document.createElementNS(SVG, 'text'));
        text.setAttribute('x', '0');
        text.setAttribute('y', px(bottom + 16));
        text.textContent = label(v, decimals);
        return g;
      }));

      for (const g of svg.querySelectorAll('.track')) {
        const track = data.t[Number(g.dataset.t)];
        const [y0, y1, bottomValue, topValue] = g.dataset.y.split(' ').map(Number);
        const height = (v) => y1 + clamp((v - bottomValue) / (topValue - bottomValue), -10, 11) * (y0 - y1);
        const point = (p) => `${px(place(p[0]))} ${px(height(p[1]))}`;
        if (track.s) {
          const paths = blocks(track, lo, hi, place, y0, y1);
          for (const path of g.querySelectorAll('[data-s]')) path.setAttribute('d', paths[path.dataset.s] || '');
          continue;
        }
        for (const path of g.querySelectorAll('[data-l]')) {
          const line = track.l[Number(path.dataset.l)];
          const points = runs(thin(grids[line.g], line.y, lo, hi, columns));
          path.setAttribute('d', points.map((run) => line.p
            ? 'M' + point(run[0]) + run.slice(1).map((p) => `H${px(place(p[0]))}V${px(height(p[1]))}`).join('')
            : 'M' + run.map(point).join('L')).join(''));
        }
        for (const path of g.querySelectorAll('[data-d]')) {
          const line = track.l[Number(path.dataset.d)];
          const points = thin(grids[line.g], line.y, lo, hi, columns).filter((p) => p[1] !== null);
          path.setAttribute('d', points.map((p) => `M${point(p)}h0`).join(''));
        }
        for (const path of g.querySelectorAll('[data-b]')) {
          const line = track.l[Number(path.dataset.b)];
          const edge = (sign) => runs(thin(grids[line.g], line.y.map((v, i) => v === null ? null : v + sign * (line.b[i] || 0)), lo, hi, columns));
          const upper = edge(1), under = edge(-1);
          path.setAttribute('d', upper.map((run, i) => 'M' + [...run, ...under[i].reverse()].map(point).join('L') + 'z').join(''));
        }
      }

      for (const mark of svg.querySelectorAll('.mark[data-at]')) {
        const v = Number(mark.dataset.at);
        mark.setAttribute('transform', `translate(${px(place(v))},0)`);
        mark.setAttribute('visibility', v >= lo && v <= hi ? 'visible' : 'hidden');
      }
    }

    // Where on the axis an event is.
    function at(svg, event) {
      const box = svg.getBoundingClientRect();
      const [left, right] = span(svg);
      const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      return lo + (clamp(x, left, right) - left) / (right - left) * (hi - lo);
    }

    function read(svg, v) {
      const [left, right] = span(svg);
      const cursor = svg.querySelector('.cursor');
      cursor.setAttribute('transform', `translate(${px(left + (v - lo) / (hi - lo) * (right - left))},0)`);
      cursor.setAttribute('visibility', 'visible');
      const { decimals } = data.log ? ticks(0, 10 ** v, 100) : ticks(lo, hi, 100);
      cursor.querySelector('text').textContent = number(data.log ? 10 ** v : v, decimals) + (data.u ? '\u00a0' + data.u : '');
      svg.classList.add('reading');
      for (const text of svg.querySelectorAll('[data-v]')) {
        const [t, l] = text.dataset.v.split(' ').map(Number);
        const track = data.t[t];
        let value = '';
        if (track.s) {
          for (let i = 0; i < track.s.length; i += 3) if (track.s[i] <= v && v < track.s[i + 1]) { value = track.n[track.s[i + 2]][0]; break; }
        } else if (track.l[l]) {
          const line = track.l[l], x = grids[line.g];
          let i = lower(x, v);
          if (line.p ? x[i] !== v : i > 0 && (i >= x.length || v - x[i - 1] < x[i] - v)) i -= 1;
          const y = line.y[clamp(i, 0, line.y.length - 1)];
          value = y === null || y === undefined ? '\u2013' : number(y, line.d);
        }
        text.textContent = value;
      }
    }

    function unread(svg) {
      svg.querySelector('.cursor').setAttribute('visibility', 'hidden');
      svg.classList.remove('reading');
      for (const text of svg.querySelectorAll('[data-v]')) text.textContent = '';
    }

    const zoom = (centre, factor) => look(centre - (centre - lo) * factor, centre + (hi - centre) * factor);
    const all = () => look(least, greatest);

    for (const svg of svgs) {
      const brush = svg.querySelector('.brush');
      const fingers = new Map();
      let anchor = null, pan = false, pinch = null;

      const mark = (from, to) => {
        const [left, right] = span(svg);
        const place = (v) => left + (v - lo) / (hi - lo) * (right - left);
        brush.setAttribute('x', px(place(Math.min(from, to))));
        brush.setAttribute('width', px(Math.abs(place(to) - place(from))));
      };
      svg.addEventListener('pointerdown', (event) => {
        if (event.button !== 0) return;
        fingers.set(event.pointerId, event);
        try { svg.setPointerCapture(event.pointerId); } catch { /* a made-up pointer */ }
        if (fingers.size === 2) {
          const [a, b] = [...fingers.values()].map((f) => at(svg, f));
          pinch = [Math.min(a, b), Math.max(a, b)];
          anchor = null;
          brush.setAttribute('width', '0');
          return;
        }
        anchor = at(svg, event);
        pan = event.shiftKey || (event.pointerType === 'touch' && zoomed());
        read(svg, anchor);
      });
      svg.addEventListener('pointermove', (event) => {
        const v = at(svg, event);
        if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
        if (fingers.size === 2 && pinch) {
          // The places first touched stay under the fingers.
          const [left, right] = span(svg), box = svg.getBoundingClientRect();
          const scale = svg.viewBox.baseVal.width / box.width;
          const [a, b] = [...fingers.values()].map((f) => ((f.clientX - box.left) * scale - left) / (right - left)).sort((p, q) => p - q);
          if (b - a > 0.02) {
            const width = (pinch[1] - pinch[0]) / (b - a);
            look(pinch[0] - a * width, pinch[0] + (1 - a) * width);
          }
          return;
        }
        if (anchor !== null && pan) {
          const by = anchor - v;
          look(lo + by, hi + by);
          return;
        }
        if (anchor !== null && event.pointerType !== 'touch') mark(anchor, v);
        read(svg, v);
      });
      const release = (event) => {
        const v = at(svg, event);
        if (event.type === 'pointerup' && anchor !== null && !pan && event.pointerType !== 'touch') {
          const [left, right] = span(svg);
          if (Math.abs(v - anchor) / (hi - lo) * (right - left) > 5) look(Math.min(anchor, v), Math.max(anchor, v));
        }
        brush.setAttribute('width', '0');
        fingers.delete(event.pointerId);
        anchor = null;
        pinch = null;
      };
      svg.addEventListener('pointerup', release);
      svg.addEventListener('pointercancel', release);
      svg.addEventListener('pointerleave', () => { if (fingers.size === 0) unread(svg); });
      svg.addEventListener('dblclick', all);
      // A wheel scrolls the page, unless the chart has been clicked or a key says that zooming is meant.
      svg.addEventListener('wheel', (event) => {
        if (!(event.ctrlKey || event.metaKey || document.activeElement === svg)) return;
        if (!zoomed() && event.deltaY >= 0) return;
        event.preventDefault();
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          const by = event.deltaX / 600 * (hi - lo);
          look(lo + by, hi + by);
        } else {
          zoom(at(svg, event), Math.exp(clamp(event.deltaY * (event.deltaMode ? 20 : 1) * (event.ctrlKey ? 4 : 1), -240, 240) * 0.0025));
        }
      }, { passive: false });
      svg.addEventListener('keydown', (event) => {
        const width = hi - lo, middle = (lo + hi) / 2;
        const act = {
          '+': () => zoom(middle, 0.6), '=': () => zoom(middle, 0.6), '-': () => zoom(middle, 1 / 0.6),
          ArrowLeft: () => look(lo - width / 6, hi - width / 6), ArrowRight: () => look(lo + width / 6, hi + width / 6),
          '0': all, Escape: all,
        }[event.key];
        if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        act();
      });
    }

    const hint = document.createElement('p');
    hint.className = 'hint';
    hint.append('Drag to zoom, or click and scroll; double-click to see all.');
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'See all';
    button.addEventListener('click', all);
    hint.append(button);
    svgs[svgs.length - 1].after(hint);
    if (window.matchMedia('(pointer: coarse)').matches) hint.firstChild.textContent = 'Pinch to zoom; double-tap to see all.';

    // A turned phone shows the other drawing.
    const redraw = () => { if (touched) draw(shown()); };
    window.addEventListener('resize', redraw);
    window.addEventListener('beforeprint', () => { if (touched) svgs.forEach(draw); });
  }

  for (const figure of document.querySelectorAll('figure.lines, figure.timeline')) {
    const script = figure.querySelector('script[type="application/json"]');
    if (script) start(figure, JSON.parse(script.textContent));
  }

  // Saving a chart as the figure that `--plot` writes: an SVG file, or an image of 600 dots per inch.
  function save(blob, name) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function saveImage(svg, name) {
    const image = new Image();
    image.addEventListener('load', () => {
      const canvas = document.createElement('canvas');
      const scale = 600 / 96;
      canvas.width = Math.ceil(image.naturalWidth * scale);
      canvas.height = Math.ceil(image.naturalHeight * scale);
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, name), 'image/png');
    });
    image.src = 'data:image/svg+xml,' + encodeURIComponent(svg);
  }

  for (const script of document.querySelectorAll('figure > script[type="image/svg+xml"]')) {
    const svg = script.textContent, name = script.dataset.name.replace(/[^\p{L}\p{N}._-]+/gu, '-');
    const line = document.createElement('p');
    line.className = 'save';
    line.append('Save as ');
    for (const [format, act] of [
      ['SVG', () => save(new Blob([svg], { type: 'image/svg+xml' }), `${name}.svg`)],
      ['PNG', () => saveImage(svg, `${name}.png`)],
    ]) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = format;
      button.title = `Save the whole chart as a figure for a paper, 85 mm wide (${format})`;
      button.addEventListener('click', act);
      line.append(button, ' ');
    }
    script.parentElement.append(line);
  }

  // Print shows what is folded away.
  let opened = [];
  window.addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('details:not([open])')];
    for (const details of opened) details.open = true;
  });
  window.addEventListener('afterprint', () => {
    for (const details of opened) details.open = false;
  });
})();
