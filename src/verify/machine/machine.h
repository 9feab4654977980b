// SPDX-License-Identifier: Apache-2.0
// verify's symbolic machine: one side of the walk, from one effect to the next.
//
// Between two effects a frame only moves values: stack shuffles, constants, bound locals, branches
// that are decided, work on containers that nobody else knows. `advance` does all that and stops
//
//   Effect   before an instruction that others can notice: it can raise, run code, or touch the
//   heap Fork     before a branch on a condition that is pure but unknown Join     at the entry of
//   a block with several ways in, where asked to Spin     in a loop that will never do anything
//   again Problem  where the proof ends; `problem()` says why
//
// An effect is described by what it does, not by how the stack lay: a method call is a call of an
// attribute, a truth test is one whichever instruction makes it.
#pragma once

#include "verify/assumptions/assumed.h"
#include "verify/domain/state.h"

namespace pellucid::verify {

using bytecode::Instr;
using bytecode::Op;
using flow::BlockId;
using flow::ExitKind;

struct Point {
  BlockId block;
  uint32_t at = 0;        // instruction of the block; its count: the exit
  bool entering = false;  // just came to `at` 0, joins not yet seen to
  friend auto operator<=>(const Point&, const Point&) = default;
};

struct Effect {
  Op op = Op::Pop;
  uint32_t a = 0;  // operand as far as it matters; names are unified
  uint32_t b = 0;
  std::vector<Value> inputs;
  uint32_t results = 0;  // new values that it makes
  bool boolean = false;  // which are True or False
  bool raises = false;
  bool always = false;     // it raises in any case
  bool unordered = false;  // the inputs are those of a set constant, in no order of anybody's
  flow::HandlerId handler;
  uint32_t offset = 0;
  ExitKind exit = ExitKind::Goto;  // Goto: it is no exit
};

enum class Stop : uint8_t { Effect, Fork, Join, Spin, Problem };

// Which joins one goes on past.
enum class Joins : uint8_t { Stop, PassDecided, Pass };

// What both sides share during one walk.
struct Context {
  Values* values = nullptr;
  const Frame* frame = nullptr;
  uint64_t work = 0;  // instructions executed so far
  uint64_t limit = 0;
  bool extra_locals = false;
  bool bound_globals = false;
  Assumed assumed;
};

class Machine {
 public:
  Machine(Context& context, Side side, const object::Code& code, const flow::Graph& graph);

  const flow::Graph& graph() const { return *graph_; }
  const object::Code& code() const { return *code_; }

  // The state of this side when the function starts.
  void enter(State& state) const;
  Stop advance(State& state, Point& point, Joins joins);
  // What it stands before; only after Stop::Effect.
  Effect effect(const State& state, const Point& point) const;
  // Returns true if it stands at a join that only asks for the truth of a constant on the stack:
  // where that leads to depends on the way, which nobody knows after the join.
  bool is_decided(const State& state, const Point& point) const;
  // After advance, if the other side has stopped at a join.
  void unload_test(State& state, Point& point) const;
  // Executes it with these results; `way` chooses among the successors of a two-way exit.
  void finish(State& state, Point& point, const std::vector<Value>& results, size_t way) const;
  // The condition after Stop::Fork.
  Value condition(const State& state, const Point& point) const;
  // Takes that branch.
  void choose(State& state, Point& point, bool truth) const;
  const std::string& problem() const { return problem_; }
  uint32_t offset(const Point& point) const;
  // Blocks entered so far: whether it moves at all.
  uint64_t hops() const { return hops_; }

 private:
  const flow::Block& block(const Point& point) const { return (*graph_)[point.block]; }
  const Instr& instr(const Point& point) const;
  bool at_exit(const Point& point) const { return point.at == block(point).count; }
  void go(Point& point, BlockId next) const { point = {next, 0, true}; }
  bool execute(State& state, const Instr& instr);
  bool fail(std::string reason);
  bool is_test_of_local(const Point& point) const;
  bool load_for_test(State& state, Point& point) const;
  bool take_cell(State& state, Point& point) const;
  bool take_item(State& state, Point& point) const;
  bool load_steady(State& state, const Instr& instr) const;
  OwnCell* own_cell(State& state, const Instr& instr) const;
  bool call_nothing(State& state, const Instr& instr) const;
  bool call_rotation(State& state, const Instr& instr) const;
  bool make_function(State& state, const Instr& instr) const;
  bool set_function_attribute(State& state, const Instr& instr) const;
  std::optional<Stop> leave(State& state, Point& point);
  Name local(const Instr& instr) const { return context_->values->name(side_, instr.symbol()); }
  uint32_t slot(const Instr& instr) const { return context_->frame->slot(local(instr)); }
  std::optional<Value> constant_behind(const Instr& instr) const;
  void store(State& state, const Instr& instr, Value value);
  void describe(const Instr& instr, const State& state, Effect& effect) const;
  std::optional<std::vector<Value>> folded_set(const Point& point) const;

  Context* context_;
  Side side_;
  const object::Code* code_;
  const flow::Graph* graph_;
  std::vector<bool> joins_;
  std::string problem_;
  uint64_t hops_ = 0;
};

// What this side knows without asking: whether `value` is true, or the value that says so.
std::optional<Value> truth_of(Values& values, const State& state, Side side, Value value);
// From here on, `condition` is `truth`.
void assume(Values& values, State& state, Value condition, bool truth);

// The items of a list or tuple that is known, or of a tuple constant.
std::optional<std::vector<Value>> items_of(Values& values, const State& state, Value value);

// Start, stop and, where it has one, step of a slice that is a constant or that this frame built.
std::optional<std::vector<Value>> slice_parts(Values& values, const State& state, Value value);

// Instructions on containers that only this frame knows; false if it takes an effect.
bool execute_on_fresh(Values& values, State& state, Side side, const Instr& instr, Name name);
bool execute_on_dictionary(Values& values, State& state, Side side, const Instr& instr);

}  // namespace pellucid::verify
