// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/cases.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "structure/constructs/or_patterns.h"
#include "structure/constructs/pattern_reader.h"
#include "structure/graph/items.h"
#include "structure/graph/uses.h"
#include "structure/reduce/inlined_comprehensions.h"

namespace pellucid::structure {
namespace {

class Matches {
 public:
  Matches(Graph& graph, const object::Module& module)
      : g_(graph), module_(module), known_(graph.size()), leaves_some_(graph.size()) {
    const std::vector<uint8_t> is_left = left_by_tests(g_);
    for (const BlockId id : g_.order()) {
      const auto is_left_one = [&](ValueId value) { return is_left[value.index()] != 0; };
      const ir::Block& block = g_[id];
      leaves_some_[id.index()] =
          !is_left.empty() && (std::any_of(block.items.begin(), block.items.end(), is_left_one) ||
                               std::any_of(block.params.begin(), block.params.end(), is_left_one));
      for (const ValueId item : block.items) {
        if (!fills_container(g_[item])) continue;
        const ValueId container = g_.resolve(g_.f.operands(item)[0]);
        ++fills_[container];
        filled_in_[container] = id;
      }
    }
  }

  void run() {
    size_t cut_off = known_;  // the first body of a case that has not been looked at
    const auto look_at = [&](BlockId id) {
      if (read_.count(id) == 0) has_folded_ |= fold(id);
    };
    // In bytecode order, which the order of the blocks no longer is. A body may start with a nested
    // `match`, whose first case has to be found before its later cases, which test the same
    // subject.
    std::vector<BlockId> blocks = g_.order();
    std::sort(blocks.begin(), blocks.end(), [&](BlockId a, BlockId b) {
      return std::pair(g_[a].offset, a) < std::pair(g_[b].offset, b);
    });
    for (const BlockId id : blocks) {
      look_at(id);
      for (; cut_off < g_.size(); ++cut_off) look_at(BlockId(cut_off));
    }
    if (!has_folded_) return;
    g_.recompute();
    // Code that no compiler makes uses a subject elsewhere, too.
    recount_uses(g_);
  }

 private:
  bool fold(BlockId id) {
    const ValueId left = may_leave_one(id) ? left_in(id) : ValueId();
    if (left.valid() && fold(id, left)) return true;
    const ValueId tested = tested_by(g_, id);
    return tested.valid() && !is_lone_comparison(id, tested) && fold(id, tested);
  }

  // Returns true if the block compares a value that nothing else uses, in its line, and that was
  // not kept after the test: no other case tests it, and no name takes it. folds() would read one
  // case, which reads as well as an `if`.
  bool is_lone_comparison(BlockId id, ValueId tested) const {
    const ir::Block& block = g_[id];
    if (g_[tested].uses != 1 || block.exit != ExitKind::Branch) return false;
    if (!is_op(g_[g_.resolve(block.operands[0])], Op::Compare, Op::IsOp)) return false;
    const auto held = g_.held.find(block.exit_offset);
    if (held != g_.held.end() && (held->second[0] != 0 || held->second[1] != 0)) return false;
    return !is_compared_below(id, tested);
  }

  // Returns false if left_in() finds nothing, as for most blocks of a graph that is as it was.
  bool may_leave_one(BlockId id) const {
    return has_folded_ || g_.size() != known_ || !fills_.empty() || leaves_some_[id.index()] != 0;
  }

  // Returns a value that stays on the stack while the block tests something else, and is tested
  // after that has failed: the subject of a first case that is a name or `_` with a guard.
  ValueId left_in(BlockId id) const {
    const BlockId guard = end_of_guard(g_, id);
    if (!guard.valid()) return {};
    for (const ir::Edge& edge : g_[guard].next) {
      if (!edge.to.valid()) continue;
      const auto& stack = g_[edge.to].entry_stack;
      for (size_t depth = 1; depth <= std::min<size_t>(stack.size(), kHeldDepths); ++depth) {
        const ValueId value = g_.resolve(stack[stack.size() - depth]);
        if (is_left_in(id, guard, value) && case_after_guard(id, value).valid()) return value;
      }
    }
    return {};
  }

