// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/draft.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"

namespace pellucid::verify::lower {

namespace {

// The `b` of a StoreFast that restores a variable after an inlined comprehension.
constexpr uint32_t kPutsBack = 1;

bool may_change_places(const Instr& instr) {
  return instr.op == Op::StoreFast || instr.op == Op::Pop;
}

bool is_nothing(const Instr& instr) { return instr.op == Op::Swap && instr.a == 1; }

// Returns the next instruction after `at` that may be reordered, on line `line` (any if negative);
// the end if another one comes first.
size_t next_store(std::span<const Instr> code, size_t at, int32_t line) {
  while (++at < code.size()) {
    if (line >= 0 && code[at].line != line) return code.size();
    if (is_nothing(code[at])) continue;
    return may_change_places(code[at]) ? at : code.size();
  }
  return code.size();
}

// The stores that may change places with the one at `first`, on its line.
struct Stores {
  size_t first = ~size_t{0};
  std::vector<size_t> at;  // the first one is `first`
  size_t distinct = 0;     // how many from the first one on store to different locals
};

Stores stores_from(std::span<const Instr> code, size_t first) {
  Stores stores{first, {}, 0};
  std::unordered_set<uint32_t> locals;
  bool are_distinct = true;
  for (size_t at = first; at < code.size(); at = next_store(code, at, code[first].line)) {
    stores.at.push_back(at);
    are_distinct &= code[at].op != Op::StoreFast || locals.insert(code[at].a).second;
    stores.distinct += are_distinct ? 1 : 0;
  }
  return stores;
}

// Returns true if the stores at both ends, or one between them and one at an end, store to the same
// local.
bool clash(std::span<const Instr> code, size_t first, size_t last) {
  const auto is_same = [&](size_t x, size_t y) {
    return code[x].op == Op::StoreFast && code[y].op == Op::StoreFast && code[x].a == code[y].a;
  };
  if (is_same(first, last)) return true;
  for (size_t k = first + 1; k < last; ++k) {
    if (is_same(k, first) || is_same(k, last)) return true;
  }
  return false;
}

// Replaces a `SWAP n` before stores by reordering them, if they store to different locals (3.11+),
// and those before it. (flowgraph.c: apply_static_swaps)
void spend_swaps(std::span<Instr> code, size_t from) {
  size_t first = next_store(code, from, -1);
  Stores stores;
  for (size_t i = from + 1; i-- > 0;) {
    if (i < from && !is_nothing(code[i + 1])) {
      first = may_change_places(code[i + 1]) ? i + 1 : code.size();
    }
    if (code[i].op != Op::Swap || is_nothing(code[i])) {
      if (is_nothing(code[i]) || may_change_places(code[i])) continue;
      return;
    }
    if (first == code.size()) return;
    if (stores.first != first) stores = stores_from(code, first);
    const size_t count = std::max(code[i].a, 1u);
    if (count > stores.at.size()) return;
    const size_t last = stores.at[count - 1];
    if (count > stores.distinct && clash(code, first, last)) return;
    code[i].a = 1;
    if (code[first].line != code[last].line) stores.first = ~size_t{0};
    std::swap(code[first], code[last]);
  }
}

// Reorders stores as CPython's optimiser does; their order is observable.
void settle_stores(std::span<Instr> code, const Features& features) {
  // The first of two consecutive stores to one local is removed (3.13+), before any are reordered.
  for (size_t i = 0; features.drops_overwritten_stores && i + 1 < code.size(); ++i) {
    if (code[i].op != Op::StoreFast || code[i + 1].op != Op::StoreFast ||
        code[i].a != code[i + 1].a || code[i].line != code[i + 1].line || code[i].b == kPutsBack ||
        code[i + 1].b == kPutsBack) {
      continue;
    }
    code[i].op = Op::Pop;
    code[i].a = 0;
  }
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].op == Op::Swap && !is_nothing(code[i])) spend_swaps(code, i);
  }
}

