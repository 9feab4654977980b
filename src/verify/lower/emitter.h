// SPDX-License-Identifier: Apache-2.0
// verify::lower: a flow graph under construction, written from front to back.
//
// The emitter knows how deep the stack is, how many exceptions are being handled and which handler
// protects what is written; a block ends wherever one of these changes hands. What is written
// after a jump goes to a block that nothing leads to, and finish() leaves it out.
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
  // Writes what compilers with these features write.
  explicit Emitter(const Features& features);

  // A statement starts, which the instruction at this offset of the original made.
  void at(uint32_t offset) {
    offset_ = offset;
    ++statement_;
  }

  // What comes next stands on another line of the statement.
  void next_line() { ++statement_; }

  // The line of what comes next, counted from the start; or another one that has been used.
  int32_t line() const { return statement_; }
  void on_line(int32_t line) { statement_ = line; }

  Label label();
  // What comes next stands at `label`.
  void place(Label label);
  void op(Op op, uint32_t a = 0, uint32_t b = 0);
  // Pops what a statement has no use for; up to 3.12 on no line, so that it stays after stores.
  void drop();
  void jump(Label to);
  // Pops a value and jumps where its truth is `when`.
  void branch(bool when, Label to);
  void branch_none(bool when, Label to);
  // Pushes the next item; jumps with the iterator popped.
  void for_iter(Label exhausted, uint32_t slots);
  void give_back();  // return
  void raise(uint32_t values);
  // `lasti`: the slots below the exception are unwound to where it was raised (3.11+).
  void reraise(bool lasti);

  // Everything until unprotect() is protected by `entry`, which keeps all but `above` slots.
  void protect(Label entry, bool lasti, uint32_t above = 0);
  void unprotect();
  // Starts the handler: the stack is as at protect(), with the exception on it.
  void place_handler(Label entry);

  // A place in the code of straight instructions that are known later only.
  Label reserve();
  void write_at(Label reserved, const std::function<void()>& write);

  // Unwinding on the way out of statements ends in a jump; after it everything is as before.
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
