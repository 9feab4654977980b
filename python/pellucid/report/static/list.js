// @ts-check
// Lists of which only the visible rows exist, and the colours of code.
'use strict';

const ROW = 19;
const LONGEST = 2000;

/** @param {string} name @param {string} [className] @param {string} [text] @returns {HTMLElement} */
function make(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] @returns {SVGElement} */
function svg(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) element.setAttribute(key, String(attributes[key]));
  if (text !== undefined) element.textContent = text;
  return element;
}

class List {
  /**
   * @param {HTMLElement} host
   * @param {{hover: (i: number) => void, click: (i: number) => void, label: string}} on
   */
  constructor(host, on) {
    this.host = host;
    this.on = on;
    this.count = 0;
    this.active = -1;
    /** @type {(i: number, row: HTMLElement) => void} */
    this.draw = () => {};
    this.inner = make('div', 'inner');
    this.window = make('div', 'window');
    this.inner.append(this.window);
    host.append(this.inner);
    host.tabIndex = 0;
    host.setAttribute('role', 'listbox');
    host.setAttribute('aria-label', on.label);
    host.addEventListener('scroll', () => this.refresh(), { passive: true });
    host.addEventListener('keydown', (event) => this.key(event));
    // Not when rows move below a mouse that rests.
    this.window.addEventListener('mousemove', (event) => {
      const at = `${event.clientX} ${event.clientY}`;
      if (at !== List.mouse) this.on.hover(this.row(event));
      List.mouse = at;
    });
    host.addEventListener('mouseleave', () => this.on.hover(-1));
    this.window.addEventListener('click', (event) => {
      const i = this.row(event);
      if (i < 0 || String(window.getSelection()).length > 0) return;
      this.active = i;
      this.on.click(i);
    });
    new ResizeObserver(() => this.refresh()).observe(host);
  }

  /** @param {Event} event */
  row(event) {
    const row = event.target instanceof Element ? event.target.closest('.row') : null;
    return row instanceof HTMLElement ? Number(row.dataset.i) : -1;
  }

  /** @param {number} count @param {(i: number, row: HTMLElement) => void} draw @param {boolean} [keep] */
  show(count, draw, keep) {
    this.count = count;
    this.draw = draw;
    this.inner.style.height = `${count * ROW}px`;
    if (!keep) { this.host.scrollTop = 0; this.host.scrollLeft = 0; this.active = -1; }
    this.refresh();
  }

  refresh() {
    const height = this.host.clientHeight;
    if (!height) return;
    const first = Math.max(0, Math.floor(this.host.scrollTop / ROW) - 4);
    const last = Math.min(this.count, first + Math.ceil(height / ROW) + 8);
    this.firstShown = first;
    this.window.style.transform = `translateY(${first * ROW}px)`;
    const rows = [];
    for (let i = first; i < last; i++) {
      const row = make('div', 'row');
      row.dataset.i = String(i);
      row.id = `${this.host.id}-${i}`;
      row.setAttribute('role', 'option');
      if (i === this.active) { row.classList.add('active'); row.setAttribute('aria-selected', 'true'); }
      this.draw(i, row);
      rows.push(row);
    }
    this.window.replaceChildren(...rows);
  }

