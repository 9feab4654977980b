// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/handlers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "structure/constructs/except_as.h"
#include "structure/constructs/except_star.h"
#include "structure/constructs/finally_copies.h"
#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/graph/protected_regions.h"

namespace pellucid::structure {
namespace {

// Returns true if at most one way leads to the block, and it has no successors.
bool ends_here_only(const Graph& g, BlockId id) {
  const auto& next = g[id].next;
  return !next[0].to.valid() && !next[1].to.valid() && g.ways_into(id).size() <= 1;
}

class Handlers {
 public:
  Handlers(Graph& graph, const object::Module& module)
      : g_(graph), module_(module), protection_(graph), names_(graph, module, protection_) {
    look();
  }

  void run() {
    const bool was_current = g_.is_current();
    names_.drop_those_of_nothing();
    for (const BlockId id : g_.order()) {
      for (const ValueId item : g_[id].items) {
        if (is_op(g_[item], Op::ExcMatch)) matched_.insert(g_.resolve(g_.f.operands(item)[0]));
      }
    }
    std::vector<HandlerId> order;
    for (size_t i = 0; i < g_.handlers.size(); ++i) order.push_back(HandlerId(i));
    // Innermost first: the copies of an outer body start at the end of those of an inner one. At
    // equal depth, the regions in a body and in its copies, which start after the `try` of that
    // body, come first.
    std::vector<uint32_t> start(order.size(), 0);
    for (const BlockId id : g_.order()) {
      HandlerId around = g_[id].handler;
      for (size_t steps = 0; around.valid() && steps < order.size(); ++steps) {
        uint32_t& first = start[around.index()];
        first = first == 0 ? g_[id].offset + 1 : std::min(first, g_[id].offset + 1);
        around = info(around).outer;
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](HandlerId a, HandlerId b) {
      const uint32_t in_a = g_.handlers[a.index()].depth, in_b = g_.handlers[b.index()].depth;
      return in_a != in_b ? in_a > in_b : start[a.index()] > start[b.index()];
    });
    // The graph is walked anew once a level: changes in sibling regions do not affect each other.
    for (const flow::Handler& handler : g_.f.handlers) entries_.insert(handler.entry);
    const size_t known = g_.size();
    uint32_t level = ~0u;
    bool stale = false;
    for (const HandlerId id : order) {
      if (info(id).depth != level && stale) g_.recompute();
      if (info(id).depth != level) stale = false;
      level = info(id).depth;
      if (!g_.reachable(entry_of(id)) || info(id).kind != HandlerKind::Unknown) continue;
      const size_t before = g_.size();
      needs_walk_ = true;
      fold(id);
      for (size_t i = before; i < g_.size(); ++i) enter(BlockId(i));
      // Clauses are unchanged; all other kinds have changed the graph.
      const HandlerKind kind = info(id).kind;
      const bool is_left = kind == HandlerKind::Except || kind == HandlerKind::ExceptStar;
      stale = stale || (!is_left && needs_walk_);
    }
    if (aliased_) apply_aliases(g_);
    if (stale || may_lose_more_ || !was_current || g_.size() != known) {
      g_.recompute();
    } else {
      g_.drop_forgotten();
    }
    const size_t blocks = g_.size();
    for (size_t i = 0; i < g_.handlers.size(); ++i) {
      const HandlerId id(i);
      if (info(id).kind == HandlerKind::Finally && g_.reachable(entry_of(id))) join_ends(id);
    }
    if (g_.size() != blocks) g_.recompute();
  }

 private:
  // Finds the calls of exit functions.
  void look() {
    for (const BlockId id : g_.order()) {
      for (const ValueId item : g_[id].items) {
        if (is_op(g_[item], Op::WithExceptStart)) exit_calls_[operand(item, 0)];
      }
    }
    if (exit_calls_.empty()) return;
    for (const BlockId id : g_.order()) look_for_exit_calls(id);
  }

  void look_for_exit_calls(BlockId id) {
    for (const ValueId item : g_[id].items) {
      if (!is_op(g_[item], Op::Call)) continue;
      const auto calls = exit_calls_.find(operand(item, 0));
      if (calls != exit_calls_.end()) calls->second.push_back(id);
    }
  }

