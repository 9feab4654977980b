// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the emitter: each action of a plan is written by one function.
#pragma once

#include "ast/nodes.h"
#include "base/rare.h"
#include "structure/emit/emitter.h"

namespace pellucid::structure {

struct Emission {
  FunctionContext& values;
  const Graph& graph;
  ast::Tree& tree;
  const Plan& plan;
  // Statements that an `assert` runs when its test fails -> its message.
  RareMap<ast::NodeId, ast::NodeId> assertions = {};
};

// emitter.cpp
void emit(Emission& e, SuiteId suite, Statements& out);
// Returns the statements of a suite; an invalid list if there is none.
ast::ListId list(Emission& e, SuiteId suite);
[[noreturn]] void fail(const Emission& e, const char* what, BlockId block);
[[noreturn]] void fail_as_planned(const Emission& e);

// Returns the line and offset of the block's exit.
ast::Where exit_where(const Emission& e, BlockId block);

// Returns `not test`. The compiler itself makes `a not in b` of `not a in b`, so an operation with
// `a in b` was negated as a whole; where instructions have columns, these tell more.
ast::NodeId opposite(Emission& e, ast::NodeId test);

// Returns the line for a `try`, which the bytecode does not have: that of its first statement.
int32_t first_line(const Emission& e, ast::ListId body);

// branch.cpp, match.cpp. `first`: the first case, which the block tests; its operand is taken.
void emit_branch(Emission& e, const Action& action, Statements& out);
void emit_match(Emission& e, const Action& action, ast::NodeId first, Statements& out);

// loop.cpp
void emit_for(Emission& e, const Action& action, Statements& out);
void emit_while(Emission& e, const Action& action, Statements& out);

// try.cpp
void emit_with(Emission& e, const Action& action, Statements& out);
void emit_finally(Emission& e, const Action& action, Statements& out);
void emit_try(Emission& e, const Action& action, Statements& out);
void emit_label(Emission& e, const Action& action, Statements& out);

// jumps.cpp
void emit_leave(Emission& e, BlockId block, Statements& out);
void emit_lost(Emission& e, const LostPlan& lost, Statements& out);
void check_reraise(const Emission& e, BlockId block);

}  // namespace pellucid::structure
