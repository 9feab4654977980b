// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/duplicated_exits.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "structure/graph/block_kinds.h"
#include "structure/graph/copies.h"
#include "structure/graph/items.h"
#include "structure/graph/uses.h"
#include "structure/reduce/exits.h"

namespace pellucid::structure {
namespace {

class Tails {
 public:
  Tails(Graph& graph, const object::Module& module)
      : g_(graph), module_(module), has_merged_(!graph.is_current()) {}

  void run() {
    for (const BlockId id : g_.order()) {
      if (returns_none(id) && !returns_out_of_loop(id) && ends_by_itself(id)) {
        ends_.insert(g_[id].exit_line);
      }
    }
    merge_exits();
    merge_code_before_ends();
  }

 private:
  // Merges returns and raises, with what comes before them.
  void merge_exits() {
    for (const BlockId id : g_.order()) {
      if (may_have_tail(id)) signatures_.add(signature_of(id));
    }
    signatures_.find_shared();
    for (const BlockId id : std::vector<BlockId>(g_.order())) {
      if (!may_have_tail(id)) continue;
      if (may_equal_another(id)) {
        merge(id, start_of_exit(id));
      } else {
        apart_.push_back(id);
      }
    }
    look_again();
    // A copied block is merged with its predecessor in every place except one at most.
    for (const BlockId id : std::vector<BlockId>(g_.order())) {
      if (g_[id].exit != ExitKind::Return || g_[id].next[0].to.valid()) continue;
      if (!may_equal_another(id)) continue;
      const std::optional<size_t> begin = start_of_statement(id);
      if (begin && *begin > start_of_tail(id)) merge(id, *begin);
    }
    look_again();
  }

  // Merges code that leads to a tail: the statement before the end of the body may have been copied
  // with that end.
  void merge_code_before_ends() {
    if (!are_some_alike()) return;
    const std::vector<uint8_t> is_end = ends();
    const auto may_merge_with = [&](BlockId id) {
      const ir::Block& block = g_[id];
      const BlockId to = block.next[0].to;
      return block.exit == ExitKind::Goto && to.index() < is_end.size() &&
             is_end[to.index()] != 0 && !block.items.empty() &&
             signatures_.is_shared(signature_of(id));
    };
    for (const BlockId id : std::vector<BlockId>(g_.order())) {
      if (may_merge_with(id)) merge(id, start_of_tail(id));
    }
    look_again();
    // It may follow code that was not copied with it: the statements of an `else`.
    tails_.clear();
    starts_.clear();
    if (!are_some_alike()) return;
    for (const BlockId id : std::vector<BlockId>(g_.order())) {
      if (!may_merge_with(id)) continue;
      if (const std::optional<size_t> begin = start_of_statement(id)) merge(id, *begin);
    }
    look_again();
  }

  // Looks at the blocks that lead on. Returns true if some may have equal tails.
  bool are_some_alike() {
    signatures_.clear();
    for (const BlockId id : g_.order()) {
      if (g_[id].exit == ExitKind::Goto && !g_[id].items.empty()) signatures_.add(signature_of(id));
    }
    return signatures_.find_shared();
  }

  // Returns which blocks are a tail or the end of a `finally` body, by block.
  std::vector<uint8_t> ends() {
    std::vector<uint8_t> is_end(g_.size(), 0);
    for (const auto& [key, tail] : tails_) is_end[tail.index()] = 1;
    for (const BlockId id : apart_) {
      const size_t begin = start_of_exit(id);
      bool is_tail = has_key(id, begin);
      if (!is_tail && g_[id].exit == ExitKind::Return) {
        const std::optional<size_t> statement = start_of_statement(id);
        is_tail = statement && *statement > start_of_tail(id) && has_key(id, *statement);
      }
      is_end[id.index()] |= is_tail ? 1 : 0;
    }
    for (const HandlerInfo& info : g_.handlers) {
      if (info.end.valid()) is_end[info.end.index()] = 1;
    }
    return is_end;
  }

  bool may_have_tail(BlockId id) const {
    const ir::Block& block = g_[id];
    return (block.exit == ExitKind::Return || block.exit == ExitKind::Raise) &&
           (block.params.empty() || !block.items.empty()) && !block.next[0].to.valid();
  }

