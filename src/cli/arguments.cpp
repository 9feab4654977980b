// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace pellucid::cli {

const char* const kUsage =
    "usage: pellucid decompile INPUT... [-o OUT] [--no-verify] [--keep-lines] [--jobs N] [--json]\n"
    "       pellucid dis INPUT...\n"
    "       pellucid dump --stage=STAGE INPUT...\n"
    "       pellucid COMMAND --help | --version\n";

namespace {

constexpr const char* kMainHelp =
    "usage: pellucid COMMAND ...\n"
    "\n"
    "Python bytecode back to source: the native binary, which needs no Python. The Python package\n"
    "has the same commands and more.\n"
    "\n"
    "commands:\n"
    "  decompile   whole modules back to source\n"
    "  dis         readable disassembly with its flow graph\n"
    "  dump        what one stage of the decompiler makes\n"
    "\n"
    "Each has its own --help. --version says the version.\n";

constexpr const char* kDecompileHelp =
    "usage: pellucid decompile INPUT... [-o OUT] [--no-verify] [--keep-lines] [--jobs N] [--json]\n"
    "\n"
    "Turn whole modules back into source, and prove that it means the same: its syntax tree is\n"
    "lowered again and compared with the bytecode (the relowered tier). A comment marks\n"
    "what is not proven.\n"
    "\n"
    "Each INPUT is a .pyc file, a folder (all .pyc files below it), a wheel, an egg or another "
    "zip\n"
    "archive, a program that PyInstaller made or its PYZ, or - for standard input. Its bytes "
    "tell\n"
    "what it is: a header may be wrong or missing, a zip may stand after a program. CPython 3.8 "
    "to\n"
    "3.15. Nothing that is read is ever executed.\n"
    "\n"
    "Without -o the source goes to standard output. With -o OUT, one file is written to OUT; "
    "several\n"
    "files, a folder or an archive are mirrored in the folder OUT, where\n"
    "pkg/__pycache__/mod.cpython-311.pyc becomes OUT/pkg/mod.py. Files appear whole or not at "
    "all,\n"
    "and no two inputs share a place: a second mod.py is written as mod~2.py.\n"
    "\n"
    "options:\n"
    "  -o OUT, --out OUT   a file, or a folder for more than one file\n"
    "  --keep-lines        put statements on their original lines, so that tracebacks and "
    "coverage\n"
    "                      fit\n"
    "  --no-verify         prove nothing: faster by a third or more\n"
    "  --unstructured      recover no control flow: write every body as a loop over a state\n"
    "  --python-version 3.N\n"
    "                      read every file as one of this version (default: its header, or what "
    "fits)\n"
    "  --jobs N            files at a time (default: one per processor)\n"
    "  --json              print a line of JSON for each file on standard output\n"
    "\n"
    "exit status:\n"
    "  0    every file was decompiled and, without --no-verify, proven\n"
    "  1    a file was no valid .pyc or could not be read or written, or a function in it was not\n"
    "       recovered; each has a line on standard error with the file, the reason and the byte\n"
    "       offset\n"
    "  2    wrong usage\n"
    "  3    all was decompiled, but not all was proven\n";

constexpr const char* kDumpHelp =
    "usage: pellucid dis INPUT...\n"
    "       pellucid dump --stage=STAGE INPUT...\n"
    "\n"
    "Print the instructions of every code object, block by block, with the ways between the "
    "blocks\n"
    "and the handlers around them (dis), or what one stage of the decompiler makes (dump).\n"
    "\n"
    "Each INPUT is what `pellucid decompile` takes.\n"
    "\n"
    "options:\n"
    "  --python-version 3.N\n"
    "           read every file as one of this version (default: its header, or what fits)\n"
    "\n"
    "stages:\n"
    "  module   the code objects as they were read\n"
    "  raw      the instructions of the file's own version\n"
    "  stream   the same in the one vocabulary for all versions\n"
    "  flow     blocks, the ways between them and the handlers around them\n"
    "  ir       values and ordered effects instead of a stack\n"
    "  structure\n"
    "           the attempts to find structure, and what each of their steps changed;\n"
    "           structure:STEP shows the graph after a step\n"
    "  ast      the syntax tree that is printed\n"
    "\n"
    "exit status: 0, or 1 if an input was no valid .pyc, or 2 for wrong usage\n";

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
  if (!decompiles && command != "dis" && command != "dump") return wrong("");
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
      return help(decompiles ? kDecompileHelp : kDumpHelp);
    } else if (const auto stage = words.value(word, "--stage"); stage && command == "dump") {
      arguments.stage = *stage;
    } else if (const auto version = words.value(word, "--python-version")) {
      arguments.version = version_named(*version);
      if (!arguments.version) return wrong("--python-version wants one of 3.8 to 3.15");
    } else if (!decompiles) {
      return wrong("unknown option " + std::string(word));
    } else if (word == "--keep-lines") {
      arguments.keep_lines = true;
    } else if (word == "--verify" || word == "--verify=relowered") {
      arguments.verify = true;  // the default
    } else if (word == "--no-verify") {
      arguments.verify = false;
    } else if (word == "--unstructured") {
      arguments.unstructured = true;
    } else if (word == "--json") {
      arguments.as_json = true;
    } else if (auto out = words.value(word, word.starts_with("--") ? "--out" : "-o")) {
      if (out->empty()) return wrong("-o wants a file or a folder");
      arguments.out = *out;
    } else if (const auto jobs = words.value(word, "--jobs")) {
      const auto read = std::from_chars(jobs->data(), jobs->data() + jobs->size(), arguments.jobs);
      if (jobs->empty() || *read.ptr != '\0' || arguments.jobs == 0 || arguments.jobs > 1024) {
        return wrong("--jobs wants a number from 1 to 1024");
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
  arguments.command = decompiles ? Arguments::Command::Decompile : Arguments::Command::Dump;
  return arguments;
}

}  // namespace pellucid::cli
