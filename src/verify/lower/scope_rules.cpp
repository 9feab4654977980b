// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/scope_rules.h"

namespace pellucid::verify::lower {

std::string broken_rule(const Symbols& symbols, ScopeId id) {
  const Scope& scope = symbols[id];
  if (scope.broken != nullptr) return scope.broken;
  for (const Entry& entry : scope.entries) {
    const bool is_global = (entry.use & kGlobal) != 0 && scope.kind != ScopeKind::Module;
    const bool is_nonlocal = (entry.use & kNonlocal) != 0;
    if (!is_global && !is_nonlocal) continue;
    if ((entry.use & kParameter) != 0) return "a parameter is declared global or nonlocal";
    if ((entry.use & kAnnotated) != 0) return "an annotated name is declared global or nonlocal";
    if (is_global && is_nonlocal) return "a name is declared global and nonlocal";
    if (!is_nonlocal) continue;
    if (scope.kind == ScopeKind::Module) return "nonlocal in a module";
    if (entry.binding != Binding::Free) return "nonlocal of a name that nothing around binds";
  }
  return "";
}

}  // namespace pellucid::verify::lower
