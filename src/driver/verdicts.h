// SPDX-License-Identifier: Apache-2.0
// driver: what is compared with what, where a file may hold less than a module (bytecode/holder.h).
#pragma once

#include <string>

#include "ast/tree.h"
#include "flow/graphs.h"
#include "object/code.h"
#include "verify/compare.h"

namespace pellucid::driver {

// The verdict of the second tier on the tree that was made of a module.
verify::Verdict relowered(flow::Graphs& graphs, const ast::Tree& tree, ast::NodeId top);

// The verdict of the first tier: of what was read on the code that its text was compiled to.
verify::Verdict compare_recompiled(const object::Module& original, const object::Module& again);

// Of a guess at the version nothing is proven.
verify::Verdict of_a_guess(const object::Module& module, verify::Tier tier,
                           const std::string& doubt);

}  // namespace pellucid::driver