// Returns the code with each tuple of constants that it loads folded.
std::vector<Instr> folded(std::span<const Instr> code, const TupleOf& tuple_of) {
  std::vector<Instr> made;
  for (const Instr& instr : code) {
    made.push_back(instr);
    if (instr.op != Op::BuildTuple || instr.a == 0 || instr.a >= made.size()) continue;
    const auto parts = std::span(made).last(instr.a + 1).first(instr.a);
    std::vector<object::ConstId> items;
    for (const Instr& part : parts) {
      if (part.op == Op::LoadConst) items.push_back(part.constant());
    }
    if (items.size() != parts.size()) continue;
    made.resize(made.size() - instr.a);
    made.back() = parts.front();
    made.back().a = tuple_of(items).value;
  }
  return made;
}

// Returns how many instructions load a constant before constants are folded; one more than `most`
// is any larger number.
size_t loads_of(const object::Module& module, object::ConstId id, size_t most) {
  const object::Const& constant = module[id];
  switch (constant.kind) {
    case object::ConstKind::Int:
      return constant.integer < 0 ? 2 : 1;
    case object::ConstKind::BigInt:
      return module.text(constant.text).starts_with('-') ? 2 : 1;
    case object::ConstKind::Float:
      return std::signbit(constant.real) ? 2 : 1;
    case object::ConstKind::Complex:
      return constant.real != 0 || std::signbit(constant.real) ? 3 : 1;
    case object::ConstKind::Tuple:
      break;
    default:
      return 1;
  }
  size_t count = 1;
  for (const object::ConstId item : constant.items) {
    if (count > most) break;
    count += loads_of(module, item, most - count);
  }
  return count;
}

}  // namespace

// Returns true if a block ends with a jump over an operand: `and`, `or`, a chain of comparisons.
bool Draft::tests_operand(const DraftBlock& block) {
  if (block.exit.kind != flow::ExitKind::Branch || block.count == 0) return false;
  const Instr& last = code_of(block).back();
  return last.op == Op::Copy && last.a == 1;
}

// Marks branches that lose their handler to jump threading: a jump over an operand to a similar
// jump goes straight to the latter's target. (flowgraph.c: jump_thread)
void Draft::lose_tests() {
  for (const Label id : order_) {
    DraftBlock& block = blocks_[id.index()];
    if (!tests_operand(block)) continue;
    const DraftBlock* to = &blocks_[block.exit.next[block.exit.jump].index()];
    while (to->count == 0 && to->exit.falls) to = &blocks_[to->exit.next[0].index()];
    const bool is_alike = to->count == 1 && tests_operand(*to) && to->exit.jump == block.exit.jump;
    if (is_alike) block.exit.instr.b = flow::kLostTest;
  }
}

// Lets each jump over an operand that leads to another test of the value that it keeps go where
// that test would: the value is tested once. A jump that ends an arm of a choice stops it.
// (flowgraph.c: jump_thread, since 3.14; codegen.c: JUMP_NO_INTERRUPT)
void Draft::thread_tests() {
  // From the last one on: what a jump leads to has gone where it goes already.
  for (size_t i = order_.size(); i-- > 0;) {
    DraftBlock& block = blocks_[order_[i].index()];
    if (!tests_operand(block)) continue;
    const uint8_t way = block.exit.jump;
    Label& target = block.exit.next[way];
    for (size_t hops = 0; hops < order_.size(); ++hops) {
      const DraftBlock& to = blocks_[target.index()];
      if (to.count == 0 && to.exit.falls) {
        target = to.exit.next[0];
      } else if (to.count == 1 && tests_operand(to)) {
        target = to.exit.next[way];
      } else {
        break;
      }
    }
  }
}

Label Draft::add() {
  blocks_.emplace_back();
  return Label(blocks_.size() - 1);
}

HandlerId Draft::add(const flow::Handler& handler) {
  handlers_.push_back(handler);
  return HandlerId(handlers_.size() - 1);
}

