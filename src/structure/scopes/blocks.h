// SPDX-License-Identifier: Apache-2.0
// structure: walks over the statements of one body, and the rewrites that use them.
#pragma once

#include <unordered_map>
#include <vector>

#include "ast/tree.h"
#include "ir/function.h"

namespace pellucid::structure {

// Calls visit(field index, list) for each list of statements, handlers or cases that a compound
// statement holds; definitions are not entered.
template <typename Visit>
void for_each_block(const ast::Tree& tree, ast::NodeId statement, Visit visit) {
  const ast::Kind kind = tree.kind(statement);
  if (kind == ast::Kind::FunctionDef || kind == ast::Kind::ClassDef) return;
  for (const ast::ChildField field : ast::child_fields_of(kind)) {
    if (!field.has_statements() && !field.has_clauses()) continue;
    visit(size_t{field.slot}, ast::ListId(tree.slot(statement, field.slot)));
  }
}

// Puts in order what depends on the context of an expression: slices outside of subscripts become
// calls of `slice`, constant slices in subscripts are written out, code objects as values get a
// name. Does not enter the bodies of functions and classes, which are finished.
void normalise(ast::Tree& tree, ast::ListId body, const flow::Folds& folds,
               std::unordered_map<object::CodeId, object::ConstId>& opaques);

// What the values of a body tell, sooner than its text, of whether normalise() finds something.
class OrderClues {
 public:
  // Takes each BuildSlice, LoadConst, MakeFunction and UnpackSequence; others tell nothing.
  void note(const object::Module& module, const ir::Function& function, const ir::Value& value);
  bool may_need_order() const { return has_found_ || loaded_ != made_; }

 private:
  bool has_found_ = false;
  size_t loaded_ = 0, made_ = 0;  // code objects; of these, the ones that functions are made of
};

// Removes the returns of a module or class body, where none can be written: one at the end is
// dropped, the statements after a branch that ends in one become its `else`, one in a loop at the
// end becomes a `break`. What the compiler puts before the return of a class body is dropped with
// it. Throws NotStructured if a return is left.
void strip_tail_returns(ast::Tree& tree, std::vector<ast::NodeId>& body, bool is_class);

// Replaces the stores to `__annotations__` by the annotated assignments that compiled to them.
// Returns false if the body has no annotation.
bool fold_annotations(ast::Tree& tree, std::vector<ast::NodeId>& body, object::CodeId code);

// One entry of the dict that 3.14's `__annotate__` returns.
struct LazyAnnotation {
  Symbol name;
  ast::NodeId annotation;
  int64_t index = -1;  // in `__conditional_annotations__`; -1: unconditional
};

// Removes `__annotate__` and the set of conditional annotations from the body of a module or class,
// and returns the annotations.
std::vector<LazyAnnotation> take_lazy_annotations(ast::Tree& tree, std::vector<ast::NodeId>& body);
// Adds these annotations to the body as annotated assignments.
void place_lazy_annotations(ast::Tree& tree, std::vector<ast::NodeId>& body,
                            const std::vector<LazyAnnotation>& annotations);
// Returns true if there is an annotated assignment; with `conditional`, one below the top of the
// body.
bool has_annotation(ast::Tree& tree, std::vector<ast::NodeId> body, bool conditional);

}  // namespace pellucid::structure
