// @ts-check
// The guards of a function: a row a guard, a column a compiled version, what differs first.
'use strict';

const VALUE = 132, COLUMN = 126;

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
    this.list.window.style.minWidth = columns.length > 2 ? `${VALUE + COLUMN * columns.length}px` : '';
    const titles = make('div', 'cells');
    titles.style.minWidth = this.list.window.style.minWidth;
    this.titles.replaceChildren(titles);
    titles.append(make('span', 'source', 'value'), ...columns.map((/** @type {string} */ key) => {
      const title = make('button', key === app.state.key ? 'cell current' : 'cell', `[${key}]`);
      title.addEventListener('click', () => app.set({ key }));
      return title;
    }));
    this.list.show(this.shownRows.length, (i, row) => this.drawGuard(this.shownRows[i], row), !changed);
    const left = columns.indexOf(app.state.key) * COLUMN, { clientWidth, scrollLeft } = this.host;
    if (left < scrollLeft) this.host.scrollLeft = Math.max(0, left);
    else if (left + VALUE + COLUMN > scrollLeft + clientWidth) this.host.scrollLeft = left + VALUE + COLUMN - clientWidth;
  }

  /** @param {number} i @param {HTMLElement} row */
  drawGuard(i, row) {
    const [source, kind, where, cells, failed, differs, count, raw] = this.rows[i];
    const name = make('span', 'source', source || (kind === 'LAMBDA_GUARD' ? 'condition' : kind.toLowerCase().replace(/_/g, ' ')));
    name.title = `${raw || source}\n${kind}${where ? `\n${where}` : ''}`;
    if (count > 1) name.append(make('b', 'count', ` ×${count}`));
    row.append(name);
    if (!differs && cells.length > 1) {
      row.append(cell(cells[0], kind, 'cell wide'));
    } else {
      cells.forEach((/** @type {string | null} */ text, /** @type {number} */ column) => {
        const box = cell(text, kind, 'cell');
        if (failed && failed[column] !== undefined) {
          box.classList.add('failed');
          box.textContent = `✕ ${text}`;
          box.title = `failed: it was ${failed[column] || 'a different value'}\nexpected: ${text}`;
          if (failed[column]) box.append(make('b', 'actual', ` ← ${failed[column]}`));
        }
        row.append(box);
      });
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

/** @param {string | null} text @param {string} kind @param {string} className */
function cell(text, kind, className) {
  const box = make('span', text === null ? `${className} none` : className, text === null ? '—' : text.slice(0, 300));
  box.title = text === null ? 'this version does not have this guard' : `${kind}\n${text.slice(0, 3000)}`;
  return box;
}
