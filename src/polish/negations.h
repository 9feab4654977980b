// SPDX-License-Identifier: Apache-2.0
// polish: `not`, and what says the same without it.
#pragma once

#include <optional>

#include "ast/tree.h"

namespace pellucid::polish {

bool is_not(const ast::Tree& tree, ast::NodeId node);

// The comparison operator that says the contrary: of `is` and `in`. None of `<` and `==`: a class
// may define both sides as it likes.
std::optional<ast::CmpOperator> opposite(ast::CmpOperator op);

// The same of a whole comparison; none where it is no comparison, or a chain of them.
std::optional<ast::CmpOperator> opposite_operator(const ast::Tree& tree, ast::NodeId node);

// `not test`, pushed through a few levels of `and` and `or`.
ast::NodeId opposite(ast::Tree& tree, ast::NodeId test);

}  // namespace pellucid::polish
