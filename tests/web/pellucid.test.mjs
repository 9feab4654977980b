// SPDX-License-Identifier: Apache-2.0
// What the npm package does in Node. PELLUCID_PACKAGE is its folder, PELLUCID_SAMPLES a folder of files
// that test_npm.py makes.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";

const PACKAGE = process.env.PELLUCID_PACKAGE;
const { load, PellucidError } = await import(pathToFileURL(join(PACKAGE, "pellucid.mjs")));
const sample = (name) => readFile(join(process.env.PELLUCID_SAMPLES, name));

let pellucid;
let bytes;
let source;

before(async () => {
  pellucid = await load();
  bytes = await sample("module.pyc");
  source = (await sample("module.py")).toString();
});

const lineOf = (text, part) => text.split("\n").findIndex((line) => line.includes(part)) + 1;

test("the version is the package's", async () => {
  const { version } = JSON.parse(await readFile(join(PACKAGE, "package.json")));
  assert.equal(pellucid.version, version);
  assert.equal(pellucid.versions[0], "3.8");
  assert.equal(pellucid.versions.at(-1), "3.15");
});

test("a text has a verdict and lines for each function", async () => {
  const made = await pellucid.decompile(bytes, { file: "module.pyc" });
  assert.equal(made.text, source);
  assert.equal(made.file, "module.pyc");
  assert.equal(made.verdict, "equivalent");
  assert.equal(made.reason, null);
  const rows = made.functions.map(({ name, kind, firstLine, lastLine, verdict }) => [
    name,
    kind,
    firstLine,
    lastLine,
    verdict,
  ]);
  const end = source.trimEnd().split("\n").length;
  const halve = lineOf(source, "def halve");
  const box = lineOf(source, "class Box");
  const first = lineOf(source, "@property");
  const lambda = lineOf(source, "lambda");
  assert.deepEqual(rows, [
    ["<module>", "module", 1, end, "equivalent"],
    ["halve", "function", halve, halve + 6, "equivalent"],
    ["Box", "class", box, first + 4, "equivalent"],
    ["Box.first", "function", first, first + 4, "equivalent"],
    ["<lambda>", "lambda", lambda, lambda, "equivalent"],
  ]);
});

test("lines lead to instructions, each of which belongs to one line", async () => {
  const made = await pellucid.decompile(bytes);
  const { codes } = await pellucid.dis(bytes);
  const halve = codes.find(({ name }) => name === "halve");
  const lines = made.lines.filter(({ code }) => code === halve.code);
  const all = lines.flatMap(({ offsets }) => offsets).sort((a, b) => a - b);
  const listed = halve.instructions.map(({ offset }) => offset);
  assert.deepEqual(all, listed);
  for (const { line, originalLine, offsets, offset } of lines) {
    // A `try` has no line of its own.
    if (source.split("\n")[line - 1].trim() === "try:") continue;
    assert.equal(line, originalLine);
    assert.ok(offset === null || offsets.includes(offset));
    const onLine = halve.instructions.filter((each) => each.line === line);
    for (const each of onLine) assert.ok(offsets.includes(each.offset));
  }
});

test("remarks move the lines and their origins alike", async () => {
  const unproven = await sample("unproven.pyc");
  const made = await pellucid.decompile(unproven);
  assert.equal(made.verdict, "unproven");
  assert.ok(made.text.includes("# unproven: "));
  assert.match(made.reason, /^unproven: .* at byte 0x/);
  const returns = made.lines.find(({ code, line }) => code !== 0 && line);
  assert.ok(made.text.split("\n")[returns.line - 1].trim() !== "");
  assert.ok(!made.text.split("\n")[returns.line - 1].trim().startsWith("#"));
});

test("options do what they say", async () => {
  const plain = await pellucid.decompile(bytes, { verify: false });
  assert.equal(plain.verdict, null);
  assert.ok(plain.functions.every(({ verdict }) => verdict === null));
  const loops = await pellucid.decompile(bytes, { structured: false });
  assert.ok(loops.text.includes("while True"));
  const kept = await pellucid.decompile(await sample("spaced.pyc"), { keepLines: true });
  assert.equal(kept.text.split("\n")[8], "x = 1");
  const { text, ...verdicts } = await pellucid.verify(bytes);
  assert.equal(text, undefined);
  assert.equal(verdicts.functions.length, 5);
  assert.equal(verdicts.verdict, "equivalent");
});

test("every stage and step can be listed, whole and of one code object", async () => {
  const stages = await pellucid.stages();
  const names = stages.map(({ name }) => name);
  for (const name of ["module", "raw", "stream", "flow", "ir", "structure", "structure:plan", "ast"]) {
    assert.ok(names.includes(name), name);
  }
  for (const { name, about } of stages) {
    assert.ok(about.length > 10, name);
    const whole = await pellucid.dump(bytes, name);
    assert.ok(whole.text.includes("halve"), name);
    const one = await pellucid.dump(bytes, name, "halve");
    assert.ok(one.text.includes("halve"), name);
    if (name === "module") continue;
    assert.ok(!one.text.includes("Box"), name);
    assert.ok(one.text.length < whole.text.length, name);
    if (name !== "ast") assert.ok(whole.text.includes(one.text), name);
  }
  const number = (await pellucid.dis(bytes)).codes.find(({ name }) => name === "Box.first").code;
  const { text } = await pellucid.dump(bytes, "flow", number);
  assert.ok(text.startsWith("flow Box.first\n"));
});

