// SPDX-License-Identifier: Apache-2.0
// structure: expressions of single values.
//
// Every value of an ir::Function that has a result is one expression over those of its operands,
// made by Expressions::make. Functions and classes have no expression in Python; their values are
// *literals* for the time being: a FunctionDef, ClassDef or TypeAlias node in the place of an
// expression. `definition` makes statements of the literals that are stored under their own name;
// the caller hoists the others: a definition before the statement, and a Name in their place.
//
//   MakeFunction, SetFunctionAttribute...   FunctionDef, or Lambda if its body is one expression
//   Call(LoadBuildClass, FunctionDef...)    ClassDef
//   Call(FunctionDef of a comprehension)    ListComp, SetComp, DictComp, GeneratorExp
//   Call(`<generic parameters of X>`)       the FunctionDef, ClassDef or TypeAlias it returns
//
// A cell as a value (Dynamo passes them) is `(lambda: x).__closure__[0]`. A code object as a value
// is a Constant of kind Code until Scopes::finish_body makes it an Opaque one with a name.
#pragma once

#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ast/tree.h"
#include "base/rare.h"
#include "ir/function.h"
#include "object/identifiers.h"
#include "structure/scopes/names.h"

namespace pellucid::structure {

// What the expressions of one function are made of.
struct ExpressionContext {
  const ir::Function& function;
  ast::Tree& tree;
  const std::vector<ast::ListId>& bodies;
  RareSet<object::CodeId> made{};  // code objects whose statements are in use
  MangledNames mangled{};

  ast::Where where(const ir::Value& value) const { return {value.line, value.offset}; }
  const object::Module& module() const { return tree.module(); }
  const ir::Value& operand(const ir::Value& value, size_t i) const {
    return function[function.operands(value)[i]];
  }
};

class Expressions {
 public:
  // bodies[c]: the statements recovered for code object c, finished by Scopes; nested code objects
  // first.
  Expressions(const ir::Function& function, ast::Tree& tree, const std::vector<ast::ListId>& bodies)
      : context_{function, tree, bodies} {}

  // Returns the expression of `value`, whose operands have the expressions `operands`, in the order
  // of the ir. Takes the operand nodes over. Invalid: the value cannot be expressed.
  ast::NodeId make(const ir::Value& value, std::span<const ast::NodeId> operands);

  // Returns the statement that defines `name` if `value` is a literal of that name, decorated or
  // not; else invalid. Takes `value` over if it succeeds.
  ast::NodeId definition(ast::NodeId value, Symbol name);

  // Returns true if a function was made: before that there is no literal.
  bool have_function() const { return have_function_; }

 private:
  ExpressionContext context_;
  bool have_function_ = false;
};

// Returns the definition of a code object by itself: its body in `bodies` under its parameters.
ast::NodeId function_source(ast::Tree& tree, object::CodeId code,
                            const std::vector<ast::ListId>& bodies);

// Returns true if `node` is a literal: not an expression yet, to be defined or hoisted by the
// caller.
bool is_literal(const ast::Tree& tree, ast::NodeId node);

// Returns the name of a literal's code, which may be no identifier.
Symbol literal_name(const ast::Tree& tree, ast::NodeId literal);

// Returns the statement that defines a literal under `name`, whatever its own name is.
ast::NodeId hoisted(ast::Tree& tree, ast::NodeId literal, Symbol name);

// The parts of a comprehension: `elt` (a Tuple of key and value for a dict) and the generators.
struct ComprehensionParts {
  ast::NodeId elt;
  ast::ListId generators;  // of `comprehension`
};

// Reads the statements of a comprehension: nested `for` and `if` around one `Expr(Yield(elt))`,
// with or without a trailing `return`. A valid `first_iter` replaces the iterable of the outermost
// loop. Returns false, with nothing changed, if the body has another form.
bool comprehension_parts(ast::Tree& tree, ast::ListId body, ast::NodeId first_iter,
                         ComprehensionParts& parts);

// Returns a statement list in which every path ends in a Return as one expression (nested
// conditional expressions); invalid if it is none.
ast::NodeId returned_expression(ast::Tree& tree, ast::ListId body);

// Replaces an iterated or searched frozenset constant by the set display it was written as.
ast::NodeId as_iterable(ast::Tree& tree, ast::NodeId node);

// Returns the method that adds a part to a container as an operation does.
std::string_view method_of(bytecode::Op op);

// Returns `*node`.
ast::NodeId starred(ast::Tree& tree, ast::NodeId node);

using object::is_identifier;

}  // namespace pellucid::structure
