// SPDX-License-Identifier: Apache-2.0
// Conditions for CPython to read a tree from its text: rules of its tokenizer, parser, AST
// validation and symbol table that the shape of a tree does not imply. The relowered tier proves a
// tree; without these rules it would prove nothing about the text.
#pragma once

#include <string>
#include <unordered_map>

#include "ast/tree.h"

namespace pellucid::verify::lower {

// The first broken rule of each scope, by the node that opens it: a Module, FunctionDef, Lambda or
// ClassDef.
using Misspelt = std::unordered_map<ast::NodeId, std::string>;

Misspelt misspelt(const ast::Tree& tree, ast::NodeId root);

}  // namespace pellucid::verify::lower