test("a graph has the blocks and edges of the stage", async () => {
  const graph = await pellucid.graph(bytes, "halve");
  assert.equal(graph.name, "halve");
  const { text } = await pellucid.dump(bytes, "flow", "halve");
  const blocks = [...text.matchAll(/^ {2}block (\d+) offset (\d+)/gm)];
  assert.deepEqual(
    graph.blocks.map(({ id, offset }) => [id, offset]),
    blocks.map((match) => [Number(match[1]), Number(match[2])]),
  );
  const kinds = new Set(graph.edges.map(({ kind }) => kind));
  assert.ok(kinds.has("true") && kinds.has("false") && kinds.has("exception"));
  assert.ok(graph.edges.some(({ isBack }) => isBack));
  for (const { lines, offsets, originalLines } of graph.blocks) {
    assert.equal(lines.length, offsets.length);
    assert.equal(lines.length, originalLines.length);
  }
  assert.equal((await pellucid.graph(bytes)).name, "<module>");
});

test("an inspection tells of the header and of what the text does not show", async () => {
  const found = await pellucid.inspect(await sample("junk.pyc"));
  assert.equal(found.start, 16);
  assert.ok(found.findings.some(({ text }) => text.includes("bytes")), JSON.stringify(found.findings));
  assert.equal(found.codes[0].path, "<module>");
});

for (const [name, kind, paths] of [
  ["module.pyc", "code", ["module.py"]],
  ["app.whl", "zip", ["pkg/__init__.py", "pkg/mod.py", "top.py"]],
  ["app", "program", ["base_library.zip/abc.py", "main.py", "other.py", "pkg/__init__.py", "pkg/mod.py"]],
]) {
  test(`the modules of ${name} are found, read and decompiled`, async () => {
    const archive = await pellucid.open(await sample(name), name);
    assert.equal(archive.kind, kind);
    assert.deepEqual(archive.members.map(({ path }) => path).sort(), paths);
    for (const member of archive.members) {
      const { verdict } = await pellucid.decompile(await archive.read(member), { file: member.name });
      assert.equal(verdict, "equivalent", member.name);
    }
    const flat = (folder) => [...folder.folders.flatMap(flat), ...folder.members];
    assert.equal(flat(archive.tree).length, paths.length);
    archive.close();
    await assert.rejects(archive.read(0), { code: "usage" });
  });
}

test("what is wrong is one kind of error with file, offset and reason", async () => {
  const cut = bytes.subarray(0, 40);
  await assert.rejects(pellucid.decompile(cut, { file: "cut.pyc" }), (error) => {
    assert.ok(error instanceof PellucidError && error instanceof Error);
    assert.equal(error.file, "cut.pyc");
    assert.equal(error.code, "truncated");
    assert.ok(error.offset >= 16 && error.offset <= 40);
    assert.ok(error.message.startsWith(`cut.pyc: ${error.reason}`));
    return true;
  });
  await assert.rejects(pellucid.decompile(new Uint8Array()), PellucidError);
  await assert.rejects(pellucid.decompile("text"), { code: "usage" });
  await assert.rejects(pellucid.decompile(bytes, { python: "2.7" }), { code: "unknown-version" });
  const message = "there is no stage 'no such stage'";
  await assert.rejects(pellucid.dump(bytes, "no such stage"), { code: "usage", message });
  await assert.rejects(pellucid.graph(bytes, "no_such_function"), { code: "usage" });
  await assert.rejects(pellucid.open(new Uint8Array([80, 89, 90, 0]), "a.pyz"), { code: "truncated" });
});

test("a result that no string can hold is that error too", async () => {
  const whole = globalThis.TextDecoder;
  // As V8 refuses more than half a gigabyte.
  globalThis.TextDecoder = class {
    decode() {
      throw new RangeError("Invalid string length");
    }
  };
  try {
    for (const call of [() => pellucid.decompile(bytes, { file: "m.pyc" }), () => pellucid.dis(bytes, { file: "m.pyc" })]) {
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof PellucidError, String(error));
        assert.equal(error.file, "m.pyc");
        assert.equal(error.code, "limit");
        return true;
      });
    }
  } finally {
    globalThis.TextDecoder = whole;
  }
  assert.equal((await pellucid.decompile(bytes)).text, source);
});

test("calls that are made at once are answered in order", async () => {
  const done = [];
  await Promise.all([
    pellucid.decompile(bytes).then(() => done.push("text")),
    pellucid.decompile(bytes.subarray(0, 40)).catch(() => done.push("error")),
    pellucid.dis(bytes).then(() => done.push("dis")),
  ]);
  assert.deepEqual(done, ["text", "error", "dis"]);
});

test("deep nesting has stack enough", async () => {
  const made = await pellucid.decompile(await sample("deep.pyc"));
  assert.equal(made.verdict, "equivalent");
  assert.ok(made.text.replaceAll(/\s/g, "").includes("-x(".repeat(150)));
});

test("a module that stops is replaced, and archives are there again", async () => {
  const own = await load({ wasm: await readFile(join(PACKAGE, "pellucid.wasm")) });
  const archive = await own.open(await sample("app.whl"), "app.whl");
  const whole = new Proxy(new Uint8Array(8), {
    get: (target, name) => (name === "length" ? 3_900_000_000 : Reflect.get(target, name, target)),
  });
  await assert.rejects(own.decompile(whole, { file: "large.pyc" }), { code: "memory", file: "large.pyc" });
  assert.equal((await own.decompile(await archive.read(0))).verdict, "equivalent");
  assert.equal((await own.decompile(await archive.read(1))).verdict, "equivalent");
  own.close();
  await assert.rejects(own.decompile(bytes), { code: "usage" });
});
