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
#include "structure/symbols.h"

namespace pellucid::structure {

// What the body of `code` has to mention of names that only dead code did. Where the body cannot
// bind them, as that of type parameters, their cells are those of comprehensions.
std::vector<ast::NodeId> dead_code(ast::Tree& tree, object::CodeId code, const Symbols& symbols,
                                   bool can_bind = true);

// `name = None`, never reached: the name is local.
ast::NodeId binding_of(ast::Tree& tree, Symbol name);

// `if False:` over these statements.
ast::NodeId dead_statement(ast::Tree& tree, std::span<const ast::NodeId> body);

// `if True:` over a statement.
ast::NodeId always_statement(ast::Tree& tree, ast::NodeId statement);

// `value if True else None`, behind which compilers jump over nothing at all, or else
// `None if False else value`: either way what drops the value starts a block of its own.
ast::NodeId chosen_always(ast::Tree& tree, ast::NodeId value, bool jumps);

// The condition of a statement that tests it at run time. A constant alone would not be tested: it
// becomes `True and constant`.
ast::NodeId tested_condition(ast::Tree& tree, ast::NodeId test);

// Whether a node is a constant from the start: a number without a sign, a text, a name. Displays
// and what operations come to are constants later.
bool is_atom(const ast::Tree& tree, ast::NodeId node);

// An operand of `and` and `or` that is tested at run time. A constant alone would not be: what
// `v and v`, or `v or v` if it is true, comes to is known as well, and is tested all the same.
ast::NodeId tested_operand(ast::Tree& tree, ast::NodeId operand);

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

// `constant or value`, or else `constant and value`: what comes to the value alone. Without a
// constant the value itself.
ast::NodeId behind_constant(ast::Tree& tree, ast::NodeId constant, ast::NodeId value);

// Several mentions as one expression; there is at least one.
ast::NodeId mentions_of(ast::Tree& tree, const std::vector<ast::NodeId>& mentions);

// `lambda: name`: what makes a cell of a local.
ast::NodeId capture(ast::Tree& tree, Symbol name);

// `for name in ()`, a generator of a comprehension.
ast::NodeId empty_generator(ast::Tree& tree, Symbol name);

// The operand of `not` that became a constant truth value only when the code was optimised: `not
// True` would have been folded before.
ast::NodeId constant_truth(ast::Tree& tree, ast::NodeId operand);

}  // namespace pellucid::structure
