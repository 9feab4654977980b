// SPDX-License-Identifier: Apache-2.0
// The flow graph of the function in view, as a picture: blocks in layers, each line of a block
// linked with the source.
import type { Graph, GraphEdge } from "../../npm/pellucid";
import { failureOf, type App, type Pane } from "./app.ts";
import { count, el, shown, svg } from "./dom.ts";
import { layOut, type Placed, type Way } from "./layout.ts";
import { NOTHING, type Linked } from "./link.ts";
import { words } from "./state.ts";

const LINE = 16;
const CHAR = 6.7;
const WIDEST = 46;
/** More lines of a block are folded, and more blocks are drawn only when asked for. */
const LINES = 24;
const BLOCKS = 600;

const LABELS: Record<GraphEdge["kind"], string> = {
  goto: "", true: "true", false: "false", none: "is None", some: "is not None", item: "next item",
  done: "done", value: "yields", result: "result", exception: "exception",
};

export class GraphPane implements Pane {
  private readonly picture = el("div", { class: "picture", tabindex: 0, role: "group", "aria-label": "Picture of the flow graph" });
  private readonly tools = el("span", { class: "tools" });
  private readonly about = el("span", { class: "note" });
  private graph: Graph | null = null;
  private shownFor = "";
  private zoom = 1;
  private exceptions = true;
  private drawing: SVGElement | null = null;
  private placed: Placed | null = null;
  private texts: { element: SVGElement; block: number; code: number; offset: number }[] = [];