  // Returns true if neither the block nor the one that ends the guard uses the value, which is on
  // the stack after both.
  bool is_left_in(BlockId id, BlockId guard, ValueId value) const {
    const ir::Block& block = g_[id];
    const auto has = [&](const std::vector<ValueId>& values) {
      return std::find(values.begin(), values.end(), value) != values.end();
    };
    // It is computed here, passed along several ways, or made by the comprehension that ends here.
    const bool is_made = has(block.items) && !is_filled_after(id, value);
    if (!is_made && !has(block.params) && !is_filled_before(id, value)) return false;
    // In `a == b == c` the value that stays is part of the test.
    const auto looks_at = [&](ValueId item) {
      const auto operands = g_.f.operands(item);
      return !stores_name(g_[item]) && !drops(g_[item], ir::Dropped::Copy) &&
             std::any_of(operands.begin(), operands.end(),
                         [&](ValueId each) { return g_.resolve(each) == value; });
    };
    if (std::any_of(block.items.begin(), block.items.end(), looks_at)) return false;
    const auto& last = g_[guard].items;
    return guard == id || std::none_of(last.begin(), last.end(), looks_at);
  }

  // Returns true if the loop of an inlined comprehension adds to the value after the block that
  // makes it: such a loop is no part of a guard.
  bool is_filled_after(BlockId id, ValueId value) const {
    const auto filled = filled_in_.find(value);
    return filled != filled_in_.end() && filled->second != id;
  }

  // Returns true if the loop of an inlined comprehension that adds to the value ends before
  // the block.
  bool is_filled_before(BlockId id, ValueId value) const {
    if (fills_.count(value) == 0 || !holds(id, value)) return false;
    const auto ways = g_.ways_into(id);
    return std::any_of(ways.begin(), ways.end(), [&](const Way way) {
      if (g_[way.from].exit != ExitKind::ForIter || way.edge != 1) return false;
      // Right below the iterator; other containers are deeper.
      const auto& stack = g_[way.from].entry_stack;
      const ValueId iterator = g_.resolve(g_[way.from].operands[0]);
      const auto at = std::find_if(stack.rbegin(), stack.rend(),
                                   [&](ValueId slot) { return g_.resolve(slot) == iterator; });
      return at != stack.rend() && at + 1 != stack.rend() && g_.resolve(*(at + 1)) == value;
    });
  }

  // Reads the cases of a `match` on this subject. Patterns of a failed attempt are dropped:
  // otherwise each attempt would cost more than the one before.
  bool fold(BlockId id, ValueId subject) {
    const size_t before = g_.patterns.size();
    if (!folds(id, subject)) {
      g_.patterns.resize(before);
      return false;
    }
    // In the text, excluding the keys of a mapping from `**rest` is no use of them.
    for (size_t i = before; i < g_.patterns.size(); ++i) {
      const Part& keys = g_.patterns[i].value;
      if (g_.patterns[i].kind == PatternKind::Mapping && !keys.items.empty()) {
        set_uses(g_, keys.result, 1);
      }
    }
    return true;
  }