  void enter(BlockId id) {
    protection_.add(id);
    if (!exit_calls_.empty()) look_for_exit_calls(id);
  }

  ValueId operand(ValueId id, size_t i) const { return g_.resolve(g_.f.operands(id)[i]); }

  BlockId entry_of(HandlerId id) const { return g_.f.handlers[id.index()].entry; }
  HandlerInfo& info(HandlerId id) { return g_.handlers[id.index()]; }

  void fold(HandlerId id) {
    const ir::Block& entry = g_[entry_of(id)];
    for (const ValueId item : entry.items) {
      const ir::Value& value = g_[item];
      if (is_op(value, Op::WithExceptStart)) return fold_with(id, item);
      if (is_op(value, Op::EndAsyncFor)) return fold_async_for(id);
    }
    if (entry.exit == ExitKind::Branch && is_op(g_[g_.resolve(entry.operands[0])], Op::ExcMatch)) {
      info(id).kind = HandlerKind::Except;
      return;
    }
    if (names_.is_cleanup(id)) {
      names_.clear(id);
      return dissolve(id);
    }
    if (restores_locals(entry)) return dissolve(id);
    if (g_.f.handlers[id.index()].is_finally &&
        strip_copies(g_, module_, id, protection_.region(id))) {
      info(id).kind = HandlerKind::Finally;
    } else if (is_matched(id) || (drops_exception(id) && !reraises(id) &&
                                  !overtakes_value(g_, module_, id, protection_.region(id)))) {
      info(id).kind = HandlerKind::Except;
    } else if (strip_copies(g_, module_, id, protection_.region(id))) {
      info(id).kind = HandlerKind::Finally;
    } else {
      info(id).kind = reraises(id) ? HandlerKind::Unknown : HandlerKind::Except;
    }
  }

  // Returns true if a clause tests the type of the exception.
  bool is_matched(HandlerId id) const {
    const std::vector<ValueId> own = own_exceptions(id);
    return std::any_of(own.begin(), own.end(),
                       [&](ValueId value) { return matched_.count(g_.resolve(value)) > 0; });
  }

  // Returns the stack slots that the handler pushes: lower slots may be exceptions of handlers
  // around this one.
  std::vector<ValueId> own_exceptions(HandlerId id) const {
    std::vector<ValueId> own = g_[entry_of(id)].entry_stack;
    const size_t below = std::min<size_t>(g_.f.handlers[id.index()].depth, own.size());
    own.erase(own.begin(), own.begin() + static_cast<ptrdiff_t>(below));
    return own;
  }

  // Returns true if the handler drops its exception at its start, as a bare `except:` does; the
  // body of a `finally` keeps it, to raise it again.
  bool drops_exception(HandlerId id) const {
    const auto& stack = g_[entry_of(id)].entry_stack;
    return std::any_of(stack.begin(), stack.end(), [&](ValueId value) {
      return g_[value].kind == ValueKind::Exception &&
             g_[value].offset == g_[entry_of(id)].offset && g_[value].b == 1;
    });
  }

  // ---- with -----------------------------------------------------------------------------------

  void fold_with(HandlerId id, ValueId start) {
    ir::Block& entry = g_[entry_of(id)];
    const ValueId exit = g_.resolve(g_.f.operands(start)[0]);
    info(id).kind = HandlerKind::With;
    info(id).exit = exit;
    if (entry.exit != ExitKind::Branch) {
      info(id).kind = HandlerKind::Unknown;
      return;
    }
    info(id).swallowed = entry_of(id);
    // The block that raises the exception again has no exits, so no other block is affected.
    const BlockId again = entry.next[1].to;
    needs_walk_ = !again.valid() || !ends_here_only(g_, again) || entries_.count(again) > 0;
    entry.items.clear();
    g_.redirect(entry_of(id), 1, {});
    if (!needs_walk_) {
      g_.forget(again);
      // What protects it may protect nothing else.
      may_lose_more_ = may_lose_more_ || g_[again].handler != entry.handler;
    }
    entry.exit = ExitKind::Goto;
    entry.operands.clear();
    remove_exit_calls(exit);
  }

