// SPDX-License-Identifier: Apache-2.0
// structure: text for code that compilers remove, or nearly.
//
// Unreachable code is gone from the bytecode, but its effect on names is not: a name is local or a
// cell because code that never runs binds or captures it. An `if False:` has the same effect. In a
// lambda or a comprehension it ends the body until that is read as an expression, and becomes a
// part of the expression that is never evaluated.
#pragma once

#include <span>
#include <vector>

#include "ast/tree.h"
#include "structure/scopes/symbols.h"

namespace pellucid::structure {

// Returns the statements that the body of `code` needs for names that only dead code used. If the
// body cannot bind them, as that of type parameters, their cells are those of comprehensions.
std::vector<ast::NodeId> dead_code(ast::Tree& tree, object::CodeId code, const Symbols& symbols,
                                   bool can_bind = true);

// Returns `name = None`, never reached: it makes the name local.
ast::NodeId binding_of(ast::Tree& tree, Symbol name);

// Returns `if False:` over these statements.
ast::NodeId dead_statement(ast::Tree& tree, std::span<const ast::NodeId> body);

// Returns an annotation that is never reached; `simple` as in AnnAssign.
ast::NodeId dead_annotation(ast::Tree& tree, uint32_t simple);

// The parts of dead code that an expression can have.
struct DeadParts {
  std::vector<Symbol> bound;
  std::vector<ast::NodeId> mentions;

  bool empty() const { return bound.empty() && mentions.empty(); }
};

// Takes the statement made by dead_statement() off the end of a body.
DeadParts take_dead_parts(const ast::Tree& tree, ast::ListId body,
                          std::vector<ast::NodeId>& statements);

// Returns `value if True else (mentions...)`; for `*value`, `*(value if ...)`.
ast::NodeId with_mentions(ast::Tree& tree, ast::NodeId value, std::vector<ast::NodeId> mentions);

// Returns the mentions in the `if False:` of a function that computes annotations, for one of its
// expressions: none of them binds a name of the function.
std::vector<ast::NodeId> mentions_without_binding(ast::Tree& tree, ast::ListId body);

// Returns `[None for name in ()] if False else value`, for each of the names: inlined
// comprehensions make locals of the names that they bind, which those in the value may read.
ast::NodeId after_comprehensions(ast::Tree& tree, ast::NodeId value,
                                 const std::vector<Symbol>& names);

// Returns several mentions as one expression; there is at least one.
ast::NodeId mentions_of(ast::Tree& tree, const std::vector<ast::NodeId>& mentions);

// Returns `lambda: name`, which makes a cell of a local.
ast::NodeId capture(ast::Tree& tree, Symbol name);

// Returns `for name in ()`, a generator of a comprehension.
ast::NodeId empty_generator(ast::Tree& tree, Symbol name);

}  // namespace pellucid::structure
