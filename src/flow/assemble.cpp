// SPDX-License-Identifier: Apache-2.0
// assemble: a Draft -> the Graph, without the blocks that only an interpreter needs.
//
//   1. Jumps are threaded over empty blocks. One stays if it heads a loop from outside of the
//   region
//      that begins after it, as in `while True: try: ...`; so does a loop that is only a jump.
//   2. A block that only shuffles the stack and then leaves (`return f()`, `break` in a `try`) gets
//      the handler of its predecessors: it cannot raise, and it belongs to the body that it ends.
//      The first block of a `with` keeps its handler: control enters the `with` there.
//   3. A block is joined with the one that it falls through to, if that has no other predecessor.
//   4. If a back edge leads to the entry, an empty entry block is put before it.
//   5. The same for the entry of a handler.
//   6. Unreachable blocks are dropped, and the rest is numbered in the order of the bytecode.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "flow/draft.h"

namespace pellucid::flow {
namespace {

bool only_shuffles(std::span<const Instr> body) {
  return std::all_of(body.begin(), body.end(), [](const Instr& instr) {
    return instr.op == Op::Pop || instr.op == Op::Copy || instr.op == Op::Swap ||
           instr.op == Op::Rot;
  });
}

class Assembler {
 public:
  explicit Assembler(Draft draft) : draft_(std::move(draft)) {}

  Graph run() {
    if (draft_.handlers.size() > 1) unify_handlers();
    entry_ = BlockId(0u);
    mark_reachable();
    thread();
    mark_reachable();
    if (!draft_.handlers.empty()) {
      protect_ways_out();
      mark_reachable();
    }
    count_ways_in();
    give_entry_its_own_block();
    const bool has_new_entries = give_handlers_their_own_blocks();
    join();
    if (has_new_entries) mark_reachable();
    return number();
  }

 private:
  DraftBlock& at(BlockId id) { return draft_.blocks[id.index()]; }
  Handler& at(HandlerId id) { return draft_.handlers[id.index()]; }
  bool is_empty(const DraftBlock& block) const {
    return block.count == 0 && block.exit.kind == ExitKind::Goto;
  }

  // Merges equal handlers.
  void unify_handlers() {
    std::map<std::tuple<uint32_t, uint32_t, bool, bool, uint32_t>, HandlerId> known;
    std::vector<HandlerId> instead;
    for (size_t i = 0; i < draft_.handlers.size(); ++i) {
      const Handler& h = draft_.handlers[i];
      instead.push_back(
          known.try_emplace({h.entry.value, h.depth, h.lasti, h.is_with, h.exc_depth}, HandlerId(i))
              .first->second);
    }
    for (DraftBlock& block : draft_.blocks)
      if (block.handler.valid()) block.handler = instead[block.handler.index()];
    for (DraftBlock& block : draft_.blocks) {
      for (std::optional<HandlerId>& handler : block.exit.interrupted) {
        if (handler && handler->index() < instead.size()) handler = instead[handler->index()];
      }
    }
  }

  void mark_reachable() {
    reached_.assign(draft_.blocks.size(), 0);
    work_.clear();
    const auto reach = [&](BlockId block) {
      if (!block.valid() || reached_[block.index()]) return;
      reached_[block.index()] = 1;
      work_.push_back(block);
    };
    reach(entry_);
    while (!work_.empty()) {
      const DraftBlock& block = at(work_.back());
      work_.pop_back();
      for (const BlockId next : block.exit.next) reach(next);
      if (block.handler.valid()) reach(at(block.handler).entry);
    }
  }

  template <typename F>
  void for_each_edge(F visit) {
    for (size_t i = 0; i < draft_.blocks.size(); ++i) {
      if (!reached_[i]) continue;
      for (const BlockId next : draft_.blocks[i].exit.next)
        if (next.valid()) visit(BlockId(i), next);
    }
  }

