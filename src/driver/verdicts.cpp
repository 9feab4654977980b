// SPDX-License-Identifier: Apache-2.0
#include "driver/verdicts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bytecode/holder.h"
#include "verify/lower/lower.h"

namespace pellucid::driver {
namespace {

// Returns what may differ between a code object by itself and one compiled with others around it.
verify::Options options_of(const object::Module& module) {
  verify::Options options;
  options.ignore_nested_flag = options.ignore_qualname = module.subject() != module.root;
  return options;
}

verify::Verdict not_there(const object::Module& module, verify::Tier tier) {
  verify::CodeVerdict code;
  code.code = module.subject();
  code.path = module.text(module[code.code].name);
  code.reason = "there is no such code object in what the text compiles to";
  return {verify::Status::Unproven, tier, {code}};
}

}  // namespace

verify::Verdict relowered(flow::Graphs& graphs, ast::Tree& tree, ast::NodeId top, bool is_strict,
                          const object::Facts& facts) {
  const object::Module& module = graphs.module();
  // Of a large module, the graphs of the text take the place of these.
  graphs.free_rest();
  verify::Lowered lowered = verify::relower(tree, top);
  const auto nested = [&](object::CodeId code) {
    std::vector<object::CodeId> found;
    for (const flow::Instr& instr : lowered.graphs[code.index()].instrs) {
      if (instr.op != bytecode::Op::LoadConst) continue;
      const object::Const& value = lowered.module[object::ConstId(instr.a)];
      if (value.kind == object::ConstKind::Code) found.push_back(value.code);
    }
    return found;
  };
  const object::CodeId there = bytecode::counterpart(module, lowered.module, nested);
  if (!there.valid()) return not_there(module, verify::Tier::Relowered);
  lowered.module.root = there;
  verify::Options options = options_of(module);
  options.strict = is_strict;
  options.facts = facts;
  options.extra_locals = !facts.empty();
  options.bound_globals = std::ranges::any_of(module.consts, [](const object::Const& value) {
    return value.kind == object::ConstKind::Opaque;
  });
  return verify::compare(graphs, module.subject(), lowered, options);
}

verify::Verdict compare_recompiled(const object::Module& original, const object::Module& again,
                                   bool meetings, bool is_strict) {
  const object::CodeId there = bytecode::counterpart(original, again, bytecode::nested_in(again));
  if (!there.valid()) return not_there(original, verify::Tier::Recompiled);
  verify::Options options = options_of(original);
  options.meetings = meetings;
  options.strict = is_strict;
  return verify::compare(original, original.subject(), again, there, options);
}

verify::Verdict of_a_guess(const object::Module& module, verify::Tier tier,
                           const std::string& doubt) {
  verify::CodeVerdict code;
  code.code = module.subject();
  code.path = module.text(module[code.code].name);
  code.reason = "the version is a guess: " + doubt;
  return {verify::Status::Unproven, tier, {code}};
}

}  // namespace pellucid::driver