DraftBlock& Draft::place(Label block, const Position& here) {
  order_.push_back(block);
  DraftBlock& placed = blocks_[block.index()];
  placed.first = static_cast<uint32_t>(instrs_.size());
  placed.handler = here.handler();
  if (placed.depth == DraftBlock::kUnknown) {
    placed.depth = here.depth;
    placed.exceptions = here.exceptions;
  }
  return placed;
}

void Draft::enter(Label block, const Position& from, bool live) {
  DraftBlock& to = blocks_[block.index()];
  if (to.depth == DraftBlock::kUnknown) {
    to.depth = from.depth;
    to.exceptions = from.exceptions;
  }
  if (live) PELLUCID_CHECK(to.depth == from.depth);
}

// Notes that the stores of a block may have to be settled, before an instruction is appended.
void Draft::note_store(DraftBlock& block, const Instr& instr) {
  const bool is_again =
      block.count > 0 && instrs_.back().op == Op::StoreFast && instrs_.back().a == instr.a;
  if (instr.op == Op::Swap || instr.b != 0 || is_again) block.is_rough = true;
}

void Draft::reopen(Label block) {
  DraftBlock& opened = blocks_[block.index()];
  PELLUCID_CHECK(opened.count == 0);
  opened.first = static_cast<uint32_t>(instrs_.size());
}

void Draft::resume(Label last, Label reopened) {
  DraftBlock& after = blocks_[last.index()];
  DraftBlock& before = blocks_[reopened.index()];
  const auto at = [&](uint32_t index) { return instrs_.begin() + index; };
  std::rotate(at(after.first), at(before.first), instrs_.end());
  before.first = after.first;
  after.first += before.count;
}

// Finds the blocks that are reached from the entry.
void Draft::find_reached() {
  std::vector<Label> work;
  work.reserve(kUsualBlocks);
  const auto reach = [&](Label id) {
    if (!id.valid() || blocks_[id.index()].is_reached) return;
    blocks_[id.index()].is_reached = true;
    work.push_back(id);
  };
  reach(order_[0]);
  while (!work.empty()) {
    const DraftBlock& block = blocks_[work.back().index()];
    work.pop_back();
    PELLUCID_CHECK(block.ended);
    for (const Label next : block.exit.next) reach(next);
    if (block.handler.valid()) reach(handlers_[block.handler.index()].entry);
  }
}

// Adds the instructions of a block to the graph.
void Draft::copy_code(const DraftBlock& block, const Features& features, flow::Graph& graph) {
  const std::span<Instr> code = code_of(block);
  if (!block.is_rough) {
    graph.instrs.insert(graph.instrs.end(), code.begin(), code.end());
    return;
  }
  if (features.reorders_stores) settle_stores(code, features);
  for (const Instr& instr : code) {
    if (is_nothing(instr)) continue;
    graph.instrs.push_back(instr);
    if (instr.op == Op::StoreFast) graph.instrs.back().b = 0;
  }
}

