// SPDX-License-Identifier: Apache-2.0
// What a text has to set on lines of its own, since compilers look at lines where names are stored
// one after the other. print and verify/lower go by the same answers: what is proven is what is
// written.
#pragma once

#include <span>

#include "ast/tree.h"

namespace pellucid::ast {

// From 3.13 on the first of two stores to one name goes if both stand on one line: whether some of
// these targets were stored twice all the same.
bool stores_twice(const Tree& tree, std::span<const NodeId> targets);

// Returns true if `b` after `a` is the same name, stored on the same line.
bool is_one_store(const Tree& tree, NodeId a, NodeId b);

// From 3.11 on values that lie on the stack are stored in the order in which they lie there, where
// all the stores stand on one line: whether `x, y = a, b` was written on several.
bool keeps_order(const Tree& tree, const Assign& node);

// The same of what an inlined comprehension puts back (3.12+) and the name that it is assigned to:
// whether the comprehension starts on another line than the name.
bool starts_behind(const Tree& tree, const Assign& node);

// From 3.11 on the same holds of the names that a pattern binds and of what it drops, an `_` or the
// copy that alternatives need. Whether the pattern does both: then its parts stand on the lines on
// which they were written.
bool keeps_lines(const Tree& tree, NodeId pattern);

// On which line a part of such a pattern starts, where the text before has come to `line`.
int32_t line_in_pattern(const Tree& tree, NodeId part, int32_t line);

}  // namespace pellucid::ast
