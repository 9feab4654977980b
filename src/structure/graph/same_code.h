// SPDX-License-Identifier: Apache-2.0
// SameCode: two places of a graph walked in lock step, to tell whether one repeats the other.
//
// A bisimulation of items by value, of blocks by position. (structure's own; verify has another
// one, on purpose.)
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "structure/graph/graph.h"
#include "structure/graph/walk.h"

namespace pellucid::structure {

// Where a copy ends and the rest begins.
struct CopyEnd {
  Cursor at;
  std::vector<ValueId> args;  // for the parameters of the block, if that is where the rest begins
};

// The constant that 3.8 puts below a finally body that goes another way, in the place of a value
// that the `try` may return; invalid: there is none.
ValueId placeholder(const Graph& graph, HandlerId handler);

class SameCode {
 public:
  // The body of a handler against a copy of it that starts at `start`. Nothing if it is none. `end`
  // stays empty if the copy never comes to its end.
  struct Copy {
    std::optional<CopyEnd> end;
    ValueId dropped;  // what `return` had computed before the body took another way
  };
  static std::optional<Copy> copy(const Graph& graph, const object::Module& module,
                                  HandlerId handler, BlockId start);

  // Returns true if what happens from `a` on is what happens from `b` on.
  static bool same_rest(const Graph& graph, const object::Module& module, const CopyEnd& a,
                        const CopyEnd& b);

 private:
  // What parameters of blocks stand for on the way that has been walked.
  using Bindings = std::vector<std::pair<ValueId, ValueId>>;
  struct Place {
    Cursor at;
    std::vector<ValueId> args{};  // brought to the block by the edge that led here
    Bindings bound{};
  };
  struct Pair {
    Place a, b;
  };

  SameCode(const Graph& graph, const object::Module& module) : g_(graph), module_(module) {}

  bool run();
  bool walk(Place a, Place b);
  bool exits(const Place& a, const Place& b);
  bool enter(Place& place, const ir::Edge& edge) const;
  bool meets_again(const Cursor& a, const Cursor& b, bool& seen);
  void drop_own_values(Place& b) const;
  void leave_regions(Place& b) const;
  void pass_marks(Cursor from, Place& b) const;
  bool finish(Place b);
  bool ends_agree() const;
  bool same_item(ValueId x, ValueId y) const;
  bool is_annotation_index(const Cursor& c) const;
  bool same_operands(ValueId x, ValueId y) const;
  bool same_value(ValueId x, ValueId y) const;
  bool same_source(ValueId x, ValueId y) const;
  bool same_handlers(BlockId a, BlockId b);
  bool does_nothing(ValueId item) const;
  bool note_dropped(const Place& a, const Place& b);
  bool drops_outer_value(const Place& place);
  bool at_end(const Cursor& c) const { return structure::at_end(g_, c); }
  bool advance(Place& place, const Cursor* original = nullptr);
  bool reraises(BlockId block) const;
  void meet(BlockId a, BlockId b);

  const Graph& g_;
  const object::Module& module_;
  BlockId entry_;  // of the handler; invalid: two rests are compared
  HandlerId outer_a_, outer_b_;
  std::vector<Pair> todo_;
  // What the compiler has copied once more meets several places.
  std::map<Cursor, std::vector<Cursor>> pairs_;
  std::map<HandlerId, HandlerId> handlers_;
  std::unordered_map<ValueId, std::vector<ValueId>> values_;
  Bindings bound_a_, bound_b_;          // of the places that are compared
  std::unordered_set<ValueId> copied_;  // values of the copy
  std::vector<CopyEnd> ends_;
  ValueId dropped_;
  BlockId start_;  // of a copy
  ValueId placeholder_;
};

}  // namespace pellucid::structure
