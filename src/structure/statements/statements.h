// SPDX-License-Identifier: Apache-2.0
// Statements: a straight run of items -> statements.
//
// Compiled expressions evaluate their operands in order, so a run of values is read like a postfix
// expression: each value goes to the end of the evaluation stack (evaluation_stack.h), each
// consumer takes its operands from there. Stores, deletes and the like are statements; what is
// pending then was evaluated before them. If a value is used twice, or not in the order of
// evaluation, either a form of Python explains it (a = b = v; a, b = b, a; x.y += v; (n := v);
// a < v < b), or the value is *spilled*: assigned to a temporary, in the order of evaluation, so
// that no effect ever moves.
//
// Run the items of a block, take what its exit uses, append the statement of the exit, and take the
// list. What has no form in Python throws NotStructured.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "structure/statements/run.h"

namespace pellucid::structure {

class Statements {
 public:
  explicit Statements(FunctionContext& context) : run_(context) {}

  // Starts the body of the loop or `with` that gives this value.
  void begin_body(ValueId giver) { run_.giver = giver; }

  // Reads items in order.
  void run(std::span<const ValueId> items);

  // Returns the expression of a pending or materialised value, which this use consumes.
  ast::NodeId take(ValueId id) { return structure::take(run_, id); }

  // Returns the expressions of several values, evaluated in this order.
  std::vector<ast::NodeId> take_many(std::span<const ValueId> ids) {
    return structure::take_many(run_, ids);
  }

  // Assigns every pending value that is not reloadable to a temporary.
  void spill_all() { run_.stack.spill_all(); }

  // Does the same, also for locals that were loaded and are not used yet, except for adopted ones
  // if `own_only`.
  void settle(bool own_only = false) { run_.stack.settle(own_only); }

  // Takes over the locals that `other` has loaded and not used yet. They have to be forgotten at
  // the end: temporaries that this run made for them hold on its path only.
  void adopt(const Statements& other) { run_.stack.adopt(other.run_.stack); }
  void forget_adopted() { run_.stack.forget_adopted(); }

  // Assigns the arguments of an edge to the names of the parameters of its target.
  void pass(const ir::Edge& edge);

  // Appends a statement, after spilling what is pending.
  void append(ast::NodeId statement) { structure::append(run_, statement); }

  // Returns the number of pending values that are not reloadable.
  size_t hard_pending() const { return run_.stack.count_hard(); }

  // Returns all statements; none may be incomplete.
  std::vector<ast::NodeId> take_list();
  const std::vector<ast::NodeId>& list() const { return run_.list; }

  // Returns the name under which the handled exception was stored at the start, if any. Only a
  // clause can have it: no other list may hold one.
  Symbol take_caught() { return std::exchange(run_.caught, {}); }

  // Makes `id` pending with a given expression.
  void preload(ValueId id, ast::NodeId node) { run_.stack.push_once(id, node); }

 private:
  Run run_;
};

}  // namespace pellucid::structure
