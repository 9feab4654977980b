// SPDX-License-Identifier: Apache-2.0
// ast: what is written first, and which parts of a statement need separate lines, since compilers
// treat consecutive stores and jumps by their lines. print and verify/lower use the same answers,
// so that the proof is about the text.
#pragma once

#include <span>

#include "ast/tree.h"

namespace pellucid::ast {

// Returns the part of an expression whose text comes first; invalid if it begins with its own
// token.
NodeId first_part(const Tree& tree, NodeId id);

// Returns true if two consecutive targets are the same name on different lines: since 3.13 the
// first of two stores to one name on one line is removed.
bool stores_twice(const Tree& tree, std::span<const NodeId> targets);

// Returns true if `a` and then `b` are the same name, stored on the same line.
bool is_one_store(const Tree& tree, NodeId a, NodeId b);

// Returns true if the targets of `x, y = a, b` were on several lines: since 3.11 stores on one line
// are reordered to the order of the values on the stack (flowgraph.c: apply_static_swaps).
bool keeps_order(const Tree& tree, const Assign& node);

// Returns true if an inlined comprehension (3.12+) starts on another line than the name that it is
// assigned to, alone or as the last of several values: the stores that restore its variables would
// be reordered with that of the name.
bool starts_after_prefix(const Tree& tree, const Assign& node);

// Returns true if an operand of `and` or `or` starts on another line than they do: 3.10 and 3.11
// skip the second test of a value on one line (flowgraph.c: jump_thread).
bool is_apart(const Tree& tree, const BoolOp& around, NodeId operand);

// Returns true if the pattern both binds names and drops values, by a `_` or the copy that
// alternatives need: since 3.11 these stores and pops would be reordered too, so its parts keep
// their lines.
bool keeps_lines(const Tree& tree, NodeId pattern);

// Returns the line on which a part of such a pattern starts if the text before it ends on `line`.
int32_t line_in_pattern(const Tree& tree, NodeId part, int32_t line);

}  // namespace pellucid::ast
