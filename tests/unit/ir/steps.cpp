// SPDX-License-Identifier: Apache-2.0
// What makes an ir::Function, and what rewrites one: tests/unit/ir/steps/<step>/<case>.txt.
//
// In goes a canonical stream as flow/text.h reads it; out comes the function, or of `split` the
// flow graph. Locals whose names start with `tmp` are those of a generator. Lines before the stream
// say what else there is:
//
//   python 3.10          another compiler than that of 3.12
//   arguments a *b **c   the parameters of the function, which are its first locals
//   cells a              the variables that it shares with nested functions
//   apart enter          facts (object/facts.h), one kind a line: globals that are steady, and
//                        `apart`, `reads`, `graphs`, `objects` or `makers` too
//
// `phis` and `nulls` say which parameters of blocks are left by what lift() ends with. After
// `settle_generated` and `displays`, a last line has the items that are marked as steady.
#include <cctype>
#include <unordered_set>
#include <vector>

#include "flow/build.h"
#include "flow/text.h"
#include "golden.h"
#include "ir/generated.h"
#include "ir/lift.h"
#include "ir/simplify.h"
#include "ir/split.h"
#include "ir/temporaries.h"
#include "ir/threads.h"
#include "ir/write_backs.h"
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

// What a case says before its stream.
struct Given {
  object::Version version{3, 12};
  std::vector<std::string> arguments, cells;
  object::Facts facts;
  std::string code;

  explicit Given(const std::string& input) {
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#")) continue;
      if (!take(line)) code += line + '\n';
    }
  }

  // Gives the code object its variables.
  void declare(object::Module& module) const {
    object::Code& function = module.codes.edit(module.root);
    for (const std::string& name : arguments) {
      const size_t stars = name.find_first_not_of('*');
      function.argcount += stars == 0 ? 1 : 0;
      if (stars == 1) function.flags |= object::kVarArgs;
      if (stars == 2) function.flags |= object::kVarKeywords;
      function.varnames.push_back(module.strings.intern(name.substr(stars)));
    }
    for (const std::string& name : cells) function.cellvars.push_back(module.strings.intern(name));
  }

 private:
  bool take(const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "python") {
      version.minor = static_cast<uint8_t>(std::stoul(line.substr(line.find('.') + 1)));
      return true;
    }
    std::vector<std::string>* const names = named(kind);
    if (names == nullptr) return false;
    for (std::string name; words >> name;) {
      names->push_back(name);
      const bool is_fact = names != &arguments && names != &cells && names != &facts.steady;
      if (is_fact) facts.steady.push_back(name);
    }
    return true;
  }

  std::vector<std::string>* named(const std::string& kind) {
    if (kind == "arguments") return &arguments;
    if (kind == "cells") return &cells;
    if (kind == "steady") return &facts.steady;
    if (kind == "apart") return &facts.apart;
    if (kind == "reads") return &facts.reads;
    if (kind == "graphs") return &facts.graphs;
    if (kind == "objects") return &facts.objects;
    if (kind == "makers") return &facts.makers;
    return nullptr;
  }
};

// Returns true for a call of a global that the facts name so.
bool is_call_of(const object::Module& module, const Function& function, ValueId id,
                const std::vector<std::string>& names) {
  if (!is_op(function[id], Op::Call)) return false;
  const Value& callee = function[function.operands(id)[0]];
  return is_op(callee, Op::LoadGlobal) && object::Facts::has(names, module.text(callee.symbol()));
}

void thread(const object::Module& module, const object::Facts& facts, Function& function) {
  const std::unordered_set<Symbol> names = temporaries(module, function);
  const auto is_load = [&](ValueId id) {
    return is_op(function[id], Op::LoadConst, Op::LoadFast, Op::LoadGlobal);
  };
  const ThreadRules rules{
      names, [&](ValueId id) { return is_call_of(module, function, id, facts.objects); },
      [&](ValueId id) { return is_call_of(module, function, id, facts.apart); }, is_load};
  for (Value& value : function.values) {
    const bool is_global = is_op(value, Op::LoadGlobal);
    value.steady = is_global && object::Facts::has(facts.steady, module.text(value.symbol()));
  }
  thread_branches(module, rules, function);
}

// Runs one step of those that rewrite a function.
void rewrite(const std::string& step, object::Module& module, const Given& given,
             Function& function) {
  const std::unordered_set<Symbol> names = temporaries(module, function);
  object::Facts facts = given.facts;
  if (step == "temporaries") {
    promote_temporaries(function, names);
  } else if (step == "threads") {
    thread(module, facts, function);
  } else if (step == "constant_parameters") {
    drop_constant_parameters(function);
  } else if (step == "write_backs") {
    const auto makes = [&](ValueId id) { return is_call_of(module, function, id, facts.makers); };
    drop_write_backs(module, makes, function);
  } else if (step == "stores_in_locals") {
    drop_stores_in_locals(module, function);
  } else if (step == "settle_generated" || step == "displays") {
    for (const Symbol name : names) facts.temporaries.emplace_back(module.text(name));
    settle_generated(module, facts, function);
    if (step == "displays") mark_displays(function);
  } else {
    simplify(module, function, step == "simplify_generated");
  }
  count_uses(function);
}

std::string steady_items(const std::string& step, const Function& function) {
  if (step != "settle_generated" && step != "displays") return "";
  std::string out;
  for (const Block& block : function.blocks) {
    for (const ValueId item : block.items) {
      if (function[item].steady) out += " v" + std::to_string(item.value);
    }
  }
  return out.empty() ? "" : "steady" + out + '\n';
}

std::string run_step(const std::string& step, const std::string& input) {
  const Given given(input);
  testing::TextCode text(given.version, given.code);
  given.declare(text.module);
  const Result<flow::Graph> graph = flow::build(text.module, text.stream);
  if (!graph.ok()) return graph.error().message + '\n';
  if (step == "split") {
    const std::string whole = flow::dump(text.module, *graph);
    const std::string parts = flow::dump(text.module, split_for_slots(*graph));
    return parts == whole ? "unchanged\n" : parts.substr(parts.find('\n') + 1);
  }
  const bool by_slots = step == "lift_slots" || step == "nulls";
  Result<Function> function = by_slots ? lift_slots(*graph) : lift(*graph);
  if (!function.ok()) return function.error().message + '\n';
  check(text.module, *function);
  const std::string before = text_of_function(text.module, *function);
  if (step == "lift" || step == "phis" || by_slots) return before;
  rewrite(step, text.module, given, *function);
  check(text.module, *function);
  const std::string after =
      text_of_function(text.module, *function) + steady_items(step, *function);
  return after == before ? "unchanged\n" : after;
}

[[maybe_unused]] const bool registered = testing::register_goldens("ir/steps", run_step);

}  // namespace
}  // namespace pellucid::ir
