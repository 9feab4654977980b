// SPDX-License-Identifier: Apache-2.0
// The parts of the page that need no browser: `npm test`.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const src = join(dirname(fileURLToPath(import.meta.url)), "../src");

// The worker is tested without a module: what it loads is what the test puts in this place.
const standIn = {
  name: "stand-in",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /npm\/pellucid\.js$/ }, () => ({ path: "pellucid", namespace: "test" }));
    onLoad({ filter: /.*/, namespace: "test" }, () => (
      { contents: "export const { load, PellucidError } = globalThis.pellucidOfTest;" }));
  },
};

async function load(name) {
  const made = await build({
    entryPoints: [join(src, name)], bundle: true, write: false, format: "esm", plugins: [standIn],
  });
  return import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].text).toString("base64")}`);
}

/**
 * Returns how often `work` puts something into a list or a map, or asks a map: its loops all do. Unlike
 * a time, that is the same on every machine.
 */
function callsOf(work) {
  let calls = 0;
  const kept = [[Array, "push"], [Array, "splice"], [Map, "get"], [Map, "set"], [Map, "has"]]
    .map(([type, name]) => [type.prototype, name, type.prototype[name]]);
  for (const [of, name, own] of kept) {
    of[name] = function (...args) {
      calls++;
      return own.apply(this, args);
    };
  }
  try {
    work();
  } finally {
    for (const [of, name, own] of kept) of[name] = own;
  }
  return calls;
}

/** Numbers that look random and are the same in every run. */
function* numbers(seed) {
  for (let x = seed; ; yield x / 2 ** 31) x = (x * 1103515245 + 12345) % 2 ** 31;
}

test("no two blocks of a graph overlap, and all edges but those of loops go down", async () => {
  const { layOut } = await load("layout.ts");
  for (let seed = 1; seed <= 60; seed++) {
    const next = numbers(seed);
    const random = () => next.next().value;
    const n = 1 + Math.floor(random() * 40);
    const boxes = Array.from({ length: n }, () => ({ width: 40 + random() * 200, height: 20 + random() * 150 }));
    const edges = Array.from({ length: n * 2 }, () => (
      { from: Math.floor(random() * n), to: Math.floor(random() * n) }));
    const placed = layOut(boxes, edges);
    assert.deepEqual(placed, layOut(boxes, edges));
    placed.boxes.forEach((a, i) => {
      assert.ok(a.x - boxes[i].width / 2 >= -0.01 && a.x + boxes[i].width / 2 <= placed.width);
      for (let j = 0; j < i; j++) {
        const b = placed.boxes[j];
        const aside = Math.abs(a.x - b.x) >= (boxes[i].width + boxes[j].width) / 2 - 0.01;
        const over = a.y + boxes[i].height <= b.y || b.y + boxes[j].height <= a.y;
        assert.ok(aside || over, `seed ${seed}: ${i} and ${j}`);
      }
    });
    placed.edges.forEach(({ points, back }) => {
      assert.ok(points.length >= 2);
      if (!back) assert.ok(points[0][1] < points[points.length - 1][1], `seed ${seed}`);
    });
  }
});

test("a chain of a thousand blocks is laid out with so much work a block", async () => {
  const { layOut } = await load("layout.ts");
  const boxes = Array.from({ length: 1000 }, () => ({ width: 100, height: 60 }));
  const edges = boxes.slice(1).flatMap((_, i) => [{ from: i, to: i + 1 }, { from: i, to: Math.min(999, i + 3) }]);
  assert.ok(callsOf(() => layOut(boxes, edges)) < 400 * 1000);
});

test("tokens are the whole line, and strings end where they end", async () => {
  const { tokens, openStrings } = await load("python.ts");
  const lines = [
    "def f(x, *, y: int = 0x1f) -> None:  # why", '    """Several', "    lines # of text", '    """', "    return f'{x!r}' + b\"\\\"\" @ 1.5e-3j",
    "@decorated.name", "match x:", "match = 1", "    case [a, *_] if a:", "type X = int", "type(x)", "é = 'unclosed", "x = '''a", "b''' + c",
  ];
  const opens = openStrings(lines);
  const kinds = lines.map((line, i) => {
    const found = tokens(line, opens[i]).tokens;
    assert.equal(found.reduce((sum, [, length]) => sum + length, 0), line.length, line);
    let at = 0;
    return found.map(([kind, length]) => [kind, line.slice(at, (at += length))]).filter(([kind]) => kind);
  });
  assert.deepEqual(kinds[0], [["word", "def"], ["name", "f"], ["number", "0x1f"], ["word", "None"], ["comment", "# why"]]);
  assert.deepEqual(kinds[2], [["string", "    lines # of text"]]);
  assert.deepEqual(kinds[4], [["word", "return"], ["string", "f'{x!r}'"], ["string", 'b"\\""'], ["number", "1.5e-3j"]]);
  assert.deepEqual(kinds[5], [["call", "@decorated.name"]]);
  assert.deepEqual(kinds[6][0], ["word", "match"]);
  assert.deepEqual(kinds[7], [["number", "1"]]);
  assert.deepEqual(kinds[10], [["call", "type"]]);
  assert.deepEqual(kinds[13], [["string", "b'''"]]);
});

test("what a reader would not see is escaped", async () => {
  const { shown } = await load("dom.ts");
  assert.equal(shown("plain é 名 \t"), "plain é 名 \t");
  assert.equal(shown("a\u202eb\u200bc\x1b"), "a\\u202eb\\u200bc\\x1b");
  assert.equal(shown("\ud800"), "\\ud800");
});

test("bytes are read from hexadecimal digits and base64", async () => {
  const { bytesOf } = await load("input.ts");
  const bytes = Uint8Array.from({ length: 40 }, (_, i) => i * 6);
  assert.deepEqual(bytesOf(Buffer.from(bytes).toString("hex")), bytes);
  assert.deepEqual(bytesOf(Buffer.from(bytes).toString("base64")), bytes);
  assert.equal(bytesOf("too short"), null);
  assert.equal(bytesOf("neither nor, this is a sentence"), null);
});

test("an address holds a file, and a damaged one is an error", async () => {
  const { anchorOf, fromAnchor } = await load("input.ts");
  const bytes = new TextEncoder().encode("print('hello')\n".repeat(20));
  const anchor = await anchorOf({ name: "a&b=c #.pyc", bytes }, 7, "graph");
  const found = await fromAnchor(`#${anchor}`);
  assert.deepEqual(found, { given: { name: "a&b=c #.pyc", bytes }, line: 7, view: "graph" });
  assert.equal(await fromAnchor("#elsewhere"), null);
  await assert.rejects(fromAnchor(`#${anchor.slice(0, -5)}`));
});