  void thread() {
    std::vector<bool> heads_loop(draft_.blocks.size());
    for_each_edge([&](BlockId from, BlockId to) {
      if (at(from).at >= at(to).at) heads_loop[to.index()] = true;
    });
    std::vector<bool> stays(draft_.blocks.size());
    for (const Handler& handler : draft_.handlers) stays[handler.entry.index()] = true;

    instead_.assign(draft_.blocks.size(), BlockId());
    ways_.assign(draft_.blocks.size(), Way());
    std::vector<BlockId> path;
    for (size_t i = 0; i < draft_.blocks.size(); ++i) {
      BlockId block(i);
      path.clear();
      while (!instead_[block.index()].valid() && is_empty(at(block)) && !stays[block.index()]) {
        // A block maps to itself until its path is known, so that a ring of jumps stays a loop.
        instead_[block.index()] = block;
        path.push_back(block);
        block = at(block).exit.next[0];
      }
      if (!instead_[block.index()].valid()) instead_[block.index()] = block;
      for (BlockId end = instead_[block.index()]; !path.empty(); path.pop_back()) {
        const BlockId empty = path.back();
        if (empty == end || (heads_loop[empty.index()] && at(empty).handler != at(end).handler))
          end = empty;
        instead_[empty.index()] = end;
        if (empty != end) note_way(empty);
      }
    }
    for (size_t i = 0; i < draft_.blocks.size(); ++i)
      if (reached_[i]) {
        turn_jump_back(draft_.blocks[i]);
        thread_exit(draft_.blocks[i].exit);
      }
    entry_ = instead_[entry_.index()];
  }

  // From 3.12 on no conditional jump goes backwards: a branch over a backward jump of the same line
  // stands for one.
  void turn_jump_back(DraftBlock& block) {
    Exit& exit = block.exit;
    if (exit.kind != ExitKind::Branch) return;
    const DraftBlock& near = at(exit.next[1 - exit.jump]);
    const bool jumps_back = is_empty(near) && !near.exit.falls &&
                            at(near.exit.next[0]).at <= block.at &&
                            near.exit.instr.line == exit.instr.line;
    if (jumps_back) exit.jump = static_cast<uint8_t>(1 - exit.jump);
  }

  // The way from an empty block to the block that replaces it.
  struct Way {
    std::optional<HandlerId> interrupted;  // as in Exit, of all jumps back
    BlockId jump;  // the first block that does not fall through, or the last
  };

  // The way from the next block must be known.
  void note_way(BlockId empty) {
    const Exit& exit = at(empty).exit;
    const BlockId next = exit.next[0];
    Way& way = ways_[empty.index()];
    way.interrupted = both(exit.interrupted[0], ways_[next.index()].interrupted);
    way.jump = exit.falls && is_replaced(next) ? ways_[next.index()].jump : empty;
  }

  static std::optional<HandlerId> both(std::optional<HandlerId> one,
                                       std::optional<HandlerId> other) {
    if (!one || !other) return one ? one : other;
    return *one == *other ? one : kUnknownHandler;
  }

  bool is_replaced(BlockId block) const { return instead_[block.index()] != block; }

  void thread_exit(Exit& exit) {
    for (size_t way = 0; way < exit.next.size(); ++way) {
      const BlockId next = exit.next[way];
      if (!next.valid() || !is_replaced(next)) continue;
      exit.interrupted[way] = both(exit.interrupted[way], ways_[next.index()].interrupted);
    }
    // A fall-through into a jump becomes that jump.
    if (exit.kind == ExitKind::Goto && exit.falls && is_replaced(exit.next[0])) {
      const Exit& last = at(ways_[exit.next[0].index()].jump).exit;
      exit.falls = last.falls;
      if (!exit.falls) exit.instr = last.instr;
    }
    for (BlockId& next : exit.next)
      if (next.valid()) next = instead_[next.index()];
  }

  void protect_ways_out() {
    constexpr uint32_t kUnknown = 0xfffffffeu;
    std::vector<HandlerId> leads(draft_.blocks.size(), HandlerId(kUnknown));
    std::vector<bool> mixed(draft_.blocks.size());
    for_each_edge([&](BlockId from, BlockId to) {
      HandlerId& lead = leads[to.index()];
      if (lead == HandlerId(kUnknown)) lead = at(from).handler;
      if (lead != at(from).handler) mixed[to.index()] = true;
    });
    for (const Handler& handler : draft_.handlers) mixed[handler.entry.index()] = true;
    for (size_t i = 0; i < draft_.blocks.size(); ++i) {
      DraftBlock& block = draft_.blocks[i];
      const bool leaves = block.exit.kind == ExitKind::Return ||
                          (block.exit.kind == ExitKind::Goto && !block.exit.falls &&
                           block.exit.next[0] != BlockId(i));
      if (reached_[i] && leaves && !mixed[i] && leads[i] != HandlerId(kUnknown) &&
          only_shuffles(draft_.body(block)) && !begins_with(block, leads[i]))
        block.handler = leads[i];
    }
  }