// Gives jumps to short endings copies of them where that folds a tuple: endings are copied before
// constants are folded, block by block. (flowgraph.c: inline_small_or_no_lineno_blocks, since 3.14
// fold_tuple_of_constants)
void Draft::fold_in_copies(const object::Module& module, const TupleOf& tuple_of) {
  constexpr size_t kMostCopied = 4;  // MAX_COPY_SIZE
  struct Ending {
    std::vector<Instr> code;
    size_t size = 0;  // in instructions, with the last one
    flow::Exit exit;
  };
  std::unordered_map<Label, Ending> copies;
  const auto ending_of = [&](Label id) {
    if (const auto copy = copies.find(id); copy != copies.end()) return copy->second;
    const DraftBlock& block = blocks_[id.index()];
    const std::span<const Instr> code = code_of(block);
    Ending ending{{code.begin(), code.end()}, code.size() + 1, block.exit};
    for (const Instr& instr : code) {
      if (instr.op == Op::LoadConst)
        ending.size += loads_of(module, instr.constant(), kMostCopied) - 1;
    }
    return ending;
  };
  const auto leaves = [](const flow::Exit& exit) {
    return exit.kind == flow::ExitKind::Return || exit.kind == flow::ExitKind::Raise;
  };
  for (size_t before = copies.size() + 1; before != copies.size();) {
    before = copies.size();
    for (const Label id : order_) {
      const DraftBlock& from = blocks_[id.index()];
      const bool jumps = from.ended && from.exit.kind == flow::ExitKind::Goto && !from.exit.falls;
      if (!jumps || copies.contains(id)) continue;
      Label to = from.exit.next[0];
      while (blocks_[to.index()].count == 0 && blocks_[to.index()].exit.falls) {
        to = blocks_[to.index()].exit.next[0];
      }
      if (blocks_[to.index()].handler != from.handler || blocks_[to.index()].count >= kMostCopied) {
        continue;
      }
      const Ending ending = ending_of(to);
      if (!leaves(ending.exit) || ending.size > kMostCopied) continue;
      Ending copy = ending_of(id);
      copy.size += ending.size;  // the jump stays, as a NOP
      copy.code.insert(copy.code.end(), ending.code.begin(), ending.code.end());
      copy.exit = ending.exit;
      copies.emplace(id, std::move(copy));
    }
  }
  for (const Label id : order_) {
    const auto copy = copies.find(id);
    if (copy == copies.end()) continue;
    const std::vector<Instr> made = folded(copy->second.code, tuple_of);
    if (made.size() == copy->second.code.size()) continue;
    DraftBlock& block = blocks_[id.index()];
    block.first = static_cast<uint32_t>(instrs_.size());
    block.count = static_cast<uint32_t>(made.size());
    block.exit = copy->second.exit;
    instrs_.insert(instrs_.end(), made.begin(), made.end());
  }
}

flow::Graph Draft::finish(object::CodeId code, const Features& features,
                          const object::Module& module, const TupleOf& tuple_of) {
  if (features.folds_late) {
    fold_in_copies(module, tuple_of);
    lose_tests();
    thread_tests();
  }
  find_reached();
  flow::Graph graph;
  graph.code = code;
  std::vector<Label> renamed(blocks_.size());
  uint32_t count = 0;
  size_t instructions = 0;
  for (const Label id : order_) {
    const DraftBlock& draft = blocks_[id.index()];
    if (!draft.is_reached) continue;
    renamed[id.index()] = Label(count++);
    instructions += draft.count;
  }
  graph.instrs.reserve(instructions);
  graph.blocks.reserve(count);
  for (const Label id : order_) {
    const DraftBlock& draft = blocks_[id.index()];
    if (!draft.is_reached) continue;
    flow::Block& block = graph.blocks.emplace_back();
    block.first = static_cast<uint32_t>(graph.instrs.size());
    copy_code(draft, features, graph);
    block.count = static_cast<uint32_t>(graph.instrs.size()) - block.first;
    block.exit = draft.exit;
    for (Label& next : block.exit.next) {
      if (next.valid()) next = renamed[next.index()];
    }
    block.handler = draft.handler;
    for (size_t way = 0; way < block.exit.next.size(); ++way) {
      const Label next = block.exit.next[way];
      if (next.valid() && next.index() < graph.blocks.size()) {
        block.exit.interrupted[way] = draft.handler;
      }
    }
    block.depth = draft.depth;
    block.exc_depth = draft.exceptions;
    block.offset = draft.count == 0 ? draft.exit.instr.offset : instrs_[draft.first].offset;
  }
  for (flow::Handler& handler : handlers_) {
    // An unreachable handler is never used.
    handler.entry =
        renamed[handler.entry.index()].valid() ? renamed[handler.entry.index()] : Label(0u);
  }
  graph.handlers = std::move(handlers_);
  return graph;
}

}  // namespace pellucid::verify::lower