  bool folds(BlockId id, ValueId subject) {
    const auto& params = g_[id].params;
    const bool arrives = std::find(params.begin(), params.end(), subject) != params.end();
    if (g_[subject].kind == ValueKind::Phi && !arrives) return false;
    const auto& items = g_[id].items;
    const auto made = std::find(items.begin(), items.end(), subject);
    const bool is_made = made != items.end();
    Cursor start{id, is_made ? static_cast<size_t>(made - items.begin()) + 1 : 0};
    // The inlined comprehension that made the subject restores the locals that it hid.
    const auto puts_back = [&](ValueId item) {
      return is_op(g_[item], Op::StoreFast) &&
             is_op(g_[g_.resolve(g_.f.operands(item)[0])], Op::LoadFastAndClear);
    };
    if (!is_made) {
      while (start.index < items.size() && puts_back(items[start.index])) ++start.index;
    }
    // `match (name := value)`.
    uint32_t named = 0;
    const auto names_subject = [&](ValueId item) {
      return stores_name(g_[item]) && g_.resolve(g_.f.operands(item)[0]) == subject;
    };
    // If the first case is a name as well, its store has another line.
    const bool is_tested = tested_by(g_, id) == subject;
    const auto is_walrus = [&](size_t i) {
      return i < items.size() && names_subject(items[i]) &&
             (is_tested || (i + 1 < items.size() && names_subject(items[i + 1]) &&
                            g_[items[i]].line != g_[items[i + 1]].line &&
                            g_[items[i]].line == g_[subject].line));
    };
    for (; is_walrus(start.index); ++start.index) ++named;
    std::vector<ReadCase> cases;
    std::vector<BlockId> read;
    std::unordered_set<BlockId> started;
    bool typed = false;
    bool is_kept = true;  // the subject is kept for another case that tests it
    for (size_t steps = 0; steps <= g_.size(); ++steps) {
      const auto& rest = g_[start.block].items;
      if (!cases.empty() && start.index < rest.size() && names_subject(rest[start.index]) &&
          tested_by(g_, start.block) == subject) {
        // A name with a guard that is constant and false, before the test of the next case.
        const ValueId name = rest[start.index];
        const Cursor end{start.block, start.index + 1};
        const BlockId next = split_held(end, subject);
        g_.patterns.emplace_back().names.push_back(g_[name].symbol());
        cases.push_back({start, end, next, PatternId(g_.patterns.size() - 1), 0});
        typed = true;
        start = {next, 0};
        continue;
      }
      const std::optional<PatternRead> found = read_case(start, subject);
      if (!found) break;
      const PatternRead& one = *found;
      // A test that cannot be read is no guard of a first case that tests nothing.
      if (cases.empty() && is_tested && is_empty(one)) return false;
      // A name alone, or `_`, matches everything, if its guard holds. Not where the value is
      // computed again, in the next iteration of a loop.
      const bool is_case = cases.empty() || holds(start.block, subject);
      BlockId next = one.fail.block;
      if (!next.valid() && one.repeats) next = split_held(one.at, subject);
      if (!next.valid() && is_case) next = case_after_guard(one.at.block, subject);
      if (is_empty(one) && !next.valid()) {
        const bool are_alternatives = join_alternatives(g_, cases);
        typed = typed || are_alternatives;
        if (!are_alternatives && !cases.empty() && is_kept &&
            is_guard_before_default(start.block, subject)) {
          const ir::Block& guard = g_[start.block];
          const BlockId after = guard.next[guard.jump].to;
          if (!g_[after].params.empty()) return false;
          cases.push_back({start, start, after, one.root, 0});
        }
        break;
      }
      // A value that is left on the stack belongs to other code.
      if (next.valid() && !g_[next].params.empty()) return false;
      if (is_apart(start, one.at) && !g_[one.at.block].params.empty()) return false;
      // Cases are in sequence: an edge back to one is a loop.
      if (!started.insert(start.block).second) return false;
      cases.push_back({start, one.at, next, one.root, spare_copies(one)});
      read.insert(read.end(), one.blocks.begin(), one.blocks.end());
      read.push_back(start.block);  // the case may become an alternative of the one before
      // The tested value is still available to be named.
      typed = typed || one.typed || (one.fail.block.valid() && one.captured > 0);
      // Alternatives that match everything, and keep the subject for an unreachable case.
      Pattern& pattern = g_.patterns[one.root.index()];
      if (!one.fail.block.valid() && pattern.kind == PatternKind::Or && spare_copies(one) > 0) {
        pattern.is_followed = true;
      }
      // No case starts where the subject is computed again, in the next iteration of a loop.
      if (!next.valid() || (next == id && is_made)) break;
      is_kept = keeps_subject(one);
      start = {next, 0};
    }
    typed = join_alternatives(g_, cases) || typed;
    // One comparison alone may be a match, but reads as well as an `if`.
    if (cases.empty() || (cases.size() == 1 && !typed && !is_compared_below(id, subject))) {
      return false;
    }
    if (!cases.back().fail.valid()) mark_constant_guard(cases.back(), subject);
    for (size_t i = cases.size(); i-- > 0;) cut(cases[i], i == 0 ? subject : ValueId());
    read_.insert(read.begin(), read.end());
    for (const ReadCase& each : cases) {
      read_.insert(each.start.block);
      if (each.end.index == 0 && each.end.block != each.start.block) read_.erase(each.end.block);
    }
    // The loop of an inlined comprehension adds to the subject.
    const auto fills = fills_.find(subject);
    set_uses(g_, subject, 1 + named + (fills == fills_.end() ? 0 : fills->second));
    return true;
  }

