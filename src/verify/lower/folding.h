// SPDX-License-Identifier: Apache-2.0
// verify::lower: what CPython computes before it compiles (ast_opt.c; since 3.14 flowgraph.c).
#pragma once

#include <optional>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

// Returns true if constants are folded here: up to 3.9 not within the value of a walrus.
bool folds_here(const Unit& unit);
// Returns true if the text can write a constant.
bool has_literal(const Unit& unit, ConstId value);
// Returns the constant that an expression is folded to; nothing if it is computed at run time.
std::optional<ConstId> constant_of(Unit& unit, NodeId node);
// Returns the constant that an operation on one is folded to; nothing if it raises.
std::optional<ConstId> folded_unary(Unit& unit, uint32_t op, ConstId operand);
// Returns the constant of a slice. 3.14 folds slices whose bounds are literals before it folds
// other operations, so not `[:-1]`.
std::optional<ConstId> constant_slice(Unit& unit, const ast::Slice& node);
// Returns the truth of a constant test; CPython compiles no code for the other branch.
std::optional<bool> truth_of(const Unit& unit, NodeId node);

}  // namespace pellucid::verify::lower
