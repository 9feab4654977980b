// SPDX-License-Identifier: Apache-2.0
// pellucid: CPython bytecode in, Python source out, and a proof that the two mean the same.
//
//   import { load } from "pellucid";
//   const pellucid = await load();
//   const { text, verdict } = await pellucid.decompile(bytes, { file: "halve.pyc" });
//
// Everything runs where it is called: nothing is sent anywhere, and no code of an input is executed.
// What is wrong with an input is thrown as a PellucidError. Every method returns a promise, so that
// an object with the same methods can speak to a Worker; all values but Archive are plain data.

/** How sure it is that a text means what its bytecode does. */
export type Status =
  /** The same instructions, but for metadata and the order of pools. */
  | "identical"
  /** The same effects in the same order on every path. */
  | "equivalent"
  /** Neither was shown. */
  | "unproven";

/** A version of CPython, such as "3.13". */
export type Version = string;

export type ErrorCode =
  | "truncated" // the input ends too early
  | "malformed" // the input breaks a rule of its format
  | "unknown-version" // not a CPython version that pellucid reads
  | "unsupported" // valid, but not covered
  | "limit" // deeper or larger than pellucid accepts, or a result that no string can hold
  | "internal" // a bug in pellucid
  | "memory" // not enough memory
  | "crash" // the module stopped; a new one takes its place
  | "usage"; // a stage, a code object or a member that does not exist

/** The one error that methods throw. */
export class PellucidError extends Error {
  readonly name: "PellucidError";
  /** The file's name, as it was given; "" if none was. */
  readonly file: string;
  /** Where: a byte offset in the file, or in the bytecode if the reason says so; 0 also for none. */
  readonly offset: number;
  /** What is wrong, in lower case and without a full stop. */
  readonly reason: string;
  readonly code: ErrorCode;
  constructor(fields: { file: string; offset: number; reason: string; code: ErrorCode });
}

export interface LoadOptions {
  /** The WebAssembly module: its address, bytes, or compiled. Default: pellucid.wasm beside this file. */
  wasm?: string | URL | ArrayBuffer | Uint8Array | WebAssembly.Module | Response | Promise<Response>;
}

/** Loads the decompiler: once a page is enough. */
export function load(options?: LoadOptions): Promise<Pellucid>;

export interface InputOptions {
  /** The file's name, for errors. */
  file?: string;
  /** The version to read the file as, whatever its header says. */
  python?: Version;
}

export interface DecompileOptions extends InputOptions {
  /**
   * Prove that the text means what the bytecode does. Default: true. "strict" also proves that each
   * loop handles an interruption, such as Ctrl-C, where the bytecode does.
   */
  verify?: boolean | "strict";
  /** Put statements on their original lines where that is possible. Default: false. */
  keepLines?: boolean;
  /** False: write every function as a loop over a state. Default: true. */
  structured?: boolean;
}

export interface Pellucid {
  /** The version of pellucid. */
  readonly version: string;
  /** The versions of CPython whose bytecode can be read, the oldest first. */
  readonly versions: readonly Version[];

  /** Lists the modules in a `.pyc`, a zip archive, a wheel, or a program of PyInstaller. */
  open(bytes: Uint8Array, name: string): Promise<Archive>;

  /** Returns the source of a `.pyc` file, or of marshalled code with any header or none. */
  decompile(bytes: Uint8Array, options?: DecompileOptions): Promise<Decompilation>;

  /** Returns the verdicts of decompile() alone. */
  verify(bytes: Uint8Array, options?: DecompileOptions): Promise<Verification>;

  /** Says what a file holds that its text does not show. */
  inspect(bytes: Uint8Array, options?: InputOptions): Promise<Inspection>;

  /** Lists the bytecode of every code object, as Python's `dis` does. */
  dis(bytes: Uint8Array, options?: InputOptions): Promise<Disassembly>;