  // Returns true if the block compares the subject, which nothing else uses, in a line after it, as
  // compiler_pattern_value does: a comparison starts where its first operand does.
  bool is_compared_below(BlockId id, ValueId subject) const {
    const ir::Block& block = g_[id];
    if (block.operands.empty() || g_[subject].line <= 0 || g_[subject].uses != 1) return false;
    const ValueId tested = g_.resolve(block.operands[0]);
    if (block.exit == ExitKind::BranchNone) {
      return tested == subject && block.exit_line > g_[subject].line;
    }
    const ir::Value& test = g_[tested];
    const bool compares = is_op(test, Op::Compare) || is_op(test, Op::IsOp);
    return block.exit == ExitKind::Branch && compares && test.line > g_[subject].line &&
           g_.resolve(g_.f.operands(test)[0]) == subject;
  }

  // Returns the case that starts there, or nothing. Apparent alternatives may be cases whose bodies
  // end alike.
  std::optional<PatternRead> read_case(Cursor start, ValueId subject) {
    const size_t before = g_.patterns.size();
    for (const bool alternatives : {true, false}) {
      g_.patterns.resize(before);
      std::optional<PatternRead> one(std::in_place, g_, module_, subject, alternatives);
      if (read_pattern(*one, start) || is_empty(*one)) return one;
    }
    return std::nullopt;
  }

  // Returns true for `case _ if guard:` before a last `case _:`. It is the last case with a test:
  // it drops the subject, which the cases before it have kept, and then tests the guard.
  bool is_guard_before_default(BlockId id, ValueId subject) const {
    const ir::Block& block = g_[id];
    return block.exit == ExitKind::Branch && block.drops > 0 && holds(id, subject);
  }

  // Marks a last case with a constant guard, which matches everything. The last case has the only
  // copy of the subject; if it drops the subject only now, that was kept for an unreachable case.
  void mark_constant_guard(const ReadCase& last, ValueId subject) {
    const auto& items = g_[last.end.block].items;
    if (last.end.index >= items.size()) return;
    const ir::Value& next = g_[items[last.end.index]];
    if (!drops(next, ir::Dropped::Stored) || g_.resolve(g_.f.operands(next)[0]) != subject) return;
    g_.patterns[last.pattern.index()].is_followed = true;
  }

  // Splits a block at a place where the value is on the stack. Returns the new block.
  BlockId split_held(Cursor at, ValueId value) {
    const BlockId rest = g_.split(at.block, at.index);
    std::vector<ValueId> stack = g_[at.block].entry_stack;
    if (!holds(at.block, value)) stack.push_back(value);
    g_[rest].entry_stack = std::move(stack);
    return rest;
  }

  // Returns true if the value is on the stack where the block starts.
  bool holds(BlockId id, ValueId value) const {
    const auto& stack = g_[id].entry_stack;
    return std::any_of(stack.begin(), stack.end(),
                       [&](ValueId each) { return g_.resolve(each) == value; });
  }

  bool is_on_top(BlockId id, ValueId value) const {
    const auto& stack = g_[id].entry_stack;
    return !stack.empty() && g_.resolve(stack.back()) == value;
  }

  // Returns `start` and the blocks that are reached from it while the value is on the stack,
  // without those after an end.
  template <typename IsEnd>
  std::vector<BlockId> while_held(BlockId start, ValueId value, const IsEnd& is_end) const {
    std::vector<BlockId> found{start};
    std::unordered_set<BlockId> seen{start};
    for (size_t i = 0; i < found.size(); ++i) {
      if (is_end(found[i])) continue;
      for (const ir::Edge& edge : g_[found[i]].next) {
        if (edge.to.valid() && holds(edge.to, value) && seen.insert(edge.to).second) {
          found.push_back(edge.to);
        }
      }
    }
    return found;
  }

  // Returns the target of a failing guard, which is the next case; invalid: it is unknown.
  BlockId case_after_guard(BlockId start, ValueId subject) const {
    const BlockId guard = end_of_guard(g_, start);
    if (!guard.valid()) return {};
    const auto names = [&](ValueId item) {
      return stores_name(g_[item]) && g_.resolve(g_.f.operands(item)[0]) == subject;
    };
    const auto continues_with = [&](BlockId id) {
      const auto& items = g_[id].items;
      return id != guard &&
             (tested_by(g_, id) == subject || std::any_of(items.begin(), items.end(), names));
    };
    // Code after a case that tests the subject again is the body of that case, or of later ones.
    const std::vector<BlockId> held = while_held(guard, subject, continues_with);
    const auto next = std::find_if(held.begin(), held.end(), continues_with);
    if (next == held.end() && !holds(guard, subject)) return {};
    const BlockId after = case_after_body(held, guard, subject);
    return after.valid() || next == held.end() ? after : *next;
  }