  // Replaces every call of the exit function, with the items that use its result, by a marker.
  void remove_exit_calls(ValueId exit) {
    const auto calls = exit_calls_.find(exit);
    if (calls == exit_calls_.end()) return;
    for (const BlockId id : calls->second) {
      auto& items = g_[id].items;
      for (size_t i = 0; i < items.size(); ++i) {
        const ir::Value& call = g_[items[i]];
        if (!is_op(call, Op::Call) || g_.resolve(g_.f.operands(call)[0]) != exit) continue;
        std::unordered_set<ValueId> gone{items[i]};
        for (const ValueId operand : g_.f.operands(call)) gone.insert(g_.resolve(operand));
        size_t end = i + 1;
        // async: the call is awaited, with None sent first; then the result is dropped.
        while (end < items.size()) {
          const ir::Value& next = g_[items[end]];
          const bool continues = is_op(next, Op::GetAwaitable, Op::YieldFrom, Op::Pop);
          if (continues && gone.count(g_.resolve(g_.f.operands(next)[0]))) {
            gone.insert(items[end]);
          } else if (!(is_op(next, Op::LoadConst) && end + 1 < items.size() &&
                       is_op(g_[items[end + 1]], Op::YieldFrom) &&
                       gone.count(g_.resolve(g_.f.operands(items[end + 1])[0])))) {
            break;
          }
          ++end;
        }
        const int32_t line = call.line;
        // The Nones before the call.
        size_t begin = i;
        while (begin > 0 && gone.count(items[begin - 1])) --begin;
        const ValueId left = marker(g_);
        g_[left].line = line;
        items[begin] = left;
        items.erase(items.begin() + static_cast<ptrdiff_t>(begin) + 1,
                    items.begin() + static_cast<ptrdiff_t>(end));
        i = begin;
      }
    }
  }

  // ---- async for ------------------------------------------------------------------------------

  // Makes a ForIter of GetAnext, None and YieldFrom under the handler that ends the loop.
  void fold_async_for(HandlerId id) {
    const BlockId entry = entry_of(id);
    auto& ending = g_[entry].items;
    ending.erase(std::find_if(ending.begin(), ending.end(),
                              [&](ValueId item) { return is_op(g_[item], Op::EndAsyncFor); }));
    ending.insert(ending.begin(), marker(g_));
    // Up to 3.10 it ends the handling as well; the code after it is after the loop.
    if (g_.f.handlers[id.index()].is_on_block_stack() && g_[entry].exc_depth > 0)
      --g_[entry].exc_depth;
    const auto own = protection_.own(id);
    for (const BlockId block : std::vector<BlockId>(own.begin(), own.end())) {
      if (g_[block].handler != id || !g_.reachable(block)) continue;
      const auto& items = g_[block].items;
      for (size_t i = 0; i + 2 < items.size(); ++i) {
        if (!is_op(g_[items[i]], Op::GetAnext) || !is_op(g_[items[i + 2]], Op::YieldFrom)) continue;
        const ValueId iterator = g_.resolve(g_.f.operands(items[i])[0]);
        const ValueId result = items[i + 2];
        const BlockId body = g_.split(block, i + 3);
        g_[block].items.resize(i);
        const BlockId header = i == 0 ? block : g_.split(block, i);
        ir::Value item;
        item.kind = ValueKind::Item;
        item.b = 1;  // asynchronous
        item.offset = g_[result].offset;
        item.line = g_[result].line;
        const ValueId next = g_.add(item, std::array<ValueId, 1>{iterator});
        g_.alias(result, next);
        ir::Block& loop = g_[header];
        loop.exit = ExitKind::ForIter;
        loop.jump = 1;
        loop.operands = {iterator, next};
        loop.next[0].to = body;
        loop.next[1].to = entry;
        break;
      }
    }
    aliased_ = true;
    dissolve(id);
  }

  // ---- regions of the compiler's own -----------------------------------------------------------

  // Returns true if the handler only restores the locals that an inlined comprehension (3.12+) has
  // hidden.
  bool restores_locals(const ir::Block& entry) const {
    if (entry.exit != ExitKind::Reraise || entry.items.empty()) return false;
    return std::all_of(entry.items.begin(), entry.items.end(), [&](ValueId item) {
      const ir::Value& value = g_[item];
      if (is_op(value, Op::Pop)) return true;
      if (!is_op(value, Op::StoreFast)) return false;
      const ir::Value& saved = g_[g_.resolve(g_.f.operands(value)[0])];
      return is_op(saved, Op::LoadFastAndClear);
    });
  }

