// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace pellucid::cli {

const char* const kUsage =
    "usage: pellucid decompile INPUT... [-o OUT] [--no-verify] [--keep-lines] [--jobs N] [--json]\n"
    "       pellucid inspect INPUT... [--json]\n"
    "       pellucid dis INPUT...\n"
    "       pellucid dump --stage=STAGE INPUT...\n"
    "       pellucid COMMAND --help | --version\n";

namespace {

constexpr const char* kMainHelp =
    "usage: pellucid COMMAND ...\n"
    "\n"
    "Turn CPython bytecode back into source. This is the native binary, which needs no Python; "
    "the\n"
    "Python package has the same commands and more.\n"
    "\n"
    "commands:\n"
    "  decompile   turn compiled Python back into source\n"
    "  inspect     list what loading a pickle or a model file would call\n"
    "  dis         disassemble, and show the control-flow graph\n"
    "  dump        print the output of one stage of the decompiler\n"
    "\n"
    "Each has its own --help. --version prints the version.\n";

constexpr const char* kDecompileHelp =
    "usage: pellucid decompile INPUT... [-o OUT] [--no-verify] [--keep-lines] [--jobs N] [--json]\n"
    "\n"
    "Turn compiled Python back into source, and prove that the source means the same: its syntax\n"
    "tree is compiled by pellucid itself and compared with the bytecode (the relowered tier). A\n"
    "comment marks each function that is not proven.\n"
    "\n"
    "INPUT can be a .pyc file, a folder (everything below it), an archive (zip, wheel, egg, tar,\n"
    "gzip, an image with its layers), a PyInstaller program or its PYZ, a pickle or model file\n"
    "(joblib, torch.save, numpy, Keras), or - for standard input. pellucid goes by the bytes: the\n"
    "header may be wrong or missing, and a zip may follow a program. It reads CPython 3.8 to "
    "3.15.\n"
    "Nothing in the input is ever executed.\n"
    "\n"
    "Without -o, the source goes to standard output. With -o OUT, a single file is written to "
    "OUT;\n"
    "several files, a folder or an archive are mirrored in the folder OUT:\n"
    "pkg/__pycache__/mod.cpython-311.pyc becomes OUT/pkg/mod.py, and a second mod.py of the same "
    "run\n"
    "mod~2.py. Files are written atomically. A file that exists with different contents is not\n"
    "overwritten without --force.\n"
    "\n"
    "options:\n"
    "  -o OUT, --out OUT   write to this file, or to this folder if there are several\n"
    "  --force             overwrite files that exist with different contents\n"
    "  --keep-lines        keep statements on their original lines, so that tracebacks and "
    "coverage\n"
    "                      match\n"
    "  --line-length N     break longer lines where possible; N is in columns (default: 100)\n"
    "  --say-lost          add comments on what the source had and the text cannot have:\n"
    "                      annotations of locals, folded expressions, constants as statements\n"
    "                      (Python 3.11 and later)\n"
    "  --no-verify         skip the proof (saves a third of the time or more)\n"
    "  --verify=strict     prove also that each loop handles an interruption, such as Ctrl-C, "
    "where\n"
    "                      the code does: leaves up to a third of the files unproven\n"
    "  --unstructured      do not recover control flow: write every body as a loop over a state\n"
    "  --python-version 3.N\n"
    "                      Python version of the files (default: as the header says, or the one\n"
    "                      that fits)\n"
    "  --carve             read every code object at any place of each file, such as in a memory\n"
    "                      dump, a program or a cache, instead of files and archives\n"
    "  --jobs N            files to process at a time (default: one per processor)\n"
    "  --json              print one line of JSON per file\n"
    "\n"
    "exit code:\n"
    "  0    every file was decompiled and, without --no-verify, proven\n"
    "  1    a file is not a valid .pyc, could not be read or written, or has a function that "
    "could\n"
    "       not be recovered; standard error names the file, the reason and the byte offset\n"
    "  2    wrong usage\n"
    "  3    every file was decompiled, but not all of it was proven\n";

constexpr const char* kInspectHelp =
    "usage: pellucid inspect INPUT... [--json]\n"
    "\n"
    "List what loading a pickle would import and call, in order. Steps that run code, or reach "
    "what\n"
    "can, are marked !, and steps that depend on other modules ?. Nothing is loaded.\n"
    "\n"
    "INPUT can be a pickle, a file of joblib, numpy or torch.save, an archive with such files, or "
    "a\n"
    "folder. (The `inspect` of the Python package also shows what compiled Python contains.)\n"
    "\n"
    "options:\n"
    "  --json   print one line of JSON per pickle\n"
    "\n"
    "exit code: 0 on success, 1 if an input holds no pickle or cannot be read, 2 for wrong "
    "usage\n";

constexpr const char* kDumpHelp =
    "usage: pellucid dis INPUT...\n"
    "       pellucid dump --stage=STAGE INPUT...\n"
    "\n"
    "dis prints the instructions of every code object by basic block, with the edges between "
    "blocks\n"
    "and their exception handlers. dump prints the output of one stage of the decompiler.\n"
    "\n"
    "INPUT can be anything that `pellucid decompile` takes.\n"
    "\n"
    "options:\n"
    "  --python-version 3.N\n"
    "           Python version of the files (default: as the header says, or the one that fits)\n"
    "  --carve  read every code object at any place of each file\n"
    "\n"
    "stages:\n"
    "  module   code objects, as read from the file\n"
    "  raw      instructions of the file's own Python version\n"
    "  stream   the same instructions in the vocabulary shared by all versions\n"
    "  flow     basic blocks, the edges between them and their exception handlers\n"
    "  ir       values and ordered effects instead of a stack\n"
    "  structure\n"
    "           each attempt to recover control flow, and what each step changed;\n"
    "           structure:STEP shows the graph after one step\n"
    "  ast      the syntax tree that is printed\n"
    "\n"
    "exit code: 0 on success, 1 if an input is not a valid .pyc, 2 for wrong usage\n";

Arguments wrong(std::string complaint) {
  Arguments arguments;
  arguments.complaint = std::move(complaint);
  return arguments;
}

Arguments help(const char* page) {
  Arguments arguments;
  arguments.command = Arguments::Command::Help;
  arguments.help = page;
  return arguments;
}

// Reads options one by one, as `--name=value` or `--name value`.
class Reader {
 public:
  Reader(int argc, char** argv) : words_(argv, argv + argc) {}

