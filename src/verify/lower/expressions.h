// SPDX-License-Identifier: Apache-2.0
// verify::lower: any expression, by the file of its construct.
#pragma once

#include <span>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

// Pushes the value of an expression.
void expression(Unit& unit, NodeId node);
void expressions(Unit& unit, std::span<const NodeId> nodes);
// Pushes None if there is no expression.
void expression_or_none(Unit& unit, NodeId node);
// Replaces the awaitable on the stack by its result. `kind`: 1 for that of __aenter__, 2 for that
// of
// __aexit__, 0 for others.
void await(Unit& unit, uint32_t kind);
// Yields the value on the stack, and pushes what is sent.
void yield_value(Unit& unit);

}  // namespace pellucid::verify::lower