  // Returns true if control enters the `with` that protects the block from outside.
  bool begins_with(const DraftBlock& block, HandlerId lead) {
    if (!block.handler.valid() || !at(block.handler).is_with) return false;
    return !lead.valid() || at(lead).depth < at(block.handler).depth;
  }

  void count_ways_in() {
    ways_in_.assign(draft_.blocks.size(), 0);
    for_each_edge([&](BlockId, BlockId to) { ++ways_in_[to.index()]; });
    for (size_t i = 0; i < draft_.blocks.size(); ++i)
      if (reached_[i] && draft_.blocks[i].handler.valid())
        ++ways_in_[at(draft_.blocks[i].handler).entry.index()];
  }

  void give_entry_its_own_block() {
    if (ways_in_[entry_.index()] != 0) {
      DraftBlock block;
      block.at = at(entry_).at;
      block.rank = 0;
      block.exit.falls = true;
      block.exit.next[0] = entry_;
      block.exit.instr.op = Op::Jump;
      block.exit.instr.offset = draft_.stream[block.at].offset;
      ++ways_in_[entry_.index()];
      entry_ = BlockId(draft_.blocks.size());
      draft_.blocks.push_back(std::move(block));
      ways_in_.push_back(0);
      reached_.push_back(1);
    }
    ++ways_in_[entry_.index()];
  }

  // A `finally` body may start with a loop, whose back edges do not enter the handler. Returns true
  // if there are new blocks; those of handlers that protect nothing are not reached.
  bool give_handlers_their_own_blocks() {
    if (draft_.handlers.empty()) return false;
    std::vector<bool> is_left_to(draft_.blocks.size());
    for_each_edge([&](BlockId, BlockId to) { is_left_to[to.index()] = true; });
    std::map<BlockId, BlockId> made;
    for (Handler& handler : draft_.handlers) {
      const BlockId entry = handler.entry;
      if (!reached_[entry.index()] || entry.index() >= is_left_to.size() ||
          !is_left_to[entry.index()]) {
        continue;
      }
      const auto [known, fresh] = made.try_emplace(entry, BlockId(draft_.blocks.size()));
      handler.entry = known->second;
      if (!fresh) continue;
      DraftBlock block;
      block.at = at(entry).at;
      block.rank = 0;
      block.exit.falls = true;
      block.exit.next[0] = entry;
      block.exit.instr.op = Op::Jump;
      block.exit.instr.offset = draft_.stream[block.at].offset;
      block.handler = at(entry).handler;
      block.depth = at(entry).depth;
      block.exc_depth = at(entry).exc_depth;
      draft_.blocks.push_back(std::move(block));
      // The protected blocks and the fall-through count as edges in: nothing is joined with either.
      ways_in_.push_back(2);
      ways_in_[entry.index()] += 2;
      reached_.push_back(1);
    }
    return !made.empty();
  }

  // Returns true if `block` falls through to a block that has no other predecessor and the same
  // handler.
  bool joins_next(const DraftBlock& block) {
    if (block.exit.kind != ExitKind::Goto || !block.exit.falls) return false;
    const BlockId next = block.exit.next[0];
    return ways_in_[next.index()] == 1 && at(next).handler == block.handler;
  }

  // Joins blocks; those that are joined to another one are no longer reached.
  void join() {
    std::vector<BlockId> joined;
    for (size_t i = 0; i < draft_.blocks.size(); ++i) {
      if (reached_[i] && joins_next(draft_.blocks[i])) {
        joined.push_back(draft_.blocks[i].exit.next[0]);
      }
    }
    if (joined.empty()) return;
    for (const BlockId part : joined) reached_[part.index()] = 0;
    for (size_t i = 0; i < draft_.blocks.size(); ++i) {
      if (!reached_[i]) continue;
      DraftBlock& block = draft_.blocks[i];
      for (DraftBlock* last = &block; joins_next(block); last = &at(last->then)) {
        last->then = block.exit.next[0];
        block.exit = Exit(at(last->then).exit);
      }
    }
  }