  /** @param {number} i */
  reveal(i) {
    const top = i * ROW, height = this.host.clientHeight;
    if (top < this.host.scrollTop + ROW || top > this.host.scrollTop + height - 2 * ROW) {
      this.host.scrollTop = Math.max(0, top - height / 3);
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = Math.max(1, Math.floor(this.host.clientHeight / ROW) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
    if (step !== undefined && this.count) {
      this.active = Math.max(0, Math.min(this.count - 1, this.active < 0 ? (this.firstShown || 0) : this.active + step));
      this.host.setAttribute('aria-activedescendant', `${this.host.id}-${this.active}`);
      this.reveal(this.active);
      this.refresh();
      this.on.hover(this.active);
      event.preventDefault();
    } else if (event.key === 'Enter' && this.active >= 0) {
      this.on.click(this.active);
      event.preventDefault();
    } else if (event.key === ' ') {
      const rest = this.window.querySelector('.active .more');
      if (rest instanceof HTMLElement) { rest.click(); event.preventDefault(); }
    }
  }
}

/** Where the mouse was seen last. */
List.mouse = '';

const PYTHON = /(#.*$)|([rbfuRBFU]{0,2}(?:'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?))|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False|self)\b|\b(\d[\w.]*)|(@[\w.]+)|(\b\w+(?=\())/g;
const CPP = /(\/\/.*$|\/\*.*?(?:\*\/|$))|("(?:\\.|[^"\\])*"?)|\b(alignas|auto|bool|break|case|char|class|const|constexpr|continue|do|double|else|extern|float|for|if|inline|int|int8_t|int32_t|int64_t|long|namespace|nullptr|return|short|signed|sizeof|static|static_cast|struct|switch|template|typename|uint8_t|unsigned|using|void|while)\b|\b(\d[\w.]*)|(^\s*#\w+)|(\b\w+(?=\())/g;
const CLASSES = ['', 'comment', 'string', 'word', 'number', 'mark', 'call'];

/** A placeholder for the rest of a text; a click shows the whole text. @param {string} name @param {string} whole @param {number} shown */
function more(name, whole, shown) {
  const rest = make('span', 'more', `… ${(whole.length - shown).toLocaleString('en')} more`);
  rest.addEventListener('click', (event) => { event.stopPropagation(); showText(name, whole); });
  return rest;
}

/** @param {HTMLElement} to @param {string} text @param {string} name of the file */
function colour(to, text, name) {
  if (text.length > LONGEST) {
    const whole = text;
    to.append(text.slice(0, LONGEST));
    to.append(more(name, whole, LONGEST));
    return;
  }
  const rule = /\.(cpp|cu|cuh|h|txt)$/.test(name) ? CPP : PYTHON;
  let at = 0;
  rule.lastIndex = 0;
  for (let found = rule.exec(text); found; found = rule.exec(text)) {
    if (!found[0]) break;
    let group = 1;
    while (found[group] === undefined) group++;
    if (found.index > at) to.append(text.slice(at, found.index));
    to.append(make('span', CLASSES[group], found[0]));
    at = rule.lastIndex;
  }
  if (at < text.length) to.append(text.slice(at));
}

/** The steps from one list of numbers to another: [same or not, from, to], a row each.
 * @param {Int32Array} a @param {Int32Array} b @returns {[string, number, number][]} */
function difference(a, b) {
  let start = 0, endA = a.length, endB = b.length;
  while (start < endA && start < endB && a[start] === b[start]) start++;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) { endA--; endB--; }
  const n = endA - start, m = endB - start, most = Math.min(n + m, 1500);
  /** @type {Int32Array[]} */
  const trace = [];
  const v = new Int32Array(2 * most + 3);
  let found = false, d = 0;
  for (; d <= most && !found; d++) {
    trace.push(v.slice());
    for (let k = -d; k <= d; k += 2) {
      const at = k + most + 1;
      let x = k === -d || (k !== d && v[at - 1] < v[at + 1]) ? v[at + 1] : v[at - 1] + 1;
      while (x < n && x - k < m && a[start + x] === b[start + x - k]) x++;
      v[at] = x;
      if (x >= n && x - k >= m) { found = true; break; }
    }
  }
  /** @type {[string, number, number][]} */
  const middle = [];
  if (!found) {
    for (let i = 0; i < n; i++) middle.push(['-', start + i, -1]);
    for (let i = 0; i < m; i++) middle.push(['+', -1, start + i]);
  } else {
    let x = n, y = m;
    for (d -= 1; d >= 0; d--) {
      const row = trace[d], k = x - y, at = k + most + 1;
      const before = k === -d || (k !== d && row[at - 1] < row[at + 1]) ? k + 1 : k - 1;
      const fromX = d === 0 ? 0 : row[before + most + 1], fromY = d === 0 ? 0 : fromX - before;
      while (x > fromX && y > fromY) { x--; y--; middle.push([' ', start + x, start + y]); }
      if (d > 0) {
        if (before === k + 1) middle.push(['+', -1, start + --y]); else middle.push(['-', start + --x, -1]);
      }
    }
    middle.reverse();
  }
  /** @type {[string, number, number][]} */
  const rows = [];
  for (let i = 0; i < start; i++) rows.push([' ', i, i]);
  rows.push(...middle);
  for (let i = 0; endA + i < a.length; i++) rows.push([' ', endA + i, endB + i]);
  return rows;
}
