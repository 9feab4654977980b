// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/duplicated_exits.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "structure/graph/block_kinds.h"
#include "structure/graph/copies.h"
#include "structure/graph/items.h"
#include "structure/graph/uses.h"

namespace pellucid::structure {
namespace {

constexpr uint32_t kInside = 0x80000000u;  // an operand that the tail computes itself
constexpr uint32_t kPart = 0xfffffffdu;    // one that is a part of it

class Tails {
 public:
  Tails(Graph& graph, const object::Module& module) : g_(graph), module_(module) {}

  void run() {
    for (const BlockId id : g_.order()) {
      if (returns_none(id) && !returns_out_of_loop(id) && ends_by_itself(id)) {
        ends_.insert(g_[id].exit_line);
      }
    }
    for (const BlockId id : std::vector<BlockId>(g_.order())) {
      if (g_[id].exit != ExitKind::Return && g_[id].exit != ExitKind::Raise) continue;
      if (!g_[id].params.empty() && g_[id].items.empty()) continue;
      if (g_[id].next[0].to.valid()) continue;
      merge(id, returns_out_of_loop(id) ? start_of_line(id) : start_of_tail(id));
    }
    merge_reraises();
    look_again();
    // A copied block is merged with its predecessor in every place except one at most.
    for (const BlockId id : std::vector<BlockId>(g_.order())) {
      if (g_[id].exit != ExitKind::Return || g_[id].next[0].to.valid()) continue;
      const std::optional<size_t> begin = start_of_statement(id);
      if (begin && *begin > start_of_tail(id)) merge(id, *begin);
    }
    look_again();
    // The statement before the end of the body may have been copied with that end.
    std::unordered_set<BlockId> ends;
    for (const auto& [key, tail] : tails_) ends.insert(tail);
    for (const HandlerInfo& info : g_.handlers) {
      if (info.end.valid()) ends.insert(info.end);
    }
    for (const BlockId id : std::vector<BlockId>(g_.order())) {
      if (g_[id].exit == ExitKind::Goto && ends.count(g_[id].next[0].to) > 0)
        merge(id, start_of_tail(id));
    }
    look_again();
    // It may follow code that was not copied with it: the statements of an `else`.
    tails_.clear();
    starts_.clear();
    for (const BlockId id : std::vector<BlockId>(g_.order())) {
      if (g_[id].exit != ExitKind::Goto || ends.count(g_[id].next[0].to) == 0) continue;
      if (const std::optional<size_t> begin = start_of_statement(id)) merge(id, *begin);
    }
    look_again();
  }

 private:
  // Most functions have nothing to merge.
  void look_again() {
    if (std::exchange(has_merged_, false)) g_.recompute();
  }

  // Merges copies of the end of a `finally` body, which raises the exception again that it was
  // entered with: it is copied with its last items to each jump to it.
  void merge_reraises() {
    look_again();
    for (size_t length = kCopiedItems + 1; length-- > 0;) {
      std::vector<BlockId> ends;
      for (const BlockId id : g_.order()) {
        const ir::Block& block = g_[id];
        if (block.exit == ExitKind::Reraise && !block.operands.empty() &&
            !block.next[0].to.valid()) {
          ends.push_back(id);
        }
      }
      if (ends.size() < 2) return;
      merge_reraises(ends, length);
      look_again();
    }
  }

  // Merges those that share their last `length` items.
  void merge_reraises(const std::vector<BlockId>& ends, size_t length) {
    std::map<std::vector<uint32_t>, std::vector<BlockId>> same;
    for (const BlockId id : ends) {
      const ir::Block& block = g_[id];
      if (block.items.size() < length) continue;
      const size_t begin = block.items.size() - length;
      if (begin == 0 && !block.params.empty()) continue;
      std::optional<std::vector<uint32_t>> key = key_of(id, begin);
      if (key) same[std::move(*key)].push_back(id);
    }
    for (const auto& [key, blocks] : same) {
      if (blocks.size() < 2) continue;
      has_merged_ = true;
      BlockId tail;
      for (const BlockId id : blocks) {
        const size_t begin = g_[id].items.size() - length;
        const BlockId copy = g_.split(id, begin);
        if (!tail.valid()) {
          tail = copy;
          continue;
        }
        release(g_, copy);
        g_[id].next[0].to = tail;
        g_[copy].next = {};
      }
    }
  }