  // Returns the next case: the first block that no longer leads to the body of this one. The body
  // drops the subject and is before the next case in the bytecode.
  BlockId case_after_body(const std::vector<BlockId>& held, BlockId guard, ValueId subject) const {
    const auto before = [&](BlockId a, BlockId b) {
      return !b.valid() || g_[a].offset < g_[b].offset;
    };
    BlockId body;
    for (const BlockId id : held) {
      const bool drops = id != guard && g_[id].drops > 0 && is_on_top(id, subject);
      if (drops && before(id, body)) body = id;
    }
    if (!body.valid()) return {};
    std::unordered_set<BlockId> leads{body};
    for (bool grows = true; grows;) {
      grows = false;
      for (size_t i = held.size(); i-- > 0;) {
        const auto& next = g_[held[i]].next;
        const bool comes = leads.count(next[0].to) > 0 || leads.count(next[1].to) > 0;
        if (comes && held[i] != body) grows = leads.insert(held[i]).second || grows;
      }
    }
    // The operand that a comparison chain kept is dropped first.
    std::vector<BlockId> todo;
    for (const BlockId id : held) {
      if (leads.count(id) > 0 && id != body) todo.push_back(id);
    }
    BlockId found;
    for (size_t i = 0; i < todo.size(); ++i) {
      for (const ir::Edge& edge : g_[todo[i]].next) {
        if (!edge.to.valid() || leads.count(edge.to) > 0 || !holds(edge.to, subject)) continue;
        if (is_on_top(edge.to, subject)) {
          if (before(edge.to, found)) found = edge.to;
        } else if (leads.insert(edge.to).second) {
          todo.push_back(edge.to);
        }
      }
    }
    return found;
  }

  // Returns true if the case ends at the start of a block, which is its body. (An empty body may
  // lead back to where the subject is computed.)
  static bool is_apart(Cursor start, Cursor end) {
    return end.index == 0 && (end.block != start.block || start.index > 0);
  }

  void cut(const ReadCase& found, ValueId subject) {
    const BlockId body = is_apart(found.start, found.end)
                             ? found.end.block
                             : g_.split(found.end.block, found.end.index);
    ir::Block& block = g_[found.start.block];
    const uint32_t offset = block.exit_offset;
    const int32_t line = block.exit_line;
    block.items.resize(std::min(block.items.size(), found.start.index));
    Region region;
    region.kind = RegionKind::Pattern;
    region.pattern = found.pattern;
    ir::Value value;
    value.kind = ValueKind::Region;
    value.a = static_cast<uint32_t>(g_.regions.size());
    value.offset = offset;
    value.line = line;
    value.uses = 1;
    g_.regions.push_back(std::move(region));
    std::vector<ValueId> operands;
    if (subject.valid()) operands.push_back(subject);
    const ValueId test = g_.add(value, operands);
    ir::Block& head = g_[found.start.block];
    head.items.push_back(test);
    head.exit = ExitKind::Branch;
    head.jump = 1;
    head.operands.assign(1, test);
    head.exit_line = line;
    head.next[0] = {body, {}};
    head.next[1] = {found.fail, {}};
  }

  Graph& g_;
  const object::Module& module_;
  bool has_folded_ = false;
  size_t known_;                      // the number of blocks before any was cut
  std::vector<uint8_t> leaves_some_;  // by block: it makes or takes a value that a test leaves
  std::unordered_map<ValueId, uint32_t> fills_;     // how often a comprehension adds to a container
  std::unordered_map<ValueId, BlockId> filled_in_;  // the block of the last one
  std::unordered_set<BlockId> read_;                // the blocks of cases that were found
};

}  // namespace

void fold_matches(Graph& graph, const object::Module& module) {
  if (flow::habits_of(module.version).compiles_match) Matches(graph, module).run();
  graph.kept.clear();
}

}  // namespace pellucid::structure
