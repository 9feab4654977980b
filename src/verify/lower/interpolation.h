// SPDX-License-Identifier: Apache-2.0
// verify::lower: checks the remembered text of an interpolation.
//
// A template string keeps the text of each expression, and that text is printed. So it has to mean
// the expression of the tree; nothing in the bytecode guarantees that, since code can be made with
// any text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ast/tree.h"

namespace pellucid::verify::lower {

using Mangle = std::function<std::string(std::string_view)>;

// Return the canonical notation of an expression (notation.h); nothing if it is of an unsupported
// kind, or written in an unsupported way.
std::optional<std::string> meaning_of_text(std::string_view text, const Mangle& mangle);
std::optional<std::string> meaning_of_tree(const ast::Tree& tree, ast::NodeId node,
                                           const Mangle& mangle);

}  // namespace pellucid::verify::lower
