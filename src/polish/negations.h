// SPDX-License-Identifier: Apache-2.0
// polish: `not`, and equivalents without it.
#pragma once

#include <optional>

#include "ast/tree.h"

namespace pellucid::polish {

// The values of `BoolOp.op`.
inline constexpr auto kAnd = static_cast<uint32_t>(ast::BoolOperator::And);
inline constexpr auto kOr = static_cast<uint32_t>(ast::BoolOperator::Or);

bool is_not(const ast::Tree& tree, ast::NodeId node);

// Returns the opposite comparison operator, for `is` and `in`. `<` and `==` have none: a class may
// define both operators independently.
std::optional<ast::CmpOperator> opposite(ast::CmpOperator op);

// Returns the opposite operator of a comparison; none if the node is no comparison or a chain of
// them.
std::optional<ast::CmpOperator> opposite_operator(const ast::Tree& tree, ast::NodeId node);

// Returns `not test`, with the `not` pushed through a few levels of `and` and `or`.
ast::NodeId opposite(ast::Tree& tree, ast::NodeId test);

}  // namespace pellucid::polish
