// SPDX-License-Identifier: Apache-2.0
// Graph: the working copy of an ir::Function that structuring reduces, step by step, until the rest
// reads as nested statements.
//
// The steps (steps.cpp lists them in order) only ever replace blocks by simpler ones with the same
// meaning: an empty block is threaded over, a short-circuit pair becomes one block that computes a
// Region value, the copies of a `finally` body are removed and their handler gets its kind. Block
// ids stay valid; an unreachable block is dead.
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
#include "base/rare.h"
#include "ir/function.h"
#include "object/places.h"
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
  Chain,          // operand 0 is a comparison; each part is the next one
  Comprehension,  // inlined: the loop at `header`; operand 0: its iterator
  Pattern,        // of a case; operand 0, in the first case: the subject
};

using PatternId = Id<struct PatternTag>;

enum class PatternKind : uint8_t { Any, Value, Singleton, Sequence, Mapping, Class, Or };

// Items that compute one value and do nothing else: an expression. In a Chain, the left operand of
// the result is the right operand of the comparison before it.
struct Part {
  std::vector<ValueId> items;
  ValueId result;
  bool follows_lost_test = false;  // And, Or: the test of the operand before it is flow::kLostTest
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
  ptrdiff_t front_ = 0;  // the free room before the first part
};

// One `for` of a comprehension, with the blocks between it and the next one or the element.
struct ComprehensionStep {
  BlockId header;               // ForIter
  std::vector<BlockId> blocks;  // run one after the other; all but the last end in a test
};

struct Pattern {
  PatternKind kind = PatternKind::Any;
  bool is_followed = false;   // another case follows it, though it matches everything
  bool is_spelt = false;      // Any: `_` before the first of the names
  int32_t line = -1;          // of its start; -1: no instruction has it
  std::vector<Symbol> names;  // bound to the matched value, in order
  Part value;  // Value, Singleton; Mapping: its keys; Class: the class. None if empty
  std::vector<PatternId> subs;  // invalid: anything
  bool open = false;            // Sequence: may be longer
  uint32_t star = ~0u;          // Sequence: which of subs is the starred one
  size_t front = 0;             // Sequence without such: how many subs are indexed from the front
  Symbol rest;                  // Mapping
  uint32_t positional = 0;      // Class
  object::ConstId attributes;   // Class: the names of those after the positional ones
};

struct Region {
  RegionKind kind = RegionKind::And;
  Parts parts;
  std::vector<ComprehensionStep> steps;  // Comprehension, outermost first
  Op container = Op::BuildList;          // Comprehension: BuildList, BuildSet or BuildMap
  std::vector<Symbol> hidden = {};       // Comprehension: the locals that it hides, in order
  std::vector<Symbol> cells = {};        // Comprehension: those of them that become cells
  PatternId pattern{};                   // Pattern
  bool is_tested_again = false;          // And, Or: by the operation around it
};

enum class HandlerKind : uint8_t {
  Unknown,
  Except,  // a chain of `except` clauses
  ExceptStar,
  Finally,    // its body is at the handler's entry; the normal exits have no copies any more
  With,       // `exit` is the BeforeWith value; the normal exits do not call it any more
  Dissolved,  // made by the compiler for its own ends, and removed
};

struct HandlerInfo {
  HandlerKind kind = HandlerKind::Unknown;
  HandlerId outer;     // what protects the handler's own code
  uint32_t depth = 0;  // how many handlers enclose this one
  ValueId exit;        // With; ExceptStar: the PopExcept after all clauses
  BlockId end;         // Finally: the end of its body, which raises the exception again
  BlockId swallowed;   // With: where control continues after __exit__ returned true
};

class Graph;

// Where control continues after the clauses that name an exception, if anywhere (marks_ends).
class ClauseEnds {
 public:
  void note(const Graph& graph, ValueId exception, BlockId end);
  // Invalid: control continues nowhere, or the exception is none of these.
  BlockId of(ValueId exception) const;
  const std::unordered_map<ValueId, BlockId>& all() const { return ends_.table(); }
  // Returns true if the block is such an end, or comes right after one that only leaves the clause.
  // It is never merged into the clause.
  bool contains(BlockId id) const {
    return id.index() < is_end_.size() && is_end_[id.index()] != 0;
  }

 private:
  RareMap<ValueId, BlockId> ends_;
  std::vector<uint8_t> is_end_;  // by block
};

