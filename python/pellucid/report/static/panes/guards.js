// @ts-check
// The guards of a function: a row a guard, a column a compiled version, what differs first.
'use strict';

/** The longest text that a cell shows, in characters. */
const WIDEST = 300;
/** Of a longer name the end is shown, which tells it from others, in characters. */
const NAME = 16;

class GuardsPane extends FilePane {
  /** @param {App} app */
  constructor(app) {
    super(app, 'guards', 'Guards');
    this.note = make('span', 'note');
    this.only = toggle('only differences', () => app.set({ only: !app.state.only }));
    this.head.append(this.only, this.note);
    this.titles = make('div', 'titles');
    this.host.before(this.titles);
    this.host.addEventListener('scroll', () => { this.titles.scrollLeft = this.host.scrollLeft; }, { passive: true });
    /** @type {any[]} */
    this.rows = [];
    /** @type {number[]} */
    this.shownRows = [];
    this.fn = null;
    /** How wide the columns are, in characters: that of the values, and those of the versions. @type {number[]} */
    this.widths = [];
    /** The columns of the versions, as they are shown. @type {number[]} */
    this.order = [];
  }

  /** @param {number} i */
  global(i) {
    return i < 0 || this.file < 0 ? -1 : this.app.capture.files[this.file].base + this.shownRows[i];
  }

  update() {
    const { app } = this, found = app.capture.version(app.state.key);
    const fn = found ? found.fn : null;
    const changed = fn !== this.fn;
    this.fn = fn;
    this.file = fn ? fn.guards : -1;
    this.rows = fn ? fn.rows : [];
    const differing = this.rows.filter((row) => row[5]).length;
    this.only.hidden = !differing || differing === this.rows.length;
    press(this.only, app.state.only);
    this.shownRows = this.rows.map((_, i) => i).filter((i) => !app.state.only || this.only.hidden || this.rows[i][5]);
    const guards = this.rows.reduce((n, row) => n + row[6], 0);
    this.note.textContent = fn ? `${guards} guards${fn.columns.length > 1 ? `, ${differing} differ` : ''}` : '';
    this.pane.classList.toggle('empty', !this.rows.length);
    const columns = fn ? fn.columns : [];
    // The version whose guards failed comes first, then the one that is shown.
    const at = Math.max(0, columns.indexOf(app.state.key));
    const failing = columns.map((_, i) => this.rows.some((row) => row[4] && row[4][i] !== undefined));
    const lead = failing[at] ? at : Math.max(0, failing.indexOf(true) < 0 ? at : failing.indexOf(true));
    this.order = [...new Set([lead, at, ...columns.keys()])].slice(0, columns.length);
    if (changed) this.widths = widthsOf(this.rows, columns.length);
    const titles = this.order.map((column) => {
      const key = columns[column], title = this.wide(make('button', key === app.state.key ? 'cell current' : 'cell', `[${key}]`), column + 1);
      title.addEventListener('click', () => app.set({ key }));
      return title;
    });
    this.titles.replaceChildren(this.wide(make('span', 'source', 'value'), 0), ...titles, make('span', 'past'));
    this.list.show(this.shownRows.length, (i, row) => this.drawGuard(this.shownRows[i], row), !changed);
  }

  /** @param {HTMLElement} box @param {number} column */
  wide(box, column) {
    box.style.flexBasis = `calc(${this.widths[column] || 0}ch + 17px)`;
    return box;
  }

  /** @param {number} i @param {HTMLElement} row */
  drawGuard(i, row) {
    const [source, kind, where, cells, failed, differs, count, raw] = this.rows[i];
    const name = this.wide(make('span', 'source', endOf(nameOf(source, kind))), 0);
    name.title = `${raw || source}\n${kind}${where ? `\n${where}` : ''}`;
    if (count > 1) name.append(make('b', 'count', ` ×${count}`));
    row.append(name);
    if (!differs && cells.length > 1) {
      row.append(cell(cells[0], kind, 'cell wide'));
    } else {
      for (const column of this.order) {
        const text = cells[column], box = this.wide(cell(text, kind, 'cell'), column + 1);
        if (failed && failed[column] !== undefined) {
          box.classList.add('failed');
          box.prepend('✕ ', make('b', 'actual', failed[column] ? `${failed[column]} ≠ ` : ''));
          box.title = `failed: it was ${failed[column] || 'a different value'}\nexpected: ${text}`;
        }
        row.append(box);
      }
    }
    if (differs) row.classList.add('differs');
    this.app.mark(row, this.app.capture.files[this.file].base + i);
  }

  reveal() {
    const line = this.app.firstMarked(this.file);
    const i = this.shownRows.indexOf(line);
    if (i >= 0) this.list.reveal(i);
  }

  /** @param {number} line */
  revealLine(line) {
    if (!this.shownRows.includes(line)) this.app.set({ only: false });
    const i = this.shownRows.indexOf(line);
    if (i >= 0) this.list.reveal(i);
  }
}

/** @param {string} source @param {string} kind */
function nameOf(source, kind) {
  return source || (kind === 'LAMBDA_GUARD' ? 'condition' : kind.toLowerCase().replace(/_/g, ' '));
}

/** @param {string} name */
function endOf(name) { return name.length > NAME ? `…${name.slice(1 - NAME)}` : name; }

/** The widths at which nothing is cut. @param {any[]} rows @param {number} columns @returns {number[]} */
function widthsOf(rows, columns) {
  const widths = [8, ...new Array(columns).fill(6)];
  for (const [source, kind, , cells, failed, differs, count] of rows) {
    widths[0] = Math.max(widths[0], Math.min(NAME, nameOf(source, kind).length + (count > 1 ? 2 + String(count).length : 0)));
    if (!differs && cells.length > 1) continue;
    cells.forEach((/** @type {string | null} */ text, /** @type {number} */ i) => {
      const wrong = failed && failed[i] !== undefined ? 5 + (failed[i] || '').length : 0;
      widths[i + 1] = Math.max(widths[i + 1], Math.min(WIDEST + 12, (text || '').length) + wrong);
    });
  }
  return widths;
}

/** @param {string | null} text @param {string} kind @param {string} className */
function cell(text, kind, className) {
  const box = make('span', text === null ? `${className} none` : className, text === null ? '—' : text.slice(0, WIDEST));
  if (text !== null && text.length > WIDEST) box.append(more(kind, text, WIDEST));
  box.title = text === null ? 'this version does not have this guard' : `${kind}\n${text.slice(0, 3000)}`;
  return box;
}
