// SPDX-License-Identifier: Apache-2.0
#include "structure/statements/evaluation_stack.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ast/nodes.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/hoisting.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

using Entry = EvaluationStack::Entry;

// Returns true if the value keeps its place: nothing computes it again where it is used.
bool keeps_place(const Entry& entry, const PendingTargets& targets) {
  return !entry.reloadable || targets.of(entry.value) != nullptr;
}

// Returns true if a value may be made later. A function that only closes over cells may: nothing
// observes when it is made. The hidden function of type parameters is made after the defaults that
// are passed to it. A function with a name becomes a statement before the expression, and the
// values evaluated before it have to stay before that.
bool is_movable(const FunctionContext& c, const Entry& entry) {
  const ir::Value& value = c.graph[entry.value];
  if (value.kind != ValueKind::Instr || entry.uses_left != 1) return false;
  if (makes_placed_function(c, entry.node)) return false;
  if (value.op == Op::MakeFunction) return (value.a & ~uint32_t{bytecode::kClosure}) == 0;
  return value.op == Op::SetFunctionAttribute && value.a == bytecode::kClosure;
}

// Returns true if the value needs no entry: it can be made wherever it is used.
bool is_made_anywhere(const FunctionContext& c, const PendingTargets& targets, ValueId id) {
  const ir::Value& value = c.graph[id];
  if (value.kind != ValueKind::Instr) return false;
  return value.op == Op::LoadConst || value.op == Op::LoadClosure ||
         value.op == Op::LoadAssertionError || value.op == Op::LoadBuildClass ||
         value.op == Op::LoadCommonConstant || value.steady ||
         (value.op == Op::BuildSlice && is_constant_slice(c, targets, id));
}

// Returns true if all targets of a value are names, so that it can be part of an expression: `(n :=
// v)`, `(n := (m := v))`.
bool is_part_of_expression(const FunctionContext& c, const PendingTargets& all, ValueId id) {
  const std::vector<NodeId>* targets = all.of(id);
  return targets == nullptr || are_names(c.tree, *targets);
}

// Whether `(local := v)` can take the place of `v` in an expression of `ids`, by the loads of the
// local among the entries, which are looked for when a value with a name is first asked of.
class LoadOrder {
 public:
  LoadOrder(const FunctionContext& c, const EvaluationStack& stack, std::span<const ValueId> ids)
      : c_(c), stack_(stack), ids_(ids) {}

  // Returns the index of a value in `ids`; their number if it is not one of them.
  size_t place_of(ValueId value) {
    if (ids_.size() <= kFew) {
      return static_cast<size_t>(std::find(ids_.begin(), ids_.end(), value) - ids_.begin());
    }
    for (size_t i = places_.empty() ? 0 : ids_.size(); i < ids_.size(); ++i) {
      places_.emplace(ids_[i], i);
    }
    const auto found = places_.find(value);
    return found == places_.end() ? ids_.size() : found->second;
  }

  // Returns true if `(local := v)` cannot take the place of the entry at `at`, v: a load of the
  // local from below is not taken before it, or one from above is.
  bool reads_out_of_order(size_t at) {
    const std::vector<NodeId>* targets = names_of(at);
    if (targets == nullptr) return false;
    find_loads();
    const size_t place = place_of(stack_.entries()[at].value);
    for (const NodeId target : *targets) {
      const auto found = loads_.find(c_.tree.as<ast::Name>(target).id);
      if (found == loads_.end()) continue;
      const Loads& loads = found->second;
      const auto after = std::lower_bound(loads.taken.begin(), loads.taken.end(), at);
      const auto below = static_cast<size_t>(after - loads.taken.begin());
      if (below > 0 && loads.latest[below - 1] >= place) return true;
      if (below < loads.taken.size() && loads.earliest[below] < place) return true;
      if (loads.settled < loads.others.size() && loads.others[loads.settled] < at) return true;
    }
    return false;
  }