  constructor(private readonly app: App, private readonly section: HTMLElement) {
    const button = (label: string, title: string, act: () => void) =>
      el("button", { class: "toggle", title, "aria-label": title, onclick: act }, label);
    const toggle = button("exceptions", "Show the ways of exceptions", () => {
      this.exceptions = !this.exceptions;
      toggle.setAttribute("aria-pressed", String(this.exceptions));
      this.draw();
    });
    toggle.setAttribute("aria-pressed", "true");
    this.tools.append(
      this.about, el("span", { class: "grow" }), toggle,
      button("−", "Smaller", () => this.scale(this.zoom / 1.25)),
      button("+", "Larger", () => this.scale(this.zoom * 1.25)),
      button("fit", "Fit the whole graph", () => this.fit(true)),
    );
    section.append(this.tools, this.picture);
    this.picture.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.scale(this.zoom * Math.exp(-event.deltaY / 300));
    }, { passive: false });
    drag(this.picture);
  }

  module(): void {
    this.clear();
    this.view();
  }

  code(): void {
    this.view();
  }

  /** Draws the function in view, if the picture can be seen. */
  view(): void {
    const { app } = this;
    if (!this.visible || !app.result) return;
    const key = `${app.current!.place.input}/${app.current!.place.index}/${app.code}`;
    if (key === this.shownFor) return;
    this.shownFor = key;
    void this.fetch(key);
  }

  private get visible(): boolean {
    return this.section.offsetParent !== null;
  }

  private async fetch(key: string): Promise<void> {
    const { app } = this;
    try {
      const graph = await app.client.call("graph", { ...app.current!.place, code: app.code });
      if (this.shownFor !== key) return;
      this.graph = graph;
      this.zoom = 1;
      this.draw(graph.blocks.length > BLOCKS);
    } catch (error) {
      if (this.shownFor !== key) return;
      this.clear(words(failureOf(error)));
    }
  }

  private clear(note = ""): void {
    this.graph = null;
    this.drawing = null;
    this.shownFor = "";
    this.texts = [];
    this.about.textContent = "";
    this.picture.replaceChildren(...(note ? [el("p", { class: "note" }, `${shown(note)}.`)] : []));
  }

  private draw(ask = false): void {
    try {
      if (this.graph) this.paint(this.graph, ask);
    } catch (error) {
      this.clear(words(failureOf(error)));
    }
  }

  private paint(graph: Graph, ask: boolean): void {
    this.about.textContent = `${shown(graph.name)} · ${count(graph.blocks.length, "block")}`;
    if (ask) {
      this.picture.replaceChildren(
        el("p", { class: "note" }, `${count(graph.blocks.length, "block")} make a large picture. `,
          el("button", { class: "link", onclick: () => this.draw() }, "Draw it")));
      return;
    }
    const place = new Map(graph.blocks.map((block, i) => [block.id, i]));
    const edges = graph.edges.filter(
      (e) => place.has(e.from) && place.has(e.to) && (this.exceptions || e.kind !== "exception"));
    const boxes = graph.blocks.map((block) => {
      const seen = block.lines.slice(0, LINES);
      const widest = Math.max(8, ...seen.map((text) => Math.min(text.length, WIDEST)));
      const rows = seen.length + (block.lines.length > LINES ? 1 : 0);
      return { width: widest * CHAR + 20, height: rows * LINE + 12 };
    });
    this.placed = layOut(boxes, edges.map((e) => (
      { from: place.get(e.from)!, to: place.get(e.to)!, isMinor: e.kind === "exception" })));
    this.texts = [];
    const { width, height } = this.placed;
    const drawing = svg("svg", { viewBox: `-8 -8 ${width + 16} ${height + 16}`, role: "group", "aria-label": `Flow graph of ${shown(graph.name)}` });
    drawing.append(arrows());
    edges.forEach((edge, i) => drawing.append(...this.edge(edge, this.placed!.edges[i])));
    graph.blocks.forEach((_, i) => drawing.append(this.block(i, boxes[i])));
    this.drawing = drawing;
    this.picture.replaceChildren(drawing);
    this.fit(false);
    this.marks(true, null);
  }

  private edge(edge: GraphEdge, { points, back, aside, joins }: Way): SVGElement[] {
    const kind = edge.kind === "exception" ? "raises" : edge.isBack ? "back"
      : ["true", "item", "some"].includes(edge.kind) ? "yes"
      : ["false", "done", "none"].includes(edge.kind) ? "no" : "";
    const path = svg("path", { d: back || aside ? rounded(points) : curved(points), class: `edge ${kind}` });
    if (!joins) path.setAttribute("marker-end", `url(#tip-${kind || "plain"})`);
    const label = LABELS[edge.kind];
    if (!label || edge.kind === "exception") {
      path.append(svg("title", {}, `block ${edge.from} to block ${edge.to}${label ? `: ${label}` : ""}`));
      return [path];
    }
    const [x, y] = points[0];
    // Ways leave side by side: those on the left have their words on the left.
    const middle = this.placed!.boxes[this.graph!.blocks.findIndex((block) => block.id === edge.from)].x;
    const side = x < middle ? "end" : "start";
    const at = { x: x + (side === "end" ? -5 : 5), y: y + 13, class: `label ${kind}`, "text-anchor": side };
    return [path, svg("text", at, label)];
  }

  private block(index: number, size: { width: number; height: number }): SVGElement {
    const graph = this.graph!;
    const block = graph.blocks[index];
    const { x, y } = this.placed!.boxes[index];
    const left = x - size.width / 2;
    const label = `block ${block.id}, ${count(block.lines.length, "instruction")}: ${block.lines[0] ?? ""}`;
    const group = svg("g", { class: "box", tabindex: 0, role: "button" }, svg("title", {}, shown(label)));
    group.append(svg("rect", { x: left, y, width: size.width, height: size.height, rx: 5 }));
    block.lines.slice(0, LINES).forEach((text, i) => {
      const cut = text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
      const line = svg("g", { class: "line" },
        svg("rect", { x: left + 3, y: y + 6 + i * LINE, width: size.width - 6, height: LINE, rx: 2 }),
        svg("text", { x: left + 10, y: y + 18 + i * LINE }, shown(cut)));
      if (cut !== text) line.append(svg("title", {}, shown(text)));
      const offset = block.offsets[i];
      this.texts.push({ element: line, block: index, code: graph.code, offset });
      const linked = () => this.linked(offset);
      line.addEventListener("mouseenter", () => this.app.setHover(linked(), this));
      line.addEventListener("mouseleave", () => this.app.setHover(NOTHING, this));
      line.addEventListener("click", () => this.app.setPin(linked(), this));
      group.append(line);
    });
    if (block.lines.length > LINES) {
      group.append(svg("text", { class: "more", x: left + 10, y: y + 18 + LINES * LINE }, `… ${block.lines.length - LINES} more`));
    }
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.app.setPin(new Set(block.offsets.flatMap((offset) => [...this.linked(offset)])), this);
    });
    return group;
  }

  private linked(offset: number): Linked {
    return this.app.links?.ofOffset(this.graph!.code, offset) ?? NOTHING;
  }

  marks(reveal: boolean, from: Pane | null): void {
    if (!this.drawing) return;
    const offsets = (set: Linked) =>
      new Set([...set].filter((o) => o.code === this.graph!.code).flatMap((o) => o.offsets));
    const near = offsets(this.app.hover);
    const pin = offsets(this.app.pin);
    let first: SVGElement | null = null;
    for (const { element, offset } of this.texts) {
      element.classList.toggle("near", near.has(offset));
      element.classList.toggle("pin", pin.has(offset));
      if (pin.has(offset)) first ??= element;
    }
    if (reveal && from !== this && first && this.visible) this.bring(first);
  }

  /** Scrolls the picture so that a line of it can be seen. */
  private bring(element: SVGElement): void {
    const it = element.getBoundingClientRect();
    const view = this.picture.getBoundingClientRect();
    if (it.top < view.top || it.bottom > view.bottom) this.picture.scrollTop += it.top - view.top - view.height / 3;
    if (it.left < view.left || it.right > view.right) this.picture.scrollLeft += it.left - view.left - 40;
  }

  private scale(zoom: number): void {
    if (!this.drawing || !this.placed) return;
    this.zoom = Math.max(0.08, Math.min(3, zoom));
    this.drawing.setAttribute("width", String((this.placed.width + 16) * this.zoom));
    this.drawing.setAttribute("height", String((this.placed.height + 16) * this.zoom));
  }

  /** Makes the picture as wide as its place; with `whole`, as high too. */
  private fit(whole: boolean): void {
    if (!this.placed) return;
    const wide = (this.picture.clientWidth - 24) / (this.placed.width + 16);
    const high = (this.picture.clientHeight - 24) / (this.placed.height + 16);
    this.scale(whole ? Math.min(1, wide, high) : Math.max(0.6, Math.min(1, wide)));
    const over = (this.placed.width + 16) * this.zoom - this.picture.clientWidth;
    const [entry] = this.placed.boxes;
    if (over > 0 && entry) this.picture.scrollLeft = entry.x * this.zoom - this.picture.clientWidth / 2;
    this.picture.scrollTop = 0;
  }
}

