// SPDX-License-Identifier: Apache-2.0
// What a tree has to fulfil so that CPython reads it from its text: rules of its tokenizer, its
// parser, the validation of its syntax trees and its symbol table that the shape of a tree does not
// imply. The relowered tier proves a tree; without these it would say nothing about the text.
#pragma once

#include <string>
#include <unordered_map>

#include "ast/tree.h"

namespace pellucid::verify::lower {

// The first rule that is broken in each scope, by the node that opens it: a Module, FunctionDef,
// Lambda or ClassDef.
using Misspelt = std::unordered_map<ast::NodeId, std::string>;

Misspelt misspelt(const ast::Tree& tree, ast::NodeId root);

}  // namespace pellucid::verify::lower
