// @ts-check
// The state of the page, the one event that links the panes, keys, and the part of the address after #.
'use strict';

/** @typedef {{view: number, finding: number, key: string, stage: string, other: string, graph: string, program: number, code: number, full: boolean, compare: boolean, only: boolean, rest: string, pane: string}} State */

/** How long a message is shown, in milliseconds. */
const SHOWN_FOR = 4000;
/** Where one pane is shown at a time, as in page.css. */
const NARROW = '(max-width: 1000px)';
const PANES = ['findings', 'code', 'runs', 'guards', 'graph', 'kernels'];

class App {
  /** @param {Capture} capture */
  constructor(capture) {
    this.capture = capture;
    /** @type {State} */
    this.state = {
      view: 0, finding: -1, key: '', stage: 'captured', other: '', graph: 'list', program: -1, code: 0,
      full: false, compare: false, only: false, rest: 'Timeline', pane: 'findings',
    };
    this.pinned = '';
    this.panes = [new CodePane(this), new RunsPane(this), new GuardsPane(this), new GraphPane(this), new KernelsPane(this)];
    this.rest = new RestPane(this);
    this.search = new Search(this);
    /** @type {Capture[]} */
    this.captures = [capture];
    this.shownSpan = -2;
  }

  // --- links -------------------------------------------------------------------------------------

  /** @param {number} line counted through all files @returns {number} */
  strength(line) {
    const { links } = this.capture, span = links.at(line);
    return span < 0 ? 0 : links.marks[span];
  }

  /** @param {HTMLElement} row @param {number} line */
  mark(row, line) {
    const how = this.strength(line);
    if (!how) return;
    row.classList.add('marked', `how${how}`);
    if (this.pinnedLine === line) row.classList.add('pin');
    row.title = row.title || `linked: ${HOW[how]}`;
  }

  /** @param {number} file @param {boolean} [last] @returns {number} the first marked line from 0, or -1 */
  firstMarked(file, last) {
    if (file < 0) return -1;
    const { links, files } = this.capture, { base, size } = files[file];
    let best = -1, sure = 9;
    for (const span of links.touched) {
      const how = links.marks[span], line = links.first[span] - base;
      if (!how || line < 0 || line >= size) continue;
      if (how < sure || (how === sure && (last ? line > best : line < best))) { best = line; sure = how; }
    }
    return best;
  }

  /** @param {number} line @param {boolean} [quietly] the panes are drawn later */
  show(line, quietly) {
    const { links } = this.capture, span = line < 0 ? -1 : links.at(line);
    if (span === this.shownSpan) return;
    this.shownSpan = span;
    links.mark(span);
    if (!quietly) for (const pane of this.panes) pane.refresh();
  }

  /** @param {number} line */
  hover(line) {
    this.show(line >= 0 && this.capture.links.at(line) >= 0 ? line : this.pinnedLine ?? -1);
  }

  /** @param {number} line @param {boolean} [quietly] nothing is said */
  pin(line, quietly) {
    if (line < 0) return;
    const { capture } = this, file = capture.fileOf(line), at = line - capture.files[file].base;
    this.pinnedLine = line;
    this.pinned = `${capture.files[file].name}:${capture.shown(file, at)}`;
    this.shownSpan = -2;
    this.show(line, true);
    for (const pane of this.panes) if (pane.file !== file) pane.reveal();
    for (const pane of this.panes) pane.refresh();
    this.save();
    if (quietly) return;
    const linked = capture.links.at(line) < 0 ? 0 : capture.links.touched.length - 1;
    this.say(`${shortName(this.pinned)}: ${linked || 'no'} linked place${linked === 1 ? '' : 's'}; Esc to unpin`);
  }

  unpin() {
    this.pinned = '';
    this.pinnedLine = undefined;
    this.shownSpan = -2;
    this.show(-1);
    this.say('');
    this.save();
  }

