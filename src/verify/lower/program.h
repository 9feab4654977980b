// SPDX-License-Identifier: Apache-2.0
// verify::lower: what all code objects of a program share while it is lowered.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "verify/lower/constants.h"
#include "verify/lower/features.h"
#include "verify/lower/lower.h"
#include "verify/lower/spelling.h"
#include "verify/lower/symbols.h"

namespace pellucid::verify::lower {

struct Program {
  // Lowers the tree into `out`, whose module has no code objects yet.
  Program(const ast::Tree& from, Lowered& out, const Symbols& names, ast::NodeId root)
      : tree(from),
        lowered(out),
        symbols(names),
        features(features_of(out.module.version)),
        misspelt(lower::misspelt(from, root)),
        constants(out.module) {}

  const ast::Tree& tree;
  Lowered& lowered;
  const Symbols& symbols;
  const Features features;
  const Misspelt misspelt;
  Constants constants;
  std::unordered_map<ScopeId, object::CodeId> codes;  // compiled, or being compiled
  std::vector<std::string> qualnames;                 // by CodeId
};

}  // namespace pellucid::verify::lower
