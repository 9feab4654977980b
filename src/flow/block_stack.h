// SPDX-License-Identifier: Apache-2.0
// BlockStack: runs the block stack of 3.8-3.10 over a stream, instruction by instruction.
//
// An instruction is visited once for each context in which it can run: the blocks on the block
// stack, and the ways into the 3.8 finally bodies around it. In the code of 3.9 and 3.10 compilers
// every instruction has one context. In 3.8 a finally body is a subroutine (CALL_FINALLY,
// END_FINALLY); it gets one context, and so one copy, for each way in, as 3.9 compiles it.
//
// 3.8 marks the way in by a slot on the stack: NULL or a return address. The graph has no such
// slots. Here they are the links of BlockState::hidden, and the depths of the graph are corrected
// for them.
//
// Private to flow.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "flow/draft.h"

namespace pellucid::flow {

constexpr uint32_t kExceptionSlots = 6;  // what entering a handler pushes

// Kinds of the links of BlockState::blocks; the value of the first two is the handler's index.
enum BlockKind : uint32_t { kProtect, kProtectWith, kHandling, kHandlingWith };
// Kinds of the links of BlockState::hidden; the value of kReturn is the index to go back to.
enum HiddenKind : uint32_t { kNormal, kReturn, kNoException, kException };

// The context in which an instruction runs.
struct BlockState {
  uint32_t depth = 0;   // as the interpreter counts, hidden slots included
  uint32_t blocks = 0;  // the block stack
  uint32_t hidden = 0;
  bool operator==(const BlockState&) const = default;
};

// Returns how many slots below `level` are hidden.
uint32_t hidden_below(const Chains& chains, const BlockState& state, uint32_t level);
// Returns true if the slot at `level` is hidden.
bool hidden_at(const Chains& chains, const BlockState& state, uint32_t level);
// Returns true if the top `slots` slots exist and none of them is hidden.
bool solid(const Chains& chains, const BlockState& state, uint32_t slots);
// Pops the block of the running handler; returns false if there is none.
bool leave_handler(const Chains& chains, BlockState& state);

class BlockStack {
 public:
  BlockStack(const object::Module& module, const bytecode::Stream& stream, bool keep_ends);
  Result<Draft> run();

 private:
  using State = BlockState;

  struct PendingHandler {
    HandlerId handler;
    uint32_t at;
    State entry;
  };

  void fail(const std::string& what, ErrorCode code = ErrorCode::Malformed);

  // Blocks and handlers, made on first use.
  BlockId node(uint32_t at, const State& state);
  BlockId add_block(uint32_t at, const State& state);
  HandlerId handler_of(const State& state);
  void enter_handlers();

  // Runs one block to its exit; step() returns true if the block continues after the instruction.
  void walk(uint32_t index);
  bool step(const Instr& instr, State& state);
  void transfer(const Instr& instr, const Control& control, State state);
  void go_on(uint32_t at, const State& state);

  void ordinary(Instr instr, State& state);
  void rotate(Instr instr, State& state);
  void require_handler_slots(const Instr& instr, const State& state);
  void emit(Instr instr, State& state);
  void emit(Op op, uint32_t a, uint32_t b, State& state);
  void push_block(BlockKind kind, uint32_t target, uint32_t level, State& state);
  void pop_block(State& state);

  // The finally subroutines of 3.8 (finally_subroutine.cpp).
  bool end_finally(State& state);
  void pop_finally(const Instr& instr, State& state);
  void keep_end(const State& state);
  void mark_lost_jumps();
  void with_cleanup_start(State& state);
  bool with_cleanup_finish(State& state);
  void swallow_exception(State& state);

  const object::Module& module_;
  const bytecode::Stream& stream_;
  const bool keep_ends_;
  std::vector<bool> leader_;
  std::vector<bool> is_subroutine_;  // where finally bodies of 3.8 start
  Chains chains_;
  Draft draft_;
  std::vector<State> states_;                          // at the entry of each block
  std::map<std::array<uint64_t, 4>, uint32_t> nodes_;  // by index and context
  std::map<std::array<uint32_t, 2>, uint32_t> handlers_;
  std::vector<uint32_t> handler_levels_;  // stack slots that stay, as the interpreter counts
  std::vector<PendingHandler> pending_;
  std::set<uint32_t> swallows_;  // blocks that start by dropping the exception of a with statement
  std::map<uint32_t, uint32_t> calls_;  // blocks that call a finally body -> return address
  std::set<uint32_t> returned_to_;
  std::optional<Error> error_;

  uint32_t block_ = 0;       // the block that is being walked
  uint32_t at_ = 0;          // the instruction that is being run
  uint32_t level_ = 0;       // of the handler that protects the block that is being walked
  std::vector<Instr> body_;  // of that block, and its exit
  Exit exit_;
};

}  // namespace pellucid::flow
