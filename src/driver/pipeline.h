// SPDX-License-Identifier: Apache-2.0
// driver: the table of contents of pellucid. One code object in, source out, one line a step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "object/code.h"
#include "object/facts.h"
#include "object/known.h"
#include "verify/compare.h"

namespace pellucid::driver {

// The form of a body, in the order in which the search tries them for unproven code.
enum class Form : uint8_t {
  Usual,         // as a person would
  InOrder,       // the same, with all locals bound first, where it never runs, in their order
  Plain,         // with structure, but in the order of the bytecode and unpolished
  Unstructured,  // as a loop over a state
};
using Forms = std::vector<Form>;  // by CodeId; missing ones are Usual

struct Options {
  bool keep_lines = false;     // put statements on their original lines where that is possible
  uint32_t line_length = 100;  // longer lines are broken where that is possible
  bool say_lost = false;       // comments say what was in the source and the text cannot have
  bool force_unstructured =
      false;            // print every function as a state machine (a test of the last resort)
  bool verify = false;  // lower the tree again and compare (modules only)
  bool strict = false;  // and compare what handles interruptions
  bool search = false;  // then try other forms of unproven code
  Forms forms = {};     // to begin with
  object::Facts facts;  // about the code, if it is program-generated; the verdict builds on them
  std::string doubt;    // why the version is a guess: then no verdict is better than unproven
  std::optional<object::Version> syntax = {};  // that the text may use; by default the module's
};

// The origin of a line of the printed source.
struct LineMapEntry {
  uint32_t line = 0;              // in the printed source, from 1
  int32_t original_line = -1;     // in the original source; -1: unknown
  uint32_t offset = 0xffffffffu;  // byte offset in the bytecode of `code`
  object::CodeId code;
};

// A remark on a part of the result that is not as it should be.
struct Diagnostic {
  object::CodeId code;
  uint32_t offset = 0;
  std::string message;
  bool refused = true;        // false: the source is complete, but not as a person would write it
  std::string qualname = {};  // of the code object, as the text has it
};

// A value that the source refers to by a name.
struct Opaque {
  std::string name;
  object::Known known = object::Known::Nothing;
  object::CodeId code;  // the code object that it is, if any
};

struct Output {
  std::string source;  // a module's statements, or one `def` (of a function's code object)
  std::vector<LineMapEntry> line_map;
  std::vector<Opaque> opaques;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> paths;  // of the code objects, by id, in the names that the text has
  // The names in this text for names that no source can write, and the latter.
  std::vector<std::pair<std::string, std::string>> renamed;
  std::optional<verify::Verdict> verdict;  // of the relowered tier, if requested
};

// Decompiles `root` with everything nested in it. Names that no source can write are replaced in
// the text; code that has any is unproven.
Result<Output> decompile(const object::Module& module, object::CodeId root,
                         const Options& options = {});

// Compares `original` with the tree that `module` is decompiled to: the relowered tier for two
// programs, with which tests show that it tells programs apart. Both roots are modules.
verify::Verdict compare_with_tree(const object::Module& original, const object::Module& module,
                                  const verify::Options& options = {});

// Returns the names of all stages but "dis". "structure" shows the attempts and what their steps
// changed, "structure:STEP" the graph after a step, "structure:plan" the plan of its statements.
std::vector<std::string> stages();

// Returns the text of one stage for one code object and all nested ones; "dis" is "flow" with lines
// and offsets, "module" is object::dump(). Code that cannot be listed is marked in its place, with
// a diagnostic in `told`; the rest is listed. With a valid `only`, the others are left out.
Result<std::string> dump_stage(const object::Module& module, object::CodeId root,
                               const std::string& stage, std::vector<Diagnostic>* told = nullptr,
                               object::CodeId only = {});

}  // namespace pellucid::driver
