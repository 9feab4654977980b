// SPDX-License-Identifier: Apache-2.0
// polish: `not`, and equivalents without it.
#pragma once

#include <span>
#include <vector>

#include "ast/nodes.h"
#include "ast/tree.h"

namespace pellucid::polish {

// The values of `BoolOp.op`.
inline constexpr auto kAnd = static_cast<uint32_t>(ast::BoolOperator::And);
inline constexpr auto kOr = static_cast<uint32_t>(ast::BoolOperator::Or);

bool is_not(const ast::Tree& tree, ast::NodeId node);

// Returns the operands of an operation; none if the node is another one, or is tested again.
std::vector<ast::NodeId> operands_of(const ast::Tree& tree, ast::NodeId test, uint32_t op);

// Returns the operation on values, or the only value.
ast::NodeId joined(ast::Tree& tree, std::span<const ast::NodeId> values, uint32_t op);

// Returns `not test`, with the `not` pushed through a few levels of `and` and `or`.
ast::NodeId opposite(ast::Tree& tree, ast::NodeId test);

}  // namespace pellucid::polish