  // Replaces the ending of `id` by an equal one that was seen before, if there is one.
  void merge(BlockId id, size_t begin) {
    // Items that only leave handlers on the way to a shared end belong to the copy of that end.
    if (g_[id].exit == ExitKind::Goto && begin == g_[id].items.size() && only_pops(id)) begin = 0;
    const std::optional<std::vector<uint32_t>> key = key_of(id, begin);
    if (!key) return;
    const auto [known, fresh] = tails_.emplace(*key, id);
    if (fresh) {
      starts_[id] = begin;
      return;
    }
    if (begin == 0 && are_arms_of_choice(g_, known->second, id)) return;
    has_merged_ = true;
    // The first one seen is split only now, when there is a second one.
    const BlockId tail = cut(known->second);
    known->second = tail;
    if (begin == 0) {
      release(g_, id);
      replace(id, tail);
    } else {
      const BlockId copy = g_.split(id, begin);
      release(g_, copy);
      g_[id].next[0].to = tail;
      g_[copy].next = {};
    }
  }

  bool only_pops(BlockId id) const {
    const auto& items = g_[id].items;
    return std::all_of(items.begin(), items.end(),
                       [&](ValueId item) { return is_op(g_[item], Op::PopExcept); });
  }

  // Returns the item after the last exit from a region or a loop, or where an implicit return
  // starts.
  size_t start_of_tail(BlockId id) const {
    const auto& items = g_[id].items;
    if (is_implicit_return(id)) return items.size() - size_of_end(id);
    size_t needed = items.size();  // a returned value may be computed before the handler is left
    if (g_[id].exit == ExitKind::Return) {
      const ValueId result = g_.resolve(g_[id].operands[0]);
      needed = static_cast<size_t>(std::find(items.begin(), items.end(), result) - items.begin());
    }
    for (size_t i = items.size(); i-- > 0;) {
      const ir::Value& value = g_[items[i]];
      if (needed < i && !is_marker(value)) continue;
      if (is_leaving(value) || drops(value, ir::Dropped::Iterator)) return i + 1;
    }
    return 0;
  }

  // Returns where the line of the exit starts: a `return` out of a loop is one statement with the
  // values that it drops.
  size_t start_of_line(BlockId id) const {
    const auto& items = g_[id].items;
    size_t begin = items.size();
    while (begin > 0 && g_[items[begin - 1]].line == g_[id].exit_line) --begin;
    return begin;
  }

  // Returns where the last line of the block starts, with all items that it uses; nothing if those
  // are more than CPython copies.
  std::optional<size_t> start_of_statement(BlockId id) const {
    const auto& items = g_[id].items;
    const size_t most = std::min(items.size(), kCopiedItems);
    const auto first = items.end() - static_cast<ptrdiff_t>(most);
    auto begin = items.begin() + static_cast<ptrdiff_t>(start_of_line(id));
    if (begin < first) return std::nullopt;
    const auto include = [&](std::span<const ValueId> operands) {
      for (const ValueId operand : operands) {
        begin = std::min(begin, std::find(first, items.end(), g_.resolve(operand)));
      }
    };
    include(g_[id].operands);
    for (auto item = items.end(); item > begin;) include(g_.f.operands(*--item));
    return static_cast<size_t>(begin - items.begin());
  }