  /** The stages of the work in their order: "module" to "ast"; "structure:STEP" for each step. */
  stages(): Promise<Stage[]>;

  /**
   * Lists one stage of the work; with a code object (its number, path or qualified name), that of
   * this code object alone. "module" is about the file as a whole.
   */
  dump(
    bytes: Uint8Array,
    stage: string,
    code?: number | string | null,
    options?: InputOptions,
  ): Promise<Dump>;

  /** Returns the flow graph of a code object; the file's own code without one. */
  graph(bytes: Uint8Array, code?: number | string | null, options?: InputOptions): Promise<Graph>;

  /** Frees the memory. Other calls after this one fail. */
  close(): void;
}

// --- Archives ------------------------------------------------------------------------------------

export type ArchiveKind = "code" | "zip" | "pyz" | "program" | "tar" | "compressed" | "pickle" | "pickle";

/** The modules in a file. A `.pyc` is an archive of kind "code" with one member. */
export interface Archive {
  readonly name: string;
  readonly kind: ArchiveKind;
  readonly members: readonly Member[];
  /** The same members by their folders. */
  readonly tree: Folder;
  /** Unpacks a member: its bytes are what decompile() and the like take. */
  read(member: Member | number): Promise<Uint8Array>;
  /** Frees what the archive holds. */
  close(): void;
}

export interface Member {
  /** Its place in Archive.members. */
  index: number;
  /** Its name there, for people: "dist/app.pyz/pkg/mod.pyc". */
  name: string;
  /** Where its source would go: a path with slashes, ending with ".py", that leads nowhere else. */
  path: string;
}

/** A folder of a tree: folders first, then members, each by name. */
export interface Folder {
  name: string;
  folders: Folder[];
  members: Member[];
}

// --- Decompilation -------------------------------------------------------------------------------

export interface Verification {
  file: string;
  python: Version;
  /** The worst verdict of all code objects; null if none was asked for. */
  verdict: Status | null;
  /** Why the first unproven code object is unproven: "unproven: f: … at byte 0x12"; else null. */
  reason: string | null;
  /** All code objects in the order of the text. */
  functions: FunctionVerdict[];
}

export interface FunctionVerdict {
  /** The number of the code object: CodeListing.code, LineOrigin.code. */
  code: number;
  /** Its qualified name, "Class.method"; "<module>" for the file's own code. */
  name: string;
  /** "<module>/Class/method/<lambda>". */
  path: string;
  /** The number of the code object around it; null for the file's own code. */
  parent: number | null;
  kind: "module" | "function" | "class" | "lambda" | "comprehension" | "other";
  /** The lines of its text, from 1, decorators and all. */
  firstLine: number;
  lastLine: number;
  /** null: no verdict was asked for, or the code object does not take part. */
  verdict: Status | null;
  /** Why it is unproven; else null. */
  reason: string | null;
  /** Where in its bytecode the proof stops; else null. */
  offset: number | null;
}

export interface Decompilation extends Verification {
  /** The source, with remarks as comments: byte for byte what the native binary prints. */
  text: string;
  /** Where the lines of the text come from, in the order of the text: an entry a statement. */
  lines: LineOrigin[];
  /** What is not as it should be. Empty: everything was recovered. */
  diagnostics: Diagnostic[];
  /** Names that no source can write, and those that stand for them in the text. */
  renamed: { given: string; original: string }[];
  /** How the file was read, if that is out of the ordinary. */
  notes: string[];
  /** What the text does not show, a line each; they are comments at the front of the text. */
  remarks: string[];
}

export interface LineOrigin {
  /** In the text, from 1. */
  line: number;
  /** The last line of the text that belongs to this entry. */
  lastLine: number;
  code: number;
  /** The offset of an instruction that stands for the entry, in the bytecode of `code`; null: none. */
  offset: number | null;
  /**
   * The offsets of the instructions of this entry, in ascending order: what dis() lists under the
   * same code object.
   */
  offsets: number[];
  /** In the original source, if that is known. */
  originalLine: number | null;
}

