// SPDX-License-Identifier: Apache-2.0
// Elements by hand. Text goes in as text nodes only: names and files are hostile.

type Child = Node | string | null | undefined | false;
type Props = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** Makes an element: `on…` properties are listeners, the others attributes. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, props);
  for (const child of children) if (child || child === "") element.append(child);
  return element;
}

/** Makes an SVG element. */
export function svg(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, props);
  for (const child of children) if (child) element.append(child);
  return element;
}

function apply(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (name === "class") {
      element.setAttribute("class", String(value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** Returns the element with an id, which is in the page. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element #${id}`);
  return found as T;
}

/** "1 function", "1,204 functions". */
export function count(n: number, noun: string, nouns = `${noun}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? noun : nouns}`;
}

/** "812 bytes", "4.2 kB", "1.3 MB". */
export function bytes(n: number): string {
  if (n < 1000) return count(n, "byte");
  return n < 1e6 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

// What would hide, reorder or imitate other text: controls, bidirectional marks, invisible spaces.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff]/u;
const ALL_UNSEEN = new RegExp(UNSEEN.source, "gu");

/** Returns the text with everything that a reader would not see written as an escape. */
export function shown(text: string): string {
  if (!UNSEEN.test(text)) return text;
  return text.replace(ALL_UNSEEN, (c) => {
    const code = c.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** How high a row of a list of names is: a finger needs more than a pointer. */
export function rowOfNames(): number {
  return matchMedia("(max-width: 800px)").matches ? 38 : 22;
}
