// SPDX-License-Identifier: Apache-2.0
// The JavaScript interface of pellucid.wasm; pellucid.d.ts describes it.
//
// One WebAssembly instance answers one call after another. When it stops (a trap, the end of its
// stack or memory) the call fails, the instance is thrown away, and the next call gets a new one of
// the same compiled module.

import createCore from "./core.mjs";

const VERIFY = 1;
const KEEP_LINES = 2;
const UNSTRUCTURED = 4;
const NO_TEXT = 8;
const STRICT = 16;

export class PellucidError extends Error {
  constructor({ file, offset, reason, code }) {
    // What goes wrong before a byte is read, or after all are, is at none of them.
    const where = offset === 0 || reason.includes(" byte 0x") ? "" : ` at byte 0x${offset.toString(16)}`;
    super(`${file ? `${file}: ` : ""}${reason}${where}`);
    this.name = "PellucidError";
    this.file = file;
    this.offset = offset;
    this.reason = reason;
    this.code = code;
  }
}

function wrong(file, reason, code = "usage") {
  return new PellucidError({ file, offset: 0, reason, code });
}

// --- The module ----------------------------------------------------------------------------------

const inNode = typeof process === "object" && process?.versions?.node !== undefined;

async function bytesAt(address) {
  if (inNode && address.protocol === "file:") {
    // By a name that no bundler follows: what is bundled for a browser has no such module.
    const files = "node:fs/promises";
    const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ files);
    return readFile(address);
  }
  return fetch(address);
}

async function compiled(source) {
  let wasm = await source;
  if (wasm === undefined) wasm = new URL("./pellucid.wasm", import.meta.url);
  if (typeof wasm === "string") {
    wasm = new URL(wasm, globalThis.document?.baseURI ?? globalThis.location?.href ?? import.meta.url);
  }
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (wasm instanceof URL) wasm = await bytesAt(wasm);
  if (typeof Response === "function" && wasm instanceof Response) {
    if (!wasm.ok) throw new Error(`pellucid.wasm: ${wasm.status} ${wasm.statusText}`);
    const type = wasm.headers.get("content-type") ?? "";
    if (type.startsWith("application/wasm")) return WebAssembly.compileStreaming(wasm);
    wasm = await wasm.arrayBuffer();
  }
  return WebAssembly.compile(wasm);
}

function start(module) {
  return new Promise((resolve, reject) => {
    createCore({
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(module, imports).then((instance) => done(instance, module), reject);
        return {};
      },
      // What the runtime says before it stops is in the error.
      print() {},
      printErr() {},
    }).then(resolve, reject);
  });
}

export async function load(options = {}) {
  const module = await compiled(options.wasm);
  const core = new Core(module);
  const about = await core.call("", (instance) => instance._pellucid_about());
  return new Pellucid(core, about);
}

// An instance that works, or none. Calls run in the order in which they are made.
class Core {
  #module;
  #instance = null;
  #last = Promise.resolve();
  #isClosed = false;
  /** Grows with each instance: what an older one held is gone. */
  age = 0;

  constructor(module) {
    this.#module = module;
  }

  close() {
    this.#isClosed = true;
    this.#instance = null;
  }

  async #ready(file) {
    if (this.#isClosed) throw wrong(file, "pellucid is closed");
    if (this.#instance === null) {
      try {
        this.#instance = await start(this.#module);
      } catch (error) {
        throw stopped(file, error);
      }
      this.age += 1;
    }
    return this.#instance;
  }

  /** Returns what `job(run)` does, where run(work, …) gives the result of `work(instance)`. */
  do(file, job) {
    const done = this.#last.then(async () => {
      const instance = await this.#ready(file);
      return job((work, options) => this.#run(file, instance, work, options));
    });
    this.#last = done.catch(() => {});
    return done;
  }

  /** Returns the result of one function of the module: parsed, or bytes. */
  call(file, work, options) {
    return this.do(file, (run) => run(work, options));
  }

  #run(file, instance, work, { bytes = null, isJson = true } = {}) {
    let isDone;
    let result;
    try {
      if (bytes !== null) {
        const at = instance._pellucid_input(bytes.length) >>> 0;
        if (at === 0 && bytes.length > 0) throw new RangeError("out of memory");
        instance.HEAPU8.set(bytes, at);
      }
      isDone = Boolean(work(instance));
      const at = instance._pellucid_result() >>> 0;
      const size = instance._pellucid_result_size() >>> 0;
      // A copy: the memory is used again.
      result = instance.HEAPU8.slice(at, at + size);
    } catch (error) {
      this.#instance = null;
      throw stopped(file, error);
    }
    if (isDone && !isJson) return result;
    const value = parsed(file, result);
    if (!isDone) throw new PellucidError({ file, ...value });
    return value;
  }
}

