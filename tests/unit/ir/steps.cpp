// SPDX-License-Identifier: Apache-2.0
// What makes an ir::Function, and what rewrites one: tests/unit/ir/steps/<step>/<case>.txt.
//
// In goes a canonical stream as flow/text.h reads it, with a line `python 3.10` for another
// compiler than that of 3.12; out comes the function, or of `split` the flow graph. Locals whose
// names start with `tmp` are those of a generator.
#include <cctype>
#include <unordered_set>

#include "flow/build.h"
#include "flow/text.h"
#include "golden.h"
#include "ir/lift.h"
#include "ir/simplify.h"
#include "ir/split.h"
#include "ir/temporaries.h"
#include "object/repr.h"

namespace pellucid::ir {
namespace {

// The dump without its heading, and with constants as Python writes them.
std::string text_of_function(const object::Module& module, const Function& function) {
  const std::string dump = ir::dump(module, function);
  std::string out;
  for (size_t at = dump.find('\n') + 1; at < dump.size();) {
    const std::string mark = "const#";
    const size_t next = dump.find(mark, at);
    out += dump.substr(at, next - at);
    if (next == std::string::npos) break;
    size_t end = next + mark.size();
    const size_t index = std::stoul(dump.substr(end));
    while (end < dump.size() && std::isdigit(static_cast<unsigned char>(dump[end]))) ++end;
    out += object::repr(module, object::ConstId(index));
    at = end;
  }
  return out;
}

std::unordered_set<Symbol> temporaries(const object::Module& module, const Function& function) {
  std::unordered_set<Symbol> names;
  for (const Value& value : function.values) {
    const bool names_local =
        is_op(value, Op::LoadFast, Op::StoreFast, Op::DeleteFast, Op::LoadFastAndClear);
    if (names_local && module.text(value.symbol()).starts_with("tmp")) names.insert(value.symbol());
  }
  return names;
}

std::string run_step(const std::string& step, const std::string& input) {
  object::Version version{3, 12};
  std::string code;
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("python 3.")) {
      version.minor = static_cast<uint8_t>(std::stoul(line.substr(9)));
    } else if (!line.starts_with("#")) {
      code += line + '\n';
    }
  }
  const testing::TextCode text(version, code);
  const Result<flow::Graph> graph = flow::build(text.module, text.stream);
  if (!graph.ok()) return graph.error().message + '\n';
  if (step == "split") {
    const std::string whole = flow::dump(text.module, *graph);
    const std::string parts = flow::dump(text.module, split_for_slots(*graph));
    return parts == whole ? "unchanged\n" : parts.substr(parts.find('\n') + 1);
  }
  const bool by_slots = step == "lift_slots";
  Result<Function> function = by_slots ? lift_slots(*graph) : lift(*graph);
  if (!function.ok()) return function.error().message + '\n';
  check(text.module, *function);
  const std::string before = text_of_function(text.module, *function);
  if (step == "lift" || by_slots) return before;
  if (step == "temporaries") {
    promote_temporaries(*function, temporaries(text.module, *function));
  } else {
    simplify(text.module, *function, step == "simplify_generated");
  }
  check(text.module, *function);
  const std::string after = text_of_function(text.module, *function);
  return after == before ? "unchanged\n" : after;
}

[[maybe_unused]] const bool registered = testing::register_goldens("ir/steps", run_step);

}  // namespace
}  // namespace pellucid::ir