// Blocks that stay, even empty ones: their presence carries information.
class KeptBlocks {
 public:
  void add(BlockId id) {
    if (is_kept_.size() <= id.index()) is_kept_.resize(id.index() + 1);
    is_kept_[id.index()] = 1;
  }
  void clear() { is_kept_.clear(); }
  bool contains(BlockId id) const {
    return id.index() < is_kept_.size() && is_kept_[id.index()] != 0;
  }

 private:
  std::vector<uint8_t> is_kept_;  // by block
};

class Graph {
 public:
  explicit Graph(ir::Function&& function);

  ir::Function f;
  std::vector<Region> regions;
  std::vector<Pattern> patterns;
  // For each branch, by its bytecode offset: how many copies of the tested value remain on the
  // stack along its true and its false edge. Recorded early: later, the blocks that drop them are
  // gone.
  RareMap<uint32_t, std::array<size_t, 2>> held;
  std::vector<HandlerInfo> handlers;
  ClauseEnds clause_ends;
  KeptBlocks kept;
  // The headers of loops whose test occurred twice, before the body and after it (loop inversion):
  // each is a `while` with that test. For each, the edge into the body.
  RareMap<BlockId, uint8_t> tested_loops;
  LoopSpans loop_spans;
  const object::Places* places = nullptr;  // of the code; null: clues of layout are not asked for

  // An invalid id is a bug, which costs the structure of one function and no more.
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

  // The ways into each block: normal edges from reachable blocks. Edits need a recompute().
  Ways::Into ways_into(BlockId id) const { return ways_.into(id); }
  bool reachable(BlockId id) const {
    PELLUCID_CHECK(id.index() < reachable_.size());
    return reachable_[id.index()] != 0;
  }
  void recompute();
  // Returns true if none of the functions below has changed an edge since the last recompute().
  bool is_current() const { return is_current_; }
  // Another number after each recompute(), and after each of the functions below that changes an
  // edge; an edge that is written directly counts with the recompute() that has to follow.
  uint32_t version() const { return version_; }

  // Blocks reachable from the entry, by normal and handler edges, in reverse postorder.
  const std::vector<BlockId>& order() const { return order_; }

  // Appends a value that is an instruction or a region.
  ValueId add(ir::Value value, std::span<const ValueId> operands);

  // Returns how many exceptions are being handled before items[index]. Markers count for nothing.
  uint32_t exceptions_at(BlockId id, size_t index) const;

  // Splits a block before items[index]. Returns the new block with the rest, to which the first one
  // leads.
  BlockId split(BlockId id, size_t index);

  // Redirects an edge (an invalid `to` removes it).
  void redirect(BlockId from, uint8_t edge, BlockId to, std::vector<ValueId> args = {});

  // Makes a block without ways and successors unreachable from here on; order() contains it until
  // recompute().
  void forget(BlockId id) { reachable_[id.index()] = 0; }
  // Does what recompute() does where nothing has happened since the last one but that blocks lost
  // their only way and were forgotten.
  void drop_forgotten();

  // Gives `into` the exit of `from`, which is dead from here on.
  void take_exit(BlockId into, BlockId from);

  // Returns the value that `id` is an alias of (a parameter with one way in), or `id` itself.
  ValueId resolve(ValueId id) const {
    while (id.index() < alias_.size() && alias_[id.index()].valid()) id = alias_[id.index()];
    return id;
  }
  void alias(ValueId from, ValueId to);
  bool has_aliases() const { return !alias_.empty(); }

  // The number of blocks when ways were last computed.
  size_t known_ways() const { return ways_.size(); }

 private:
  Ways ways_;
  std::vector<uint8_t> reachable_;
  std::vector<BlockId> order_;
  bool is_current_ = false;
  uint32_t version_ = 0;
  std::vector<ValueId> alias_;
  std::vector<uint32_t> entered_;  // by block: 1 for handler entries that count their exception
};

// Returns true if `inner` is `outer` or is nested in it; the invalid handler encloses all.
bool within(const Graph& graph, HandlerId inner, HandlerId outer);

// Writes aliases into every operand and argument.
void apply_aliases(Graph& graph);

// Merges a block into its only predecessor, if the handler is the same; never code after a loop
// into code of the loop. Returns true if it did.
bool merge_into_only_predecessor(Graph& graph, BlockId id);
inline bool merge_into_predecessor(Graph& graph, BlockId id) {
  return id != graph.entry() && graph.ways_into(id).size() == 1 &&
         merge_into_only_predecessor(graph, id);
}

// Redirects edges over empty blocks that only lead on and are not kept.
void thread_empty_blocks(Graph& graph);

// Returns true if the instruction is a statement: it makes no value for an expression.
bool is_statement(const ir::Value& value);

}  // namespace pellucid::structure
