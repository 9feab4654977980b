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
#include <unordered_set>
#include <vector>

#include "ast/tree.h"
#include "ir/function.h"
#include "object/identifiers.h"

namespace pellucid::structure {

class Expressions {
 public:
  // bodies[c]: the statements recovered for code object c, finished by Scopes; nested code objects
  // first.
  Expressions(const ir::Function& function, ast::Tree& tree, const std::vector<ast::ListId>& bodies)
      : function_(function), tree_(tree), bodies_(bodies) {}

  // Returns the expression of `value`, whose operands have the expressions `operands`, in the order
  // of the ir. Takes the operand nodes over. Invalid: the value cannot be expressed.
  ast::NodeId make(const ir::Value& value, std::span<const ast::NodeId> operands);

  // Returns the statement that defines `name` if `value` is a literal of that name, decorated or
  // not; else invalid. Takes `value` over if it succeeds.
  ast::NodeId definition(ast::NodeId value, Symbol name);

 private:
  using Nodes = std::span<const ast::NodeId>;

  ast::Where where(const ir::Value& value) const { return {value.line, value.offset}; }
  const object::Module& module() const { return tree_.module(); }
  const ir::Value& operand(const ir::Value& value, size_t i) const {
    return function_[function_.operands(value)[i]];
  }

  ast::NodeId operation(const ir::Value& value, Nodes operands);
  ast::NodeId intrinsic(const ir::Value& value, Nodes operands);
  // calls.cpp
  ast::NodeId call(const ir::Value& value, Nodes operands);
  ast::NodeId call_ex(const ir::Value& value, Nodes operands);
  ast::NodeId call_of(const ir::Value& value, ast::NodeId callee, std::vector<ast::NodeId> args,
                      std::vector<ast::NodeId> keywords);
  bool calls_coroutine(const ir::Value& call) const;

  // displays.cpp
  ast::NodeId display(const ir::Value& value, Nodes operands);
  std::vector<ast::NodeId> keep_apart(const ir::Value& value, Nodes operands);
  bool is_plain_constant(const ir::Value& value, ast::NodeId node) const;
  ast::NodeId computed(ast::NodeId constant, ast::Where at);
  std::vector<ast::NodeId> keys_apart(const ir::Value& value, Nodes operands);
  bool is_extended(const ir::Value& value) const;
  ast::NodeId extended(const ir::Value& value, Nodes operands);
  ast::NodeId updated(const ir::Value& value, Nodes operands);
  ast::NodeId unpack_38(const ir::Value& value, Nodes operands);
  // strings.cpp
  ast::NodeId string(const ir::Value& value, Nodes operands);
  // functions.cpp
  ast::NodeId function(const ir::Value& value, Nodes operands);
  ast::NodeId function_attribute(const ir::Value& value, Nodes operands);
  ast::NodeId function_literal(object::CodeId code, ast::Where where);
  // The implicit call of a comprehension's function or of the function of type parameters.
  ast::NodeId hidden_call(const ir::Value& value, ast::NodeId callee, Nodes args);
  // comprehensions.cpp
  ast::NodeId comprehension_call(const ir::Value& value, ast::NodeId callee, ast::NodeId iterable);
  // type_parameters.cpp
  ast::NodeId type_parameter(const ir::Value& value, Nodes operands);
  ast::NodeId with_type_parameters(ast::NodeId callee, Nodes args);
  // classes.cpp
  ast::NodeId class_literal(ast::Where at, Nodes args, Nodes keywords);

  const ir::Function& function_;
  ast::Tree& tree_;
  const std::vector<ast::ListId>& bodies_;
  std::unordered_set<object::CodeId> made_;  // code objects whose statements are in use
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

using object::is_identifier;

}  // namespace pellucid::structure