  /** Says something for a moment. @param {string} text */
  say(text) {
    const status = /** @type {HTMLElement} */ (document.getElementById('status'));
    status.textContent = text;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => { status.textContent = ''; }, SHOWN_FOR);
  }

  // --- state -------------------------------------------------------------------------------------

  /** @param {Partial<State>} change @param {boolean} [quietly] */
  set(change, quietly) {
    Object.assign(this.state, change);
    for (const pane of this.panes) pane.update();
    this.rest.update();
    document.body.dataset.pane = this.state.pane;
    document.body.classList.toggle('nothing', !this.capture.functions.length && !this.capture.files.some((f) => f.kind === 'graph'));
    for (const tab of document.querySelectorAll('#panes button')) {
      tab.setAttribute('aria-selected', String(/** @type {HTMLElement} */ (tab).dataset.pane === this.state.pane));
    }
    if (!quietly && this.pinned && change.key !== undefined) for (const pane of this.panes) pane.reveal();
    this.save();
  }

  save() {
    const { state, capture } = this;
    const finding = capture.findings[state.finding];
    const entries = Object.entries({
      view: state.view || '', finding: finding ? finding.id : '', v: state.key, stage: state.stage === 'captured' ? '' : state.stage,
      graph: state.graph === 'list' ? '' : state.graph, pin: this.pinned, rest: state.rest === restAtFirst() ? '' : state.rest || '-',
      pane: state.pane === 'findings' ? '' : state.pane,
    }).filter(([, value]) => value !== '');
    const hash = entries.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&');
    history.replaceState(null, '', hash ? `#${hash}` : location.pathname.split('/').pop() || '#');
  }

  async restore() {
    const given = new URLSearchParams(location.hash.slice(1));
    const view = Number(given.get('view') || 0);
    if (view) await this.change(view);
    const { capture } = this;
    const finding = given.has('finding') ? capture.findings.findIndex((f) => f.id === given.get('finding')) : capture.findings.length ? 0 : -1;
    const first = capture.functions.flatMap((fn) => fn.versions)[0];
    this.state.key = first ? first.key : '';
    this.state.code = Math.max(0, capture.files.findIndex((f) => f.kind === 'user'));
    this.set({ graph: given.get('graph') || 'list', rest: (given.get('rest') || restAtFirst()).replace(/^-$/, ''), pane: given.get('pane') || 'findings' });
    if (finding >= 0) this.select(finding, true);
    const version = given.get('v') || '';
    if (capture.version(version)) this.set({ key: version });
    if (given.has('stage')) this.set({ stage: given.get('stage') || '' });
    const pin = /^(.*):(\d+)$/.exec(given.get('pin') || '');
    if (pin && capture.number.has(pin[1])) {
      const file = /** @type {number} */ (capture.number.get(pin[1]));
      const line = capture.files[file].kind === 'guards' ? Number(pin[2]) - 1 : capture.lineOf(file, Number(pin[2]));
      if (line >= 0) this.open(file, line);
      this.set({ pane: given.get('pane') || 'findings' }, true);
    }
  }

  /** @param {number} view */
  async change(view) {
    this.captures[view] = this.captures[view] || await openCapture(view);
    this.unpin();
    this.capture = this.captures[view];
    const first = this.capture.functions.flatMap((fn) => fn.versions)[0];
    for (const pane of this.panes) pane.file = -1;
    showFindings(view);
    this.set({ view, key: first ? first.key : '', finding: -1, code: Math.max(0, this.capture.files.findIndex((f) => f.kind === 'user')), program: -1 });
    if (this.capture.findings.length) this.select(0, true);
  }

  /** Shows a line of a file in its pane, and pins it. @param {number} file @param {number} line */
  open(file, line) {
    const { capture } = this, known = capture.files[file];
    if (!known) return;
    const pane = { user: 'code', transformed: 'runs', full: 'runs', graph: 'graph', program: 'kernels', kernel: 'kernels', guards: 'guards' }[known.kind] || 'code';
    if (known.kind === 'user') this.set({ code: file, pane });
    else if (known.kind === 'full') {
      const fn = capture.functions.find((f) => f.full === file);
      this.set({ full: true, compare: false, pane, ...(fn && fn.versions[0] ? { key: fn.versions[0].key } : {}) });
    } else if (known.kind === 'guards') {
      const fn = capture.functions.find((f) => f.guards === file);
      if (fn) { this.openGuard(fn, line); return; }
    } else {
      const key = capture.version(known.key) ? known.key : this.state.key;
      const view = known.kind === 'graph' ? { stage: known.stage, graph: this.state.graph === 'diff' ? 'list' : this.state.graph }
        : known.kind === 'transformed' ? { full: false, compare: false } : { program: file };
      this.set({ key, pane, ...view }, true);
    }
    this.pin(known.base + line);
    const shown = this.panes.find((p) => p.file === file);
    if (shown) shown.list.reveal(shown instanceof GraphPane && shown.mode === 'spine' ? Math.max(0, shown.graph.lines.indexOf(line)) : line);
  }

  /** @param {any} fn @param {number} row */
  openGuard(fn, row) {
    const guards = /** @type {GuardsPane} */ (this.panes[2]);
    const current = this.capture.version(this.state.key);
    this.set({ pane: 'guards', ...(current && current.fn === fn ? {} : { key: fn.versions[0].key }) }, true);
    this.pin(this.capture.files[fn.guards].base + row);
    guards.revealLine(row);
  }

  /** Chooses a finding: its line and its compile are shown. @param {number} i @param {boolean} [quietly] */
  select(i, quietly) {
    const { capture } = this, finding = capture.findings[i];
    if (!finding) return;
    const cards = [...document.querySelectorAll(`#findings .view-${this.state.view} article`)];
    cards.forEach((card, n) => { card.classList.toggle('selected', n === i); card.toggleAttribute('aria-current', n === i); });
    if (cards[i] && !quietly) cards[i].scrollIntoView({ block: 'nearest' });
    const key = finding.keys.find((/** @type {string} */ k) => capture.version(k));
    this.set({ finding: i, ...(key ? { key } : {}) }, true);
    const file = finding.place ? capture.number.get(finding.place.file) : undefined;
    const line = file === undefined ? -1 : capture.lineOf(file, finding.place.line);
    if (file !== undefined && line >= 0) {
      this.set({ code: file }, true);
      this.pin(capture.files[file].base + line, true);
      this.panes[0].list.reveal(line);
    } else this.unpin();
    if (finding.kind === 'recompile') { const pane = this.panes[2]; pane.list.host.scrollTop = 0; }
    if (!quietly && cards[i] instanceof HTMLElement) /** @type {HTMLElement} */ (cards[i]).focus({ preventScroll: true });
  }

  /** @param {number} by */
  step(by) {
    const n = this.capture.findings.length;
    if (n) this.select((this.state.finding + by + n) % n);
  }

  /** @param {number} by */
  nextVersion(by) {
    const all = this.capture.functions.flatMap((fn) => fn.versions);
    const at = all.findIndex((v) => v.key === this.state.key);
    if (all.length) this.set({ key: all[(at + by + all.length) % all.length].key });
  }

  // --- keys --------------------------------------------------------------------------------------

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = event.target;
    const editing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    if ((event.ctrlKey || event.metaKey) && event.key === 'k') { this.search.box.focus(); event.preventDefault(); return; }
    if (editing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const views = ['list', 'spine', 'blocks'];
    /** @type {Record<string, () => void>} */
    const keys = {
      '/': () => { this.search.box.focus(); this.search.box.select(); },
      j: () => this.step(1), k: () => this.step(-1),
      '[': () => this.nextVersion(-1), ']': () => this.nextVersion(1),
      g: () => this.set({ graph: views[(views.indexOf(this.state.graph) + 1) % 3] }),
      d: () => this.set({ graph: this.state.graph === 'diff' ? 'list' : 'diff' }),
      y: () => { if (this.pinned) { copy(this.pinned); this.say(`copied ${this.pinned}`); } },
      t: changeTheme,
      Escape: () => this.unpin(),
      '?': () => /** @type {HTMLDialogElement} */ (document.getElementById('help')).showModal(),
    };
    PANES.forEach((name, i) => {
      keys[String(i + 1)] = () => {
        this.set({ pane: name });
        const pane = document.getElementById(name);
        const list = pane && (pane.querySelector('.list, article') || pane);
        if (list instanceof HTMLElement) list.focus();
      };
    });
    const action = keys[event.key];
    if (action) { action(); event.preventDefault(); }
  }
}