function parsed(file, result) {
  let text;
  try {
    text = new TextDecoder().decode(result);
  } catch {
    throw wrong(file, `the result, ${result.length} bytes, is too long for a string`, "limit");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw wrong(file, `the result is no JSON: ${error.message}`, "internal");
    throw stopped(file, error);
  }
}

function stopped(file, error) {
  const message = String(error?.message ?? error);
  if (/out of memory|OOM|memory access|allocation/i.test(message) && !/out of bounds/.test(message)) {
    return wrong(file, "not enough memory", "memory");
  }
  if (/call stack|stack overflow|too much recursion/i.test(message)) {
    return wrong(file, "nested too deeply for this machine's stack", "limit");
  }
  return wrong(file, `the module stopped: ${message}`, "crash");
}

// --- The interface -------------------------------------------------------------------------------

function bytesOf(bytes, file) {
  if (bytes instanceof Uint8Array) return bytes;
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  if (ArrayBuffer.isView(bytes)) return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  throw wrong(file, "the input is no Uint8Array");
}

function copyOf(bytes, file) {
  try {
    return bytes.slice();
  } catch (error) {
    throw stopped(file, error);
  }
}

function withText(instance, text, use) {
  const encoded = new TextEncoder().encode(`${text}\0`);
  const at = instance._malloc(encoded.length) >>> 0;
  if (at === 0) throw new RangeError("out of memory");
  instance.HEAPU8.set(encoded, at);
  try {
    return use(at);
  } finally {
    instance._free(at);
  }
}

class Pellucid {
  #core;
  #about;

  constructor(core, about) {
    this.#core = core;
    this.#about = about;
  }

  get version() {
    return this.#about.version;
  }

  get versions() {
    return [...this.#about.versions];
  }

  async open(bytes, name) {
    const archive = new Archive(this.#core, bytesOf(bytes, name), name);
    await archive.ready();
    return archive;
  }

  decompile(bytes, options = {}) {
    return this.#decompile(bytes, options, 0);
  }

  verify(bytes, options = {}) {
    const verify = options.verify === "strict" ? "strict" : true;
    return this.#decompile(bytes, { ...options, verify }, NO_TEXT);
  }

  #decompile(bytes, options, more) {
    let flags = more;
    if (options.verify !== false) flags |= VERIFY;
    if (options.verify === "strict") flags |= STRICT;
    if (options.keepLines === true) flags |= KEEP_LINES;
    if (options.structured === false) flags |= UNSTRUCTURED;
    return this.#ask(bytes, options, (core, minor) => core._pellucid_decompile(minor, flags));
  }

  inspect(bytes, options = {}) {
    return this.#ask(bytes, options, (core, minor) => core._pellucid_inspect(minor));
  }

  dis(bytes, options = {}) {
    return this.#ask(bytes, options, (core, minor) => core._pellucid_dis(minor));
  }

  async stages() {
    return this.#about.stages.map((stage) => ({ ...stage }));
  }

  async dump(bytes, stage, code = null, options = {}) {
    const file = options.file ?? "";
    if (!this.#about.stages.some(({ name }) => name === stage)) {
      throw wrong(file, `there is no stage '${stage}'`);
    }
    const number = await this.#number(bytes, code, options);
    return this.#ask(bytes, options, (core, minor) =>
      withText(core, stage, (at) => core._pellucid_dump(minor, at, number)),
    );
  }

