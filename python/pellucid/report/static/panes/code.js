// @ts-check
// The user's code with what became of each line, and the panes that show other files line by line.
'use strict';

const OUTCOME = {
  g: ['in-graph', 'in a graph'], p: ['between', 'Python between graphs'], t: ['traced', 'traced, with nothing left to run'],
  b: ['broken', 'graph break'], x: ['eager', 'not compiled'], ' ': ['', ''],
};

/** A list of a file's lines that shows marks. */
class FilePane {
  /** @param {App} app @param {string} id @param {string} label */
  constructor(app, id, label) {
    this.app = app;
    this.pane = /** @type {HTMLElement} */ (document.getElementById(id));
    this.head = /** @type {HTMLElement} */ (this.pane.querySelector('.tools'));
    this.host = /** @type {HTMLElement} */ (this.pane.querySelector('.list'));
    this.host.id = `${id}-list`;
    this.file = -1;
    this.list = new List(this.host, {
      label,
      hover: (i) => app.hover(this.global(i)),
      click: (i) => app.pin(this.global(i)),
    });
  }

  /** @param {number} i @returns {number} the line of a row, counted through all files, or -1 */
  global(i) {
    return i < 0 || this.file < 0 ? -1 : this.app.capture.files[this.file].base + i;
  }

  /** @param {number} file */
  showFile(file) {
    const changed = file !== this.file;
    this.file = file;
    const known = file >= 0 ? this.app.capture.files[file] : null;
    this.list.show(known ? known.size : 0, (i, row) => this.drawLine(file, i, row), !changed);
    this.pane.classList.toggle('empty', !known);
  }

  /** @param {number} file @param {number} i @param {HTMLElement} row */
  drawLine(file, i, row) {
    const { app } = this, known = app.capture.files[file];
    row.append(make('span', 'no', String(app.capture.shown(file, i))));
    this.gutter(file, i, row);
    const code = make('code');
    colour(code, app.capture.text(file, i), known.name);
    row.append(code);
    app.mark(row, known.base + i);
  }

  /** @param {number} file @param {number} i @param {HTMLElement} row */
  gutter(file, i, row) { void file; void i; void row; }

  refresh() { this.list.refresh(); }

  /** Shows the first marked line, in the file shown or in another of its kind. */
  reveal() {
    const { app } = this;
    const line = app.firstMarked(this.file);
    if (line >= 0) this.list.reveal(line);
  }
}

class CodePane extends FilePane {
  /** @param {App} app */
  constructor(app) {
    super(app, 'code', 'Your code');
    this.select = choose(this.head, 'file', (value) => app.set({ code: Number(value) }));
  }

  update() {
    const { app } = this;
    const users = app.capture.files.map((f, i) => [f, i]).filter(([f]) => /** @type {any} */ (f).kind === 'user');
    fill(this.select, users.map(([f, i]) => [String(i), shortName(/** @type {any} */ (f).name)]), String(app.state.code));
    const own = app.capture.users[app.state.code];
    for (const item of this.pane.querySelectorAll('.legend span')) {
      /** @type {HTMLElement} */ (item).hidden = !own || !own.outcome.includes(/** @type {HTMLElement} */ (item).dataset.outcome);
    }
    this.showFile(users.length ? app.state.code : -1);
  }

  /** @param {number} file @param {number} i @param {HTMLElement} row */
  gutter(file, i, row) {
    const user = this.app.capture.users[file];
    const [name, text] = /** @type {any} */ (OUTCOME)[user ? user.outcome[i] : ' '] || ['', ''];
    const mark = make('span', `gutter ${name}`);
    if (text) { mark.title = text; mark.setAttribute('role', 'img'); mark.setAttribute('aria-label', text); }
    row.append(mark);
    if (name === 'broken') row.classList.add('break-line');
    if (user && user.numbers && i > 0 && user.numbers[i] !== user.numbers[i - 1] + 1) row.classList.add('gap');
  }
}

class RunsPane extends FilePane {
  /** @param {App} app */
  constructor(app) {
    super(app, 'runs', 'What runs');
    this.functions = choose(this.head, 'function', (value) => {
      const fn = app.capture.functions[Number(value)];
      if (fn.versions.length) app.set({ key: fn.versions[0].key });
    });
    this.many = choose(this.head, 'version', (value) => app.set({ key: value }));
    this.tabs = make('span', 'tabs');
    this.tabs.setAttribute('role', 'tablist');
    this.badge = make('span', 'badge');
    this.full = toggle('show guards', () => app.set({ full: !app.state.full }));
    this.compare = toggle('diff', () => app.set({ compare: !app.state.compare }));
    this.head.append(this.tabs, this.badge, this.full, this.compare);
  }