export interface Diagnostic {
  /** "unstructured": the text says it all, though not as a person would; "refused": it lacks this. */
  severity: "unstructured" | "refused";
  code: number;
  name: string;
  /** In the bytecode of `code`. */
  offset: number;
  message: string;
}

// --- Listings ------------------------------------------------------------------------------------

export interface Disassembly {
  file: string;
  python: Version;
  /** Outer code objects before inner ones. */
  codes: CodeListing[];
}

export interface CodeListing {
  code: number;
  /** The qualified name. */
  name: string;
  path: string;
  parent: number | null;
  firstLine: number;
  instructions: Instruction[];
  exceptions: ExceptionRange[];
  /** Why the bytecode cannot be listed; else null. */
  error: string | null;
}

export interface Instruction {
  /** In bytes, after its EXTENDED_ARGs. */
  offset: number;
  /** In the original source; null: none. */
  line: number | null;
  opcode: number;
  opname: string;
  /** null: the opcode takes no argument. */
  arg: number | null;
  /** What the argument stands for, as `dis` shows it; "" if for nothing. */
  argrepr: string;
  /** The offset to which a jump leads; else null. */
  target: number | null;
  /** True: some jump or handler leads here. */
  isTarget: boolean;
}

/** An entry of the exception table (3.11 and later): half-open, in bytes. */
export interface ExceptionRange {
  start: number;
  end: number;
  target: number;
  depth: number;
  lasti: boolean;
}

export interface Stage {
  /** For dump(). */
  name: string;
  /** What it is or does, a sentence for people. */
  about: string;
}

export interface Dump {
  file: string;
  python: Version;
  stage: string;
  text: string;
  /** What could not be listed. */
  diagnostics: Diagnostic[];
}

export interface Graph {
  code: number;
  name: string;
  blocks: GraphBlock[];
  edges: GraphEdge[];
}

export interface GraphBlock {
  id: number;
  /** The offset where it starts in the bytecode. */
  offset: number;
  /** Its canonical instructions, the exit last: what a picture shows. */
  lines: string[];
  /** The offset of the bytecode of each line. */
  offsets: number[];
  /** The original line of each; null: none. */
  originalLines: (number | null)[];
}

export interface GraphEdge {
  from: number;
  to: number;
  kind:
    | "goto"
    | "true"
    | "false"
    | "none" // a value is None
    | "some" // it is not
    | "item" // of a loop: its body
    | "done" // and what follows it
    | "value" // of a `yield from` or `await`: what is yielded
    | "result" // and what it returns
    | "exception"; // to the handler
  /** True: the target is laid out before the source, a loop. */
  isBack: boolean;
}

// --- Inspection ----------------------------------------------------------------------------------

export interface Inspection {
  file: string;
  python: Version;
  /** How the file was read, if that is out of the ordinary. */
  notes: string[];
  /** Why the version may be another one; "": no doubt. */
  doubt: string;
  /** What the code is the code of ("function f"), if it is not that of a module; else "". */
  subject: string;
  header: {
    magic: number;
    /** "magic number 3394 of CPython 3.7" */
    magicWords: string;
    flags: number;
    date: number;
    size: number;
  };
  /** Where the code begins in the file, and where it ends. */
  start: number;
  end: number;
  /** Of the file as a whole. */
  findings: Finding[];
  /** Outer code objects before inner ones. */
  codes: CodeReport[];
}

export interface Finding {
  /** "constant", "code", "name", "junk", ... */
  kind: string;
  text: string;
  /** In the bytecode of the code object, or in the file. */
  offset: number;
  /** What compilers leave, and of no interest. */
  isCommon: boolean;
}

export interface CodeReport {
  code: number;
  path: string;
  filename: string;
  firstLine: number;
  flags: number;
  bytecodeSize: number;
  constantCount: number;
  nameCount: number;
  findings: Finding[];
}
