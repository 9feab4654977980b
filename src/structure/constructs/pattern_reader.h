// SPDX-License-Identifier: Apache-2.0
// PatternRead: the tests and captures of one case -> a Pattern.
//
// Tests are read along the path on which all of them succeed. Each known value (the subject, its
// elements, attributes and values of keys) has a pattern, which the tests of that value determine.
// Alternatives are recognised by their failing edge: the next alternative tests the same value,
// which is still on the stack. Alternatives of the subject itself look like cases until the first
// of them reaches a merge point with the subject still on the stack; the pattern read so far is
// then the first alternative. At most one alternative is given up again: the next case.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "object/code.h"
#include "structure/graph/graph.h"
#include "structure/graph/walk.h"

namespace pellucid::structure {

// What is read of one pattern.
struct PatternRead {
  // The target of an edge past code that only drops values, and the arguments that reach it.
  struct Target {
    BlockId block;
    std::vector<ValueId> args;
  };
  // What a name bound to a value belongs to: a pattern, or a mapping's rest.
  struct Capture {
    PatternId pattern;
    bool rest = false;
  };
  using Captures = std::vector<Capture>;

  // `p | q`, being read.
  struct Alternatives {
    ValueId value;
    PatternId whole, current;
    BlockId second;     // where the second one starts
    Target outer_fail;  // of the pattern around them
    BlockId join;
    std::vector<PatternId> subs;
    std::vector<Captures> captured;  // by slot that is left on the stack at the join
    size_t depth = 0;                // of the stack up to the value
    BlockId start;                   // of the current one
    size_t blocks = 0;               // how many had been read before it
  };

  // Without `alternatives` of the subject, a merge point of cases is the end of their bodies.
  PatternRead(Graph& of, const object::Module& its_module, ValueId value, bool alternatives)
      : graph(of),
        module(its_module),
        subject(value),
        may_meet(alternatives),
        known_blocks(of.known_ways()),
        root(add_pattern_of(value)) {}

  Graph& graph;
  const object::Module& module;
  ValueId subject;
  bool may_meet;
  size_t known_blocks;                                       // whose ways in are known
  std::unordered_map<ValueId, PatternId> nodes;              // of known values
  std::unordered_map<ValueId, PatternId> rests;              // dicts without keys -> mapping
  std::unordered_map<ValueId, PatternId> parts;              // MatchClass, MatchKeys -> pattern
  std::unordered_map<ValueId, Captures> met;                 // parameters of joins
  std::unordered_map<ValueId, ValueId> renamed;              // parameters of blocks with one way in
  std::unordered_map<ValueId, std::deque<Captures>> queued;  // of values that alternatives bind
  std::unordered_map<ValueId, bool> keys;                    // of mappings
  PatternId root;
  Cursor at;                       // at the end: after the last test and the last name
  Target fail;                     // of a failing test; invalid: there are no tests
  BlockId resumed;                 // a merge point that is no join to be read
  std::vector<ValueId> arguments;  // of the edge that led to the current block
  std::vector<Alternatives> open;
  std::vector<BlockId> blocks;  // that were read, without the first one
  ValueId rest_map;
  size_t held = 0;      // copies of the subject on the stack after the first test,
  size_t tested = 0;    // and those needed for that test alone
  size_t met_at = 0;    // height of the stack where alternatives of the subject meet
  size_t captured = 0;  // the number of names that it binds
  std::unordered_set<Symbol> bound;
  bool repeats = false;  // it ends where one of its names is stored once more
  bool never = false;    // its guard is constant and false
  bool failed = false;
  bool typed = false;  // only a pattern compiles to the code that was read

  ValueId operand(ValueId id, size_t i) const { return graph.resolve(graph.f.operands(id)[i]); }
  PatternId add_pattern() {
    graph.patterns.emplace_back();
    return PatternId(graph.patterns.size() - 1);
  }
  // Gives the value a new pattern.
  PatternId add_pattern_of(ValueId id) { return nodes[id] = add_pattern(); }
  Pattern& pattern(PatternId id) { return graph.patterns[id.index()]; }
  Pattern* pattern_of(ValueId id) {
    const auto known = nodes.find(graph.resolve(id));
    return known == nodes.end() ? nullptr : &pattern(known->second);
  }
};

// ---- pattern_reader.cpp: control

// Reads from `start`. Returns false if no pattern starts there.
bool read_pattern(PatternRead& r, Cursor start);

// Returns true if no part of a pattern was read: it matches everything, if it is a case at all.
bool is_empty(const PatternRead& r);

// Returns how many more copies of the subject there are after the first test than the pattern
// itself needs.
size_t spare_copies(const PatternRead& r);

// Returns true if the subject is still on the stack afterwards, for the next case. The last case
// before `case _:` has the only copy, and so has the last one of all.
bool keeps_subject(const PatternRead& r);

// ---- pattern_tests.cpp: the meaning of tests and other items

struct PatternTest {
  enum class Kind : uint8_t { None, Constant, Singleton, Sequence, Mapping, Length, Class, Keys };
  Kind kind = Kind::None;
  ValueId on;  // the value whose pattern it determines
  ValueId by;  // the instruction that tests
  uint8_t success = 0;
  std::vector<ValueId> loads;  // items before it
};

// Where a test leads, the subject is the top of the stack, or below the next operand of a
// comparison chain.
inline constexpr size_t kHeldDepths = 2;

// Returns which values are on the stack, at one of these depths, where a test leads; nothing if
// there are none.
std::vector<uint8_t> left_by_tests(const Graph& graph);

// Returns the block with the test of a guard that begins in this one, after the inlined
// comprehensions in it (3.12+); invalid: it begins no guard.
BlockId end_of_guard(const Graph& graph, BlockId id);

// Returns the value that the test at the end of a block tests; invalid: the block does not end in a
// test of a pattern.
ValueId tested_by(const Graph& graph, BlockId block);

// Returns the test that makes up the rest of the block.
std::optional<PatternTest> find_test(const PatternRead& r);

// Returns false if the test contradicts the known pattern of its value.
bool apply(PatternRead& r, const PatternTest& test);

// Reads the items that unpack values, and moves the cursor after the last of them.
void settle(PatternRead& r);

// Reads an item that makes values of the elements of a known one, or drops one. Returns false for
// other items.
bool take_apart(PatternRead& r, ValueId item);

}  // namespace pellucid::structure
