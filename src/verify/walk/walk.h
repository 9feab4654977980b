// SPDX-License-Identifier: Apache-2.0
// The walk: traverses the product of two graphs from their entries.
//
// A node is a pair of points with a state that covers every path to it. From a node both machines
// run silently to their next effect; the effects must be the same, with the same inputs and under
// handlers that lead to equal nodes; then both continue. A branch on a pure condition of unknown
// truth is followed both ways by the side that meets it first; the answer is then known to the
// other side. Nodes are made at A's joins (and at handlers), and at B's joins if only B has
// branched. Constants in locals that only one side has are part of a node, so that a loop over a
// state variable is followed state by state.
//
// The assumptions of a node hold on every path to it (a greatest fixpoint), except that two silent
// loops must not wait for each other: `waits_forever` looks for those at the end.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/machine/machine.h"

namespace pellucid::verify {

struct Difference {
  std::string reason;
  uint32_t offset_a = 0;
  uint32_t offset_b = 0;
};

class Walk {
 public:
  Walk(Context& context, Machine& a, Machine& b)
      : context_(context),
        values_(*context.values),
        a_(a),
        b_(b),
        of_one_side_(context.frame->of_one_side()),
        loop_ends_(loop_ends(a.graph())) {}

  // Returns the first place where the proof stops, if it does.
  std::optional<Difference> run();
  // Returns the code objects that have to be equal for the proof to hold.
  const CodePairs& pairs() const { return pairs_; }
  // Returns the places of the nodes, sorted.
  std::vector<std::pair<uint32_t, uint32_t>> meetings() const;

 private:
  struct Key {
    Point a, b;
    std::vector<std::pair<uint32_t, uint32_t>> constants;  // slot, value
    std::vector<uint32_t> stores[2];
    size_t released[2] = {};
    std::optional<flow::HandlerId> interrupted[2];
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // The order in which nodes are visited: the least first.
  using Turn = std::array<uint32_t, 4>;

  struct Node {
    Key key;
    State state;
    bool queued = false;
    uint32_t rounds = 0;  // how often it was reached by back edges
    Turn turn{};          // while it is queued
  };

  struct Path {
    State state;
    Point a, b;
    // Since the node:
    bool quiet = true;     // there was no effect
    bool b_moved = false;  // to another block
    // Calls ordered only among themselves that one side has made and the other has not yet.
    std::vector<std::pair<std::vector<Value>, Value>> ahead{};  // inputs, result
    Side leader = Side::A;
  };

  static std::vector<uint32_t> loop_ends(const flow::Graph& graph);
  void follow(Path path);
  void arrive(Path path);
  void enqueue(uint32_t node);
  void fork(Path path);
  void unify_identities(State& state, Value in_a, Value in_b);
  bool stands_apart(const Effect& effect) const;
  void keep_apart(Path path, Side side, const Effect& effect);
  bool may_be_passed(const Effect& effect) const;
  bool same_lifetimes(const Path& path, const Effect& effect);
  bool compare_effects(Path& path, Effect& a, Effect& b);
  void raise(const Path& path, const Effect& a, const Effect& b);
  void go_on(Path path, const Effect& effect, const std::vector<uint32_t>& cells);
  std::optional<Name> kept_longer(const State& state) const;
  bool settle_locals(Path& path, bool at_effect);
  bool settle_releases(Path& path, bool at_effect);
  bool settle_interrupts(Path& path, const Effect* a, const Effect* b);
  bool handle(const Path& path, const flow::Handler& x, const flow::Handler& y);
  void leave(const Path& path, const Effect& effect);
  bool same_qualname(const Effect& a, Value x, Value y, size_t input) const;
  std::string text(const Effect& effect) const;
  bool fail(const Path& path, std::string reason);
  bool waits_forever() const;
  static void pass(const Machine& machine, State& state, Point& point);

  Context& context_;
  Values& values_;
  Machine& a_;
  Machine& b_;
  std::vector<uint32_t> of_one_side_;  // slots; most functions have none, some have thousands
  CodePairs pairs_;
  std::vector<Node> nodes_;
  std::map<Key, uint32_t> index_;
  std::map<std::pair<Point, Point>, uint32_t> variants_;
  std::vector<uint32_t> loop_ends_;  // by block of A: its last predecessor
  std::set<Turn> queue_;
  std::vector<std::pair<uint32_t, uint32_t>> quiet_edges_;  // where B did not move
  std::vector<Path> todo_;
  uint32_t from_ = 0;
  size_t full_heap_ = 0;
  std::optional<Difference> difference_;
};

}  // namespace pellucid::verify
