// @ts-check
// One box over findings, functions, lines, nodes, kernels, guards and settings.
'use strict';

/** @typedef {{kind: string, text: string, where: string, go: () => void}} Found */

const KINDS = ['finding', 'function', 'line', 'op', 'kernel', 'guard', 'setting', 'file'];
const MOST_FOUND = 80;

class Search {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.box = /** @type {HTMLInputElement} */ (document.getElementById('search'));
    this.list = /** @type {HTMLElement} */ (document.getElementById('found'));
    this.active = 0;
    /** @type {Found[]} */
    this.found = [];
    /** @type {string[] | null} */
    this.lower = null;
    this.box.addEventListener('input', () => this.update());
    this.box.addEventListener('focus', () => this.update());
    this.box.addEventListener('blur', () => setTimeout(() => { this.list.hidden = true; }, 200));
    this.box.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        this.active = Math.max(0, Math.min(this.found.length - 1, this.active + (event.key === 'ArrowDown' ? 1 : -1)));
        this.draw();
        event.preventDefault();
      } else if (event.key === 'Enter' && this.found[this.active]) this.choose(this.found[this.active]);
      else if (event.key === 'Escape') { this.box.value = ''; this.box.blur(); }
      event.stopPropagation();
    });
  }

  /** The first place of each distinct line, by the number of the line: file, line. */
  places() {
    const { capture } = this.app;
    if (this.of !== capture) {
      this.of = capture;
      this.firstFile = new Int32Array(capture.lines.length).fill(-1);
      this.firstLine = new Int32Array(capture.lines.length);
      this.times = new Int32Array(capture.lines.length);
      capture.files.forEach((file, f) => {
        if (file.content < 0) return;
        const content = capture.contents[file.content];
        for (let i = 0; i < content.length; i++) {
          const line = content[i];
          if (this.firstFile[line] < 0) { this.firstFile[line] = f; this.firstLine[line] = i; }
          this.times[line]++;
        }
      });
      this.lower = capture.lines.map((line) => line.toLowerCase());
    }
  }

  /** @param {string} query @returns {Found[]} */
  find(query) {
    const { app } = this, { capture } = app;
    const split = /^(\w+):(.*)$/.exec(query);
    const named = split && [...KINDS, 'node'].includes(split[1]) ? split[1].replace('node', 'op') : '';
    const text = (named && split ? split[2] : query).trim().toLowerCase();
    if (!text && !named) return [];
    /** @type {Found[]} */
    const found = [];
    const has = (/** @type {string} */ s) => s.toLowerCase().includes(text);
    const add = (/** @type {string} */ kind, /** @type {string} */ what, /** @type {string} */ where, /** @type {() => void} */ go) => {
      if ((!named || named === kind) && found.length < MOST_FOUND) found.push({ kind, text: what, where, go });
    };
    const wanted = (/** @type {string} */ kind) => (!named || named === kind) && found.length < MOST_FOUND;
    if (wanted('finding')) {
      capture.findings.forEach((f, i) => {
        const where = f.place ? `${shortName(f.place.file)}:${f.place.line}` : '';
        if (has(`${f.kind} ${f.cause} ${f.code} ${f.remedy} ${where}`)) add('finding', `${f.kind}: ${f.cause}`, where, () => app.select(i));
      });
    }
    if (wanted('function')) {
      for (const fn of capture.functions) if (has(fn.name)) add('function', fn.name, `${shortName(fn.path)}:${fn.line}`, () => fn.versions[0] && app.set({ key: fn.versions[0].key }));
    }
    const place = /^(.+):(\d+)$/.exec(text);
    if (wanted('line') && place) {
      capture.files.forEach((file, f) => {
        if (!file.name.toLowerCase().endsWith(place[1])) return;
        const line = capture.lineOf(f, Number(place[2]));
        if (line >= 0) add('line', capture.text(f, line).trim(), `${shortName(file.name)}:${place[2]}`, () => app.open(f, line));
      });
    }
    if (wanted('kernel')) {
      for (const k of capture.kernels) if (has(k.name)) add('kernel', k.name, capture.files[k.program].name, () => app.open(k.program, k.calls[0] ?? k.line));
    }
    if (wanted('guard')) {
      for (const fn of capture.functions) {
        fn.rows.forEach((/** @type {any[]} */ row, /** @type {number} */ i) => {
          if (found.length < MOST_FOUND && has(`${row[0]} ${row[1]} ${row[3].join(' ')}`)) {
            add('guard', `${row[0] || row[1]}: ${row[3].find(Boolean) || ''}`, fn.name, () => app.openGuard(fn, i));
          }
        });
      }
    }
    if (wanted('setting')) {
      for (const [key, value] of Object.entries({ ...capture.rest.versions, ...capture.rest.configuration })) if (has(`${key} ${value}`)) add('setting', `${key} = ${value}`, '', () => app.set({ rest: 'Settings' }));
    }
    if (wanted('file')) {
      capture.files.forEach((file, f) => { if (file.content >= 0 && has(file.name)) add('file', file.name, file.kind, () => app.open(f, 0)); });
    }
    if (wanted('line') || wanted('op')) {
      this.places();
      const lower = this.lower || [];
      for (let i = 0; i < lower.length && found.length < MOST_FOUND; i++) {
        const file = this.firstFile ? this.firstFile[i] : -1;
        if (file < 0 || !lower[i].includes(text)) continue;
        const line = this.firstLine ? this.firstLine[i] : 0;
        const kind = capture.files[file].kind === 'graph' && / = /.test(lower[i]) ? 'op' : 'line';
        const times = this.times && this.times[i] > 1 ? ` ×${this.times[i]}` : '';
        add(kind, capture.lines[i].trim().slice(0, 300), `${shortName(capture.files[file].name)}:${capture.shown(file, line)}${times}`, () => app.open(file, line));
      }
    }
    return found;
  }

  update() {
    this.found = this.find(this.box.value);
    this.active = 0;
    this.draw();
  }

  draw() {
    this.list.hidden = !this.box.value;
    const rows = this.found.map((f, i) => {
      const row = make('button', i === this.active ? 'result active' : 'result');
      const where = make('span', 'where');
      where.append(make('bdi', '', f.where));
      row.append(make('span', 'kind', f.kind), make('code', '', f.text.slice(0, 160)), where);
      row.addEventListener('mousedown', (event) => { event.preventDefault(); this.choose(f); });
      return row;
    });
    const note = this.found.length ? '' : 'nothing found; a prefix narrows: finding: function: line: op: kernel: guard: setting: file:';
    this.list.replaceChildren(...rows, ...(note ? [make('p', 'note', note)] : []));
    const active = this.list.children[this.active];
    if (active) active.scrollIntoView({ block: 'nearest' });
  }

  /** @param {Found} found */
  choose(found) {
    this.list.hidden = true;
    this.box.blur();
    found.go();
  }
}

/** @param {string} name @param {string} text */
function showText(name, text) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('whole'));
  const body = /** @type {HTMLElement} */ (dialog.querySelector('pre'));
  /** @type {HTMLElement} */ (dialog.querySelector('h2')).textContent = shortName(name);
  body.textContent = text.length > 400000 ? `${text.slice(0, 400000)} …` : text;
  dialog.showModal();
}