/** The part that is open below the panes: none where the panes need all of the screen. */
function restAtFirst() { return matchMedia(NARROW).matches ? '' : 'Timeline'; }

/** @param {string} text */
function copy(text) {
  const box = /** @type {HTMLTextAreaElement} */ (make('textarea'));
  box.value = text;
  document.body.append(box);
  box.select();
  document.execCommand('copy');
  box.remove();
}

function changeTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  try { localStorage.setItem('pellucid-theme', dark ? 'light' : 'dark'); } catch { /* a file may have no store */ }
}

/** @param {number} view */
function showFindings(view) {
  for (const element of document.querySelectorAll('[data-view]')) {
    /** @type {HTMLElement} */ (element).hidden = Number(/** @type {HTMLElement} */ (element).dataset.view) !== view;
  }
}

/** Lets what names a place open it. @param {App} app @param {ParentNode} root */
function connectPlaces(app, root) {
  for (const link of root.querySelectorAll('[data-file], [data-key]')) {
    link.addEventListener('click', () => {
      const { file, line, key } = /** @type {HTMLElement} */ (link).dataset, found = app.capture.number.get(file || '');
      if (key) app.set({ key });
      else if (found !== undefined) app.open(found, Math.max(0, app.capture.lineOf(found, Number(line) || 1)));
    });
  }
}

