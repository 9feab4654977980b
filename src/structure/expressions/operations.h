// SPDX-License-Identifier: Apache-2.0
// structure: expressions of single operations, each kind in a file of its own.
//
// The functions make_... return the expression of `value`, as Expressions::make does; invalid: the
// value cannot be expressed.
#pragma once

#include <span>

#include "structure/expressions/expressions.h"

namespace pellucid::structure {

using Nodes = std::span<const ast::NodeId>;

// Returns the nodes as a list; an empty one takes no place in the tree.
inline ast::ListId list_of(ast::Tree& tree, Nodes nodes) {
  return nodes.empty() ? ast::ListId() : tree.list(nodes);
}

// ---- calls.cpp

ast::NodeId make_call(ExpressionContext& c, const ir::Value& value, Nodes operands);
ast::NodeId make_call_ex(ExpressionContext& c, const ir::Value& value, Nodes operands);

// ---- displays.cpp

ast::NodeId make_display(const ExpressionContext& c, const ir::Value& value, Nodes operands);

// Returns the container with one more part. It must be a display: no other expression of Python
// extends a container and evaluates to it.
ast::NodeId make_extended(const ExpressionContext& c, const ir::Value& value, Nodes operands);

// BUILD_*_UNPACK of 3.8. A part that was built in place as a tuple, set or dict was written as
// plain elements, unless the part before it was one too or no star would be left.
ast::NodeId make_unpacked(const ExpressionContext& c, const ir::Value& value, Nodes operands);

// Returns true if `value` loads a constant that compilers fold into the operation around it when it
// is written as a literal.
bool is_plain_constant(const ast::Tree& tree, const ir::Value& value, ast::NodeId node);

// Returns the same constant as a computed value, which compilers do not fold: an f-string for a
// string (an empty one would be built from nothing), else a conditional expression with a constant
// test.
ast::NodeId computed(ast::Tree& tree, ast::NodeId constant, ast::Where at);

// ---- strings.cpp

ast::NodeId make_string(const ExpressionContext& c, const ir::Value& value, Nodes operands);

// ---- functions.cpp

ast::NodeId make_function(ExpressionContext& c, const ir::Value& value, Nodes operands);

// Adds a part to a function literal (3.13+).
ast::NodeId add_function_attribute(const ExpressionContext& c, const ir::Value& value,
                                   Nodes operands);

// The implicit call of a comprehension's function or of the function of type parameters.
ast::NodeId make_hidden_call(ExpressionContext& c, const ir::Value& value, ast::NodeId callee,
                             Nodes args);

// ---- comprehensions.cpp

ast::NodeId make_comprehension(const ExpressionContext& c, const ir::Value& value,
                               ast::NodeId callee, ast::NodeId iterable);

// ---- type_parameters.cpp

ast::NodeId make_intrinsic(const ExpressionContext& c, const ir::Value& value, Nodes operands);

// Returns the literal that the call of a hidden function makes, with the type parameters it bound.
ast::NodeId with_type_parameters(ExpressionContext& c, ast::NodeId callee, Nodes args);

// ---- classes.cpp

// Returns the class that a call of __build_class__ makes; invalid: its arguments are no class's.
ast::NodeId class_literal(ExpressionContext& c, ast::Where at, Nodes args, Nodes keywords);

}  // namespace pellucid::structure
