// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/except_as.h"

#include <algorithm>
#include <unordered_set>

#include "structure/constructs/finally_copies.h"
#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/graph/walk.h"

namespace pellucid::structure {
namespace {

bool may_follow_break(const ir::Value& value) {
  return !is_op(value, Op::LoadConst) && !is_leaving(value) && !is_op(value, Op::Pop) &&
         !stores_name(value) && !deletes_name(value);
}

}  // namespace

NameCleanups::NameCleanups(Graph& graph, const object::Module& module, const Protection& protection)
    : g_(graph), module_(module), protection_(protection) {
  for (const BlockId id : g_.order()) {
    for (const ValueId item : g_[id].items) {
      const ir::Value& value = g_[item];
      if (!stores_name(value)) continue;
      const ValueId stored = g_.resolve(g_.f.operands(value)[0]);
      if (g_[stored].kind == ValueKind::Exception) caught_.insert(value.symbol());
    }
  }
}

void NameCleanups::drop_those_of_nothing() {
  if (caught_.empty()) return;
  for (const BlockId id : g_.order()) {
    for (size_t i = 0; i < g_[id].items.size(); ++i) {
      const ir::Value& value = g_[g_[id].items[i]];
      if (stores_name(value) &&
          g_[g_.resolve(g_.f.operands(value)[0])].kind == ValueKind::Exception) {
        drop_cleanup_after(id, i + 1, value.symbol());
      }
    }
  }
}

// Returns true if an exception is stored under the name at the end of the block, or of its only
// predecessor.
bool NameCleanups::starts_with_name(BlockId block, Symbol name) const {
  for (size_t steps = 0; steps <= g_.size(); ++steps) {
    const auto& items = g_[block].items;
    for (size_t i = items.size(); i-- > 0;) {
      const ir::Value& value = g_[items[i]];
      if (is_op(value, Op::Pop) || is_leaving(value)) continue;
      if (!stores_name(value) || value.symbol() != name) return false;
      return g_[g_.resolve(g_.f.operands(value)[0])].kind == ValueKind::Exception;
    }
    const auto ways = g_.ways_into(block);
    if (ways.size() != 1) return false;
    block = (*ways.begin()).from;
  }
  return false;
}

bool NameCleanups::is_cleanup(HandlerId id) const {
  const ir::Block& entry = g_[g_.f.handlers[id.index()].entry];
  if (entry.exit != ExitKind::Reraise || entry.items.size() != 3) return false;
  const ir::Value &none = g_[entry.items[0]], &store = g_[entry.items[1]],
                  &del = g_[entry.items[2]];
  if (!is_op(none, Op::LoadConst) || module_[none.constant()].kind != object::ConstKind::None ||
      !stores_name(store) || !deletes_name(del) || store.a != del.a ||
      caught_.count(store.symbol()) == 0) {
    return false;
  }
  for (const BlockId block : protection_.region(id)) {
    for (const Way way : g_.ways_into(block)) {
      if (within(g_, g_[way.from].handler, id)) continue;
      if (starts_with_name(way.from, store.symbol())) return true;
    }
  }
  return false;
}

void NameCleanups::clear(HandlerId id) {
  keep_end(id);
  const Symbol name = g_[g_[g_.f.handlers[id.index()].entry].items[1]].symbol();
  std::unordered_set<BlockId> targets;
  for (const BlockId block : protection_.region(id)) {
    for (const ir::Edge& edge : g_[block].next) {
      if (edge.to.valid() && !within(g_, g_[edge.to].handler, id)) targets.insert(edge.to);
    }
  }
  for (const BlockId target : targets) {
    auto& items = g_[target].items;
    for (size_t i = 0; i + 1 < items.size() && i < 4; ++i) {
      const ir::Value &store = g_[items[i]], &del = g_[items[i + 1]];
      if (!stores_name(store) || store.symbol() != name || !deletes_name(del)) continue;
      items.erase(items.begin() + static_cast<ptrdiff_t>(i),
                  items.begin() + static_cast<ptrdiff_t>(i) + 2);
      if (i > 0 && is_op(g_[items[i - 1]], Op::LoadConst)) {
        items.erase(items.begin() + static_cast<ptrdiff_t>(--i));
      }
      if (g_.f.marks_ends) mark_end_of_clause(target, i);
      break;
    }
  }
}

// Notes, for the exception stored before a clause, where control continues after that clause.
void NameCleanups::note_end(BlockId clause, BlockId end) {
  for (const Way way : g_.ways_into(clause)) {
    const auto& items = g_[way.from].items;
    if (items.empty() || !stores_name(g_[items.back()])) continue;
    const ValueId named = g_.resolve(g_.f.operands(items.back())[0]);
    if (g_[named].kind == ValueKind::Exception) g_.clause_ends.note(g_, named, end);
  }
}

// Returns true if the block only clears the name at the end of a clause.
bool NameCleanups::clears_name_before(BlockId block, BlockId end) const {
  const auto& items = g_[block].items;
  return g_[block].exit == ExitKind::Goto && g_[block].next[0].to == end && items.size() == 3 &&
         stores_name(g_[items[1]]) && deletes_name(g_[items[2]]);
}

// Returns the block with the last exit before `block` in the bytecode if that exit is a return,
// whatever bodies it has run.
BlockId NameCleanups::return_before(BlockId block) const {
  BlockId found;
  for (const BlockId id : g_.order()) {
    if (!g_.reachable(id) || g_[id].exit_offset >= g_[block].offset) continue;
    if (!found.valid() || g_[id].exit_offset > g_[found].exit_offset) found = id;
  }
  return found.valid() && g_[found].exit == ExitKind::Return ? found : BlockId();
}

// Keeps the end of a clause that no edge reaches: the code after the cleanup exists all the same,
// and the last exit of the clause, which is before it in the bytecode, gets an edge to it.
void NameCleanups::keep_end(HandlerId id) {
  const BlockId end = g_[g_.f.handlers[id.index()].entry].next[0].to;
  if (!end.valid()) return;
  BlockId last;
  for (const BlockId block : g_.order()) {
    if (!g_.reachable(block) || !within(g_, g_[block].handler, id)) continue;
    if (!last.valid()) note_end(block, end);
    for (const ir::Edge& edge : g_[block].next) {
      if (edge.to == end || (edge.to.valid() && clears_name_before(edge.to, end))) return;
    }
    const bool continues_line =
        !last.valid() || g_[block].offset > g_[last].offset ||
        (g_[block].offset == g_[last].offset && g_[block].exc_depth >= g_[last].exc_depth);
    if (continues_line) last = block;
  }
  // The end of a `finally` body or a clause inside is not the last exit of this clause.
  if (last.valid() && g_[last].exit == ExitKind::Raise &&
      g_.exceptions_at(last, 0) > g_.exceptions_at(end, 0)) {
    return;
  }
  const uint32_t start = last.valid() ? g_[last].offset : 0;
  for (size_t steps = 0; last.valid() && steps <= g_.size(); ++steps) {
    const ir::Block& block = g_[last];
    if (last == end) return;
    if (block.exit == ExitKind::Return || block.exit == ExitKind::Raise) break;
    last = block.exit == ExitKind::Goto ? block.next[0].to
                                        : return_before(g_.f.handlers[id.index()].entry);
    // At a merge point the clause does not end by itself: its own return does.
    if (!last.valid() || within(g_, g_[last].handler, id) || g_.ways_into(last).size() < 2) {
      continue;
    }
    last = return_before(g_.f.handlers[id.index()].entry);
    if (!last.valid() || g_[last].exit_offset < start) return;
  }
  if (!last.valid() || !g_[end].params.empty() || g_[last].next[0].to.valid()) return;
  // A return of a value at hand; else it is where a `break` leads to. Items before the marker of a
  // jump belong to the regions that it leaves.
  const auto& items = g_[last].items;
  const auto mark = std::find_if(items.rbegin(), items.rend(), [&](ValueId item) {
    return is_marker(g_[item], flow::Marker::LeftByJump);
  });
  const bool leaves = within(g_, g_[last].handler, id) ||
                      std::none_of(mark.base(), items.end(),
                                   [&](ValueId item) { return may_follow_break(g_[item]); });
  if (!leaves) return;
  g_.redirect(last, 0, end);
  mark_end_of_clause(end, 0);
}

// Inserts a marker: an exit from a named clause here, other than by a jump statement, is its end.
void NameCleanups::mark_end_of_clause(BlockId block, size_t index) {
  const ValueId end = marker(g_, flow::Marker::EndOfClause);
  auto& items = g_[block].items;
  items.insert(items.begin() + static_cast<ptrdiff_t>(index), end);
}

void NameCleanups::drop_cleanup_after(BlockId id, size_t i, Symbol name) {
  Cursor at{id, i};
  const auto passes = [&](ValueId item) {
    return is_op(g_[item], Op::LoadConst) || is_leaving(g_[item]);
  };
  walk_past(g_, at, passes, [&](const ir::Edge& edge) {
    if (g_[edge.to].handler != g_[id].handler || g_.ways_into(edge.to).size() != 1) return false;
    at = {edge.to};
    return true;
  });
  auto& items = g_[at.block].items;
  if (at.index == 0 || at.index + 1 >= items.size()) return;
  const ir::Value &none = g_[items[at.index - 1]], &store = g_[items[at.index]],
                  &del = g_[items[at.index + 1]];
  if (is_op(none, Op::LoadConst) && stores_name(store) && store.symbol() == name &&
      deletes_name(del) && del.symbol() == name) {
    const auto first = items.begin() + static_cast<ptrdiff_t>(at.index) - 1;
    items.erase(first, first + 3);
  }
}

}  // namespace pellucid::structure