  // Returns the loads below `at` that the expression does not take, but the one around it will, of
  // the locals that the entry there is assigned to. They count as settled from then on.
  std::vector<size_t> settle_below(size_t at) {
    std::vector<size_t> found;
    const std::vector<NodeId>* targets = names_of(at);
    if (targets == nullptr) return found;
    find_loads();
    for (const NodeId target : *targets) {
      const auto loads = loads_.find(c_.tree.as<ast::Name>(target).id);
      if (loads == loads_.end()) continue;
      auto& [taken, latest, earliest, others, settled] = loads->second;
      while (settled < others.size() && others[settled] < at) found.push_back(others[settled++]);
    }
    return found;
  }

 private:
  static constexpr size_t kFew = 8;  // up to then, looking at each takes no longer than a table
  static constexpr size_t kNever = ~size_t{0};

  // The loads of one local, in the order of the entries.
  struct Loads {
    std::vector<size_t> taken;     // indices of entries whose loads are not in `others`
    std::vector<size_t> latest;    // the greatest place of those up to each; kNever: not once
    std::vector<size_t> earliest;  // the least place of those from each on
    std::vector<size_t> others;    // those that the expression around may take
    size_t settled = 0;            // how many of them
  };

  // Returns the names that the entry is assigned to; nullptr if it has no targets but names.
  const std::vector<NodeId>* names_of(size_t at) const {
    const std::vector<NodeId>* targets = stack_.targets().of(stack_.entries()[at].value);
    return targets != nullptr && are_names(c_.tree, *targets) ? targets : nullptr;
  }

  void find_loads() {
    if (std::exchange(has_loads_, true)) return;
    const auto entries = stack_.entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      const ir::Value& value = c_.graph[entry.value];
      if (value.op != Op::LoadFast || !stack_.is_load_of(entry, value.symbol())) continue;
      Loads& loads = loads_[value.symbol()];
      const size_t place = place_of(entry.value);
      const bool is_once = entry.uses_left == 1;
      if (place == ids_.size() && is_once && !entry.adopted) {
        loads.others.push_back(i);
        continue;
      }
      loads.taken.push_back(i);
      const size_t latest = is_once && place < ids_.size() ? place : kNever;
      loads.latest.push_back(loads.latest.empty() ? latest : std::max(loads.latest.back(), latest));
      loads.earliest.push_back(place);
    }
    for (auto& [local, loads] : loads_) {
      for (size_t i = loads.earliest.size(); i-- > 1;)
        loads.earliest[i - 1] = std::min(loads.earliest[i - 1], loads.earliest[i]);
    }
  }

  const FunctionContext& c_;
  const EvaluationStack& stack_;
  std::span<const ValueId> ids_;
  std::unordered_map<ValueId, size_t> places_;
  std::unordered_map<Symbol, Loads> loads_;
  bool has_loads_ = false;
};

// Returns the first entry from which on `ids` take everything pending, once and in the order of
// evaluation.
size_t first_in_order(const FunctionContext& c, const EvaluationStack& stack,
                      std::span<const ValueId> ids, LoadOrder& loads) {
  size_t later = ids.size();
  for (size_t i = stack.entries().size(); i-- > 0;) {
    const Entry& entry = stack.entries()[i];
    if (!keeps_place(entry, stack.targets()) || is_movable(c, entry)) continue;
    if (loads.reads_out_of_order(i)) return i + 1;
    const size_t place = loads.place_of(entry.value);
    if (place >= later || entry.uses_left > 1 ||
        !is_part_of_expression(c, stack.targets(), entry.value)) {
      return i + 1;
    }
    later = place;
  }
  return 0;
}

}  // namespace

bool is_constant_slice(const FunctionContext& c, const PendingTargets& targets, ValueId slice) {
  const auto bounds = c.operands(slice);
  return std::all_of(bounds.begin(), bounds.end(), [&](ValueId bound) {
    const ValueId resolved = c.graph.resolve(bound);
    return is_op(c.graph[resolved], Op::LoadConst) && targets.of(resolved) == nullptr;
  });
}

// ---- entries --------------------------------------------------------------------------------

size_t EvaluationStack::find(ValueId id, size_t guess) const {
  // Operands are adjacent, in the order in which they were evaluated.
  if (guess < entries_.size() && entries_[guess].value == id) return guess;
  for (size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].value == id) return i;
  }
  return entries_.size();
}