  // Returns true if the compiler has copied the block to each jump to it: each copy then has the
  // line of its jump. A statement written on the line of a test is the fall-through of that test:
  // `if c: return`. The fall-through of the test at the end of a loop is the code after the loop.
  bool is_copy(BlockId id) const {
    const auto ways = g_.ways_into(id);
    return !ways.empty() && std::all_of(ways.begin(), ways.end(), [&](const Way& way) {
      const ir::Block& from = g_[way.from];
      if (from.exit == ExitKind::ForIter) return from.exit_line == g_[id].exit_line;
      if (from.exit != ExitKind::Branch || from.exit_line != g_[id].exit_line) return false;
      return way.edge == from.jump || g_[from.next[from.jump].to].offset <= from.offset;
    });
  }

  // Returns true for a `return` out of loops: it drops their iterators on its own line.
  bool returns_out_of_loop(BlockId id) const {
    const ir::Block& block = g_[id];
    if (block.exit != ExitKind::Return || block.items.size() < 2) return false;
    const ir::Value& before = g_[block.items[block.items.size() - 2]];
    return drops(before, ir::Dropped::Iterator) && before.line == block.exit_line &&
           before.line != bytecode::kNoLine;
  }

  bool returns_none(BlockId id) const {
    const ir::Block& block = g_[id];
    if (block.exit != ExitKind::Return || block.items.empty()) return false;
    const ValueId last = block.items.back();
    return is_op(g_[last], Op::LoadConst) && g_.resolve(block.operands[0]) == last &&
           module_[g_[last].constant()].kind == object::ConstKind::None;
  }

  // Returns the number of items of an implicit return: for a class, the compiler stores attributes
  // there as well (3.13+).
  size_t size_of_end(BlockId id) const {
    const auto& items = g_[id].items;
    size_t begin = items.size() - 1;
    const auto stores = [&](ValueId item) {
      if (!is_op(g_[item], Op::StoreName)) return false;
      const std::string_view name = module_.text(g_[item].symbol());
      return name == "__static_attributes__" || name == "__classdictcell__";
    };
    while (begin >= 2 && stores(items[begin - 1]) &&
           g_.resolve(g_.f.operands(items[begin - 1])[0]) == items[begin - 2]) {
      begin -= 2;
    }
    return items.size() - begin;
  }

  // Returns true if `return None` has no line, has the line of the item before it, or is a copy.
  bool ends_by_itself(BlockId id) const {
    const ir::Block& block = g_[id];
    if (block.exit_line == bytecode::kNoLine) return true;
    size_t before = block.items.size() - size_of_end(id);
    if (before == 0) return is_copy(id);
    // Leaving an except clause has the line of the return.
    while (before > 0 && is_op(g_[block.items[before - 1]], Op::PopExcept)) --before;
    return before > 0 && g_[block.items[before - 1]].line == block.exit_line;
  }

  // Returns true for the end of the body, and for a copy of it, which has the line of that end.
  bool is_implicit_return(BlockId id) const {
    if (!returns_none(id)) return false;
    // Without another implicit return, the source has a `return` that leaves the loops.
    if (ends_.empty() && returns_out_of_loop(id)) return false;
    const ir::Block& block = g_[id];
    if (size_of_end(id) > 1 || ends_by_itself(id)) return true;
    const size_t before = block.items.size() - size_of_end(id);
    const bool alone = before == 0 || is_leaving(g_[block.items[before - 1]]);
    return alone && ends_.count(block.exit_line) > 0;
  }

