// SPDX-License-Identifier: Apache-2.0
// driver: verdicts on files that may hold less than a module (bytecode/holder.h).
#pragma once

#include <string>

#include "ast/tree.h"
#include "flow/graphs.h"
#include "object/code.h"
#include "verify/compare.h"

namespace pellucid::driver {

// Returns the verdict of the second tier on the tree made of a module. Spends the tree's module
// (verify::relower). With facts, locals of program-generated code may be missing, and new ones
// there.
verify::Verdict relowered(flow::Graphs& graphs, ast::Tree& tree, ast::NodeId top,
                          bool is_strict = false, const object::Facts& facts = {});

// Returns the verdict of the first tier: on what was read and the code that its text compiles to.
verify::Verdict compare_recompiled(const object::Module& original, const object::Module& again,
                                   bool meetings = false, bool is_strict = false);

// Returns the verdict for a guessed version: nothing is proven.
verify::Verdict of_a_guess(const object::Module& module, verify::Tier tier,
                           const std::string& doubt);

}  // namespace pellucid::driver
