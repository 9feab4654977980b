// SPDX-License-Identifier: Apache-2.0
// verify::lower: calls, and the attributes of super().
#pragma once

#include <span>
#include <vector>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

// Push the NULL of a call, which is before or after the callee (3.11+).
void null_before_callee(Unit& unit);
void null_after_callee(Unit& unit);
// Calls the callee below so many arguments, all on the stack, without a NULL.
void call(Unit& unit, uint32_t arguments);
// Calls the callee and its NULL below `pushed` arguments with further ones: `args`, the values of
// the `injected` names, then `keywords`.
void call_with(Unit& unit, std::span<const NodeId> args, std::span<const NodeId> keywords,
               const std::vector<Symbol>& injected = {}, uint32_t pushed = 0);

// Returns true if the callee is loaded by LOAD_METHOD.
bool is_method_call(const Unit& unit, const ast::Call& call);
// Calls the method on the stack with the arguments of `call`.
void call_method(Unit& unit, const ast::Call& call);
// Lowers `super().x` and `super(C, self).x` by `load`, one instruction since 3.12 if `super` is the
// builtin; returns false for other attributes.
bool super_attribute(Unit& unit, NodeId value, Symbol attr, Op load);

}  // namespace pellucid::verify::lower
