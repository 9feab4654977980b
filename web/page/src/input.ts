// SPDX-License-Identifier: Apache-2.0
// How files come in: dropped (folders too), chosen, pasted, or in the address of the page.
import type { App, Given } from "./app.ts";
import { fromBase64, toBase64Url } from "./client.ts";
import { byId } from "./dom.ts";
import { through } from "./zip.ts";

/** What an address may hold, packed and unpacked, in bytes. */
export const LINK_LIMIT = 48_000;
const UNPACKED_LIMIT = 8_000_000;
/** More files of a folder are not read. */
const MOST_FILES = 20_000;

export function listen(app: App, open: (given: Given[]) => void): void {
  const root = document.documentElement;
  const choose = byId<HTMLInputElement>("choose");
  let depth = 0;
  const carries = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    depth++;
    root.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (carries(event) && --depth <= 0) root.classList.remove("dropping");
  });
  addEventListener("dragover", (event) => {
    if (carries(event)) event.preventDefault();
  });
  addEventListener("drop", async (event) => {
    depth = 0;
    root.classList.remove("dropping");
    if (!event.dataTransfer || !carries(event)) return;
    event.preventDefault();
    take(app, await dropped(event.dataTransfer), open);
  });
  choose.addEventListener("change", async () => {
    const files = [...(choose.files ?? [])];
    choose.value = "";
    if (files.length) take(app, await Promise.all(files.map((file) => read(file, file.name))), open);
  });
  addEventListener("paste", async (event) => {
    if ((event.target as Element).closest?.("input")) return;
    const data = event.clipboardData;
    if (!data) return;
    const files = [...data.files];
    if (files.length) {
      event.preventDefault();
      return take(app, await Promise.all(files.map((file) => read(file, file.name))), open);
    }
    const bytes = bytesOf(data.getData("text/plain"));
    if (bytes) take(app, [{ name: "pasted.pyc", bytes }], open);
    else app.complain("What was pasted", "is neither a file nor bytes in base64 or hexadecimal digits");
  });
}

function take(app: App, given: Given[], open: (given: Given[]) => void): void {
  if (given.length) open(given);
  else app.complain("What was dropped", "holds no file");
}

async function read(file: File, name: string): Promise<Given> {
  return { name, bytes: new Uint8Array(await file.arrayBuffer()) };
}

/** Reads dropped files, and those in dropped folders. */
async function dropped(data: DataTransfer): Promise<Given[]> {
  // All entries must be asked for before the first wait: the browser forgets them afterwards.
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const plain = [...data.files];
  if (!entries.some((entry) => entry?.isDirectory)) {
    return Promise.all(plain.map((file) => read(file, file.name)));
  }
  const given: Given[] = [];
  const open = entries.filter((entry) => entry !== null);
  while (open.length && given.length < MOST_FILES) {
    const entry = open.shift()!;
    if (entry.isDirectory) {
      for (const child of await children(entry as FileSystemDirectoryEntry)) open.push(child);
    } else if (/\.(pyc|pyo|zip|whl|egg|pyz|exe)$/i.test(entry.name)) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      given.push(await read(file, entry.fullPath.replace(/^\//, "")));
    }
  }
  return given;
}

async function children(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...some);
  }
}

/** Reads text as hexadecimal digits, or as base64. */
export function bytesOf(text: string): Uint8Array | null {
  const plain = text.replace(/\s+/g, "");
  if (plain.length < 16) return null;
  if (/^([0-9a-f]{2})+$/i.test(plain)) {
    return Uint8Array.from(plain.match(/../g)!, (pair) => parseInt(pair, 16));
  }
  try {
    return fromBase64(plain);
  } catch {
    return null;
  }
}

// --- The address ---------------------------------------------------------------------------------

/** Returns the part of an address after "#" that holds a file, or null: it is too large. */
export async function anchorOf(given: Given, line: number, view: string): Promise<string | null> {
  const packed = await through(given.bytes, new CompressionStream("deflate-raw"));
  if (packed.length > LINK_LIMIT) return null;
  const place = `${line > 1 ? `&l=${line}` : ""}${view !== "bytecode" ? `&v=${view}` : ""}`;
  return `n=${encodeURIComponent(given.name)}${place}&z=${toBase64Url(packed)}`;
}

/** Returns the file in an address, if there is one. Throws where it is damaged. */
export async function fromAnchor(
  anchor: string,
): Promise<{ given: Given; line: number; view: string } | null> {
  const parts = new URLSearchParams(anchor.replace(/^#/, ""));
  const packed = parts.get("z");
  if (!packed) return null;
  let bytes: Uint8Array;
  try {
    bytes = await through(fromBase64(packed), new DecompressionStream("deflate-raw"), UNPACKED_LIMIT);
  } catch {
    throw new Error("the file in it is damaged");
  }
  const given = { name: parts.get("n") || "linked.pyc", bytes };
  return { given, line: Number(parts.get("l")) || 0, view: parts.get("v") ?? "bytecode" };
}
