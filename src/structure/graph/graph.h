// SPDX-License-Identifier: Apache-2.0
// Graph: the working copy of an ir::Function that structuring reduces, step by step, until what is
// left reads as nested statements.
//
// The steps (steps.cpp lists them in order) only ever replace blocks by simpler ones that mean
// the same: an empty block is jumped over, a short-circuit pair becomes one block that computes a
// Region value, the copies of a finally body go and leave their handler marked. Block ids stay
// valid; a block that nothing reaches any more is dead.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ir/function.h"
#include "structure/graph/edges.h"
#include "structure/graph/loop_extents.h"

namespace pellucid::structure {

using bytecode::Op;
using flow::BlockId;
using flow::ExitKind;
using flow::HandlerId;
using ir::ValueId;
using ir::ValueKind;

enum class RegionKind : uint8_t {
  And,  // operand 0, then each part
  Or,
  Conditional,    // operand 0 ? parts[0] : parts[1]
  Chain,          // operand 0 is a comparison; each part compares its right side further
  Comprehension,  // an inlined one: the loop at `header`; operand 0: its iterator
  Pattern,        // of a case; operand 0, in the first case: the subject
};

using PatternId = Id<struct PatternTag>;

enum class PatternKind : uint8_t { Any, Value, Singleton, Sequence, Mapping, Class, Or };

// Items that compute one value and do nothing else: an expression of its own. In a Chain, the left
// operand of the result is the right operand of the comparison before it.
struct Part {
  std::vector<ValueId> items;
  ValueId result;
  bool behind_lost_test = false;  // And, Or: the test of the operand before it is flow::kLostTest
};

// The parts of a region, which grow at both ends: `a and b and c` is read from its end.
class Parts {
 public:
  Parts() = default;
  Parts(std::initializer_list<Part> parts) : items_(parts) {}
  Parts(const Parts&) = default;
  Parts& operator=(const Parts&) = default;
  Parts(Parts&& other) noexcept
      : items_(std::exchange(other.items_, {})), front_(std::exchange(other.front_, 0)) {}
  Parts& operator=(Parts&& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(front_, other.front_);
    return *this;
  }
  template <typename Iterator>
  Parts(Iterator first, Iterator last) : items_(first, last) {}

  auto begin() { return items_.begin() + front_; }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin() + front_; }
  auto end() const { return items_.end(); }
  size_t size() const { return items_.size() - static_cast<size_t>(front_); }
  Part& operator[](size_t i) { return items_[static_cast<size_t>(front_) + i]; }
  const Part& operator[](size_t i) const { return items_[static_cast<size_t>(front_) + i]; }
  const Part& back() const { return items_.back(); }
  void push_back(Part part) { items_.push_back(std::move(part)); }
  void push_front(Part part) {
    if (front_ == 0) {
      std::vector<Part> wider(items_.size() + 1);
      front_ = static_cast<ptrdiff_t>(wider.size());
      std::move(items_.begin(), items_.end(), std::back_inserter(wider));
      items_ = std::move(wider);
    }
    items_[static_cast<size_t>(--front_)] = std::move(part);
  }

 private:
  std::vector<Part> items_;
  ptrdiff_t front_ = 0;  // what lies before it is room to grow
};

// One `for` of a comprehension with what leads from it to the next one or to the element.
struct ComprehensionStep {
  BlockId header;               // ForIter
  std::vector<BlockId> blocks;  // run one after the other; all but the last end in a test
};

struct Pattern {
  PatternKind kind = PatternKind::Any;
  bool goes_on = false;       // a case stands after it, though it takes everything
  bool is_spelt = false;      // Any: `_` before the first of the names
  int32_t line = -1;          // where it starts; -1: no instruction tells
  std::vector<Symbol> names;  // that receive what is matched, in the order of binding
  Part value;  // Value, Singleton; Mapping: its keys; Class: the class. None if empty
  std::vector<PatternId> subs;  // invalid: anything
  bool open = false;            // Sequence: may be longer
  uint32_t star = ~0u;          // Sequence: which of subs is the starred one
  size_t front = 0;             // Sequence without such: how many subs are counted from the front
  Symbol rest;                  // Mapping
  uint32_t positional = 0;      // Class
  object::ConstId attributes;   // Class: the names of those after the positional ones
};

struct Region {
  RegionKind kind = RegionKind::And;
  Parts parts;
  std::vector<ComprehensionStep> steps;  // Comprehension, outermost first
  Op container = Op::BuildList;          // Comprehension: BuildList, BuildSet or BuildMap
  std::vector<Symbol> hidden = {};       // Comprehension: the locals that it sets aside, in order
  std::vector<Symbol> cells = {};        // Comprehension: those of them that become cells
  PatternId pattern{};                   // Pattern
  bool is_tested_again = false;          // And, Or: the value, by an operation that goes on with it
};

enum class HandlerKind : uint8_t {
  Unknown,
  Except,  // a chain of `except` clauses
  ExceptStar,
  Finally,    // its body is at the handler's entry; the copies on the normal ways are gone
  With,       // `exit` is the BeforeWith value; the calls of it on the normal ways are gone
  Dissolved,  // made by the compiler for its own ends: of no interest any more
};

struct HandlerInfo {
  HandlerKind kind = HandlerKind::Unknown;
  HandlerId outer;     // what protects the handler's own code
  uint32_t depth = 0;  // how many handlers enclose this one
  ValueId exit;        // With; ExceptStar: the PopExcept after all clauses
  BlockId end;         // Finally: where its body ends, and raises again what it handles
  BlockId swallowed;   // With: where control goes on after __exit__ returned true
};

class Graph {
 public:
  explicit Graph(ir::Function function);

