// SPDX-License-Identifier: Apache-2.0
// verify::lower: a flow graph under construction, emitted in layout order.
//
// The emitter tracks the stack depth, the number of handled exceptions and the protecting handler;
// a block ends wherever control flow or the handler changes. Code after a jump goes to an
// unreachable block, which Draft::finish() removes.
#pragma once

#include <functional>
#include <vector>

#include "flow/graph.h"
#include "verify/lower/draft.h"
#include "verify/lower/features.h"
#include "verify/lower/seen.h"

namespace pellucid::verify::lower {

using flow::ExitKind;

// The line that instructions are on, counted from the start of the code object.
class Lines {
 public:
  // Not the line of any statement.
  static constexpr int32_t kNone = 0x7fffffff;

  // Starts a statement, recovered from the original's instruction at this offset.
  void start(uint32_t offset) {
    offset_ = offset;
    ++line_;
  }
  // Moves to the next line of the statement.
  void next() { ++line_; }
  int32_t now() const { return line_; }
  // Moves to a line used before, or to none.
  void set(int32_t line) { line_ = line; }

  // Returns an instruction on this line.
  Instr instr(Op op, uint32_t a, uint32_t b) const {
    Instr made;
    made.op = op;
    made.a = a;
    made.b = b;
    made.offset = offset_;
    made.line = line_;
    return made;
  }

 private:
  uint32_t offset_ = 0;
  int32_t line_ = 0;
};

class Emitter {
 public:
  // Emits code as compilers with these features do. They have to outlive it.
  explicit Emitter(const Features& features);

  // Emits code only to note the locals that it mentions: none of it is reached.
  void only_mention(const std::function<void()>& write);

  Label label() { return draft_.add(); }
  // Places `label` here.
  void place(Label label);
  void op(Op op, uint32_t a = 0, uint32_t b = 0);
  void jump(Label to);
  // Pops a value and jumps if its truth is `when`.
  void branch(bool when, Label to);
  void branch_none(bool when, Label to);
  // Pushes the next item, or pops the iterator and jumps.
  void for_iter(Label exhausted, uint32_t slots);
  void give_back();  // return
  void raise(uint32_t values);
  // Reraises; `lasti`: the offset of the original raise is on the stack, with `above` slots between
  // it and the exception (3.11+).
  void reraise(bool lasti, uint32_t above = 0);

  // Protects the code until unprotect() by `entry`, which keeps all except `above` slots.
  void protect(Label entry, bool lasti, uint32_t above = 0);
  void unprotect();
  // Starts the handler, with the stack of protect() and the exception on top.
  void place_handler(Label entry);

  // Returns the constants on top of the stack; none if not all `count` values are constants that
  // were loaded here.
  std::vector<object::ConstId> constants(uint32_t count);
  // The same, and takes back their loads.
  std::vector<object::ConstId> take_constants(uint32_t count);

  // Reserves a place for straight-line code that is emitted later by write_at().
  Label reserve();
  void write_at(Label reserved, const std::function<void()>& write);

  // The position is saved while a jump unwinds statements, and restored after it.
  const Position& here() const { return here_; }
  void back_to(const Position& position);

  // Returns true if the code emitted here can be reached.
  bool live() const { return live_; }

  // Returns the locals in the order of their first mention, also in code that is never reached:
  // that of their slots.
  const std::vector<Symbol>& locals() const { return locals_; }

  flow::Graph finish(object::CodeId code, const object::Module& module, const TupleOf& tuple_of) {
    return draft_.finish(code, features_, module, tuple_of);
  }

  Lines lines;

 private:
  DraftBlock& now() { return draft_[current_]; }
  void start(Label block);
  void start_anew();
  void end(flow::Exit exit);
  void two_way(ExitKind kind, bool when, Label to);

  const Features& features_;
  const bool block_stack_;
  Draft draft_;
  Label current_;
  Position here_;
  bool live_ = true;
  std::vector<Symbol> locals_;
  Seen seen_locals_;  // the same
};

}  // namespace pellucid::verify::lower
