// SPDX-License-Identifier: Apache-2.0
#include "flow/block_stack.h"

#include <algorithm>
#include <utility>

#include "bytecode/op_facts.h"

namespace pellucid::flow {
namespace {

constexpr uint32_t kMaxBlocks = 20;  // CPython's CO_MAXBLOCKS
// Limits for copies of `finally` bodies in `finally` bodies: 3.9 doubles them at each level.
constexpr size_t kCopiesPerInstruction = 32;
constexpr size_t kCopies = 1u << 12;

// Returns how many exceptions are being handled.
uint32_t exceptions(const Chains& chains, uint32_t blocks) {
  uint32_t count = 0;
  for (; blocks != 0; blocks = chains[blocks].parent) count += chains[blocks].kind >= kHandling;
  return count;
}

// Returns how blocks and hidden slots are interleaved: a part of the context that the chains do not
// have.
uint64_t interleaving(const Chains& chains, const BlockState& state) {
  uint64_t order = 1;
  uint32_t blocks = state.blocks;
  uint32_t hidden = state.hidden;
  while (blocks != 0 && hidden != 0) {
    // At the same level, the block was pushed before the slot.
    const bool block_on_top = chains[blocks].level > chains[hidden].level;
    order = order << 1 | (block_on_top ? 1 : 0);
    uint32_t& top = block_on_top ? blocks : hidden;
    top = chains[top].parent;
  }
  return order;
}

// Returns true if the code before left a region by `return`, `break` or `continue`.
bool is_left_by_jump(const bytecode::Stream& stream, uint32_t at) {
  if (at == 0) return false;
  const Op before = stream.instrs[at - 1].op;
  return before == Op::CallFinally || before == Op::PopFinally;
}

// Returns true if a jump follows.
bool jumps_next(const bytecode::Stream& stream, uint32_t at) {
  return at + 1 < stream.instrs.size() && stream.instrs[at + 1].op == Op::Jump;
}

}  // namespace

uint32_t hidden_below(const Chains& chains, const BlockState& state, uint32_t level) {
  return chains[chains.cut(state.hidden, level)].length;
}

bool hidden_at(const Chains& chains, const BlockState& state, uint32_t level) {
  const uint32_t upto = chains.cut(state.hidden, level + 1);
  return upto != 0 && chains[upto].level == level;
}

bool solid(const Chains& chains, const BlockState& state, uint32_t slots) {
  return state.depth >= slots &&
         (state.hidden == 0 || hidden_below(chains, state, state.depth) ==
                                   hidden_below(chains, state, state.depth - slots));
}

bool leave_handler(const Chains& chains, BlockState& state) {
  if (state.blocks == 0 || chains[state.blocks].kind < kHandling) return false;
  state.blocks = chains[state.blocks].parent;
  return true;
}

BlockStack::BlockStack(const object::Module& module, const bytecode::Stream& stream, bool keep_ends)
    : module_(module),
      stream_(stream),
      keep_ends_(keep_ends),
      leader_(stream.instrs.size() + 1, false),
      is_subroutine_(stream.instrs.size() + 1, false) {
  draft_.code = stream.code;
  draft_.stream = stream.instrs;
  draft_.instrs.reserve(stream.instrs.size());
  for (size_t i = 0; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    if (bytecode::has_target(instr.op)) leader_[instr.a] = true;
    draft_.marks_ends = draft_.marks_ends || (keep_ends && instr.op == Op::EndFinally);
    if (instr.op == Op::BeginFinally) is_subroutine_[i + 1] = true;
    if (instr.op == Op::CallFinally) is_subroutine_[instr.a] = true;
    draft_.has_subroutines =
        draft_.has_subroutines || instr.op == Op::BeginFinally || instr.op == Op::CallFinally;
    // The copies of a 3.8 `finally` body merge after it.
    if (instr.op == Op::EndFinally || instr.op == Op::PopFinally) leader_[i + 1] = true;
  }
}

Result<Draft> BlockStack::run() {
  node(0, State());
  for (uint32_t i = 0; i < draft_.blocks.size() && !error_; ++i) {
    walk(i);
    enter_handlers();
  }
  if (error_) return *error_;
  if (keep_ends_) mark_lost_jumps();
  return std::move(draft_);
}

void BlockStack::fail(const std::string& what, ErrorCode code) {
  if (error_) return;
  const uint32_t offset =
      stream_.instrs.empty()
          ? 0
          : stream_.instrs[std::min<size_t>(at_, stream_.instrs.size() - 1)].offset;
  error_ = Error{code, offset, "flow: " + what + " at offset " + std::to_string(offset)};
}

BlockId BlockStack::node(uint32_t at, const State& state) {
  if (at >= stream_.instrs.size()) {
    fail("control falls off the end of the code");
    return BlockId();
  }
  if (draft_.blocks.size() > kCopiesPerInstruction * stream_.instrs.size() + kCopies) {
    fail("too many copies of finally bodies", ErrorCode::Limit);
    return BlockId();
  }
  const auto [known, fresh] = nodes_.try_emplace(
      {at, chains_[state.blocks].shape, chains_[state.hidden].shape, interleaving(chains_, state)},
      static_cast<uint32_t>(draft_.blocks.size()));
  if (fresh) return add_block(at, state);
  const State& other = states_[known->second];
  if (other != state) {
    at_ = at;
    fail("two ways in disagree about the stack (" + std::to_string(other.depth) + " and " +
         std::to_string(state.depth) + " slots)");
  }
  return BlockId(known->second);
}

BlockId BlockStack::add_block(uint32_t at, const State& state) {
  DraftBlock block;
  block.at = at;
  block.handler = handler_of(state);
  block.depth = state.depth - hidden_below(chains_, state, state.depth);
  block.exc_depth = exceptions(chains_, state.blocks);
  draft_.blocks.push_back(std::move(block));
  states_.push_back(state);
  return BlockId(draft_.blocks.size() - 1);
}

HandlerId BlockStack::handler_of(const State& state) {
  uint32_t blocks = state.blocks;
  while (blocks != 0 && chains_[blocks].kind >= kHandling) blocks = chains_[blocks].parent;
  if (blocks == 0) return HandlerId();
  const Chains::Link link = chains_[blocks];
  State entry;
  entry.depth = link.level + kExceptionSlots;
  entry.hidden = chains_.cut(state.hidden, link.level);
  const auto [known, fresh] =
      handlers_.try_emplace({blocks, entry.hidden}, static_cast<uint32_t>(draft_.handlers.size()));
  if (!fresh) return HandlerId(known->second);
  entry.blocks = chains_.push(link.parent, kHandling, 0, link.level);
  Handler handler;
  handler.depth = link.level - hidden_below(chains_, state, link.level);
  handler.pushes = kExceptionSlots;
  handler.is_with = link.kind == kProtectWith;
  handler.is_finally = link.value < is_subroutine_.size() && is_subroutine_[link.value];
  handler.exc_depth = exceptions(chains_, entry.blocks);
  draft_.handlers.push_back(handler);
  handler_levels_.push_back(link.level);
  pending_.push_back({HandlerId(known->second), link.value, entry});
  return HandlerId(known->second);
}

void BlockStack::enter_handlers() {
  while (!pending_.empty() && !error_) {
    const PendingHandler next = pending_.back();
    pending_.pop_back();
    const BlockId entry = node(next.at, next.entry);
    draft_.handlers[next.handler.index()].entry = entry;
  }
}

void BlockStack::walk(uint32_t index) {
  State state = states_[index];
  block_ = index;
  const uint32_t start = draft_.blocks[index].at;
  const HandlerId handler = draft_.blocks[index].handler;
  uint32_t blocks = state.blocks;
  level_ = handler.valid() ? handler_levels_[handler.index()] : 0;
  body_.clear();
  exit_ = Exit();
  at_ = start;
  if (swallows_.contains(index)) {
    swallow_exception(state);
    ++at_;
  }
  if (keep_ends_ && is_left_by_jump(stream_, start)) {
    emit(Op::Marker, static_cast<uint32_t>(Marker::LeftByJump), 0, state);
  }
  for (; !error_; ++at_) {
    if (at_ >= stream_.instrs.size()) {
      fail("control falls off the end of the code");
      break;
    }
    const bool same_handler = state.blocks == blocks || handler_of(state) == handler;
    if (at_ != start && (leader_[at_] || !same_handler)) {
      go_on(at_, state);
      break;
    }
    blocks = state.blocks;
    if (!step(stream_.instrs[at_], state)) break;
  }
  DraftBlock& block = draft_.blocks[index];
  block.first = static_cast<uint32_t>(draft_.instrs.size());
  block.count = static_cast<uint32_t>(body_.size());
  draft_.instrs.insert(draft_.instrs.end(), body_.begin(), body_.end());
  block.exit = exit_;
}

void BlockStack::go_on(uint32_t at, const State& state) {
  exit_.kind = ExitKind::Goto;
  exit_.falls = true;
  exit_.next[0] = node(at, state);
  if (!body_.empty()) {
    exit_.instr = body_.back();
    return;
  }
  exit_.instr.op = Op::Jump;
  exit_.instr.offset = stream_.instrs[std::min<size_t>(at, stream_.instrs.size() - 1)].offset;
}

bool BlockStack::step(const Instr& instr, State& state) {
  if (const auto control = control_of(instr)) {
    transfer(instr, *control, state);
    return false;
  }
  if (instr.op == Op::SetupFinally) {
    // The constant that is loaded before a `try` whose finally body leaves in another way belongs
    // to no statement.
    const bool is_loaded = !body_.empty() && stream_.instrs[at_ - 1].op == Op::LoadConst;
    if (keep_ends_ && is_subroutine_[instr.a] && is_loaded) body_.back().b = kPlaceholder;
    push_block(kProtect, instr.a, state.depth, state);
  } else if (instr.op == Op::SetupWith) {
    const uint32_t level = state.depth;
    emit(Op::BeforeWith, 0, 1, state);
    push_block(kProtectWith, instr.a, level, state);
  } else if (instr.op == Op::SetupAsyncWith) {
    if (state.depth == 0) fail("stack underflow");
    push_block(kProtectWith, instr.a, state.depth - 1, state);
  } else if (instr.op == Op::PopBlock) {
    pop_block(state);
  } else if (instr.op == Op::PopExcept) {
    ordinary(instr, state);
    if (!leave_handler(chains_, state)) fail("POP_EXCEPT outside of a handler");
  } else if (instr.op == Op::EndAsyncFor) {
    const bool in_place =
        state.blocks != 0 && chains_[state.blocks].level + kExceptionSlots == state.depth;
    ordinary(instr, state);
    if (!leave_handler(chains_, state) || !in_place) fail("END_ASYNC_FOR outside of a handler");
  } else if (instr.op == Op::BeginFinally) {
    state.hidden = chains_.push(state.hidden, kNormal, 0, state.depth++);
  } else if (instr.op == Op::CallFinally) {
    calls_[block_] = at_ + 1;
    state.hidden = chains_.push(state.hidden, kReturn, at_ + 1, state.depth++);
    go_on(instr.a, state);
    return false;
  } else if (instr.op == Op::PopFinally) {
    pop_finally(instr, state);
  } else if (instr.op == Op::EndFinally) {
    return end_finally(state);
  } else if (instr.op == Op::WithCleanupStart) {
    with_cleanup_start(state);
  } else if (instr.op == Op::WithCleanupFinish) {
    return with_cleanup_finish(state);
  } else {
    ordinary(instr, state);
  }
  return true;
}

void BlockStack::transfer(const Instr& instr, const Control& control, State state) {
  exit_.kind = control.kind;
  exit_.jump = control.jump;
  exit_.instr = instr;
  require_handler_slots(instr, state);
  if (!solid(chains_, state, reach_of(instr))) return fail("stack underflow");
  const auto follow = [&](uint32_t at, int change) {
    State then = state;
    then.depth += static_cast<uint32_t>(change);
    return node(at, then);
  };
  if (control.falls) exit_.next[control.jump ^ 1u] = follow(at_ + 1, control.fall_depth);
  if (control.jumps) exit_.next[control.jump] = follow(instr.a, control.jump_depth);
  if (control.jumps && instr.a <= at_) exit_.interrupted[control.jump] = handler_of(state);
}

void BlockStack::ordinary(Instr instr, State& state) {
  if (instr.op == Op::Pop && draft_.marks_ends && jumps_next(stream_, at_)) {
    instr.a = kDroppedByJump;
  }
  if (state.hidden == 0) return emit(instr, state);
  if (instr.op == Op::Rot) return rotate(instr, state);
  if (instr.op == Op::Pop && hidden_at(chains_, state, state.depth - 1)) {
    state.hidden = chains_[state.hidden].parent;
    --state.depth;
    return;
  }
  // Hidden slots must not be touched, nor counted by a depth operand.
  const uint32_t need = reach_of(instr);
  const uint32_t pops = bytecode::effect_of(instr).pops;
  if (state.depth < need) return fail("stack underflow");
  const uint32_t all = hidden_below(chains_, state, state.depth);
  if (hidden_below(chains_, state, state.depth - pops) != all ||
      (need > pops && hidden_at(chains_, state, state.depth - need)))
    return fail("a finally return address is taken for a value");
  const uint32_t skipped = all - hidden_below(chains_, state, state.depth - need);
  if (skipped == 0) return emit(instr, state);
  const uint32_t a = instr.a;
  instr.a -= skipped;
  emit(instr, state);
  PELLUCID_CHECK(a > skipped);
}

void BlockStack::rotate(Instr instr, State& state) {
  const uint32_t count = instr.a;
  if (state.depth < count) return fail("stack underflow");
  const uint32_t base = state.depth - count;
  std::vector<Chains::Link> moved;
  for (; state.hidden != 0 && chains_[state.hidden].level >= base;
       state.hidden = chains_[state.hidden].parent)
    moved.push_back(chains_[state.hidden]);
  const bool top_moves = !moved.empty() && moved.front().level + 1 == state.depth;
  if (top_moves) {
    state.hidden = chains_.push(state.hidden, moved.front().kind, moved.front().value, base);
    moved.erase(moved.begin());
  }
  for (size_t i = moved.size(); i-- > 0;)
    state.hidden = chains_.push(state.hidden, moved[i].kind, moved[i].value, moved[i].level + 1);
  instr.a = count - static_cast<uint32_t>(moved.size());
  if (!top_moves && instr.a > 1) emit(instr, state);
}

void BlockStack::require_handler_slots(const Instr& instr, const State& state) {
  if (state.depth < level_ && bytecode::facts_of(instr.op).raises)
    fail("a handler keeps more slots than there are");
}

void BlockStack::emit(Instr instr, State& state) {
  require_handler_slots(instr, state);
  const bytecode::StackEffect effect = bytecode::effect_of(instr);
  const uint32_t visible = state.depth - hidden_below(chains_, state, state.depth);
  if (visible < std::max(effect.pops, reach_of(instr)) || !solid(chains_, state, effect.pops))
    return fail("stack underflow");
  state.depth = state.depth - effect.pops + effect.pushes;
  if (state.depth > kMaxDepth) return fail("stack overflow");
  body_.push_back(instr);
}

void BlockStack::emit(Op op, uint32_t a, uint32_t b, State& state) {
  Instr instr = stream_.instrs[at_];
  instr.op = op;
  instr.a = a;
  instr.b = b;
  emit(instr, state);
}

void BlockStack::push_block(BlockKind kind, uint32_t target, uint32_t level, State& state) {
  if (chains_[state.blocks].length == kMaxBlocks) return fail("too many nested blocks");
  state.blocks = chains_.push(state.blocks, kind, target, level);
}

void BlockStack::pop_block(State& state) {
  if (state.blocks == 0 || chains_[state.blocks].kind >= kHandling)
    return fail("POP_BLOCK without a block");
  // The `try` that ends here may have a body without code, such as `pass`.
  const bool is_empty = body_.empty() && chains_[state.blocks].kind == kProtect && at_ > 0 &&
                        stream_.instrs[at_ - 1].op == Op::SetupFinally;
  if (keep_ends_ && is_empty) {
    draft_.marks_empty_bodies = true;
    emit(Op::Marker, static_cast<uint32_t>(Marker::EmptyBody), 0, state);
  }
  state.blocks = chains_[state.blocks].parent;
}

Result<Draft> draft_from_block_stack(const object::Module& module, const bytecode::Stream& stream,
                                     bool keep_ends) {
  return BlockStack(module, stream, keep_ends).run();
}

}  // namespace pellucid::flow