  async graph(bytes, code = null, options = {}) {
    const number = await this.#number(bytes, code, options);
    const { file: _, ...graph } = await this.#ask(bytes, options, (core, minor) =>
      core._pellucid_graph(minor, number),
    );
    return graph;
  }

  close() {
    this.#core.close();
  }

  async #ask(bytes, options, work) {
    const file = options.file ?? "";
    const minor = this.#minor(file, options.python);
    const answer = await this.#core.call(file, (core) => work(core, minor), {
      bytes: bytesOf(bytes, file),
    });
    return Array.isArray(answer) ? answer : { file, ...answer };
  }

  #minor(file, python) {
    if (python === undefined || python === null) return 0;
    if (!this.#about.versions.includes(python)) {
      throw new PellucidError({ file, offset: 0, reason: `${python} is no version that can be read`, code: "unknown-version" });
    }
    return Number(python.split(".")[1]);
  }

  // Returns the number of a code object; -1: none is named.
  async #number(bytes, code, options) {
    const file = options.file ?? "";
    if (code === null || code === undefined) return -1;
    const codes = await this.#ask(bytes, options, (core, minor) => core._pellucid_codes(minor));
    const found = codes.find((each) =>
      typeof code === "number" ? each.code === code : each.path === code || each.name === code,
    );
    if (found === undefined) throw wrong(file, `there is no code object '${code}'`);
    return found.code;
  }
}

// --- Archives ------------------------------------------------------------------------------------

class Archive {
  #core;
  #bytes;
  #handle = 0;
  #age = -1;

  constructor(core, bytes, name) {
    this.#core = core;
    this.#bytes = bytes;
    this.name = name;
    this.kind = "code";
    this.members = [];
    this.tree = { name: "", folders: [], members: [] };
  }

  async ready() {
    const opened = await this.#core.call(this.name, (core) => core._pellucid_open(), {
      bytes: this.#bytes,
    });
    this.#took(opened);
    this.kind = opened.kind;
    this.members = opened.members.map((member, index) =>
      opened.kind === "code"
        ? { index, name: this.name, path: sourcePath(this.name.split(/[\\/]/).pop()) }
        : { index, name: member.name, path: sourcePath(member.path) },
    );
    this.tree = treeOf(this.members, this.name);
  }

  #took(opened) {
    this.#handle = opened.handle;
    this.#age = this.#core.age;
  }

  async read(member) {
    if (this.#bytes === null) throw wrong(this.name, "the archive is closed");
    const index = typeof member === "number" ? member : member?.index;
    const found = this.members[index];
    if (found === undefined) throw wrong(this.name, `there is no member ${index}`);
    const file = this.kind === "code" ? this.name : `${this.name}/${found.name}`;
    if (this.kind === "code") return copyOf(this.#bytes, file);
    return this.#core.do(file, (run) => {
      // An instance that stopped took the archive with it.
      if (this.#age !== this.#core.age) {
        this.#took(run((core) => core._pellucid_open(), { bytes: this.#bytes }));
      }
      return run((core) => core._pellucid_read(this.#handle, index), { isJson: false });
    });
  }

  close() {
    if (this.#bytes === null) return;
    this.#bytes = null;
    const handle = this.#handle;
    const age = this.#age;
    this.#core
      .call(this.name, (core) => {
        if (age === this.#core.age) core._pellucid_close(handle);
        return core._pellucid_about();
      })
      .catch(() => {});
  }
}

// Returns the place of a member's source: beside `__pycache__`, without the tag of a version, and
// without parts that lead elsewhere.
function sourcePath(place) {
  const parts = place
    .split(/[\\/]/)
    .map((part) => part.replaceAll(":", "_").replaceAll("\0", ""))
    .filter((part) => part !== "" && part !== "." && part !== "..");
  let name = parts.pop() ?? "module.pyc";
  name = name.replace(/(.)\.[^.]*$/, "$1");
  if (parts.at(-1) === "__pycache__") {
    parts.pop();
    name = name.replace(/(.)\.[a-z]+-[0-9]+(\.opt-[A-Za-z0-9_]+)?$/, "$1");
  }
  return [...parts, `${name}.py`].join("/");
}

function treeOf(members, name) {
  const root = { name, folders: [], members: [] };
  const folders = new Map([["", root]]);
  const folderAt = (path) => {
    const known = folders.get(path);
    if (known !== undefined) return known;
    const cut = path.lastIndexOf("/");
    const folder = { name: path.slice(cut + 1), folders: [], members: [] };
    folderAt(cut < 0 ? "" : path.slice(0, cut)).folders.push(folder);
    folders.set(path, folder);
    return folder;
  };
  for (const member of members) {
    const cut = member.path.lastIndexOf("/");
    folderAt(cut < 0 ? "" : member.path.slice(0, cut)).members.push(member);
  }
  const byText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  for (const folder of folders.values()) {
    folder.folders.sort((a, b) => byText(a.name, b.name));
    folder.members.sort((a, b) => byText(a.path, b.path));
  }
  return root;
}
