// SPDX-License-Identifier: Apache-2.0
// structure: walks over the statements of one body, and what they are good for.
#pragma once

#include <unordered_map>
#include <vector>

#include "ast/tree.h"
#include "flow/compilers.h"

namespace pellucid::structure {

// Calls visit(field index, list) for each list of statements, handlers or cases that a compound
// statement holds; definitions are not entered.
template <typename Visit>
void for_each_block(const ast::Tree& tree, ast::NodeId statement, Visit visit) {
  const ast::Kind kind = tree.kind(statement);
  if (kind == ast::Kind::FunctionDef || kind == ast::Kind::ClassDef) return;
  const auto fields = ast::fields_of(kind);
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].type != ast::FieldType::List) continue;
    const std::string_view name = fields[i].name;
    if (name == "body" || name == "orelse" || name == "finalbody" || name == "handlers" ||
        name == "cases") {
      visit(i, ast::ListId(tree.slot(statement, i)));
    }
  }
}

// Puts in order what only the context of an expression decides: slices outside subscripts are calls
// of `slice`, constant slices in subscripts are written out, code objects as values get a name.
// Bodies of functions and classes, which are finished, are not entered.
void normalise(ast::Tree& tree, ast::ListId body, const flow::Folds& folds,
               std::unordered_map<object::CodeId, object::ConstId>& opaques);

// Takes the returns out of a module or class body, where none can be written: one at the end goes,
// what follows a branch that ends in one becomes its else, one in a loop at the end is a break.
// What the compiler puts before a class body's return goes with it. Throws NotStructured where
// one is left.
void strip_tail_returns(ast::Tree& tree, std::vector<ast::NodeId>& body, bool is_class);

// Makes annotated assignments of the stores to `__annotations__` that they were compiled to. False:
// there is none.
bool fold_annotations(ast::Tree& tree, std::vector<ast::NodeId>& body, object::CodeId code);

// One entry of the dict that 3.14's `__annotate__` makes.
struct LazyAnnotation {
  Symbol name;
  ast::NodeId annotation;
  int64_t index = -1;  // in `__conditional_annotations__`; -1: unconditional
};

// Takes `__annotate__` and the set of conditional annotations out of the body of a module or class.
std::vector<LazyAnnotation> take_lazy_annotations(ast::Tree& tree, std::vector<ast::NodeId>& body);
// Makes annotated assignments of what was taken.
void place_lazy_annotations(ast::Tree& tree, std::vector<ast::NodeId>& body,
                            const std::vector<LazyAnnotation>& annotations);
// Returns true if there is an annotated assignment; `conditional`: one below the top of the body.
bool has_annotation(ast::Tree& tree, std::vector<ast::NodeId> body, bool conditional);

}  // namespace pellucid::structure
