// SPDX-License-Identifier: Apache-2.0
// Emitter: a reduced graph -> nested statements.
//
// emit() follows control from a block, appending statements, until it falls through to where the
// enclosing statement goes on (Scope::follow) or ends in a jump. What a block starts decides who
// goes on: a protected region (try.cpp), a loop (loop.cpp), a branch (emitter.cpp). The dominator
// tree tells where the arms of a branch meet; stack contents and layout tell where a loop ends.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "structure/graph/loops.h"
#include "structure/graph/protected_regions.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

struct OpenLoop {
  BlockId header;  // `continue` leads here; invalid in one that never comes round (escapes.cpp)
  BlockId follow;  // `break` leads here; may be invalid
  const OpenLoop* outer = nullptr;
};

struct Scope {
  BlockId follow;  // falling off the end leads here; may be invalid
  const OpenLoop* loop = nullptr;
  HandlerId handler;     // the innermost region that has been entered
  uint32_t handled = 0;  // how many exceptions are being handled where the statements stand
};

class Emitter {
 public:
  Emitter(Graph& graph, ast::Tree& tree, Expressions& expressions, bool keeps_functions_in_place);

  ast::ListId run();

 private:
  // Appends what happens from `block` on. True: control falls through to scope.follow.
  bool emit(BlockId block, const Scope& scope, Statements& out);
  ast::ListId list(BlockId block, const Scope& scope, bool* falls = nullptr);

  // emitter.cpp
  BlockId branch(BlockId block, const Scope& scope, Statements& out, bool& falls);
  BlockId match(BlockId block, ast::NodeId first, const Scope& scope, Statements& out, bool& falls);
  bool tests_case(BlockId block) const;
  bool is_next_case(BlockId block) const;
  ast::NodeId next_case(BlockId block);
  BlockId meeting_point(BlockId block, const Scope& scope) const;
  bool ends_in_continue(BlockId block, uint8_t near, const Scope& scope) const;
  ast::NodeId constant(object::ConstKind kind, ast::Where at);
  ast::NodeId if_statement(ast::NodeId test, ast::ListId body, ast::ListId orelse, ast::Where at);

  // targets.cpp
  ast::NodeId target_of(ValueId item, ast::Where at);

  // jumps.cpp
  // Constants and markers, then a return.
  bool only_returns(BlockId block, size_t from = 0) const;
  bool drops_and_returns(BlockId block) const;
  bool cannot_raise(BlockId block, size_t from = 0) const;
  bool may_return() const;
  // Returns true if a jump statement has left a region in the block (ir::Function::marks_ends), or
  // before all that the block does.
  bool left_by_jump(BlockId block) const;
  bool is_behind_jump(BlockId block) const;
  bool ends_clause(BlockId block) const;
  // Returns true if it stands for the end of a finally body that has none.
  bool never_ends(BlockId block) const;
  bool is_dead_end(BlockId block) const;
  bool is_loaded_inside(BlockId block) const;
  void leave(BlockId block, Statements& out);
  ast::NodeId lost_statement(BlockId block, const Scope& scope);

  // loop.cpp
  bool changes_in_loop(BlockId header, ValueId parameter) const;
  BlockId for_loop(BlockId block, const Scope& scope, Statements& out);
  bool returns_from_outer(BlockId block) const;
  bool returns_from_before(BlockId block) const;
  bool is_behind_clause(BlockId from, BlockId to, BlockId header) const;
  BlockId while_loop(BlockId block, const Scope& scope, Statements& out);
  BlockId break_target(const Loop* loop, BlockId header, BlockId exhausted) const;
  bool leads_to(BlockId from, BlockId to) const;
  std::unordered_set<HandlerId> regions_in(const Loop& loop) const;
  bool is_within(BlockId block, const std::unordered_set<HandlerId>& regions) const;
  bool goes_on_behind_try(const Loop& loop) const;
  bool is_overtaken_around(const Loop& loop, BlockId block) const;
  BlockId forced_out(const Loop& loop, const Scope& scope) const;
  bool jumps_out_of_with(const Loop& loop, BlockId place, const Scope& scope) const;
  uint32_t code_offset(BlockId block) const;
  uint32_t said_end_of_loop(const Loop& loop) const;
  uint32_t end_of_loop(const Loop& loop) const;
  uint32_t end_before_handlers(const Loop& loop) const;
  bool is_failed_assert(BlockId block) const;
  struct LeftTo {
    std::vector<BlockId> places;
    BlockId overtaken;  // the same, where a finally body goes another way
  };
  LeftTo left_to(const Loop& loop, BlockId exhausted, const Scope& scope,
                 BlockId outside = {}) const;