size_t EvaluationStack::count_hard() const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(),
                                           [](const Entry& entry) { return !entry.reloadable; }));
}

bool EvaluationStack::is_load_of(const Entry& entry, Symbol local) const {
  const ir::Value& value = c_.graph[entry.value];
  return entry.reloadable && value.op == Op::LoadFast && value.symbol() == local &&
         targets_.of(entry.value) == nullptr;
}

// The value is computed again, in another copy of its block.
void EvaluationStack::forget_kept(ValueId id) {
  if (c_.kept_as.count(id)) c_.materialized.erase(id);
}

void EvaluationStack::use_once(std::span<const ValueId> ids) {
  for (Entry& entry : entries_) {
    if (std::find(ids.begin(), ids.end(), entry.value) != ids.end()) entry.uses_left = 1;
  }
}

void EvaluationStack::drop(ValueId id) {
  const size_t at = find(id);
  if (at == entries_.size()) return;
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(at));
  soft_ = std::min(soft_, at);
}

void EvaluationStack::add_target(size_t index, NodeId target) {
  --entries_[index].uses_left;
  soft_ = std::min(soft_, index);
  targets_.add(entries_[index].value, target);
}

void EvaluationStack::adopt(const EvaluationStack& other) {
  for (Entry entry : other.entries_) {
    if (!entry.reloadable || c_.graph[entry.value].op != Op::LoadFast) continue;
    entry.adopted = true;
    entries_.push_back(entry);
    adopted_.push_back(entry.value);
  }
}

void EvaluationStack::forget_adopted() {
  for (const ValueId id : adopted_) c_.materialized.erase(id);
}

// ---- taking ---------------------------------------------------------------------------------

// Returns true if the values are the last ones, in this order, each for this use alone: nothing is
// to be spilled for them. So it is in nearly all expressions.
inline bool EvaluationStack::are_on_top(std::span<const ValueId> ids) const {
  if (ids.size() > entries_.size() || !targets_.empty() || !c_.materialized.empty()) return false;
  const Entry* entry = entries_.data() + (entries_.size() - ids.size());
  for (const ValueId id : ids) {
    if (entry->value != c_.graph.resolve(id) || entry->uses_left != 1 ||
        c_.graph[entry->value].kind == ValueKind::Item) {
      return false;
    }
    ++entry;
  }
  return true;
}

std::span<const NodeId> EvaluationStack::take(std::span<const ValueId> ids) {
  if (!are_on_top(ids)) return take_anywhere(ids);
  const size_t count = ids.size();
  NodeId* taken = few_taken_.data();
  if (count > kUsual) {
    taken_.resize(count);
    taken = taken_.data();
  }
  const Entry* const first = entries_.data() + (entries_.size() - count);
  for (size_t i = 0; i < count; ++i) {
    taken[i] = first[i].reloadable ? c_.remake(first[i].value) : first[i].node;
  }
  entries_.erase(entries_.end() - static_cast<ptrdiff_t>(count), entries_.end());
  soft_ = std::min(soft_, entries_.size());
  return {taken, count};
}

// (Not a part of take(), which would save registers for it that most expressions do not need.)
[[gnu::noinline]] std::span<const NodeId> EvaluationStack::take_anywhere(
    std::span<const ValueId> unresolved) {
  taken_.clear();
  const std::vector<ValueId> ids = resolved(c_.graph, unresolved);
  spill_before(ids);
  for (const ValueId id : ids) {
    // No target stores it, or it has other uses.
    if (c_.graph[id].kind == ValueKind::Item) c_.name_given(id, id);
  }
  size_t place = entries_.size() - std::min(ids.size(), entries_.size());
  size_t taken = entries_.size();  // the first entry that is used up
  for (const ValueId id : ids) {
    const auto known = c_.materialized.find(id);
    if (known != c_.materialized.end()) {
      c_.check_kept(id);
      taken_.push_back(c_.name(known->second, c_.where(id)));
      continue;
    }
    const size_t at = find(id, place);
    if (at == entries_.size()) {
      if (!is_made_anywhere(c_, targets_, id)) {
        throw NotStructured("a value that is used where it is not at hand", c_.graph[id].offset);
      }
      taken_.push_back(c_.remake(id));
      continue;
    }
    taken_.push_back(use(id, at));
    if (!entries_[at].value.valid()) taken = std::min(taken, at);
    place = at + 1;
  }
  entries_.erase(std::remove_if(entries_.begin() + static_cast<ptrdiff_t>(taken), entries_.end(),
                                [](const Entry& entry) { return !entry.value.valid(); }),
                 entries_.end());
  soft_ = std::min(soft_, taken);
  return taken_;
}