  // Returns a key that is equal for equal tails; nothing if the tail depends on values computed
  // before it.
  std::optional<std::vector<uint32_t>> key_of(BlockId id, size_t begin) const {
    const ir::Block& block = g_[id];
    const bool raises_again = block.exit == ExitKind::Raise && block.operands.empty();
    if (begin == 0 && !block.params.empty()) return std::nullopt;
    std::unordered_map<ValueId, uint32_t> inside;
    // The compiler gives these any line, but not an exit that drops the iterator of a loop.
    const bool is_of_any_line =
        (is_implicit_return(id) && begin + size_of_end(id) >= block.items.size()) ||
        block.exit == ExitKind::Reraise;
    std::vector<uint32_t> key{
        block.handler.value, static_cast<uint32_t>(block.exit),
        is_of_any_line ? 0xfffffffeu : static_cast<uint32_t>(block.exit_line)};
    const auto add_operand = [&](ValueId operand) {
      operand = g_.resolve(operand);
      const ir::Value& part = g_[operand];
      if (part.kind == ValueKind::Element && part.count > 0) {
        // An element of a value that the tail itself unpacks.
        const auto whole = inside.find(g_.resolve(g_.f.operands(part)[0]));
        if (whole != inside.end()) {
          key.insert(key.end(), {kPart, part.a, whole->second | kInside});
          return;
        }
      }
      const auto known = inside.find(operand);
      key.push_back(known != inside.end() ? known->second | kInside : operand.value);
    };
    // With marked ends (3.8) the compiler copies no ending: only copies that the graph has made are
    // equal, and those share an offset.
    if (g_.f.marks_ends && block.exit != ExitKind::Goto) key.push_back(block.exit_offset);
    if (block.exit == ExitKind::Goto) {
      if (!block.next[0].args.empty()) return std::nullopt;
      key.push_back(block.next[0].to.value);
    }
    key.push_back(g_.exceptions_at(id, begin));
    for (size_t i = begin; i < block.items.size(); ++i) {
      const ir::Value& value = g_[block.items[i]];
      if (value.kind != ValueKind::Instr) return std::nullopt;
      if (block.exit == ExitKind::Goto || block.exit == ExitKind::Reraise) {
        key.push_back(static_cast<uint32_t>(value.line));
      }
      key.insert(key.end(), {static_cast<uint32_t>(value.op), value.a, value.b, value.count});
      for (const ValueId operand : g_.f.operands(value)) add_operand(operand);
      inside.emplace(block.items[i], static_cast<uint32_t>(inside.size()));
    }
    if (inside.empty()) {
      // It returns a value computed elsewhere; but a bare `raise` may be a copy.
      if (!raises_again && block.exit != ExitKind::Reraise) return std::nullopt;
      key.push_back(g_.exceptions_at(id, begin));
    }
    for (const ValueId operand : block.operands) add_operand(operand);
    return key;
  }

  BlockId cut(BlockId id) {
    const auto start = starts_.find(id);
    if (start == starts_.end() || start->second == 0) return id;
    const size_t begin = start->second;
    starts_.erase(start);
    return g_.split(id, begin);
  }

  void replace(BlockId copy, BlockId tail) {
    for (const Way way : g_.ways_into(copy).copy()) {
      g_.redirect(way.from, way.edge, tail);
    }
  }

