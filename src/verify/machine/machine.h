// SPDX-License-Identifier: Apache-2.0
// The symbolic machine: runs one side of the walk from one effect to the next.
//
// Between two effects a frame only moves values: stack shuffles, constants, bound locals, branches
// that are decided, changes of containers that have not escaped. `advance` does all that and stops:
//
//   * Effect: before an instruction with observable effects: it can raise, run code, or touch the
//     heap;
//   * Fork: before a branch on a condition that is pure but unknown;
//   * Join: at the entry of a block with several ways in, if requested;
//   * Spin: in a loop that never has an effect again;
//   * Problem: where the proof ends; `problem()` returns the reason.
//
// An effect is described independently of the stack layout: a method call is a call of an
// attribute, a truth test is the same for every instruction that makes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/assumptions/assumed.h"
#include "verify/domain/state.h"

namespace pellucid::verify {

using bytecode::Instr;
using bytecode::Op;
using flow::BlockId;
using flow::ExitKind;

struct Point {
  BlockId block;
  uint32_t at = 0;        // instruction of the block; `count` is the exit
  bool entering = false;  // at the block's entry, before the join

  static Point at_entry(BlockId block) { return {block, 0, true}; }
  friend auto operator<=>(const Point&, const Point&) = default;
};

struct Effect {
  Op op = Op::Pop;
  uint32_t a = 0;  // the operand, if it matters; names are unified
  uint32_t b = 0;
  std::vector<Value> inputs;
  uint32_t results = 0;  // number of new values
  bool boolean = false;  // the results are True or False
  bool raises = false;
  bool always = false;     // it raises on every execution
  bool unordered = false;  // the inputs are the items of a set constant, in any order
  flow::HandlerId handler;
  uint32_t offset = 0;
  ExitKind exit = ExitKind::Goto;  // Goto: not an exit
};

enum class Stop : uint8_t { Effect, Fork, Join, Spin, Problem };

// Which joins `advance` passes.
enum class Joins : uint8_t { Stop, PassDecided, Pass };

// The data that both sides share during one walk.
struct Context {
  Values* values = nullptr;
  const Frame* frame = nullptr;
  uint64_t work = 0;  // instructions executed so far
  uint64_t limit = 0;
  // Growing a container beyond this is an effect. No display has more items than the code that
  // builds it has instructions, but one that is extended by itself has.
  size_t largest = 0;
  bool extra_locals = false;
  bool bound_globals = false;
  bool releases = false;  // the order in which values are released is compared
  bool strict = false;    // so are the handlers of interruptions
  Assumed assumed;
};

// The code of one side, and what its instructions refer to.
struct SideCode {
  Context& context;
  Side side;
  const object::Code& code;
  const flow::Graph& graph;

  Values& values() const { return *context.values; }
  const flow::Block& block(const Point& point) const { return graph[point.block]; }
  bool at_exit(const Point& point) const { return point.at == block(point).count; }
  const Instr& instr(const Point& point) const;
  Name local(const Instr& instr) const { return values().name(side, instr.symbol()); }
  uint32_t slot(Symbol local) const { return context.frame->slot(values().name(side, local)); }
  uint32_t slot(const Instr& instr) const { return slot(instr.symbol()); }
};

class Machine {
 public:
  Machine(Context& context, Side side, const object::Code& code, const flow::Graph& graph);

  const flow::Graph& graph() const { return on_.graph; }
  const object::Code& code() const { return on_.code; }

  // Sets this side of the state to that at the function's entry.
  void enter(State& state) const;
  Stop advance(State& state, Point& point, Joins joins);
  // Returns the effect at `point`; only after Stop::Effect.
  Effect effect(const State& state, const Point& point) const;
  // Returns true if `point` is a join that only tests the truth of a constant on the stack: the
  // result depends on the predecessor, which is not known after the join.
  bool is_decided(const State& state, const Point& point) const;
  // Steps back to a pending test of a local; after advance, if the other side stopped at a join.
  void unload_test(State& state, Point& point) const;
  // Executes the effect with these results; `way` chooses the successor of a two-way exit.
  void finish(State& state, Point& point, const std::vector<Value>& results, size_t way) const;
  // Enters a block: the exceptions that are not handled there are released.
  void enter_block(State& state, Point& point) const;
  // Drops the stack down to `depth` slots, and exceptions down to `handled`.
  void unwind(State& state, size_t depth, size_t handled) const;
  // Releases the locals, as a frame that ends does.
  void release_locals(State& state) const;
  // Returns the condition after Stop::Fork.
  Value condition(const State& state, const Point& point) const;
  // Takes the branch.
  void choose(State& state, Point& point, bool truth) const;
  const std::string& problem() const { return problem_; }
  uint32_t offset(const Point& point) const { return on_.instr(point).offset; }
  // Returns the number of blocks entered so far.
  uint64_t hops() const { return hops_; }

 private:
  std::optional<Stop> leave(State& state, Point& point);
  bool step(State& state, const Instr& instr);
  bool pop_first(State& state, Point& point);
  void go(State& state, Point& point, size_t way) const;
  void take_effect(State& state, Point& point, const std::vector<Value>& results, size_t way) const;

  SideCode on_;
  std::vector<bool> joins_;
  std::string problem_;
  uint64_t hops_ = 0;
};

// Returns the truth of `value` if this side knows it without an effect, as a boolean value.
std::optional<Value> truth_of(Values& values, const State& state, Side side, Value value);
// Assumes that `condition` is `truth` from here on.
void assume(Values& values, State& state, Value condition, bool truth);

// Returns the items of a list or tuple with known contents, or of a tuple constant.
std::optional<std::vector<Value>> items_of(Values& values, const State& state, Value value);

// Returns start, stop and optionally step of a slice that is a constant or built by this frame.
std::optional<std::vector<Value>> slice_parts(Values& values, const State& state, Value value);

// Execute an instruction on containers that have not escaped; return false if it is an effect.
bool execute_on_fresh(const SideCode& on, State& state, const Instr& instr, Name name);
bool execute_on_dictionary(const SideCode& on, State& state, const Instr& instr);

}  // namespace pellucid::verify
