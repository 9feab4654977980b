// @ts-check
// What lies below the panes: when the compiler worked, and everything else that the capture says.
'use strict';

class RestPane {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.pane = /** @type {HTMLElement} */ (document.getElementById('rest'));
    this.tabs = /** @type {HTMLElement} */ (this.pane.querySelector('.tabs'));
    this.body = /** @type {HTMLElement} */ (this.pane.querySelector('.body'));
    this.shown = '';
  }

  /** @returns {Record<string, [number | null, () => Node]>} */
  parts() {
    const { rest, bars, files } = this.app.capture;
    const settings = Object.entries(rest.configuration);
    return {
      Timeline: [null, () => this.timeline(bars)],
      Caches: [rest.caches.length, () => table(['compile', 'cache', 'result', 'why'], rest.caches)],
      Left: [rest.skipped.length, () => table(['compile', 'place', 'why torch left it as it is'], rest.skipped)],
      Settings: [settings.length, () => table(['', ''], [...Object.entries(rest.versions), ...settings])],
      Metrics: [rest.metrics.length, () => table(['compile', 'what torch counted'],
        rest.metrics.map((/** @type {any[]} */ [key, values]) => [key, Object.entries(values).map(([k, v]) => `${k} ${JSON.stringify(v)}`).join(', ')]))],
      Problems: [rest.problems.length, () => table(['where', 'what', ''], rest.problems)],
      Files: [rest.files.length, () => this.files(rest.files, files)],
    };
  }

  update() {
    const parts = this.parts(), shown = this.app.state.rest;
    if (this.shown === shown + this.app.state.view) return;
    this.shown = shown + this.app.state.view;
    this.pane.classList.toggle('closed', !parts[shown]);
    this.tabs.replaceChildren(...Object.entries(parts).filter(([name, [count]]) => count !== 0 || name === shown).map(([name, [count]]) => {
      const tab = make('button', 'tab', count === null ? name : `${name} ${count}`);
      tab.setAttribute('aria-selected', String(name === shown));
      tab.setAttribute('role', 'tab');
      tab.addEventListener('click', () => this.app.set({ rest: name === this.app.state.rest ? '' : name }));
      return tab;
    }));
    this.body.replaceChildren(...(parts[shown] ? [parts[shown][1]()] : []));
  }

  /** @param {any[]} bars @returns {Node} */
  timeline(bars) {
    const box = make('div', 'timeline');
    if (!bars.length) { box.append(make('p', 'note', 'This capture tells no times.')); return box; }
    const most = 2000, shown = bars.length > most ? bars.slice().sort((a, b) => b[3] - a[3]).slice(0, most) : bars;
    const start = Math.min(...bars.map((b) => b[2])), end = Math.max(...bars.map((b) => b[2] + b[3]));
    const rows = 1 + Math.max(...bars.map((b) => b[4] + 5 * b[5]));
    const drawing = svg('svg', { viewBox: `0 0 1000 ${rows * 18 + 16}`, preserveAspectRatio: 'none', height: rows * 18 + 16, role: 'img', 'aria-label': 'when the parts of the compiler worked' });
    const scale = 1000 / Math.max(end - start, 1e-9);
    const names = [...new Set(bars.map((b) => b[1]))];
    const labels = make('div', 'labels');
    labels.style.height = `${rows * 18 + 16}px`;
    for (const [key, name, at, seconds, row, thread] of shown) {
      const x = (at - start) * scale, w = Math.max(seconds * scale, 0.6), y = (row + 5 * thread) * 18;
      const bar = svg('rect', { x, y, width: w, height: 16, class: `bar c${names.indexOf(name) % 6}`, tabindex: -1 });
      bar.append(svg('title', {}, `[${key}] ${name}: ${seconds.toFixed(3)} s`));
      bar.addEventListener('click', () => { if (this.app.capture.version(key)) this.app.set({ key }); });
      drawing.append(bar);
      if (w > 45) {
        const label = make('span', '', row ? name : `[${key}] ${name}`);
        label.style.left = `${x / 10}%`; label.style.top = `${y}px`; label.style.width = `${w / 10}%`;
        labels.append(label);
      }
    }
    const frame = make('div', 'frame');
    frame.append(drawing, labels);
    const save = make('button', 'toggle', 'Save trace.json');
    save.title = 'for ui.perfetto.dev or chrome://tracing';
    save.addEventListener('click', () => saveTrace(bars));
    const note = make('p', 'note', `${(end - start).toFixed(1)} s in all, ${bars.length} parts${bars.length > most ? ` (the longest ${most} drawn)` : ''} `);
    note.append(save);
    box.append(frame, note);
    return box;
  }

  /** @param {string[]} names @param {DumpedFile[]} known @returns {Node} */
  files(names, known) {
    const box = make('ul', 'files');
    for (const name of names.slice(0, 1500)) {
      const item = make('li');
      const i = known.findIndex((f) => f.name === name);
      if (i >= 0) {
        const link = make('button', 'link', name);
        link.addEventListener('click', () => this.app.open(i, 0));
        item.append(link);
      } else item.textContent = name;
      box.append(item);
    }
    if (names.length > 1500) box.append(make('li', 'note', `and ${names.length - 1500} more`));
    return box;
  }
}

/** @param {string[]} titles @param {any[][]} rows @returns {Node} */
function table(titles, rows) {
  const element = make('table'), head = make('tr');
  for (const title of titles) head.append(make('th', '', title));
  if (titles.some(Boolean)) element.append(head);
  for (const row of rows.slice(0, 400)) {
    const line = make('tr');
    for (const text of row) line.append(make('td', '', String(text).slice(0, 4000)));
    element.append(line);
  }
  return element;
}

/** @param {any[]} bars */
function saveTrace(bars) {
  const events = bars.map(([key, name, at, seconds, , thread]) => (
    { name, cat: 'compile', ph: 'X', ts: at * 1e6, dur: seconds * 1e6, pid: 1, tid: thread + 1, args: { compile: key } }));
  const link = /** @type {HTMLAnchorElement} */ (make('a'));
  link.href = URL.createObjectURL(new Blob([JSON.stringify({ traceEvents: events })], { type: 'application/json' }));
  link.download = 'trace.json';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
