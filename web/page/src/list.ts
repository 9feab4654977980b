// SPDX-License-Identifier: Apache-2.0
// A list of rows of one height, of which only those in view are elements: a file of 20,000 lines,
// or a million, costs what a screen of it costs.
import { el } from "./dom.ts";

export interface Row {
  /** Its text, for its width, search and copying. */
  text: string;
}

export interface ListOptions<R extends Row> {
  label: string;
  /** Fills a row. `row` is empty. */
  draw: (element: HTMLElement, row: R, index: number) => void;
  /** The pointer rests on a row, or leaves the list (-1). */
  onHover?: (index: number) => void;
  /** A row is clicked, or Enter pressed on it. */
  onChoose?: (index: number) => void;
  empty?: string;
  /** How high a row is, in pixels, where it is not that of code. */
  height?: () => number;
}

/** Of a line of code. */
const CODE = 20;
const MARGIN = 12;
/** Browsers limit how tall an element may be; beyond it places are scaled. */
const TALLEST = 12_000_000;

export class List<R extends Row> {
  readonly element: HTMLElement;
  rows: R[] = [];
  active = -1;
  private marks = new Map<number, string>();
  private readonly inner = el("div", { class: "inner", role: "presentation" });
  private readonly window = el("div", { class: "window", role: "presentation" });
  private readonly id: string;
  private hovered = -1;
  private frame = 0;
  private height = CODE;

  constructor(id: string, private readonly options: ListOptions<R>) {
    this.id = id;
    this.inner.append(this.window);
    this.element = el(
      "div",
      { class: "list", id, role: "listbox", tabindex: 0, "aria-label": options.label },
      this.inner,
    );
    if (options.empty) this.element.dataset.empty = options.empty;
    this.element.addEventListener("scroll", () => this.later(), { passive: true });
    this.element.addEventListener("mousemove", (event) => this.hover(this.at(event)));
    this.element.addEventListener("mouseleave", () => this.hover(-1));
    this.element.addEventListener("click", (event) => this.click(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("focus", () => this.focused());
    new ResizeObserver(() => this.later()).observe(this.element);
  }

  /** Shows other rows, from the top. */
  show(rows: R[]): void {
    this.rows = rows;
    this.height = this.options.height?.() ?? CODE;
    this.active = -1;
    this.hovered = -1;
    this.marks = new Map();
    let longest = 0;
    for (const row of rows) longest = Math.max(longest, Math.min(row.text.length, 2100));
    this.inner.style.height = `${Math.min(rows.length * this.height, TALLEST)}px`;
    this.inner.style.minWidth = `calc(${longest}ch + 92px)`;
    this.element.classList.toggle("is-empty", rows.length === 0);
    this.element.scrollTop = 0;
    this.element.scrollLeft = 0;
    this.draw();
  }

  /** Gives rows classes, and takes those of all others. */
  mark(marks: Map<number, string>): void {
    this.marks = marks;
    this.draw();
  }

  /** Scrolls so that a row can be seen, and those after it up to `last`, as far as they fit. */
  reveal(index: number, last = index): void {
    if (index < 0 || index >= this.rows.length) return;
    const view = this.element.clientHeight;
    const top = index * this.height * this.scale();
    const now = this.element.scrollTop;
    const end = Math.min(last * this.height * this.scale(), top + view / 2);
    if (top < now + this.height || end > now + view - 2 * this.height) {
      this.element.scrollTop = Math.max(0, top - view / 3);
    }
    this.draw();
  }

  /** Makes a row the one that keys move from. */
  activate(index: number, reveal = true, last = index): void {
    this.active = Math.max(-1, Math.min(index, this.rows.length - 1));
    if (reveal) this.reveal(this.active, last);
    this.draw();
  }

  redraw(): void {
    this.draw();
  }

  private scale(): number {
    const whole = this.rows.length * this.height;
    const view = this.element.clientHeight;
    return whole <= TALLEST ? 1 : (TALLEST - view) / (whole - view);
  }

  private later(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const view = this.element.clientHeight || 600;
    const scroll = this.element.scrollTop;
    const place = scroll / this.scale();
    const first = Math.max(0, Math.floor(place / this.height) - MARGIN);
    const last = Math.min(this.rows.length, Math.ceil((place + view) / this.height) + MARGIN);
    const made: HTMLElement[] = [];
    for (let index = first; index < last; index++) {
      const marked = this.marks.get(index) ?? "";
      const row = el("div", {
        class: `row ${marked}${index === this.active ? " active" : ""}`,
        id: `${this.id}-${index}`,
        role: "option",
        "aria-posinset": index + 1,
        "aria-setsize": this.rows.length,
        "aria-selected": marked !== "",
      });
      row.dataset.index = String(index);
      this.options.draw(row, this.rows[index], index);
      made.push(row);
    }
    this.window.replaceChildren(...made);
    this.window.style.transform = `translateY(${Math.round(first * this.height - place + scroll)}px)`;
    if (this.active >= first && this.active < last) {
      this.element.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    } else {
      this.element.removeAttribute("aria-activedescendant");
    }
  }

  private at(event: Event): number {
    const row = (event.target as Element).closest<HTMLElement>(".row");
    return row ? Number(row.dataset.index) : -1;
  }

  private hover(index: number): void {
    if (index === this.hovered) return;
    this.hovered = index;
    this.options.onHover?.(index);
  }

  private click(event: MouseEvent): void {
    if (getSelection()?.toString()) return;
    const index = this.at(event);
    if (index < 0) return;
    this.activate(index, false);
    this.options.onChoose?.(index);
  }

  private focused(): void {
    if (this.active >= 0 || !this.rows.length || !this.element.matches(":focus-visible")) return;
    this.activate(Math.floor(this.element.scrollTop / this.scale() / this.height), false);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 2);
    const moves: Record<string, number> = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.rows.length - 1,
    };
    if (event.key in moves) {
      this.activate(Math.max(0, moves[event.key]));
      this.options.onHover?.(this.active);
    } else if (event.key === "Enter" && this.active >= 0) {
      this.options.onChoose?.(this.active);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
