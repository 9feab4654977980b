// @ts-check
// A graph as a list, as a spine (one row a node, arcs for long edges), as blocks, or against another.
'use strict';

class GraphPane extends FilePane {
  /** @param {App} app */
  constructor(app) {
    super(app, 'graph', 'Graph');
    this.stage = choose(this.head, 'stage', (value) => app.set({ stage: value }));
    /** @type {Record<string, HTMLElement>} */
    this.views = {};
    for (const view of ['list', 'spine', 'blocks', 'diff']) {
      this.views[view] = toggle(view === 'spine' ? 'outline' : view, () => app.set({ graph: view }));
      this.head.append(this.views[view]);
    }
    this.other = choose(this.head, 'compare with', (value) => app.set({ other: value }));
    this.picture = make('div', 'picture');
    this.host.after(this.picture);
    this.arcs = svg('svg', { class: 'arcs', 'aria-hidden': 'true' });
    this.list.inner.append(this.arcs);
    this.host.addEventListener('scroll', () => this.drawArcs(), { passive: true });
    /** @type {any} */
    this.graph = null;
    this.mode = 'list';
  }

  /** The graphs of a version, by stage. @param {string} key */
  graphsOf(key) {
    const { capture } = this.app, found = capture.version(key);
    return found ? found.version.graphs.filter((i) => capture.files[i].kind === 'graph') : [];
  }

  update() {
    const { app } = this, { capture, state } = app;
    const graphs = this.graphsOf(state.key);
    const stageOf = (/** @type {number} */ i) => capture.files[i].stage;
    const file = graphs.find((i) => stageOf(i) === state.stage) ?? graphs.find((i) => stageOf(i) === 'captured') ?? graphs[0] ?? -1;
    fill(this.stage, graphs.map((i) => [stageOf(i), stageOf(i).replace(/_/g, ' ')]), file >= 0 ? stageOf(file) : '');
    const rest = graphs.filter((i) => i !== file);
    const other = rest.find((i) => stageOf(i) === state.other) ?? rest.find((i) => i > file) ?? rest[0] ?? -1;
    this.graph = file >= 0 ? capture.graphs[file] || null : null;
    let mode = state.graph;
    if ((mode === 'spine' || mode === 'blocks') && !this.graph) mode = 'list';
    if (mode === 'diff' && other < 0) mode = 'list';
    for (const view in this.views) {
      press(this.views[view], view === mode);
      /** @type {HTMLButtonElement} */ (this.views[view]).disabled = view === 'diff' ? other < 0 : view !== 'list' && !this.graph;
    }
    fill(this.other, rest.map((i) => [stageOf(i), `against ${stageOf(i).replace(/_/g, ' ')}`]), other >= 0 ? stageOf(other) : '');
    this.other.hidden = mode !== 'diff';
    this.picture.hidden = mode !== 'blocks';
    this.host.hidden = mode === 'blocks';
    this.arcs.toggleAttribute('hidden', mode !== 'spine');
    const changed = file !== this.file || mode !== this.mode;
    this.mode = mode;
    if (mode === 'diff') { this.file = -1; showDifference(app, this.list, file, other); } else if (mode === 'spine') this.showSpine(file, changed);
    else { this.showFile(file); if (mode === 'blocks') this.drawBlocks(); }
    this.drawArcs();
  }

  /** @param {number} i */
  global(i) {
    if (i < 0 || this.file < 0) return -1;
    return this.app.capture.files[this.file].base + (this.mode === 'spine' ? this.graph.lines[i] : i);
  }