  Graph& g_;
  const object::Module& module_;
  std::map<std::vector<uint32_t>, BlockId> tails_;
  std::unordered_map<BlockId, size_t> starts_;
  std::unordered_set<int32_t> ends_;  // lines of implicit returns
  bool has_merged_ = true;            // edges may have changed before this step, too
};

// Returns true if a block is a test, or is empty and only tests lead to it: a comparison chain has
// dropped there the operand of its next comparison.
bool comes_from_tests(const Graph& g, BlockId id) {
  const ir::Block& block = g[id];
  if (block.exit == ExitKind::Branch) return true;
  const auto ways = g.ways_into(id);
  return block.exit == ExitKind::Goto && block.items.empty() && !ways.empty() &&
         std::all_of(ways.begin(), ways.end(),
                     [&](const Way& way) { return g[way.from].exit == ExitKind::Branch; });
}

bool leaves_clause(const ir::Value& value) {
  return is_op(value, Op::PopExcept) || is_marker(value, flow::Marker::Left);
}

// Merges blocks that only leave regions, clauses or loops on the way to one place, if only tests
// lead to them: compilers copied their content, and the tests of a condition have to fail to one
// place. The ends of two regions, to which their statements lead, stay apart, and so do two
// `break`s, which have two lines.
void join_ways_out(Graph& g) {
  bool changed = false;
  std::map<std::vector<uint32_t>, std::pair<BlockId, bool>> known;  // and whether only tests lead
  for (const BlockId id : std::vector<BlockId>(g.order())) {
    const ir::Block& block = g[id];
    const ir::Edge& next = block.next[0];
    if (block.exit != ExitKind::Goto || block.items.empty() || !block.params.empty()) continue;
    bool is_clause = false;
    std::vector<uint32_t> key{block.handler.value, next.to.value, block.exc_depth};
    const bool only_left =
        next.args.empty() && std::all_of(block.items.begin(), block.items.end(), [&](ValueId item) {
          const ir::Value& value = g[item];
          if (drops(value, ir::Dropped::Iterator)) {
            key.push_back(g.resolve(g.f.operands(value)[0]).value);
            key.push_back(static_cast<uint32_t>(value.line));
            return true;
          }
          const bool pops = is_op(value, Op::PopExcept);
          key.insert(key.end(), {kPart, pops ? 1U : 0U});
          is_clause = is_clause || pops;
          return leaves_clause(value);
        });
    // Each clause removes another exception from the stack.
    for (const ValueId value : block.entry_stack) {
      const ValueId held = g.resolve(value);
      if (is_clause && g[held].kind == ValueKind::Exception) key.push_back(held.value);
    }
    const auto ways = g.ways_into(id);
    const auto tests = std::count_if(ways.begin(), ways.end(),
                                     [&](const Way& way) { return comes_from_tests(g, way.from); });
    // A clause has one end, to which the tested statement may lead as well.
    const bool is_failure = tests == static_cast<ptrdiff_t>(ways.size());
    if (!only_left || next.to == id || !(is_failure || (is_clause && tests > 0))) continue;
    const auto [first, fresh] = known.try_emplace(std::move(key), std::pair(id, is_failure));
    if (fresh || !(is_failure || first->second.second)) continue;
    for (const Way way : g.ways_into(id).copy()) {
      g.redirect(way.from, way.edge, first->second.first);
    }
    first->second.second = first->second.second && is_failure;
    release(g, id);
    changed = true;
  }
  if (changed) g.recompute();
}

// Sends a `break` from the last loop of an except clause to the one end of that clause: compilers
// (3.11+) copy the exit of the clause to the `break`.
void join_clause_ends(Graph& g) {
  struct End {
    BlockId block;
    size_t begin;  // of the items that do nothing but leave the clause
  };
  std::map<std::array<uint32_t, 4>, BlockId> whole;
  std::vector<std::pair<std::array<uint32_t, 4>, End>> copies;
  bool changed = false;
  for (const BlockId id : g.order()) {
    const ir::Block& block = g[id];
    const ir::Edge& next = block.next[0];
    if (block.exit != ExitKind::Goto || !next.args.empty() || !block.params.empty()) continue;
    size_t begin = block.items.size();
    uint32_t left = 0;
    for (; begin > 0 && leaves_clause(g[block.items[begin - 1]]); --begin) {
      left += is_op(g[block.items[begin - 1]], Op::PopExcept) ? 1 : 0;
    }
    if (left == 0) continue;
    const std::array<uint32_t, 4> key{block.handler.value, next.to.value,
                                      g.exceptions_at(id, begin), left};
    if (begin == 0) {
      whole.try_emplace(key, id);
      continue;
    }
    const ir::Value& before = g[block.items[begin - 1]];
    const bool breaks = drops(before, ir::Dropped::Iterator);
    if (breaks) copies.push_back({key, {id, begin}});
  }
  for (const auto& [key, copy] : copies) {
    const auto end = whole.find(key);
    if (end == whole.end()) continue;
    g[copy.block].items.resize(copy.begin);
    g.redirect(copy.block, 0, end->second);
    changed = true;
  }
  if (changed) g.recompute();
}

}  // namespace

void merge_tails(Graph& graph, const object::Module& module) {
  Tails(graph, module).run();
  join_ways_out(graph);
  join_clause_ends(graph);
}

}  // namespace pellucid::structure