/** @param {App} app */
function connect(app) {
  document.addEventListener('keydown', (event) => app.key(event));
  for (const list of document.querySelectorAll('#findings [data-view]')) {
    list.querySelectorAll('article').forEach((card, i) => {
      card.addEventListener('click', (event) => {
        if (event.target instanceof Element && event.target.closest('summary, a, button')) return;
        if (!String(window.getSelection())) app.select(i);
      });
      card.addEventListener('keydown', (event) => { if (event.key === 'Enter' && event.target === card) app.select(i); });
    });
  }
  connectPlaces(app, document);
  for (const tab of document.querySelectorAll('#panes button')) {
    tab.addEventListener('click', () => app.set({ pane: /** @type {HTMLElement} */ (tab).dataset.pane || 'findings' }));
  }
  const ranks = document.getElementById('ranks');
  if (ranks instanceof HTMLSelectElement) ranks.addEventListener('change', () => app.change(Number(ranks.value)));
  document.getElementById('theme')?.addEventListener('click', changeTheme);
  document.getElementById('keys')?.addEventListener('click', () => /** @type {HTMLDialogElement} */ (document.getElementById('help')).showModal());
  for (const button of document.querySelectorAll('dialog button.close')) {
    button.addEventListener('click', () => button.closest('dialog')?.close());
  }
  for (const title of document.querySelectorAll('main > section > header')) {
    const pane = /** @type {HTMLElement} */ (title.parentElement), button = toggle('⤢', () => enlarge());
    const enlarge = () => { press(button, pane.classList.toggle('large')); };
    button.classList.add('enlarge');
    button.title = `enlarge ${pane.getAttribute('aria-label')}, or restore it`;
    button.setAttribute('aria-label', button.title);
    press(button, false);
    title.append(button);
    title.addEventListener('dblclick', (event) => { if (event.target !== button) enlarge(); });
  }
}

async function start() {
  const root = document.documentElement;
  root.classList.add('js');
  try {
    const theme = localStorage.getItem('pellucid-theme');
    if (theme) root.dataset.theme = theme;
  } catch { /* a file may have no store */ }
  await new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); });
  try {
    const app = new App(await openCapture(0));
    connect(app);
    await app.restore();
    root.classList.add('ready');
  } catch (error) {
    root.classList.remove('js');
    const note = document.getElementById('status');
    if (note) note.textContent = `The panes cannot be shown: ${error instanceof Error ? error.message : error}. Use a newer browser.`;
  }
}

start();