// Returns the expression of the value at `at`, with its targets. If this was the last use, the
// entry has no value any more.
NodeId EvaluationStack::use(ValueId id, size_t at) {
  Entry& entry = entries_[at];
  NodeId node = entry.reloadable ? c_.remake(id) : entry.node;
  for (const NodeId target : targets_.take(id)) {
    node = c_.tree.add(ast::NamedExpr{target, node}, c_.where(id));
  }
  if (entry.uses_left > 1 && entry.reloadable) {
    --entry.uses_left;
  } else {
    entry.value = ValueId();
  }
  return node;
}

// Before an expression of these values is made: spills those that cannot be part of it, and the
// values before them. The others are the last ones on the stack, in this order, each for one use.
void EvaluationStack::spill_before(std::span<const ValueId> ids) {
  const bool has_names = !c_.materialized.empty();
  LoadOrder loads(c_, *this, ids);
  std::vector<size_t> kept;  // the entries that keep their places
  bool spill = false;
  size_t place = entries_.size() - std::min(ids.size(), entries_.size());
  for (const ValueId id : ids) {
    if (has_names && c_.materialized.count(id)) continue;
    const size_t at = find(id, place);
    if (at == entries_.size()) continue;
    place = at + 1;
    // Before `(local := v)` becomes part of an expression: a load of the local below it, which the
    // enclosing expression will take, can no longer be made again elsewhere.
    for (const size_t load : loads.settle_below(at)) {
      entries_[load].node = c_.remake(entries_[load].value);
      entries_[load].reloadable = false;
      soft_ = std::min(soft_, load);
    }
    const Entry& entry = entries_[at];
    if (!keeps_place(entry, targets_) || is_movable(c_, entry)) continue;
    if (!kept.empty() && at <= kept.back()) spill = true;
    if (!is_part_of_expression(c_, targets_, id) || loads.reads_out_of_order(at)) {
      spill = true;
    }
    if (entry.uses_left > 1) spill = true;
    if (kept.empty()) kept.reserve(ids.size());
    kept.push_back(at);
  }
  if (kept.empty()) return;
  // They are in order, or there is something to spill already.
  size_t next = 0;
  for (size_t i = kept[0]; i < entries_.size() && !spill; ++i) {
    if (next < kept.size() && kept[next] == i) {
      ++next;
    } else if (keeps_place(entries_[i], targets_) && !is_movable(c_, entries_[i])) {
      spill = true;
    }
  }
  if (!spill) return;
  // Values below were evaluated before; values above all of these may stay pending.
  const size_t last = *std::max_element(kept.begin(), kept.end());
  spill_until(std::min(first_in_order(c_, *this, ids, loads), last + 1));
}

// ---- spilling -------------------------------------------------------------------------------

void EvaluationStack::spill(const Entry& entry) {
  Symbol& temporary = c_.kept_as[entry.value];
  if (!temporary.valid()) temporary = c_.fresh_name(stem_of(c_.graph[entry.value]));
  c_.kept_in[entry.value] = c_.here;
  const ast::Where at = c_.where(entry.value);
  NodeId node = entry.reloadable ? c_.remake(entry.value) : entry.node;
  node = hoist_literals(c_, list_, node);
  std::vector<NodeId> targets = targets_.take(entry.value);
  targets.push_back(c_.name(temporary, at));
  list_.push_back(c_.tree.add(ast::Assign{c_.tree.list(targets), node}, at));
  c_.materialized[entry.value] = temporary;
}

