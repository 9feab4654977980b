// SPDX-License-Identifier: Apache-2.0
// Hoisting: puts functions, classes and type aliases that expressions hold, and that no expression
// can spell, before the statement of the expression.
#pragma once

#include <span>
#include <vector>

#include "structure/statements/function_context.h"

namespace pellucid::structure {

// Appends the definitions in an expression to `list`. Returns the expression, with their names in
// their places. Nested expressions are made one after the other: each is searched once.
ast::NodeId hoist_literals(FunctionContext& c, std::vector<ast::NodeId>& list, ast::NodeId root);

// Does the same in expressions that keep their places.
void hoist_within(FunctionContext& c, std::vector<ast::NodeId>& list,
                  std::span<const ast::NodeId> roots);

// Does the same in the decorators, bases and keywords of a definition. Everything else that it
// evaluates is before it by now.
void hoist_from_header(FunctionContext& c, std::vector<ast::NodeId>& list, ast::NodeId definition);

// Returns true if the expression makes a function with a name, which becomes a statement, and its
// place matters. In generated code it also decides how long the values evaluated before are held.
bool makes_placed_function(const FunctionContext& c, ast::NodeId node);

}  // namespace pellucid::structure