  // Returns true for a `return` out of loops, too: if it is a statement of its own, that begins
  // where its line does, it ends up in a block of its own.
  bool may_equal_another(BlockId id) const {
    return signatures_.is_shared(signature_of(id)) || returns_out_of_loop(id);
  }

  size_t start_of_exit(BlockId id) const {
    return returns_out_of_loop(id) ? start_of_line(id) : start_of_tail(id);
  }

  // Returns a number that is equal for blocks with equal tails.
  uint32_t signature_of(BlockId id) const {
    const ir::Block& block = g_[id];
    uint32_t hash = block.handler.value * 31 + static_cast<uint32_t>(block.exit);
    const auto add = [&](uint32_t number) { hash = (hash ^ number) * 0x9e3779b1u + (hash >> 15); };
    // An implicit return may have any line.
    if (!returns_none(id)) add(static_cast<uint32_t>(block.exit_line));
    // A bare `raise` may be a tail without items.
    const bool raises_again = block.exit == ExitKind::Raise && block.operands.empty();
    if (raises_again || block.items.empty()) return hash;
    const ir::Value& last = g_[block.items.back()];
    add(static_cast<uint32_t>(last.op));
    add(last.a);
    add(last.b);
    if (block.exit == ExitKind::Goto) add(static_cast<uint32_t>(last.line));
    return hash;
  }

  // Most functions have nothing to merge.
  void look_again() {
    if (std::exchange(has_merged_, false)) g_.recompute();
  }

  // Replaces the ending of `id` by an equal one that was seen before, if there is one.
  void merge(BlockId id, size_t begin) {
    // Items that only leave handlers on the way to a shared end belong to the copy of that end.
    if (g_[id].exit == ExitKind::Goto && begin == g_[id].items.size() && only_pops(id)) begin = 0;
    key_.clear();
    if (!make_key(id, begin, key_)) return;
    const auto [entry, is_new] = tails_.try_emplace(key_, id);
    BlockId* const known = &entry->second;
    if (is_new) {
      if (starts_.size() <= id.index()) starts_.resize(g_.size());
      starts_[id.index()] = begin;
      return;
    }
    if (begin == 0 && are_arms_of_choice(g_, *known, id)) return;
    has_merged_ = true;
    if (begin == 0 && !is_implicit_return(id) && is_after_loop_around(*known, id)) {
      release(g_, *known);
      replace(*known, id);
      *known = id;
      return;
    }
    // The first one seen is split only now, when there is a second one.
    const BlockId tail = cut(*known);
    *known = tail;
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

  // Returns true if a block follows the test of a loop that an equal one is laid out in: a copy in
  // the loop is that of a `break`. Where there are no columns, lines tell that. A `for` that is
  // exhausted leads to code that says so.
  bool is_after_loop_around(BlockId inside, BlockId id) const {
    const bool is_whole = inside.index() >= starts_.size() || starts_[inside.index()] == 0;
    if (!is_whole || !g_.f.habits.gives_columns) return false;
    const uint32_t end = g_.loop_spans.end_around(g_[inside].offset);
    if (end == 0 || g_[id].offset < end) return false;
    bool is_tested = false;  // in that loop, and not in a later one
    for (const Way way : g_.ways_into(id)) {
      const ir::Block& from = g_[way.from];
      if (from.exit != ExitKind::Branch && from.exit != ExitKind::BranchNone) return false;
      is_tested = is_tested || g_.loop_spans.end_around(from.exit_offset) == end;
    }
    return is_tested;
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
      if (is_to_the_right(id, from)) return false;
      return way.edge == from.jump || g_[from.next[from.jump].to].offset <= from.offset;
    });
  }

