// SPDX-License-Identifier: Apache-2.0
// verify::lower: what the remembered text of an interpolation means.
//
// A template string keeps the text of each expression, and that text is what gets printed. So it
// has to mean the expression of the tree, which the compiler never asks: whoever made the code may
// have put any text there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ast/tree.h"

namespace pellucid::verify::lower {

using Mangle = std::function<std::string(std::string_view)>;

// An expression in one way of writing it, with every parenthesis. Nothing: it is of a kind, or
// written in a way, that is not known here.
std::optional<std::string> meaning_of_text(std::string_view text, const Mangle& mangle);
std::optional<std::string> meaning_of_tree(const ast::Tree& tree, ast::NodeId node,
                                           const Mangle& mangle);

}  // namespace pellucid::verify::lower
