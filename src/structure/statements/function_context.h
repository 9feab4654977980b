// SPDX-License-Identifier: Apache-2.0
// The state that the statements of one function share.
#pragma once

#include <span>
#include <vector>

#include "ast/tree.h"
#include "base/rare.h"
#include "structure/expressions/expressions.h"
#include "structure/graph/graph.h"
#include "structure/graph/loops.h"
#include "structure/statements/inlined_names.h"

namespace pellucid::structure {

struct FunctionContext {
  Graph& graph;
  ast::Tree& tree;
  Expressions& expressions;
  RareMap<ValueId, Symbol> materialized = {};  // values that a name holds
  // Of ForIter items and BeforeWith results, while their bodies are read; invalid: none so far.
  RareMap<ValueId, ast::NodeId> targets = {};
  RareMap<ValueId, ast::NodeId> managers = {};      // BeforeWith -> context expression
  RareSet<ValueId> iterators = {};                  // GetIter values that a loop consumes
  RareSet<ValueId> accumulators = {};               // containers that comprehensions fill
  RareMap<ast::NodeId, ast::NodeId> subjects = {};  // first match_case -> subject
  std::vector<uint8_t> dropped = {};                // by value: 1 if its only use is a Pop
  uint32_t temporaries = 0;
  std::vector<Symbol> made = {};  // names that were invented
  // The block of the statements, if they are nested as control flows. Invalid: they are on an edge
  // out of a block.
  BlockId here = {};
  const Analysis* analysis = nullptr;      // of the blocks, if they are nested
  RareMap<ValueId, Symbol> kept_as = {};   // temporaries, once they were made
  RareMap<ValueId, BlockId> kept_in = {};  // the blocks that assigned them last
  InlinedNames inlined_names = InlinedNames(tree);
  RareSet<ast::NodeId> without_literals = {};  // expressions that were searched

  Symbol nothing = {};  // the name for values that nothing reads

  // The values that an expression evaluates before it makes a function are assigned before the
  // function's statement, so that their order stays, at the cost of names for them.
  bool keeps_functions_in_place = false;

  uint32_t nesting = 0;  // regions that are being read, each a part of the one before

  bool is_trial = false;  // nothing of it is written: no name is invented

  bool is_dropped(ValueId id) const {
    return id.index() < dropped.size() && dropped[id.index()] != 0;
  }
  std::span<const ValueId> operands(ValueId id) const { return graph.f.operands(id); }
  ValueId operand(ValueId id, size_t n) const { return graph.resolve(operands(id)[n]); }
  ast::Where where(ValueId id) const { return {graph[id].line, graph[id].offset}; }

  ast::NodeId name(Symbol symbol, ast::Where at = {}) { return tree.add(ast::Name{symbol}, at); }

  // Returns the expression of a value that costs nothing to compute again.
  ast::NodeId remake(ValueId id) {
    const ir::Value& value = graph[id];
    // Nearly all are one of these.
    if (is_op(value, Op::LoadConst)) return tree.add(ast::Constant{value.constant()}, where(id));
    if (is_op(value, Op::LoadFast)) return name(value.symbol(), where(id));
    return remake_with_operands(value);
  }

  Symbol fresh_name(const char* stem);

  // Returns the name of a definition that is put before its expression: its own name, or a similar
  // one that is unused.
  Symbol name_of_definition(ast::NodeId literal);

  // Returns `_` if nothing can observe it, else a fresh name. Names of modules and classes can
  // always be observed.
  Symbol name_of_nothing();

  // Gives the value of a loop or a `with` a fresh name, by which it is known from now on.
  void name_given(ValueId giver, ValueId value);

  // Throws unless every path to this place has assigned the temporary of the value, if it is one.
  void check_kept(ValueId id) const;

 private:
  ast::NodeId remake_with_operands(const ir::Value& value);
};

// Resolves each value (Graph::resolve).
std::vector<ValueId> resolved(const Graph& graph, std::span<const ValueId> ids);

// Returns the stem of a temporary's name, by the value that it holds.
const char* stem_of(const ir::Value& value);

}  // namespace pellucid::structure