// --- The decompiler and its worker ----------------------------------------------------------------

/** A browser with so much of a page as the client needs; returns what its workers were told. */
function browser(t, Worker) {
  const block = { textContent: gzipSync("x").toString("base64") };
  const before = { document: globalThis.document, Worker: globalThis.Worker };
  Object.assign(globalThis, { document: { readyState: "complete", getElementById: () => block }, Worker });
  t.after(() => Object.assign(globalThis, before));
}

/** A worker that answers every call at once. */
class Willing extends EventTarget {
  static heard = [];
  postMessage(message) {
    const ready = { ready: { version: "1", versions: [] } };
    const answer = message.wasm ? ready : { id: message.id, result: { input: message.args.input, members: [] } };
    if (!message.wasm) Willing.heard.push([message.method, message.args.input]);
    setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data: answer })));
  }
  terminate() {}
}

for (const [how, Worker, missing, reason] of [
  ["a browser that refuses workers", class { constructor() { throw new Error("refused"); } }, null, "refused"],
  ["a browser without DecompressionStream", Willing, "DecompressionStream", "this browser lacks DecompressionStream"],
  ["a worker that does not start", class extends EventTarget {
    postMessage() { setTimeout(() => this.dispatchEvent(new Event("error", { cancelable: true }))); }
    terminate() {}
  }, null, "the browser does not start its worker"],
  ["a module that is refused", class extends EventTarget {
    postMessage() {
      const data = { broken: { reason: "no wasm", offset: -1, code: "crash" } };
      setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  }, null, "no wasm"],
]) {
  test(`${how} fails every call, earlier and later ones`, async (t) => {
    const { Client } = await load("client.ts");
    browser(t, Worker);
    if (missing) {
      const kept = globalThis[missing];
      delete globalThis[missing];
      t.after(() => (globalThis[missing] = kept));
    }
    let told = 0;
    const client = new Client(() => told++);
    client.start();
    for (let call = 0; call < 2; call++) {
      const error = await client.open(new Uint8Array(3), "a.pyc").catch((failed) => failed);
      assert.equal(error.failure?.reason, reason, String(error));
      assert.equal(client.failure.reason, reason);
      assert.equal(told, 1);
    }
  });
}

test("what is no longer open is closed in the worker", async (t) => {
  const { Client } = await load("client.ts");
  browser(t, Willing);
  const client = new Client(() => {});
  client.start();
  const one = await client.open(new Uint8Array(3), "a.zip");
  const two = await client.open(new Uint8Array(3), "b.zip");
  Willing.heard.length = 0;
  client.reset();
  assert.deepEqual(Willing.heard, [["close", one.input], ["close", two.input]]);
  client.reset();
  assert.equal(Willing.heard.length, 2);
});

/** Makes workers that a test can look at: each answers `open`, and the rest when the test says so. */
function crew(refuses = () => false) {
  const all = [];
  class Worker extends EventTarget {
    heard = [];
    ended = false;
    constructor() {
      super();
      all.push(this);
    }
    postMessage(message) {
      if (this.ended) return;
      if (message.wasm) this.say({ ready: { version: "1", versions: [] } });
      else {
        const { id, method, args } = message;
        this.heard.push({ id, method, input: args.input });
        if (method === "open" && refuses(all.indexOf(this))) this.say({ id, failure: { reason: "no memory", offset: 0, code: "memory" } });
        else if (method === "open") this.say({ id, result: { input: args.input, members: [] } });
      }
    }
    say(data) {
      setImmediate(() => this.ended || this.dispatchEvent(new MessageEvent("message", { data })));
    }
    /** Answers the call that it was given last. */
    answer(result) {
      this.say({ id: this.heard.at(-1).id, result });
    }
    die() {
      this.dispatchEvent(Object.assign(new Event("error", { cancelable: true }), { message: "out of memory" }));
    }
    terminate() {
      this.ended = true;
    }
    get last() {
      return this.heard.at(-1)?.method;
    }
  }
  return { Worker, all };
}

/** Lets all that is on its way between the page and its workers arrive. */
async function settled() {
  for (let turn = 0; turn < 10; turn++) await new Promise((done) => setImmediate(done));
}

async function crewWithArchive(t, refuses) {
  const { Client, NOW, LATER } = await load("client.ts");
  const { Worker, all } = crew(refuses);
  browser(t, Worker);
  const client = new Client(() => {});
  client.start();
  const { input } = await client.open(new Uint8Array(3), "a.zip");
  // The limits of calls that a test that fails leaves would keep it from ending.
  t.after(() => client.stop(() => true));
  const ask = (rank) => client.call("decompile", { input, index: 0, verify: true }, rank);
  return { client, all, input, now: () => ask(NOW), later: () => ask(LATER) };
}

test("the rest of an archive has a worker of its own, from its first call on", async (t) => {
  const { all, input, now, later } = await crewWithArchive(t);
  assert.equal(all.length, 1);
  const rest = [later(), later()];
  await settled();
  assert.equal(all.length, 2);
  assert.deepEqual(all[1].heard.map(({ method }) => method), ["open", "decompile"], "one call at a time");
  assert.equal(all[1].heard[0].input, input);
  const seen = now();
  assert.equal(all[0].last, "decompile", "it waits for nothing");
  all[0].answer("seen");
  assert.equal(await seen, "seen");
  for (const [i, call] of rest.entries()) {
    all[1].answer(i);
    assert.equal(await call, i);
  }
});

test("a worker that dies fails its call, and another one has what was open", async (t) => {
  const { all, input, now, later } = await crewWithArchive(t);
  for (const [ask, at] of [[now, 0], [later, 2]]) {
    const failed = ask().catch((error) => error.failure.reason);
    await settled();
    assert.equal(all.length, at + 1);
    all[at].die();
    assert.equal(await failed, "out of memory");
    assert.ok(all[at].ended);
    const next = ask();
    await settled();
    assert.equal(all.length, at + 2);
    assert.deepEqual(all[at + 1].heard.map((each) => [each.method, each.input]), [["open", input], ["decompile", input]]);
    all[at + 1].answer("done");
    assert.equal(await next, "done");
  }
});

test("a worker that dies again and again with nothing to do is given up", async (t) => {
  const { client, all, input, now } = await crewWithArchive(t);
  for (let death = 0; death < 3; death++) {
    await settled();
    assert.equal(all.length, death + 1);
    assert.deepEqual(all[death].heard.map((each) => [each.method, each.input]), [["open", input]]);
    all[death].die();
  }
  await settled();
  assert.equal(all.length, 3, "no fourth one");
  assert.equal(client.failure.reason, "out of memory");
  assert.equal(await now().catch((error) => error.failure.reason), "out of memory");
});

test("what is opened next ends the rest of an archive, in both workers", async (t) => {
  const { client, all, later } = await crewWithArchive(t);
  const rest = [later(), later(), later()].map((call) => call.catch((error) => error.failure.code));
  await settled();
  client.reset();
  assert.deepEqual(await Promise.all(rest), ["cancelled", "cancelled", "cancelled"]);
  assert.deepEqual(all.map((each) => each.ended), [false, true, false], "the back has a new one");
  assert.equal(all[0].last, "close");
  const { input } = await client.open(new Uint8Array(3), "b.zip");
  await settled();
  assert.deepEqual(all[2].heard.map((each) => [each.method, each.input]), [["open", input]], "and nothing of the old");
});

test("without the memory for an archive in two workers, one does all of it", async (t) => {
  const { all, now, later } = await crewWithArchive(t, (number) => number > 0);
  const rest = [later(), later()];
  await settled();
  assert.ok(all[1].ended);
  assert.equal(all.length, 2);
  const seen = now();
  for (const [i, call] of [rest[0], seen, rest[1]].entries()) {
    await settled();
    assert.equal(all[0].last, "decompile");
    all[0].answer(i);
    assert.equal(await call, i, "what a reader waits for comes before the rest");
  }
});

test("the worker frees the archive that is closed, and its last member", async (t) => {
  const { load: core, closed } = archivesOfTest();
  const heard = [];
  let tell;
  globalThis.pellucidOfTest = { load: core, PellucidError: class extends Error {} };
  globalThis.self = { postMessage: (answer) => heard.push(answer), addEventListener: (_, listen) => (tell = listen) };
  t.after(() => { delete globalThis.self; delete globalThis.pellucidOfTest; });
  await load("worker.ts");
  tell({ data: { wasm: new Uint8Array(1) } });
  tell({ data: { id: 1, method: "open", args: { input: 7, bytes: new Uint8Array(3), name: "a.zip" } } });
  tell({ data: { id: 2, method: "read", args: { input: 7, index: 0 } } });
  tell({ data: { id: 3, method: "close", args: { input: 7 } } });
  tell({ data: { id: 4, method: "read", args: { input: 7, index: 0 } } });
  await settled();
  assert.deepEqual(closed, ["a.zip"]);
  assert.deepEqual(heard.at(-2), { id: 3, result: undefined });
  assert.equal(heard.at(-1).failure?.reason, "the file is no longer open");
});

function archivesOfTest() {
  const closed = [];
  const open = async (_, name) => ({
    kind: "zip", members: [{ index: 0, name: "m.pyc", path: "m.py" }],
    read: async () => new Uint8Array(1), close: () => closed.push(name),
  });
  return { closed, load: async () => ({ version: "1", versions: [], open }) };
}

// --- Sizes ----------------------------------------------------------------------------------------

for (const [blocks, isMinor] of [[502, true], [600, true], [600, false]]) {
  test(`${blocks} blocks with ${isMinor ? "one handler" : "one exit"} are laid out with so much work a block`, async () => {
    const { layOut } = await load("layout.ts");
    const boxes = Array.from({ length: blocks }, () => ({ width: 120, height: 60 }));
    const edges = boxes.slice(2).flatMap((_, i) => [{ from: i, to: i + 1 }, { from: i, to: blocks - 1, isMinor }]);
    let placed;
    // With a place kept free on each way it would be 7000 a block, and more the more blocks there are.
    assert.ok(callsOf(() => (placed = layOut(boxes, edges))) < 400 * blocks);
    assert.ok(placed.width < 6000, "as wide as its longest edges are many");
    const lane = boxes.reduce((least, box, i) => Math.min(least, placed.boxes[i].x - box.width / 2), Infinity);
    const aside = placed.edges.filter((edge) => edge.aside);
    assert.ok(aside.length > 300);
    assert.equal(aside.filter((edge) => !edge.joins).length, 1, "one way is drawn to the end");
    for (const { points, joins } of aside) {
      assert.equal(points.length, joins ? 3 : 6);
      // Down between the left edge and all boxes, across in the gaps between layers.
      assert.ok(points[2][0] > 0 && points[2][0] < lane);
      for (const y of [points[1][1], points.at(-2)[1]]) {
        assert.ok(!boxes.some((box, i) => placed.boxes[i].y < y && y < placed.boxes[i].y + box.height));
      }
    }
  });
}

/** The lanes in which ways go back up, by their distance from the boxes, and where each begins and ends. */
function lanesBack(placed) {
  const lanes = new Map();
  for (const { points, back, joins } of placed.edges) {
    if (back && !joins) lanes.set(points[2][0], [...(lanes.get(points[2][0]) ?? []), [points[3][1], points[2][1]]]);
  }
  return [...lanes].sort(([a], [b]) => a - b).map(([, ways]) => ways);
}

test("the ways back to a loop share one lane, and one of them is drawn to its end", async () => {
  const { layOut } = await load("layout.ts");
  const boxes = Array.from({ length: 300 }, () => ({ width: 120, height: 60 }));
  const edges = boxes.slice(1).flatMap((_, i) => [{ from: i, to: i + 1 }, { from: i + 1, to: 0 }]);
  const placed = layOut(boxes, edges);
  const back = placed.edges.filter((edge) => edge.back);
  assert.equal(back.length, 299);
  assert.equal(new Set(back.map(({ points }) => points[2][0])).size, 1);
  const whole = back.filter((edge) => !edge.joins);
  assert.equal(whole.length, 1);
  assert.equal(whole[0].points[0][1], placed.boxes[299].y + 60, "the longest");
  for (const { points } of back) assert.ok(points[2][1] <= whole[0].points[2][1] && points[2][1] > whole[0].points[3][1]);
  assert.ok(placed.width < 300, "as wide as one lane");
});

test("loops after each other share a lane, and a loop around them has the next", async () => {
  const { layOut } = await load("layout.ts");
  const boxes = Array.from({ length: 14 }, () => ({ width: 120, height: 60 }));
  const edges = boxes.slice(1).map((_, i) => ({ from: i, to: i + 1 }));
  const loops = [[0, 13], [1, 3], [4, 4], [5, 9], [6, 8], [10, 12]].map(([to, from]) => ({ from, to }));
  const lanes = lanesBack(layOut(boxes, [...edges, ...loops]));
  assert.deepEqual(lanes.map((ways) => ways.length), [4, 1, 1]);
  for (const ways of lanes) {
    ways.sort(([a], [b]) => a - b);
    for (let i = 1; i < ways.length; i++) assert.ok(ways[i - 1][1] < ways[i][0], "beside each other");
  }
});

test("a few exceptions have their own ways through the picture", async () => {
  const { layOut } = await load("layout.ts");
  const boxes = Array.from({ length: 12 }, () => ({ width: 120, height: 60 }));
  const edges = boxes.slice(1).flatMap((_, i) => [{ from: i, to: i + 1 }, { from: i, to: 11, isMinor: true }]);
  assert.ok(layOut(boxes, edges).edges.every((edge) => !edge.aside));
});

test("a hundred and fifty thousand modules of a folder are rows, however deep", async () => {
  const { rowsOf } = await load("files.ts");
  const modules = Array.from({ length: 150_000 }, (_, i) => ({ path: `pkg/m${i}.py` }));
  assert.equal(rowsOf(modules, new Set()).length, 150_001);
  assert.equal(rowsOf(modules, new Set(["pkg/"]))[0].modules.length, 150_000);
  const [row] = rowsOf([{ path: `${"d/".repeat(20_000)}m.py` }], new Set());
  assert.equal(row.modules.length, 1);
});

test("an archive of 70,000 entries says that it has them", async () => {
  const { makeZip } = await load("zip.ts");
  const entries = Array.from({ length: 70_000 }, (_, i) => ({ path: `m${i}.py`, data: new Uint8Array() }));
  const whole = Buffer.from(await (await makeZip(entries)).arrayBuffer());
  const end = whole.length - 22;
  assert.equal(whole.readUInt32LE(end), 0x06054b50);
  assert.equal(whole.readUInt16LE(end + 10), 0xffff);
  assert.equal(whole.readUInt32LE(end - 20), 0x07064b50);
  const long = Number(whole.readBigUInt64LE(end - 12));
  assert.equal(long, end - 76);
  assert.equal(whole.readUInt32LE(long), 0x06064b50);
  assert.equal(whole.readBigUInt64LE(long + 24), 70_000n);
  assert.equal(whole.readBigUInt64LE(long + 32), 70_000n);
  assert.equal(Number(whole.readBigUInt64LE(long + 40)) + Number(whole.readBigUInt64LE(long + 48)), long);
});

test("an archive refuses a name that its fields cannot hold", async () => {
  const { makeZip } = await load("zip.ts");
  await assert.rejects(makeZip([{ path: "x".repeat(65_536), data: new Uint8Array() }]), /is too long/);
});

test("equal paths get numbers, many as fast as few, and long ones are cut", async () => {
  const { freePath } = await load("save.ts");
  const taken = new Map([["pellucid.json", 1]]);
  assert.equal(freePath("../a//b.py", taken), "a/b.py");
  assert.equal(freePath("a/b~2.py", taken), "a/b~2.py");
  assert.equal(freePath("a/b.py", taken), "a/b~3.py");
  assert.equal(freePath("pellucid.json", taken), "pellucid.json~2");
  assert.equal(freePath("..", taken), "module.py");
  let paths;
  assert.ok(callsOf(() => (paths = Array.from({ length: 50_000 }, () => freePath("m.py", taken)))) <= 6 * 50_000);
  assert.equal(new Set(paths).size, 50_000);
  assert.equal(paths.at(-1), "m~50000.py");
  const cut = freePath(`${"é/".repeat(40_000)}m.py`, taken);
  assert.ok(new TextEncoder().encode(cut).length < 60_000 && cut.endsWith("/m.py") && !cut.startsWith("/"));
});

test("code in constants is found through what loaders put around it", async () => {
  const { hiddenIn } = await load("following.ts");
  const code = Buffer.concat([Buffer.from([0x63]), Buffer.alloc(12), Buffer.from("\x03\0\0\0 the payload of a loader, and its rest", "latin1")]);
  const isCode = async (data) => Buffer.from(data).equals(code);
  const literal = (bytes) => `b'${Array.from(bytes, (b) => `\\x${b.toString(16).padStart(2, "0")}`).join("")}'`;
  const coded = code.toString("base64");
  const rotated = coded.replace(/[a-z]/gi, (c) => String.fromCharCode(c.charCodeAt(0) + (c.toLowerCase() < "n" ? 13 : -13)));
  const source = `import marshal\nexec(marshal.loads(b64decode('${coded.slice(0, 40)}' +\n  '${coded.slice(40)}')))`;
  const dumps = {
    "": [literal(code)],
    "at byte 8": [literal(Buffer.concat([Buffer.from("GARBAGE!"), code]))],
    "base64": [`'${coded.slice(0, 30)}'`, `'${coded.slice(30, -5)}'`, `'${coded.slice(-5)}'`],
    "rot13, base64": [`'${rotated}'`],
    "deflate": [literal(deflateRawSync(code))],
    "xor": [literal(code.map((b, i) => b ^ "secret".charCodeAt(i % 6)))],
    "zlib, text, base64": [literal(deflateSync(Buffer.from(source)))],
  };
  dumps.numbers = [`(${[...code].join(", ")})`];
  for (const [layers, constants] of Object.entries(dumps)) {
    const lines = constants.map((each, i) => `  const ${i} ${each}`);
    const found = await hiddenIn(["module 3.13 root 0", "code 0 <module>", ...lines].join("\n"), isCode);
    const last = found.at(-1);
    assert.equal(last?.is, "code", layers);
    assert.equal(last.layers.join(", "), layers === "numbers" ? "" : layers);
  }
});