  // Returns true if the columns show that the constant was written after the test that leads to it:
  // `return a if b else None`. A copy has no place of its own.
  bool is_to_the_right(BlockId id, const ir::Block& test) const {
    if (g_.places == nullptr) return false;
    const object::Columns own = g_.places->columns(g_[g_[id].items.back()].offset / 2);
    const object::Columns before = g_.places->columns(test.exit_offset / 2);
    return before.end != object::kNoColumn && own.begin != object::kNoColumn &&
           own.begin > before.end;
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

  // Returns true if the end of a block that returns or raises has a key.
  bool has_key(BlockId id, size_t begin) const {
    const ir::Block& block = g_[id];
    if (begin == 0 && !block.params.empty()) return false;
    const bool raises_again = block.exit == ExitKind::Raise && block.operands.empty();
    const auto first = block.items.begin() + static_cast<ptrdiff_t>(begin);
    return (raises_again || first != block.items.end()) &&
           std::all_of(first, block.items.end(),
                       [&](ValueId item) { return g_[item].kind == ValueKind::Instr; });
  }

  // Appends a key that is equal for equal tails. Returns false if the tail depends on values
  // computed before it.
  bool make_key(BlockId id, size_t begin, TailKey& key) {
    const bool has_key = append_key(id, begin, key);
    inside_.clear();
    return has_key;
  }

  bool append_key(BlockId id, size_t begin, TailKey& key) {
    const ir::Block& block = g_[id];
    const bool raises_again = block.exit == ExitKind::Raise && block.operands.empty();
    if (begin == 0 && !block.params.empty()) return false;
    // The compiler gives these any line, but not an exit that drops the iterator of a loop.
    const bool is_of_any_line =
        is_implicit_return(id) && begin + size_of_end(id) >= block.items.size();
    key.insert(key.end(), {block.handler.value, static_cast<uint32_t>(block.exit),
                           is_of_any_line ? 0xfffffffeu : static_cast<uint32_t>(block.exit_line)});
    const auto add_operand = [&](ValueId operand) {
      operand = g_.resolve(operand);
      const auto place = inside_.find(operand);
      key.push_back(place != inside_.end() ? place->second | kInside : operand.value);
    };
    // With marked ends (3.8) the compiler copies no ending: only copies that the graph has made are
    // equal, and those share an offset.
    if (g_.f.marks_ends && block.exit != ExitKind::Goto) key.push_back(block.exit_offset);
    if (block.exit == ExitKind::Goto) {
      if (!block.next[0].args.empty()) return false;
      key.push_back(block.next[0].to.value);
    }
    key.push_back(g_.exceptions_at(id, begin));
    for (size_t i = begin; i < block.items.size(); ++i) {
      const ir::Value& value = g_[block.items[i]];
      if (value.kind != ValueKind::Instr) return false;
      // The statement before an exit is copied with its line.
      const bool is_before_exit = value.line > 0 && value.line != block.exit_line;
      if (block.exit == ExitKind::Goto || is_before_exit) {
        key.push_back(static_cast<uint32_t>(value.line));
      }
      key.insert(key.end(), {static_cast<uint32_t>(value.op), value.a, value.b, value.count});
      for (const ValueId operand : g_.f.operands(value)) add_operand(operand);
      inside_.emplace(block.items[i], static_cast<uint32_t>(inside_.size()));
    }
    if (inside_.empty()) {
      // It returns a value computed elsewhere; but a bare `raise` may be a copy.
      if (!raises_again) return false;
      key.push_back(g_.exceptions_at(id, begin));
    }
    for (const ValueId operand : block.operands) add_operand(operand);
    return true;
  }

  BlockId cut(BlockId id) {
    if (id.index() >= starts_.size() || starts_[id.index()] == 0) return id;
    return g_.split(id, std::exchange(starts_[id.index()], 0));
  }

  void replace(BlockId copy, BlockId tail) {
    for (const Way way : g_.ways_into(copy).copy()) {
      g_.redirect(way.from, way.edge, tail);
    }
  }

  Graph& g_;
  const object::Module& module_;
  KnownTails tails_;
  Signatures signatures_;
  std::vector<BlockId> apart_;  // tails that are equal to no other one
  TailKey key_;
  InsideTail inside_;
  std::vector<size_t> starts_;        // by block: where its tail starts
  std::unordered_set<int32_t> ends_;  // lines of implicit returns
  bool has_merged_;
};

}  // namespace

void merge_tails(Graph& graph, const object::Module& module) {
  Tails(graph, module).run();
  join_exits(graph);
}

}  // namespace pellucid::structure