  /** @param {number} file @param {boolean} changed */
  showSpine(file, changed) {
    const { app } = this, { graph } = this;
    this.file = file;
    this.pane.classList.remove('empty');
    this.host.classList.toggle('with-arcs', graph.arcs.length > 0);
    const users = new Uint16Array(graph.lines.length);
    for (const args of graph.args) for (const arg of args) users[arg]++;
    this.list.show(graph.lines.length, (i, row) => {
      const text = app.capture.text(file, graph.lines[i]);
      const [, name, shape, what] = /^\s*(\w+)(?::\s*"([^"]*)")?,?(?:\s*= (.*?))?(?:;  .*)?$/.exec(text) || [null, '', '', text.trim()];
      const path = graph.modules[graph.module[i]] || [];
      row.append(make('span', 'fan', `${graph.args[i].length || ''}`), make('span', `dot ${graph.ops[i]}`), make('span', 'fan', `${users[i] || ''}`));
      const code = make('code');
      code.style.paddingLeft = `${path.length * 12}px`;
      const before = i > 0 ? graph.module[i - 1] : -1;
      if (path.length && before !== graph.module[i]) code.append(make('b', 'module', `${path[path.length - 1][0].split('.').pop()} `));
      code.append(make('span', 'call', name || (graph.ops[i] === 'i' ? 'input' : '')));
      if (what) code.append(make('span', '', ` = ${what.split('(')[0].replace(/^torch\.(ops\.)?/, '').slice(0, 80)}`));
      if (shape) code.append(make('span', 'comment', `  ${shape.split('[').slice(0, 2).join('[')}`));
      row.append(code);
      row.title = text.trim().slice(0, 500);
      app.mark(row, app.capture.files[file].base + graph.lines[i]);
    }, !changed);
  }

  drawArcs() {
    if (this.mode !== 'spine' || !this.graph) { this.arcs.replaceChildren(); return; }
    const top = this.host.scrollTop, bottom = top + this.host.clientHeight;
    const paths = [];
    for (const [from, to, lane] of this.graph.arcs) {
      const y1 = from * ROW + ROW / 2, y2 = to * ROW + ROW / 2;
      if (y2 < top - ROW || y1 > bottom + ROW) continue;
      const x = 66 - lane * 5, a = Math.max(y1, top - 40), b = Math.min(y2, bottom + 40);
      paths.push(`M72 ${y1 < top - 40 ? a : y1} ${y1 < top - 40 ? `M${x} ${a}` : `L${x} ${y1 + 6}`} L${x} ${y2 > bottom + 40 ? b : y2 - 6} ${y2 > bottom + 40 ? '' : `L72 ${y2}`}`);
      if (paths.length > 200) break;
    }
    this.arcs.replaceChildren(svg('path', { d: paths.join(' '), class: 'arc' }));
    this.arcs.style.height = `${this.list.count * ROW}px`;
  }

  drawBlocks() {
    const { picture } = this.graph, { app } = this;
    const width = picture.width + 130, height = picture.height + 24;
    const drawing = svg('svg', { width, height, viewBox: `-12 -12 ${width} ${height}`, role: 'group', 'aria-label': 'the modules of the graph' });
    const middle = (/** @type {any[]} */ b) => b[0] + b[2] / 2;
    drawing.append(svg('path', {
      class: 'edge',
      d: picture.edges.map((/** @type {number[]} */ [a, b]) => {
        const from = picture.boxes[a], to = picture.boxes[b];
        if (to[1] - from[1] < 70) return `M${middle(from)} ${from[1] + 40} L${middle(to)} ${to[1]}`;
        const x1 = from[0] + from[2], x2 = to[0] + to[2], bend = 24 + Math.min(120, (to[1] - from[1]) / 12);
        return `M${x1} ${from[1] + 24} C${x1 + bend} ${from[1] + 24} ${x2 + bend} ${to[1] + 14} ${x2} ${to[1] + 14}`;
      }).join(' '),
    }));
    const base = this.file >= 0 ? app.capture.files[this.file].base : 0;
    for (const box of picture.boxes) {
      const [x, y, w, label, about, count, rows] = box;
      const lines = rows.flat().map((/** @type {number} */ row) => base + this.graph.lines[row]);
      const marked = lines.some((/** @type {number} */ line) => app.strength(line));
      const group = svg('g', { class: marked ? 'box marked' : 'box', tabindex: 0, role: 'button', transform: `translate(${x} ${y})` });
      group.append(svg('title', {}, `${label} ${about}: ${rows[0].length} operation${rows[0].length === 1 ? '' : 's'}${count > 1 ? `, ${count} times alike` : ''}`));
      if (count > 1) group.append(svg('rect', { x: 4, y: 4, width: w, height: 40, rx: 5 }));
      group.append(svg('rect', { width: w, height: 40, rx: 5 }), svg('text', { x: w / 2, y: 17 }, label.slice(-30) + (count > 1 ? ` ×${count}` : '')),
        svg('text', { x: w / 2, y: 32, class: 'about' }, about.slice(0, 30)));
      const go = () => app.pin(lines[0]);
      group.addEventListener('click', go);
      group.addEventListener('keydown', (event) => { if (/** @type {KeyboardEvent} */ (event).key === 'Enter') go(); });
      drawing.append(group);
    }
    this.picture.replaceChildren(drawing);
  }

  refresh() {
    super.refresh();
    if (this.mode === 'blocks' && this.graph) this.drawBlocks();
  }

  reveal() {
    const { app } = this;
    let line = app.firstMarked(this.file);
    if (line < 0 && this.file >= 0) {
      const graphs = this.graphsOf(app.state.key);
      const better = graphs.find((i) => app.firstMarked(i) >= 0);
      if (better !== undefined) { app.set({ stage: app.capture.files[better].stage }, true); line = app.firstMarked(better); }
    }
    if (line >= 0) this.list.reveal(this.mode === 'spine' ? Math.max(0, this.graph.lines.indexOf(line)) : line);
  }
}

class KernelsPane extends FilePane {
  /** @param {App} app */
  constructor(app) {
    super(app, 'kernels', 'Kernels');
    this.which = choose(this.head, 'program', (value) => app.set({ program: Number(value) }));
  }

  /** @param {string} key */
  programsOf(key) {
    const { capture } = this.app, found = capture.version(key);
    return found ? found.version.graphs.filter((i) => capture.files[i].kind === 'program') : [];
  }

  update() {
    const { app } = this, { capture, state } = app;
    const programs = this.programsOf(state.key);
    const kernels = capture.kernels.filter((k) => programs.includes(k.program));
    const options = [];
    for (const i of programs) {
      options.push([String(i), `program: ${capture.files[i].stage.replace('inductor_', '')}`]);
      for (const k of kernels) if (k.program === i && k.file >= 0) options.push([String(k.file), `  ${k.name}`]);
    }
    const file = options.some(([id]) => id === String(state.program)) ? state.program : programs[0] ?? -1;
    fill(this.which, options, String(file));
    this.showFile(file);
    const first = capture.kernels.find((k) => k.program === file && k.calls.length);
    if (first && this.list.host.scrollTop === 0) this.list.reveal(first.calls[0]);
  }

  reveal() {
    const { app } = this;
    let file = this.file, line = app.firstMarked(file, true);
    if (line < 0) {
      const better = this.programsOf(app.state.key).find((i) => app.firstMarked(i) >= 0);
      if (better !== undefined) { app.set({ program: better }, true); file = better; line = app.firstMarked(better, true); }
    }
    if (line >= 0) this.list.reveal(line);
  }
}
