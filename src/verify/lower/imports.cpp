// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/imports.h"

#include <algorithm>
#include <string>
#include <vector>

#include "verify/lower/names.h"

namespace pellucid::verify::lower {

namespace {

// Returns the `b` of IMPORT_NAME for an import at this place. Where 3.15 does not allow `lazy
// import`, the lazy imports filter does not apply either: in functions and classes, in `try`
// statements with their handlers, and for `import *`.
uint32_t laziness(Unit& unit, bool is_lazy, bool is_star) {
  if (!unit.features.lazy_imports) return 0;
  const auto& around = unit.enclosing;
  const bool is_eager = is_star || unit.scope.kind != ScopeKind::Module ||
                        std::any_of(around.begin(), around.end(), [](const Enclosing& one) {
                          switch (one.kind) {
                            case Enclosing::kTryExcept:
                            case Enclosing::kTryFinally:
                            case Enclosing::kFinallyEnd:
                            case Enclosing::kHandler:
                            case Enclosing::kStarHandler:
                              return true;
                            case Enclosing::kWhile:
                            case Enclosing::kFor:
                            case Enclosing::kAsyncFor:
                            case Enclosing::kWith:
                            case Enclosing::kAsyncWith:
                            case Enclosing::kValue:
                              return false;
                          }
                          return false;
                        });
  if (is_lazy && is_eager) give_up("a lazy import where there is none");
  return is_lazy ? 1 : is_eager ? 2 : 0;
}

}  // namespace

void import_statement(Unit& unit, const ast::Import& node) {
  for (NodeId part : unit.tree.items(node.names)) {
    const auto alias = unit.tree.as<ast::alias>(part);
    const std::string dotted(unit.tree.text(alias.name));
    load_number(unit, 0);
    load_none(unit);
    unit.emit.op(Op::ImportName, unit.mangled(alias.name).value,
                 laziness(unit, node.is_lazy != 0, false));
    const size_t dot = dotted.find('.');
    if (!alias.asname.valid()) {
      store_name(unit, dotted.substr(0, dot));
      continue;
    }
    for (size_t at = dot; at != std::string::npos;) {
      const size_t next = dotted.find('.', at + 1);
      unit.emit.op(Op::ImportFrom, unit.symbol(dotted.substr(at + 1, next - at - 1)).value);
      at = next;
      if (at == std::string::npos) break;
      unit.emit.op(Op::Swap, 2);
      unit.emit.op(Op::Pop);
    }
    store_name(unit, alias.asname);
    // The last package is kept until its module has a name.
    if (dot != std::string::npos) unit.emit.op(Op::Pop);
  }
}

void import_from_statement(Unit& unit, const ast::ImportFrom& node) {
  std::vector<ConstId> names;
  for (NodeId part : unit.tree.items(node.names)) {
    names.push_back(unit.constants.text(unit.tree.text(unit.tree.as<ast::alias>(part).name)));
  }
  load_number(unit, node.level);
  load(unit, unit.constants.tuple(names));
  const auto names_all = [&](NodeId part) {
    return unit.tree.text(unit.tree.as<ast::alias>(part).name) == "*";
  };
  const auto parts = unit.tree.items(node.names);
  const bool is_star = std::any_of(parts.begin(), parts.end(), names_all);
  unit.emit.op(Op::ImportName,
               node.module.valid() ? unit.mangled(node.module).value : unit.symbol("").value,
               laziness(unit, node.is_lazy != 0, is_star));
  for (NodeId part : unit.tree.items(node.names)) {
    const auto alias = unit.tree.as<ast::alias>(part);
    if (unit.tree.text(alias.name) == "*") return unit.emit.op(Op::ImportStar);
    unit.emit.op(Op::ImportFrom, unit.mangled(alias.name).value);
    store_name(unit, alias.asname.valid() ? alias.asname : alias.name);
  }
  unit.emit.op(Op::Pop);
}

}  // namespace pellucid::verify::lower