  Graph number() {
    std::vector<BlockId> order;
    for (size_t i = 0; i < draft_.blocks.size(); ++i)
      if (reached_[i]) order.emplace_back(i);
    std::sort(order.begin(), order.end(), [&](BlockId a, BlockId b) {
      const auto key = [&](BlockId id) {
        return std::tuple(id != entry_, at(id).at, at(id).rank, id.value);
      };
      return key(a) < key(b);
    });
    std::vector<BlockId> renamed(draft_.blocks.size());
    for (size_t i = 0; i < order.size(); ++i) renamed[order[i].index()] = BlockId(i);

    Graph graph;
    graph.code = draft_.code;
    graph.wraps_stop_iteration = draft_.wraps_stop_iteration;
    graph.unrestored = draft_.unrestored;
    graph.parted = draft_.parted;
    graph.marks_ends = draft_.marks_ends;
    graph.marks_empty_bodies = draft_.marks_empty_bodies;
    graph.instrs.reserve(draft_.instrs.size());
    graph.blocks.reserve(order.size());
    std::vector<HandlerId> handlers(draft_.handlers.size());
    for (const BlockId id : order) {
      DraftBlock& from = at(id);
      Block& block = graph.blocks.emplace_back();
      block.first = static_cast<uint32_t>(graph.instrs.size());
      for (const DraftBlock* part = &from;; part = &at(part->then)) {
        const std::span<const Instr> body = draft_.body(*part);
        graph.instrs.insert(graph.instrs.end(), body.begin(), body.end());
        if (!part->then.valid()) break;
      }
      block.count = static_cast<uint32_t>(graph.instrs.size()) - block.first;
      block.exit = from.exit;
      for (BlockId& next : block.exit.next)
        if (next.valid()) next = renamed[next.index()];
      if (from.handler.valid()) {
        HandlerId& handler = handlers[from.handler.index()];
        if (!handler.valid()) {
          handler = HandlerId(graph.handlers.size());
          graph.handlers.push_back(at(from.handler));
          graph.handlers.back().entry = renamed[at(from.handler).entry.index()];
        }
        block.handler = handler;
      }
      block.depth = from.depth;
      block.exc_depth = from.exc_depth;
      block.offset = draft_.stream[from.at].offset;
    }
    for (Block& block : graph.blocks) {
      for (std::optional<HandlerId>& handler : block.exit.interrupted) {
        if (!handler || !handler->valid() || *handler == kUnknownHandler) continue;
        const HandlerId known = handlers[handler->index()];
        handler = known.valid() ? known : kUnknownHandler;
      }
    }
    if (!draft_.loop_ends.empty()) say_where_loops_end(graph, order);
    for (Handler& handler : graph.handlers) {
      const Block& entry = graph[handler.entry];
      handler.begins = handler.is_on_block_stack() ||
                       (entry.count > 0 && graph.instrs[entry.first].op == Op::PushExcInfo);
    }
    return graph;
  }

  // Sets Block::loop_end. Of the loop headers that start at one place, the outermost one gets the
  // end of all jumps back to that place.
  void say_where_loops_end(Graph& graph, const std::vector<BlockId>& order) {
    std::vector<bool> heads(graph.blocks.size());
    for (size_t i = 0; i < graph.blocks.size(); ++i) {
      for (const BlockId next : graph.blocks[i].exit.next) {
        if (next.valid() && next.index() <= i) heads[next.index()] = true;
      }
    }
    uint32_t said = ~0u;
    for (size_t i = 0; i < graph.blocks.size(); ++i) {
      const uint32_t start = at(order[i]).at;
      if (!heads[i] || start == said) continue;
      graph.blocks[i].loop_end = draft_.loop_ends[start];
      said = start;
    }
  }

  Draft draft_;
  BlockId entry_;
  std::vector<uint8_t> reached_;
  std::vector<BlockId> work_;      // of mark_reachable()
  std::vector<BlockId> instead_;   // of each block: where a jump to it ends
  std::vector<Way> ways_;          // of each block that is replaced
  std::vector<uint32_t> ways_in_;  // exits, protected blocks, and one for the entry
};

}  // namespace

Graph assemble(Draft draft) { return Assembler(std::move(draft)).run(); }

}  // namespace pellucid::flow