  ir::Function f;
  std::vector<Region> regions;
  std::vector<Pattern> patterns;
  // How often what a branch tests lies on the stack on either way from it, by the offset of the
  // branch. The blocks themselves do not tell any more once those are gone that only drop it.
  std::unordered_map<uint32_t, std::array<size_t, 2>> held;
  std::vector<HandlerInfo> handlers;
  // Where the clauses that name an exception go on at their end, if anything does (marks_ends).
  // Such a place is not made part of the clause.
  void note_clause_end(ValueId exception, BlockId end);
  BlockId clause_end(ValueId exception) const;
  const std::unordered_map<ValueId, BlockId>& clause_ends() const { return clause_ends_; }

  // Nowhere is no block: a mistake about that costs the structure of one function, no more.
  ir::Block& operator[](BlockId id) {
    PELLUCID_CHECK(id.index() < f.blocks.size());
    return f.blocks[id.index()];
  }
  const ir::Block& operator[](BlockId id) const {
    PELLUCID_CHECK(id.index() < f.blocks.size());
    return f.blocks[id.index()];
  }
  ir::Value& operator[](ValueId id) { return f.values[id.index()]; }
  const ir::Value& operator[](ValueId id) const { return f.values[id.index()]; }
  size_t size() const { return f.blocks.size(); }
  BlockId entry() const { return BlockId(0u); }

  // Ways into each block along normal edges, from blocks that are reachable. recompute() after
  // edits.
  Ways::Into ways_into(BlockId id) const { return ways_.into(id); }
  bool reachable(BlockId id) const {
    PELLUCID_CHECK(id.index() < reachable_.size());
    return reachable_[id.index()] != 0;
  }
  void recompute();

  // Blocks reachable from the entry, by normal and handler edges, in reverse postorder.
  const std::vector<BlockId>& order() const { return order_; }

  // Returns true if `inner` is `outer` or lies within it; the invalid handler encloses all.
  bool within(HandlerId inner, HandlerId outer) const;

  // Appends a value that is an instruction or a region.
  ValueId add(ir::Value value, std::span<const ValueId> operands);

  // How many exceptions are being handled before items[index]. Markers count for nothing.
  uint32_t exceptions_at(BlockId id, size_t index) const;

  // Splits a block before items[index]; the rest becomes a new block that the first one goes to.
  BlockId split(BlockId id, size_t index);

  // Sends an edge elsewhere (an invalid `to` removes it).
  void redirect(BlockId from, uint8_t edge, BlockId to, std::vector<ValueId> args = {});

  // Returns true if one way at most leads to the block, and none leads on.
  bool ends_here_only(BlockId id) const;

  // Nothing leads to the block any more, and none leads on: it cannot be reached from here on, but
  // stands in order() until recompute().
  void forget(BlockId id) { reachable_[id.index()] = 0; }

  // Gives `into` the exit of `from`, which is dead then.
  void take_exit(BlockId into, BlockId from);

  // A value that has turned out to be another one (a parameter with one way in).
  ValueId resolve(ValueId id) const {
    while (id.index() < alias_.size() && alias_[id.index()].valid()) id = alias_[id.index()];
    return id;
  }
  void alias(ValueId from, ValueId to);
  // Each parameter is its argument from here on: what used the one uses the other.
  void bind(const std::vector<ValueId>& params, const std::vector<ValueId>& args);
  // Writes aliases into every operand and argument.
  void apply_aliases();

  // --- how often values are used (uses.h)

  void add_use(ValueId id) { ++f[resolve(id)].uses; }
  void drop_use(ValueId id);
  // Where all that uses the value is known at once.
  void set_uses(ValueId id, uint32_t uses) { f[resolve(id)].uses = uses; }
  // Drops what an item uses, which goes or is no item any more.
  void release(ValueId item);
  // Drops all that a block uses, by its items, its exit and its edges: nothing leads there.
  void release(BlockId id);
  // Counts the uses of all values anew, after code that used some has gone.
  void recount_uses();

  // Appends a block that a single way leads to, and that shares the handler, to its predecessor;
  // not what stands after a loop to what was written into it.
  bool merge_into_predecessor(BlockId id);

  // Jumps over blocks without items that only go on and are not kept.
  void thread_empty_blocks();
  void hand_params_on();

  // Blocks that say something by being there.
  void keep(BlockId id) {
    if (kept_.size() <= id.index()) kept_.resize(id.index() + 1);
    kept_[id.index()] = 1;
  }
  // Loops of which the test was found twice, before the body and after it: written as tests.
  // `stay` is the edge into the body.
  void note_tested(BlockId header, uint8_t stay) { tested_[header] = stay; }
  bool is_tested(BlockId header) const { return tested_.contains(header); }
  uint8_t stay_of(BlockId header) const { return tested_.at(header); }
  void keep_none() { kept_.clear(); }
  bool is_kept(BlockId id) const { return id.index() < kept_.size() && kept_[id.index()] != 0; }

  // How many blocks there were when ways were last computed.
  size_t known_ways() const { return ways_.size(); }

 private:
  Ways ways_;
  std::vector<uint8_t> reachable_;
  std::vector<uint8_t> kept_;
  std::unordered_map<BlockId, uint8_t> tested_;
  std::unordered_map<ValueId, BlockId> clause_ends_;
  std::vector<uint8_t> is_clause_end_;
  std::vector<BlockId> order_;
  std::vector<ValueId> alias_;
  LoopSpans spans_;
  std::vector<uint32_t> entered_;  // by block: handlers that begin here and count their exception
};

// Returns true if the instruction is a statement by itself: it makes no value for an expression.
bool is_statement(const ir::Value& value);

}  // namespace pellucid::structure