  bool done() const { return at_ == words_.size(); }
  std::string_view next() { return words_[at_++]; }

  // Returns the value of option `name` if `word` is that option; a missing one is an empty text.
  std::optional<std::string> value(std::string_view word, std::string_view name) {
    if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      return std::string(word.substr(name.size() + 1));
    }
    if (word != name) return std::nullopt;
    return done() ? std::string() : std::string(next());
  }

 private:
  std::vector<std::string_view> words_;
  size_t at_ = 2;
};

// Reads a number from 1 to `most`; returns false for any other text.
bool read_number(const std::string& text, unsigned most, unsigned& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && *read.ptr == '\0';
  return is_whole && number > 0 && number <= most;
}

}  // namespace

Arguments parse(int argc, char** argv) {
  const std::string_view command = argc < 2 ? "" : argv[1];
  Arguments arguments;
  if (command == "--version") {
    arguments.command = Arguments::Command::Version;
    return arguments;
  }
  if (command == "--help" || command == "-h") return help(kMainHelp);
  const bool decompiles = command == "decompile";
  const bool inspects = command == "inspect";
  if (!decompiles && !inspects && command != "dis" && command != "dump") return wrong("");
  if (command == "dis") arguments.stage = "dis";
  Reader words(argc, argv);
  bool only_inputs = false;
  while (!words.done()) {
    const std::string_view word = words.next();
    if (only_inputs || word == "-" || !word.starts_with('-')) {
      arguments.inputs.emplace_back(word);
    } else if (word == "--") {
      only_inputs = true;
    } else if (word == "--help" || word == "-h") {
      return help(decompiles ? kDecompileHelp : inspects ? kInspectHelp : kDumpHelp);
    } else if (const auto stage = words.value(word, "--stage"); stage && command == "dump") {
      arguments.stage = *stage;
    } else if (const auto version = words.value(word, "--python-version")) {
      arguments.version = version_named(*version);
      if (!arguments.version) return wrong("--python-version wants one of 3.8 to 3.15");
    } else if (word == "--carve") {
      arguments.carves = true;
    } else if (word == "--json" && (decompiles || inspects)) {
      arguments.as_json = true;
    } else if (!decompiles) {
      return wrong("unknown option " + std::string(word));
    } else if (word == "--keep-lines") {
      arguments.keep_lines = true;
    } else if (word == "--say-lost") {
      arguments.say_lost = true;
    } else if (word == "--verify" || word == "--verify=relowered") {
      arguments.verify = true;  // the default
    } else if (word == "--verify=strict") {
      arguments.verify = arguments.strict = true;
    } else if (word == "--no-verify") {
      arguments.verify = false;
    } else if (word == "--force") {
      arguments.force = true;
    } else if (word == "--unstructured") {
      arguments.unstructured = true;
    } else if (auto out = words.value(word, word.starts_with("--") ? "--out" : "-o")) {
      if (out->empty()) return wrong("-o wants a file or a folder");
      arguments.out = *out;
    } else if (const auto jobs = words.value(word, "--jobs")) {
      if (!read_number(*jobs, 1024, arguments.jobs)) {
        return wrong("--jobs wants a number from 1 to 1024");
      }
    } else if (const auto columns = words.value(word, "--line-length")) {
      if (!read_number(*columns, 100'000, arguments.line_length)) {
        return wrong("--line-length wants a number from 1 to 100000");
      }
    } else {
      return wrong("unknown option " + std::string(word));
    }
  }
  if (arguments.inputs.empty()) return wrong("no input");
  const std::vector<std::string> stages = pellucid::stages();
  const bool is_known = std::find(stages.begin(), stages.end(), arguments.stage) != stages.end();
  if (command == "dump" && !is_known) {
    std::string names;
    for (const std::string& stage : stages) names += (names.empty() ? "" : ", ") + stage;
    return wrong("--stage wants one of " + names);
  }
  arguments.command = decompiles ? Arguments::Command::Decompile
                      : inspects ? Arguments::Command::Inspect
                                 : Arguments::Command::Dump;
  return arguments;
}

}  // namespace pellucid::cli