  // try.cpp
  BlockId protected_region(HandlerId handler, BlockId block, const Scope& scope, Statements& out);
  BlockId with_statement(HandlerId handler, BlockId block, const Scope& scope, Statements& out);
  BlockId try_finally(HandlerId handler, BlockId block, const Scope& scope, Statements& out);
  BlockId try_except(HandlerId handler, BlockId block, const Scope& scope, Statements& out);
  int32_t first_line(ast::ListId body) const;
  ast::ListId clauses(HandlerId handler, const Scope& scope);
  BlockId landing(BlockId block, const Scope& scope) const;
  bool jumps_behind_clauses(BlockId block, HandlerId handler) const;
  bool is_behind_with(BlockId place, HandlerId region, const Scope& scope) const;
  std::vector<BlockId> exits_of(HandlerId handler, const Scope& scope) const;
  struct ClauseEnd {
    BlockId to;
    bool is_left;  // by a jump statement
    bool is_far;   // reached by a jump, not laid out right after the clause
    bool is_end;   // of a clause with a name, which no jump statement has left
  };
  std::vector<ClauseEnd> exits_of_clauses(HandlerId handler, const Scope& scope) const;
  BlockId end_of_clauses(HandlerId handler) const;
  BlockId end_of_finally(HandlerId handler, const Scope& scope) const;
  struct TryEnds {
    BlockId follow;
    BlockId orelse;  // invalid: there is no `else`
  };
  bool falls_through(BlockId entry, BlockId to, const Scope& scope) const;
  BlockId said_end(BlockId entry, const Scope& scope) const;
  bool is_overtaken_outside(BlockId block, const Scope& scope) const;
  TryEnds ends_of_try(HandlerId handler, const Scope& scope) const;
  TryEnds ends_of_star(HandlerId handler, const Scope& scope) const;
  bool same_return(BlockId a, BlockId b) const;
  BlockId pick_follow(const std::vector<BlockId>& targets, const Scope& scope) const;

  // escapes.cpp
  BlockId label_of(HandlerId handler, const Scope& scope) const;
  BlockId left_by_finally(HandlerId handler, const Scope& scope) const;
  std::optional<uint8_t> never_comes_round(BlockId block, const Scope& scope) const;
  BlockId once(BlockId block, uint8_t edge, ast::NodeId test, const Scope& scope, Statements& out);
  BlockId labelled(BlockId block, BlockId label, const Scope& scope, Statements& out);

  bool is_open(BlockId header, const Scope& scope) const;
  bool is_jump_target(BlockId block, const Scope& scope) const;
  void check_handled(BlockId block, const Scope& scope) const;
  BlockId skip_markers(BlockId block, const Scope& scope) const;
  const Loop* loop_at(BlockId block) const;
  bool goes_on_outside(const Loop& loop, HandlerId region) const;
  bool is_broken_to(BlockId block) const;
  [[noreturn]] void fail(const char* what, BlockId block) const;
  ast::Where exit_where(BlockId block) const {
    return {graph_[block].exit_line, graph_[block].exit_offset};
  }

  // Where the jump stands by which control came here, if a block ends with one.
  ast::Where jump_where() const {
    const bool is_known = fell_from_.valid() && graph_[fell_from_].exit_line >= 0;
    return is_known ? exit_where(fell_from_) : ast::Where();
  }

  Graph& graph_;
  ast::Tree& tree_;
  FunctionContext context_;
  Analysis analysis_;
  std::optional<Protection> protection_;
  std::unordered_map<ValueId, std::vector<BlockId>> breaks_;  // iterator -> where breaks lead
  // Where jump statements that have left a region lead to -> the blocks where they have.
  std::unordered_map<BlockId, std::vector<BlockId>> left_for_;
  // Statements that an `assert` runs when its test fails -> its message.
  std::unordered_map<ast::NodeId, ast::NodeId> assertions_;
  size_t budget_ = 0;  // blocks that may still be emitted, repetitions included
  size_t depth_ = 0;
  BlockId fell_from_;  // the block that control fell from to where the last list goes on, if it did
};

}  // namespace pellucid::structure
