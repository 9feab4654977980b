// SPDX-License-Identifier: Apache-2.0
// SameCode: walks two places of a graph in lock step, to decide whether one is a copy of the other.
//
// A bisimulation of items by value, of blocks by position. (For structure only; verify has another
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

// The end of a copy, where the rest of the code begins.
struct CopyEnd {
  Cursor at;
  std::vector<ValueId> args;  // for the parameters of the block, if the rest begins at its start
};

// Returns the constant that 3.8 puts on the stack below a `finally` body that overtakes, as a
// placeholder for a value that the `try` may return; invalid: there is none.
ValueId placeholder(const Graph& graph, HandlerId handler);

class SameCode {
 public:
  // Compares the body of a handler with the code at `start`. Returns nothing if that is no copy of
  // it; `end` is empty if the copy never reaches its end.
  struct Copy {
    std::optional<CopyEnd> end;
    ValueId dropped;  // the value of a `return` that the body overtakes
  };
  static std::optional<Copy> copy(const Graph& graph, const object::Module& module,
                                  HandlerId handler, BlockId start);

  // Returns true if the code from `a` on does the same as the code from `b` on.
  static bool same_rest(const Graph& graph, const object::Module& module, const CopyEnd& a,
                        const CopyEnd& b);

 private:
  // The values of block parameters on the path walked so far.
  using Bindings = std::vector<std::pair<ValueId, ValueId>>;
  struct Place {
    Cursor at;
    std::vector<ValueId> args{};  // of the edge that led here
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
  bool advance(Place& place, const Cursor* original = nullptr);
  bool reraises(BlockId block) const;
  void meet(BlockId a, BlockId b);

  const Graph& g_;
  const object::Module& module_;
  BlockId entry_;  // of the handler; invalid: two rests are compared
  HandlerId outer_a_, outer_b_;
  std::vector<Pair> todo_;
  // A place of the body has several counterparts if the compiler has copied that code once more.
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
