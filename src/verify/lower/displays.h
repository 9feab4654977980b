// SPDX-License-Identifier: Apache-2.0
// verify::lower: displays, built of constants where they are constant, and item by item where they
// are large (3.10+).
#pragma once

#include <span>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

// CPython's STACK_USE_GUIDELINE: what needs more slots than this is built in parts.
inline constexpr size_t kMostOnStack = 30;

enum class Display : uint8_t { Tuple, List, Set };

// Builds the display of `elements`, after the `pushed` ones that are on the stack.
void sequence(Unit& unit, Display display, std::span<const NodeId> elements, uint32_t pushed = 0);
void dictionary(Unit& unit, const ast::Dict& node);
// Pushes the iterable of `for x in ...` or the container of `x in ...` (`is_searched`), where a
// list becomes a tuple and a set a frozenset.
void iterated(Unit& unit, NodeId node, bool is_searched = false);

}  // namespace pellucid::verify::lower