// Spills the entries before `end` that keep their places.
void EvaluationStack::spill_until(size_t end) {
  const auto is_spilled = [&](const Entry& entry) { return keeps_place(entry, targets_); };
  while (soft_ < end && !is_spilled(entries_[soft_])) ++soft_;
  if (soft_ >= end) return;
  if (!targets_.empty()) end -= spill_loads_of_targets(end);
  const size_t first = std::min(soft_, end);
  size_t kept = first;
  for (size_t i = first; i < end; ++i) {
    if (is_spilled(entries_[i])) {
      spill(entries_[i]);
    } else {
      entries_[kept++] = entries_[i];
    }
  }
  const auto stop = entries_.begin() + static_cast<ptrdiff_t>(end);
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(kept), stop);
  soft_ = kept;
}

// Before the values before `end` become statements: spills the loads of their targets below each.
// Returns how many there were.
size_t EvaluationStack::spill_loads_of_targets(size_t end) {
  std::unordered_map<Symbol, std::vector<size_t>> loads;  // pending, by local
  size_t count = 0;
  for (size_t i = 0; i < end; ++i) {
    const std::vector<NodeId>* assigned = targets_.of(entries_[i].value);
    if (assigned == nullptr) {
      const ir::Value& value = c_.graph[entries_[i].value];
      const bool is_load = entries_[i].reloadable && value.op == Op::LoadFast;
      if (is_load) loads[value.symbol()].push_back(i);
      continue;
    }
    for (const NodeId target : *assigned) {
      if (!c_.tree.is(target, ast::Kind::Name)) continue;
      const auto found = loads.find(c_.tree.as<ast::Name>(target).id);
      if (found == loads.end()) continue;
      for (const size_t load : found->second) {
        spill(entries_[load]);
        entries_[load].value = ValueId();
        soft_ = std::min(soft_, load);
        ++count;
      }
      loads.erase(found);
    }
  }
  if (count > 0) std::erase_if(entries_, [](const Entry& entry) { return !entry.value.valid(); });
  return count;
}

size_t EvaluationStack::protect(Symbol local, size_t begin, size_t end) {
  size_t count = 0;
  for (size_t i = begin; i < std::min(end - std::min(end, count), entries_.size());) {
    if (!is_load_of(entries_[i], local)) {
      ++i;
      continue;
    }
    const Entry entry = entries_[i];
    entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(i));
    soft_ = std::min(soft_, i);
    spill(entry);
    ++count;
  }
  return count;
}

size_t EvaluationStack::protect_targets(size_t index) {
  const std::vector<NodeId>* assigned = targets_.of(entries_[index].value);
  if (assigned == nullptr) return index;
  for (const NodeId target : std::vector<NodeId>(*assigned)) {
    if (!c_.tree.is(target, ast::Kind::Name)) continue;
    index -= protect(c_.tree.as<ast::Name>(target).id, 0, index);
  }
  return index;
}

void EvaluationStack::settle(bool own_only) {
  settle_dropped();
  spill_all();
  soft_ = 0;
  for (const Entry& entry : std::exchange(entries_, {})) {
    const ir::Value& value = c_.graph[entry.value];
    const bool is_local = value.op == Op::LoadFast && !value.steady;
    if (is_local && !(own_only && entry.adopted) && !c_.materialized.count(entry.value)) {
      spill(entry);
    }
  }
}

// Appends as a statement the value that stays on the stack only to be dropped: `return f()` with a
// `finally` that returns.
void EvaluationStack::settle_dropped() {
  if (count_hard() != 1) return;
  const auto only = std::find_if(entries_.begin(), entries_.end(),
                                 [](const Entry& entry) { return !entry.reloadable; });
  if (!c_.is_dropped(only->value) || targets_.of(only->value) != nullptr) return;
  list_.push_back(
      c_.tree.add(ast::Expr{hoist_literals(c_, list_, only->node)}, c_.where(only->value)));
  soft_ = std::min(soft_, static_cast<size_t>(only - entries_.begin()));
  entries_.erase(only);
}

}  // namespace pellucid::structure
