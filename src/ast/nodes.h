// SPDX-License-Identifier: Apache-2.0
// ast: makers of nodes, and queries about them.
#pragma once

#include <optional>
#include <string_view>

#include "ast/tree.h"

namespace pellucid::ast {

NodeId name_node(Tree& tree, std::string_view name, Where where);

NodeId none_node(Tree& tree, Where where);

// Makes a constant of a kind that has one value, such as True.
NodeId constant_node(Tree& tree, object::ConstKind kind, Where where = {});

// Returns the constant of a Constant node, or null.
const object::Const* constant_of(const Tree& tree, NodeId node);

bool is_constant(const Tree& tree, NodeId node, object::ConstKind kind);

bool is_none(const Tree& tree, NodeId node);

// Returns true if the node is this name.
bool is_name(const Tree& tree, NodeId node, std::string_view name);
bool is_name(const Tree& tree, NodeId node, Symbol name);

// Returns the target of an assignment with a single one; invalid for any other statement.
NodeId only_target(const Tree& tree, NodeId statement);

// Returns the value of `name = value`; invalid if the statement has another form.
NodeId assigned_to(const Tree& tree, NodeId statement, std::string_view name);

bool is_future_import(const Tree& tree, NodeId statement);

// Returns true if the pattern is irrefutable: `_`, a name, or alternatives with an irrefutable one.
bool takes_everything(const Tree& tree, NodeId pattern);

// Returns true if the constant is one literal, without an operator or elements.
bool is_one_literal(const object::Module& module, const object::Const& constant);

// Returns the opposite operator of a single comparison with `is` or `in`. `<` and `==` have none: a
// class may define both operators independently.
std::optional<CmpOperator> opposite_operator(const Tree& tree, NodeId node);

// Returns `not node`, simplified if that preserves the truth: `not not x`, `and` and `or`, single
// comparisons whose negation is an operator (is, is not, in, not in). `keeps_comparisons`: not
// those that are operands; then the operation is negated as a whole.
NodeId negated(Tree& tree, NodeId node, bool keeps_comparisons = false);

// Returns `node or True`: a test that is evaluated and always passes.
NodeId or_true(Tree& tree, NodeId node);

// Returns true if the body is a loop over a state (an Unstructured node and its comment).
bool is_unstructured(const Tree& tree, ListId body);

}  // namespace pellucid::ast