/** Returns a path down through points that leaves and meets each of them upright. */
function curved(points: [number, number][]): string {
  let path = `M${points[0].map(round)}`;
  for (let i = 1; i < points.length; i++) {
    const [[x, y], [toX, toY]] = [points[i - 1], points[i]];
    const middle = round((y + toY) / 2);
    path += Math.abs(x - toX) < 0.5 ? `L${[toX, toY].map(round)}`
      : `C${round(x)},${middle} ${round(toX)},${middle} ${[toX, toY].map(round)}`;
  }
  return path;
}

/** Returns a path through points, with round corners. */
function rounded(points: [number, number][]): string {
  let path = `M${points[0].map(round)}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, here, after] = [points[i - 1], points[i], points[i + 1]];
    const near = (to: [number, number]): [number, number] => {
      const length = Math.hypot(to[0] - here[0], to[1] - here[1]) || 1;
      const part = Math.min(8, length / 2) / length;
      return [here[0] + (to[0] - here[0]) * part, here[1] + (to[1] - here[1]) * part];
    };
    path += `L${near(before).map(round)}Q${here.map(round)} ${near(after).map(round)}`;
  }
  return `${path}L${points[points.length - 1].map(round)}`;
}

const round = (n: number) => Math.round(n * 10) / 10;

function arrows(): SVGElement {
  const tips = ["plain", "yes", "no", "back", "raises"].map((kind) =>
    svg("marker", { id: `tip-${kind}`, class: kind, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { d: "M0 0.5L8 4L0 7.5z" })));
  return svg("defs", {}, ...tips);
}

/** Lets the pointer drag what scrolls. */
function drag(element: HTMLElement): void {
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    if ((event.target as Element).closest(".line, button")) return;
    const [x, y] = [event.clientX + element.scrollLeft, event.clientY + element.scrollTop];
    element.setPointerCapture(event.pointerId);
    element.classList.add("dragged");
    const move = (to: PointerEvent) => {
      element.scrollLeft = x - to.clientX;
      element.scrollTop = y - to.clientY;
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", () => {
      element.removeEventListener("pointermove", move);
      element.classList.remove("dragged");
    }, { once: true });
  });
}