  update() {
    const { app } = this, { capture, state } = app;
    const found = capture.version(state.key);
    fill(this.functions, capture.functions.map((fn, i) => [String(i), `${fn.depth ? '↳ '.padStart(fn.depth * 2 + 2) : ''}${fn.name} :${fn.line}`]),
      found ? String(capture.functions.indexOf(found.fn)) : '');
    const all = found ? found.fn.versions : [];
    fill(this.many, all.length > 5 ? all.map((/** @type {Version} */ v) => [v.key, `[${v.key}] of ${all.length}`]) : [], state.key);
    this.tabs.replaceChildren(...(all.length > 5 ? [] : all).map((/** @type {Version} */ version) => {
      const tab = make('button', 'tab', version.key);
      tab.setAttribute('role', 'tab');
      tab.setAttribute('aria-selected', String(version.key === state.key));
      tab.title = version.recompiled.length ? `recompiled: ${version.recompiled.join('\n')}` : 'the first version';
      tab.addEventListener('click', () => app.set({ key: version.key }));
      return tab;
    }));
    this.tabs.hidden = !this.tabs.children.length;
    if (!found) { this.badge.textContent = ''; this.showFile(-1); return; }
    const { version, fn } = found;
    const proven = version.verdict === 'identical' || version.verdict === 'equivalent';
    this.badge.className = `badge ${proven ? 'good' : 'warn'}`;
    this.badge.textContent = (proven ? '✓ ' : '? ') + version.verdict;
    this.badge.title = `${proven ? 'proven to do what torch’s bytecode does' : version.reason}; ${version.swapped ? 'this file is what runs' : 'torch’s own code runs'}`;
    press(this.full, state.full && fn.full >= 0);
    press(this.compare, state.compare);
    const other = fn.versions[(fn.versions.indexOf(version) + 1) % fn.versions.length];
    /** @type {HTMLButtonElement} */ (this.compare).disabled = other === version;
    if (state.compare && other !== version) { this.file = -1; showDifference(app, this.list, other.file, version.file); } else this.showFile(state.full && fn.full >= 0 ? fn.full : version.file);
  }
}

/** @param {App} app @param {List} list @param {number} before @param {number} after */
function showDifference(app, list, before, after) {
  const { capture } = app;
  const a = capture.contents[capture.files[before].content], b = capture.contents[capture.files[after].content];
  const rows = difference(a, b);
  list.show(rows.length, (i, row) => {
    const [sign, x, y] = rows[i];
    const file = sign === '-' ? before : after, line = sign === '-' ? x : y;
    row.append(make('span', 'no', sign === '-' ? String(x + 1) : ''), make('span', 'no', sign === '-' ? '' : String(y + 1)),
      make('span', 'sign', sign));
    const code = make('code');
    colour(code, capture.text(file, line), capture.files[file].name);
    row.append(code);
    if (sign !== ' ') row.classList.add(sign === '-' ? 'removed' : 'added');
  });
  const first = rows.findIndex((row) => row[0] !== ' ');
  if (first >= 0) list.reveal(first);
  return rows;
}

/** @param {HTMLElement} to @param {string} label @param {(value: string) => void} on @returns {HTMLSelectElement} */
function choose(to, label, on) {
  const select = /** @type {HTMLSelectElement} */ (make('select'));
  select.setAttribute('aria-label', label);
  select.addEventListener('change', () => on(select.value));
  to.append(select);
  return select;
}

/** @param {HTMLSelectElement} select @param {string[][]} options @param {string} value */
function fill(select, options, value) {
  const known = JSON.stringify(options);
  if (select.dataset.known !== known) {
    select.dataset.known = known;
    select.replaceChildren(...options.map(([id, text]) => {
      const option = /** @type {HTMLOptionElement} */ (make('option', '', text));
      option.value = id;
      return option;
    }));
  }
  select.value = value;
  select.hidden = options.length === 0;
}

/** @param {string} text @param {() => void} on @returns {HTMLElement} */
function toggle(text, on) {
  const button = make('button', 'toggle', text);
  button.addEventListener('click', on);
  return button;
}

/** @param {HTMLElement} button @param {boolean} pressed */
function press(button, pressed) {
  button.setAttribute('aria-pressed', String(pressed));
}

/** @param {string} path */
function shortName(path) {
  return path.split('/').slice(-2).join('/');
}
