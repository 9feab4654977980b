// SPDX-License-Identifier: Apache-2.0
// The evaluation stack: the values that were computed and are not used up yet.
//
// It decides for each value whether it becomes part of the expression that uses it, or is
// *spilled*: assigned to a temporary, since an effect comes in between. Its invariants:
//  - the values are in the order in which they were evaluated;
//  - a value that is taken out of this order, or more often than once, is spilled first, and
//    everything before it; so no effect ever moves;
//  - *reloadable* values cost nothing to compute again: constants and loads of locals. Each use
//    makes them anew, wherever it is, and a store to a local first spills the loads of it;
//  - a value with targets (`a = b = v`) keeps its place even if it is reloadable.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/append.h"
#include "structure/expressions/pending_targets.h"
#include "structure/statements/function_context.h"

namespace pellucid::structure {

class EvaluationStack {
 public:
  struct Entry {
    ValueId value;
    ast::NodeId node;  // invalid for reloadable values: made on each use
    uint32_t uses_left;
    bool reloadable;       // a constant, or a local that no store has changed since
    bool adopted = false;  // loaded on the path that leads here
  };

  // Spilled values are assigned by statements that are appended to `list`.
  EvaluationStack(FunctionContext& context, std::vector<ast::NodeId>& list)
      : c_(context), list_(list) {
    entries_.reserve(kUsual);
  }

  std::span<const Entry> entries() const { return entries_; }
  const PendingTargets& targets() const { return targets_; }

  // Returns the index of the value; the number of entries if it is not pending. `guess` is tried
  // first.
  size_t find(ValueId id, size_t guess = ~size_t{0}) const;

  // Returns how many entries are not reloadable.
  size_t count_hard() const;

  // Returns true if the entry is a load of this local, which a store to it would change.
  bool is_load_of(const Entry& entry, Symbol local) const;

  // Adds a value that was just computed, for all its uses.
  [[gnu::always_inline]] void push(ValueId id, ast::NodeId node, bool reloadable) {
    const uint32_t uses = c_.graph[id].uses;
    if (reloadable && uses == 0) return;
    if (!c_.kept_as.empty()) forget_kept(id);
    append_to(entries_, Entry{id, node, std::max(1u, uses), reloadable});
  }

  // Adds a value for one use.
  void push_once(ValueId id, ast::NodeId node) { entries_.push_back({id, node, 1, false}); }

  // Leaves the values one use each.
  void use_once(std::span<const ValueId> ids);

  // Removes the value if it is pending.
  void drop(ValueId id);

  // Returns the expressions of the values, evaluated in this order, which use them once. They are
  // valid until more are taken.
  std::span<const ast::NodeId> take(std::span<const ValueId> ids);
  ast::NodeId take(ValueId id) { return take({&id, 1})[0]; }

  // Stores the value at `index` in one more target, which is one of its uses.
  void add_target(size_t index, ast::NodeId target);

  // Removes and returns the targets of the value.
  std::vector<ast::NodeId> take_targets(ValueId id) { return targets_.take(id); }

  // Before a store to a local: spills the pending loads of it, those between the two places only.
  // Returns how many there were.
  size_t protect(Symbol local, size_t begin = 0, size_t end = ~size_t{0});

  // Before the assignment of the value at `index` becomes a statement: spills the loads of its
  // targets below it. Returns the new index of the value.
  size_t protect_targets(size_t index);

  // Spills every value that is not reloadable.
  void spill_all() { spill_until(entries_.size()); }

  // Spills all values, also loads of locals, except for adopted ones if `own_only`.
  void settle(bool own_only);

  // Adds the loads of locals that are pending in `other`.
  void adopt(const EvaluationStack& other);

  // Forgets the temporaries of the values that were adopted.
  void forget_adopted();

 private:
  static constexpr size_t kUsual = 8;  // most expressions have no more operands

  void forget_kept(ValueId id);
  bool are_on_top(std::span<const ValueId> ids) const;
  std::span<const ast::NodeId> take_anywhere(std::span<const ValueId> ids);
  void spill(const Entry& entry);
  void spill_until(size_t end);
  void spill_before(std::span<const ValueId> ids);
  size_t spill_loads_of_targets(size_t end);
  void settle_dropped();
  ast::NodeId use(ValueId id, size_t at);

  FunctionContext& c_;
  std::vector<ast::NodeId>& list_;
  std::vector<Entry> entries_;
  size_t soft_ = 0;  // entries before this one are known to be reloadable and to have no targets
  // One of them starts with what the last take() has returned.
  std::array<ast::NodeId, kUsual> few_taken_;
  std::vector<ast::NodeId> taken_;
  PendingTargets targets_;
  std::vector<ValueId> adopted_;
};

// Returns true if the slice can be made again at each use. A bound with targets must be evaluated
// only once.
bool is_constant_slice(const FunctionContext& c, const PendingTargets& targets, ValueId slice);

}  // namespace pellucid::structure
