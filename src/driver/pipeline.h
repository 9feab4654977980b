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

// How a body is written, in the order in which the search tries what is not proven.
enum class Form : uint8_t {
  Usual,         // as a person would
  Plain,         // with structure, but in the order of the bytecode and with nothing polished
  Unstructured,  // as a loop over a state
};
using Forms = std::vector<Form>;  // by CodeId; what is missing is Usual

struct Options {
  bool keep_lines = false;  // put statements on their original lines where that is possible
  bool force_unstructured =
      false;            // print every function as a state machine (a test of the last resort)
  bool verify = false;  // lower the tree again and compare (modules only)
  bool search = false;  // then try what is not proven in other forms
  Forms forms = {};     // to begin with
  object::Facts facts;  // what is known of the code, if it is program-generated
  std::string doubt;    // why the version is a guess: then no verdict is better than unproven
};

// Where a line of the printed source comes from.
struct LineMapEntry {
  uint32_t line = 0;              // in the printed source, from 1
  int32_t original_line = -1;     // in the original source; -1: unknown
  uint32_t offset = 0xffffffffu;  // byte offset in the bytecode of `code`
  object::CodeId code;
};

// What a reader should know about a part of the result that is not as it should be.
struct Diagnostic {
  object::CodeId code;
  uint32_t offset = 0;
  std::string message;
  bool refused = true;        // false: the source says it all, though not as a person would
  std::string qualname = {};  // of the code object, as the text has it
};

// A value that the source refers to by a name.
struct Opaque {
  std::string name;
  object::Known known = object::Known::Nothing;
  object::CodeId code;  // that it is, if it is one
};

struct Output {
  std::string source;  // a module's statements, or one `def` (of a function's code object)
  std::vector<LineMapEntry> line_map;
  std::vector<Opaque> opaques;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> paths;  // of the code objects, by id, in the names that the text has
  // Names that no source can write, after the ones that stand for them in this one.
  std::vector<std::pair<std::string, std::string>> renamed;
  std::optional<verify::Verdict> verdict;  // of the relowered tier, where it was asked for
};

// Decompiles `root` with everything nested in it. Names that no source can write are others in the
// text: code that has any of these is unproven.
Result<Output> decompile(const object::Module& module, object::CodeId root,
                         const Options& options = {});

// Whether `original` means what the tree says that `module` is decompiled to: the relowered tier
// for two programs, with which tests show that it tells programs apart. Both roots are modules.
verify::Verdict compare_with_tree(const object::Module& original, const object::Module& module,
                                  const verify::Options& options = {});

// The names of all stages but "dis". "structure" says which attempts there were and what their
// steps changed, "structure:STEP" shows the graph after a step,
// "structure:plan" the plan of its statements.
std::vector<std::string> stages();

// The text of one stage for one code object and all nested ones; "dis" is "flow" with lines and
// offsets. "module" is object::dump(). What cannot be listed is marked where it stands, and `told`
// gets it; the rest is listed.
Result<std::string> dump_stage(const object::Module& module, object::CodeId root,
                               const std::string& stage, std::vector<Diagnostic>* told = nullptr);

}  // namespace pellucid::driver
