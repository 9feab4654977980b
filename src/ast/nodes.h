// SPDX-License-Identifier: Apache-2.0
// ast: makers of nodes, and what is asked of them.
#pragma once

#include <string_view>

#include "ast/tree.h"

namespace pellucid::ast {

NodeId name_node(Tree& tree, std::string_view name, Where where);

NodeId none_node(Tree& tree, Where where);

// A constant of a kind that has one value, such as True.
NodeId constant_node(Tree& tree, object::ConstKind kind, Where where = {});

// The constant of a Constant node, or null.
const object::Const* constant_of(const Tree& tree, NodeId node);

bool is_constant(const Tree& tree, NodeId node, object::ConstKind kind);

bool is_none(const Tree& tree, NodeId node);

// Returns true if the node is this name.
bool is_name(const Tree& tree, NodeId node, std::string_view name);
bool is_name(const Tree& tree, NodeId node, Symbol name);

// Returns true if the pattern fits every subject: `_`, a name, or alternatives of which one does.
bool takes_everything(const Tree& tree, NodeId pattern);

// Returns true if one literal says the constant, without an operator or elements.
bool is_one_literal(const object::Module& module, const object::Const& constant);

// `not node`, simplified where that keeps the value's truth: `not not x`, `and` and `or`,
// comparisons of one step whose negation is an operator (is, is not, in, not in).
NodeId negated(Tree& tree, NodeId node);

// `node or True`: a test that runs and lets everything pass.
NodeId or_true(Tree& tree, NodeId node);

// Returns true if the body is a loop over a state (an Unstructured node and its comment).
bool is_unstructured(const Tree& tree, ListId body);

}  // namespace pellucid::ast
