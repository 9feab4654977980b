// SPDX-License-Identifier: Apache-2.0
// PatternReader: the tests and captures of one case -> a Pattern.
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

// Returns the value that the test at the end of a block tests; invalid: the block does not end in a
// test of a pattern.
ValueId tested_by(const Graph& graph, BlockId block);

class PatternReader {
 public:
  // Without `alternatives` of the subject, a merge point of cases is the end of their bodies.
  PatternReader(Graph& graph, const object::Module& module, ValueId subject,
                bool alternatives = true);

  // Reads from `start`. Returns false if no pattern starts there.
  bool read(Cursor start);

  PatternId root() const { return root_; }
  // After the last test and the last name.
  Cursor end() const { return at_; }
  // The target of a failing test; invalid: there are no tests.
  BlockId fail() const { return fail_.block; }
  // Returns true if only a pattern compiles to the code that was read.
  bool ends_by_type() const { return typed_; }
  // Returns true if no part of a pattern was read: it matches everything, if it is a case at all.
  bool is_empty() const { return !failed_ && !fail_.block.valid() && captured_ == 0 && !typed_; }
  // Returns true if the subject is still on the stack afterwards, for the next case. The last case
  // before `case _:` has the only copy, and so has the last one of all.
  bool keeps_subject() const;
  // Returns true if, after the first test, there are more copies of the subject than the pattern
  // itself needs.
  bool holds_more() const { return spare() > 0; }
  size_t spare() const { return held_ - std::min(held_, own_copies()); }
  // The number of names that it binds.
  size_t names() const { return captured_; }
  // Returns true if it ends where one of its names is stored once more.
  bool repeats() const { return repeats_; }
  // The blocks that were read, without the first one.
  const std::vector<BlockId>& blocks() const { return blocks_; }

 private:
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

  // pattern_reader.cpp: control
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
  bool comes_round(BlockId id) const;
  Target past_drops(const ir::Edge& edge) const;
  bool step();
  bool go_on();
  bool meets_others();
  bool is_join_of_subject(BlockId block) const;
  bool is_next_case(BlockId block) const;
  void open(ValueId value, Target fail);
  void close_alternative();
  void join_at(BlockId join);
  bool leads_to(BlockId from, BlockId to) const;
  void wrap(BlockId join);
  void hand_on(Alternatives& all);
  bool give_up();
  size_t depth_at(BlockId block) const;
  bool next_alternative();
  void finish_alternatives();
  void keep_captures(const std::vector<ValueId>& args);
  bool continues_with(BlockId block, ValueId value) const;
  bool makes_subject(BlockId block) const;
  bool fails_to(Target target);
  void pass(const ir::Edge& edge);
  bool is_named_next() const;
  size_t held_after(const ir::Block& test, uint8_t success) const;
  size_t own_copies() const;
  void captures();
  void place_last(int32_t line);
  Captures captures_of(ValueId id);
  size_t ways_into(BlockId id) const { return id.index() < known_ ? g_.ways_into(id).size() : 1; }

  // pattern_tests.cpp: the meaning of tests and other items
  enum class Kind : uint8_t { None, Constant, Singleton, Sequence, Mapping, Length, Class, Keys };
  struct Test {
    Kind kind = Kind::None;
    ValueId on;  // the value whose pattern it determines
    ValueId by;  // the instruction that tests
    uint8_t success = 0;
    std::vector<ValueId> loads;  // items before it
  };
  std::optional<Test> find_test() const;
  std::optional<Test> of_parts(ValueId id, uint8_t success) const;
  bool apply(const Test& test);
  bool apply_length(const Test& test, Pattern& pattern);
  bool apply_constant(const Test& test, Pattern& pattern);
  bool apply_keys(const Test& test, Pattern& pattern);
  bool apply_class(const Test& test, Pattern& pattern);
  void settle();
  bool take_apart(ValueId item);
  bool unpack(ValueId item);
  bool subscript(ValueId item);
  bool set_sub(PatternId id, size_t index, ValueId item);
  bool set_back(PatternId id, size_t back, ValueId item);
  bool loads_name(ValueId id) const;
  std::optional<int64_t> integer(ValueId id) const;

  ValueId operand(ValueId id, size_t i) const { return g_.resolve(g_.f.operands(id)[i]); }
  PatternId add_pattern() {
    g_.patterns.emplace_back();
    return PatternId(g_.patterns.size() - 1);
  }
  Pattern& at(PatternId id) { return g_.patterns[id.index()]; }
  PatternId node(ValueId id) { return nodes_[id] = add_pattern(); }
  Pattern* pattern_of(ValueId id) {
    const auto known = nodes_.find(g_.resolve(id));
    return known == nodes_.end() ? nullptr : &at(known->second);
  }

  Graph& g_;
  const object::Module& module_;
  ValueId subject_;
  bool may_meet_;
  size_t known_;  // blocks whose ways in are known
  PatternId root_;
  Cursor at_;
  Target fail_;
  BlockId resumed_;                 // a merge point that is no join to be read
  std::vector<ValueId> arguments_;  // of the edge that led to the current block
  std::vector<Alternatives> open_;
  std::vector<BlockId> blocks_;
  std::unordered_map<ValueId, PatternId> nodes_;
  std::unordered_map<ValueId, PatternId> rests_;  // dicts without keys -> mapping
  std::unordered_map<ValueId, PatternId> parts_;  // MatchClass, MatchKeys -> pattern
  std::unordered_map<ValueId, Captures> met_;     // parameters of joins
  std::unordered_map<ValueId, ValueId> renamed_;  // parameters of blocks with one way in
  std::unordered_map<ValueId, std::deque<Captures>> queued_;  // of values that alternatives bind
  std::unordered_map<ValueId, bool> keys_;                    // of mappings
  ValueId rest_map_;
  size_t held_ = 0;    // copies of the subject on the stack after the first test,
  size_t tested_ = 0;  // and those needed for that test alone
  size_t met_at_ = 0;  // height of the stack where alternatives of the subject meet
  size_t captured_ = 0;
  std::unordered_set<Symbol> bound_;
  bool repeats_ = false;
  bool never_ = false;  // its guard is constant and false
  bool failed_ = false;
  bool typed_ = false;
};

}  // namespace pellucid::structure
