// SPDX-License-Identifier: Apache-2.0
// structure: text for what compilers leave no code for, or next to none.
//
// Code that nothing leads to is gone from the bytecode, but what it said about names is not: a name
// is local or a cell because something that never runs binds or captures it. An `if False:` says so
// again. In a lambda or a comprehension it stands at the end of the body until that is read as an
// expression, and becomes a part of it that is never evaluated.
#pragma once

#include <span>
#include <vector>

#include "ast/tree.h"
#include "structure/scopes/symbols.h"

namespace pellucid::structure {

// What the body of `code` has to mention of names that only dead code did. Where the body cannot
// bind them, as that of type parameters, their cells are those of comprehensions.
std::vector<ast::NodeId> dead_code(ast::Tree& tree, object::CodeId code, const Symbols& symbols,
                                   bool can_bind = true);

// `name = None`, never reached: the name is local.
ast::NodeId binding_of(ast::Tree& tree, Symbol name);

// `if False:` over these statements.
ast::NodeId dead_statement(ast::Tree& tree, std::span<const ast::NodeId> body);

// An annotation that is never reached; `simple` as of AnnAssign.
ast::NodeId dead_annotation(ast::Tree& tree, uint32_t simple);

// What an expression can say of dead code.
struct DeadParts {
  std::vector<Symbol> bound;
  std::vector<ast::NodeId> mentions;

  bool empty() const { return bound.empty() && mentions.empty(); }
};

// Takes the statement that dead_statement made off the end of a body.
DeadParts take_dead_parts(const ast::Tree& tree, ast::ListId body,
                          std::vector<ast::NodeId>& statements);

// `value if True else (mentions...)`; of `*value`, `*(value if ...)`.
ast::NodeId with_mentions(ast::Tree& tree, ast::NodeId value, std::vector<ast::NodeId> mentions);

// What the `if False:` of a function that computes annotations mentions, said in an expression of
// its: none binds a name for it.
std::vector<ast::NodeId> mentions_without_binding(ast::Tree& tree, ast::ListId body);

// `[None for name in ()] if False else value`, for each of the names: comprehensions that are part
// of the code around them make locals of what they bind, of which those in the value may read.
ast::NodeId behind_comprehensions(ast::Tree& tree, ast::NodeId value,
                                  const std::vector<Symbol>& names);

// Several mentions as one expression; there is at least one.
ast::NodeId mentions_of(ast::Tree& tree, const std::vector<ast::NodeId>& mentions);

// `lambda: name`: what makes a cell of a local.
ast::NodeId capture(ast::Tree& tree, Symbol name);

// `for name in ()`, a generator of a comprehension.
ast::NodeId empty_generator(ast::Tree& tree, Symbol name);

}  // namespace pellucid::structure