  void dissolve(HandlerId id) {
    info(id).kind = HandlerKind::Dissolved;
    const HandlerId outer = info(id).outer;
    const Protection::Dissolved held = protection_.dissolve(id);
    for (const BlockId block : held.blocks) {
      if (g_[block].handler != id) continue;
      g_[block].handler = outer;
      protection_.add(block);
    }
    for (const HandlerId inner : held.inner) {
      info(inner).outer = outer;
      protection_.add_inner(outer, inner);
    }
  }

  // Joins the ends of a `finally` body in one block: compilers copy a short end.
  void join_ends(HandlerId id) {
    for (const BlockId block : raising_again(id)) {
      const BlockId end = g_.split(block, g_[block].items.size());
      if (!info(id).end.valid()) {
        info(id).end = end;
      } else {
        g_.redirect(block, 0, info(id).end);
      }
    }
  }

  // Returns true if a way through the handler ends by raising its exception again.
  bool reraises(HandlerId id) { return may_reraise(id) && !raising_again(id).empty(); }

  // Returns true if any block raises the handler's exception, wherever it is: in a row of handlers,
  // each leads to all that follow.
  bool may_reraise(HandlerId id) {
    for (; known_raises_ < g_.size(); ++known_raises_) {
      const ir::Block& block = g_[BlockId(known_raises_)];
      if (block.exit != ExitKind::Reraise) continue;
      unresolved_.insert(unresolved_.end(), block.operands.begin(), block.operands.end());
    }
    // Others may become one, as long as values are replaced.
    std::erase_if(unresolved_, [&](ValueId operand) {
      const ValueId value = g_.resolve(operand);
      if (g_[value].kind != ValueKind::Exception) return false;
      raised_.insert(value);
      return true;
    });
    const std::vector<ValueId> own = own_exceptions(id);
    return std::any_of(own.begin(), own.end(),
                       [&](ValueId value) { return raised_.contains(value); });
  }

  std::vector<BlockId> raising_again(HandlerId id) const {
    const BlockId entry = entry_of(id);
    const std::vector<ValueId> own = own_exceptions(id);
    std::unordered_set<BlockId> seen{entry};
    std::vector<BlockId> todo{entry}, found;
    while (!todo.empty()) {
      const BlockId block = todo.back();
      todo.pop_back();
      const auto& operands = g_[block].operands;
      const bool own_again = std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
        const ValueId value = g_.resolve(operand);
        return g_[value].kind == ValueKind::Exception &&
               std::find(own.begin(), own.end(), value) != own.end();
      });
      if (g_[block].exit == ExitKind::Reraise && own_again) found.push_back(block);
      // A clause inside the body may reach the end, too.
      const HandlerId nested = g_[block].handler;
      if (nested.valid() && nested != g_[entry].handler && within(g_, nested, g_[entry].handler) &&
          seen.insert(entry_of(nested)).second) {
        todo.push_back(entry_of(nested));
      }
      for (const ir::Edge& edge : g_[block].next) {
        if (edge.to.valid() && seen.insert(edge.to).second) todo.push_back(edge.to);
      }
    }
    return found;
  }

  Graph& g_;
  const object::Module& module_;
  Protection protection_;
  NameCleanups names_;
  std::unordered_map<ValueId, std::vector<BlockId>> exit_calls_;  // exit functions -> their calls
  bool aliased_ = false;
  bool may_lose_more_ = false;           // blocks that no way leads to any more
  bool needs_walk_ = true;               // the last fold has changed what can be reached
  std::unordered_set<BlockId> entries_;  // of handlers
  std::unordered_set<ValueId> matched_;  // exceptions whose type a clause tests
  std::unordered_set<ValueId> raised_;   // exceptions that a block raises again
  std::vector<ValueId> unresolved_;      // other values that one may raise
  size_t known_raises_ = 0;              // the blocks before this one are known
};

}  // namespace

void fold_handlers(Graph& graph, const object::Module& module) {
  // First, since it dissolves regions, which Handlers reads.
  fold_except_star(graph);
  Handlers(graph, module).run();
}

}  // namespace pellucid::structure
