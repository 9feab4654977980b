// SPDX-License-Identifier: Apache-2.0
// verify::lower: a flow graph under construction, emitted in layout order.
//
// The emitter tracks the stack depth, the number of handled exceptions and the protecting handler;
// a block ends wherever control flow or the handler changes. Code after a jump goes to an
// unreachable block, which finish() removes.
#pragma once

#include <functional>
#include <vector>

#include "flow/graph.h"
#include "verify/lower/features.h"

namespace pellucid::verify::lower {

using bytecode::Instr;
using bytecode::Op;
using flow::ExitKind;
using flow::HandlerId;
using Label = flow::BlockId;

class Emitter {
 public:
  // Emits code as compilers with these features do.
  explicit Emitter(const Features& features);

  // Starts a statement, recovered from the original's instruction at this offset.
  void at(uint32_t offset) {
    offset_ = offset;
    ++statement_;
  }

  // Moves to the next line of the statement.
  void next_line() { ++statement_; }

  // Returns the current line, counted from the start; on_line() returns to a line used before.
  int32_t line() const { return statement_; }
  void on_line(int32_t line) { statement_ = line; }

  Label label();
  // Places `label` here.
  void place(Label label);
  void op(Op op, uint32_t a = 0, uint32_t b = 0);
  // Pops an unused value; up to 3.12 without a line, so that it stays after stores.
  void drop();
  void jump(Label to);
  // Pops a value and jumps if its truth is `when`.
  void branch(bool when, Label to);
  void branch_none(bool when, Label to);
  // Pushes the next item, or pops the iterator and jumps.
  void for_iter(Label exhausted, uint32_t slots);
  void give_back();  // return
  void raise(uint32_t values);
  // Reraises; `lasti`: the offset of the original raise is on the stack below the exception
  // (3.11+).
  void reraise(bool lasti);

  // Protects the code until unprotect() by `entry`, which keeps all except `above` slots.
  void protect(Label entry, bool lasti, uint32_t above = 0);
  void unprotect();
  // Starts the handler, with the stack of protect() and the exception on top.
  void place_handler(Label entry);

  // Reserves a place for straight-line code that is emitted later by write_at().
  Label reserve();
  void write_at(Label reserved, const std::function<void()>& write);

  // The emitter's state, saved while a jump unwinds statements and restored after it.
  struct Place {
    uint32_t depth, exceptions;
    std::vector<HandlerId> regions;
  };
  Place here() const { return {depth_, exceptions_, regions_}; }
  void back_to(const Place& place);

  uint32_t depth() const { return depth_; }
  bool live() const { return live_; }
  size_t written() const { return written_; }

  flow::Graph finish(object::CodeId code);

 private:
  struct Draft {
    std::vector<Instr> instrs;
    flow::Exit exit;
    HandlerId handler;
    uint32_t depth = kUnknown;
    uint32_t exceptions = 0;
    bool ended = false;
  };
  static constexpr uint32_t kUnknown = 0xffffffffu;

  Draft& now() { return blocks_[current_.index()]; }
  HandlerId handler() const { return regions_.empty() ? HandlerId() : regions_.back(); }
  void start(Label block);
  void start_anew();
  void end(flow::Exit exit);
  void leads_to(Label label);
  void two_way(ExitKind kind, bool when, Label to);
  void settle_stores(std::vector<Instr>& code) const;
  void lose_tests();
  bool tests_operand(const Draft& block) const;
  Instr instr(Op op, uint32_t a, uint32_t b) const;

  Features features_;
  bool block_stack_;
  std::vector<Draft> blocks_;
  std::vector<Label> order_;
  std::vector<flow::Handler> handlers_;
  std::vector<HandlerId> regions_;
  Label current_;
  uint32_t depth_ = 0;
  uint32_t exceptions_ = 0;
  uint32_t offset_ = 0;
  int32_t statement_ = 0;
  size_t written_ = 0;
  bool live_ = true;
};

}  // namespace pellucid::verify::lower
