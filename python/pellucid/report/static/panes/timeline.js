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
    this.asked = false;
    this.zoom = /** @type {number[] | null} */ (null);
  }

  /** @returns {Record<string, [number | null, () => Node]>} */
  parts() {
    const { rest, bars, files } = this.app.capture;
    const settings = Object.entries(rest.configuration);
    return {
      Timeline: [null, () => this.timeline(bars)],
      Memory: [this.made('memory').querySelectorAll('table').length, () => this.made('memory')],
      ...Object.fromEntries(rest.tables.map((/** @type {[string, string[], any[][]]} */ [name, titles, rows]) => [name, [rows.length, () => table(titles, rows)]])),
      Skipped: [rest.skipped.length, () => table(['compile', 'place', 'why torch skipped it'], rest.skipped)],
      Settings: [settings.length, () => table(['setting', 'value'], [...Object.entries(rest.versions), ...settings])],
      Metrics: [rest.metrics.length, () => table(['compile', 'torch’s counters'],
        rest.metrics.map((/** @type {any[]} */ [key, values]) => [key, Object.entries(values).map(([k, v]) => `${k} ${JSON.stringify(v)}`).join(', ')]))],
      Problems: [rest.problems.length, () => table(['where', 'what', 'detail'], rest.problems)],
      Files: [rest.files.length, () => this.files(rest.files, files)],
    };
  }

  update() {
    const parts = this.parts(), shown = this.app.state.rest;
    if (this.shown === shown + this.app.state.view) return;
    this.shown = shown + this.app.state.view;
    this.pane.classList.toggle('closed', !parts[shown]);
    this.pane.classList.toggle('tall', this.asked);
    this.tabs.replaceChildren(...Object.entries(parts).filter(([name, [count]]) => count !== 0 || name === shown).map(([name, [count]]) => {
      const tab = make('button', 'tab', count === null ? name : `${name} ${count}`);
      tab.setAttribute('aria-selected', String(name === shown));
      tab.setAttribute('role', 'tab');
      tab.addEventListener('click', () => { this.asked = true; this.app.set({ rest: name === this.app.state.rest ? '' : name }); });
      return tab;
    }));
    this.body.replaceChildren(...(parts[shown] ? [parts[shown][1]()] : []));
    connectPlaces(this.app, this.body);
  }

  /** What the page holds ready for this view. @param {string} name @returns {DocumentFragment} */
  made(name) {
    return document.importNode(/** @type {any} */ (document.getElementById(`${name}-${this.app.state.view}`)).content, true);
  }

  /** @param {any[]} bars @returns {Node} */
  timeline(bars) {
    const box = make('div', 'timeline');
    if (!bars.length) { box.append(make('p', 'note', 'No timings were recorded, because nothing was compiled or the capture ended too early.')); return box; }
    const most = 2000, all = Math.max(...bars.map((b) => b[2] + b[3]));
    const [from, span] = this.zoom || [0, all], scale = 1000 / Math.max(span, 1e-9);
    const shown = bars.filter((b) => b[2] < from + span && b[2] + b[3] > from).sort((a, b) => b[3] - a[3]).slice(0, most);
    const height = (1 + Math.max(...shown.map((b) => b[4]))) * 18;
    const drawing = svg('svg', { viewBox: `0 0 1000 ${height}`, preserveAspectRatio: 'none', height, role: 'img', 'aria-label': 'the phases of the compiles over time' });
    const labels = make('div', 'labels');
    for (const [key, name, at, seconds, row, owner, about] of shown) {
      const x = Math.max(0, (at - from) * scale), w = Math.max(Math.min(1000, (at + seconds - from) * scale) - x, 0.6), y = row * 18;
      const bar = svg('rect', { x, y, width: w, height: 16, class: `bar c${owner}`, tabindex: -1 }), label = make('span', '', name);
      bar.append(svg('title', {}, about));
      bar.addEventListener('click', () => {
        this.zoom = this.zoom && this.zoom[0] === at && this.zoom[1] === seconds ? null : [at, seconds];
        if (this.app.capture.version(key)) this.app.set({ key });
        box.replaceWith(this.timeline(bars));
      });
      drawing.append(bar);
      label.style.left = `${x / 10}%`; label.style.top = `${y}px`; label.style.width = `${w / 10}%`;
      if (w > 45) labels.append(label);
    }
    const frame = make('div', 'frame'), save = Object.assign(make('button', 'toggle', 'Save trace.json'), { title: 'for ui.perfetto.dev or chrome://tracing', onclick: saveTrace });
    const note = make('p', 'note', `${all.toFixed(1)} s of compile time${this.zoom ? `, ${span.toFixed(3)} s shown; click the bar again to show everything` : '; click a bar to zoom in'} `);
    note.append(save);
    frame.append(drawing, labels);
    box.append(frame, note, this.made('times'));
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
  element.append(head);
  for (const row of rows.slice(0, 400)) {
    const line = make('tr');
    for (const text of row) line.append(make('td', '', String(text).slice(0, 4000)));
    element.append(line);
  }
  return element;
}

async function saveTrace() {
  const href = URL.createObjectURL(new Blob([/** @type {any} */ (await chunk('c-trace'))], { type: 'application/json' }));
  Object.assign(make('a'), { href, download: 'trace.json' }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}
