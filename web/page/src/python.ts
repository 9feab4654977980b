// SPDX-License-Identifier: Apache-2.0
// Colours for Python: a line at a time, given in which string the line before ended.

/** A class for CSS ("" for plain text), and how many characters have it. */
export type Token = [kind: string, length: number];

const WORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except " +
    "finally for from global if import in is lambda nonlocal not or pass raise return try while " +
    "with yield").split(" "),
);
// Words only where they begin a line, and a name does not go on as one.
const SOFT = /^(\s*)(match|case|type|lazy)(?=\s+[^\s=.,)\]:])/;
const PART =
  /(#.*)|([rbfutRBFUT]{0,2})("""|'''|"|')|(0[xX][\da-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?j?)|([\p{L}_$][\p{L}\p{N}_]*)|(@[\w.]+)|(\s+|.)/uy;

/** Returns the tokens of a line, and the quotes of the string that is open at its end ("": none). */
export function tokens(line: string, open: string): { tokens: Token[]; open: string } {
  const found: Token[] = [];
  let at = 0;
  if (open) {
    at = endOfString(line, 0, open);
    found.push(["string", at < 0 ? line.length : at]);
    if (at < 0) return { tokens: found, open };
  }
  const soft = at === 0 ? SOFT.exec(line) : null;
  let definition = false;
  while (at < line.length) {
    PART.lastIndex = at;
    const part = PART.exec(line);
    if (!part) {
      add(found, "", 1);
      at += 1;
      continue;
    }
    const [text, comment, prefix, quotes, number, name, decorator] = part;
    let length = text.length;
    let kind = "";
    if (comment !== undefined) kind = "comment";
    else if (quotes !== undefined) {
      const end = endOfString(line, at + prefix.length + quotes.length, quotes);
      if (end < 0) {
        add(found, "string", line.length - at);
        return { tokens: found, open: quotes.length === 3 ? quotes : "" };
      }
      kind = "string";
      length = end - at;
    } else if (number !== undefined) kind = "number";
    else if (name !== undefined) {
      if (WORDS.has(name) || (soft && at === soft[1].length)) kind = "word";
      else if (definition) kind = "name";
      else if (line[at + length] === "(") kind = "call";
      definition = kind === "word" && (name === "def" || name === "class");
    } else if (decorator !== undefined) {
      kind = /^\s*$/.test(line.slice(0, at)) ? "call" : "";
      if (!kind) length = 1;
    }
    add(found, kind, length);
    at += length;
  }
  return { tokens: found, open: "" };
}

function add(found: Token[], kind: string, length: number): void {
  const last = found[found.length - 1];
  if (last && last[0] === kind && kind === "") last[1] += length;
  else found.push([kind, length]);
}

function endOfString(line: string, from: number, quotes: string): number {
  for (let at = from; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (line.startsWith(quotes, at)) return at + quotes.length;
  }
  return -1;
}

/** Returns for each line the quotes that are open where it begins. */
export function openStrings(lines: string[]): string[] {
  const opens: string[] = [];
  let open = "";
  for (const line of lines) {
    opens.push(open);
    // Most lines have no triple quotes, and end as they begin.
    if (open || line.includes('"""') || line.includes("'''")) open = tokens(line, open).open;
  }
  return opens;
}
