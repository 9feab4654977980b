// SPDX-License-Identifier: Apache-2.0
// 3.11+: visits every instruction once; the exception table gives its handler.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "bytecode/op_facts.h"
#include "flow/draft.h"
#include "flow/regions.h"

namespace pellucid::flow {
namespace {

constexpr uint32_t kNoOuter = kNoRegion - 1;

class ExceptionTable {
 public:
  ExceptionTable(const object::Module& module, const bytecode::Stream& stream, const Survey& survey,
                 bool fold);
  Result<Draft> run();
  // Returns true if the assumptions of folding hold; known after run().
  bool confirmed() const { return confirmed_; }

 private:
  struct State {
    uint32_t depth = 0;
    uint32_t saved = 0;  // the slots of the exceptions that PushExcInfo saved
    bool operator==(const State&) const = default;
  };

  struct Cover {
    uint32_t region = kNoRegion;
    bool is_known = true;  // else: the region, one around it, or none
  };

  uint32_t around_jump(uint32_t at) const;
  Cover cover_of(uint32_t at) const;
  void find_leaders();
  void find_entered(std::unordered_map<uint32_t, uint32_t>& entered_in) const;
  BlockId follow(uint32_t from_region, uint32_t target, const State& state);
  BlockId block_at(uint32_t at, const State& state);
  BlockId add_block(uint32_t at, const State& state);
  void agree(uint32_t at, BlockId block, const State& state);
  void walk(uint32_t index);
  void step(const Instr& instr, State& state);
  void transfer(uint32_t index, const Instr& instr, const Control& control, const State& state);
  void go_on(BlockId next, const Instr& last);
  void store_body(DraftBlock& block, uint32_t start, uint32_t end, uint32_t count);
  void protect(uint32_t index, uint32_t region, const State& state);
  bool has_outer(uint32_t at) const { return !outer_.empty() && outer_[at] != kNoOuter; }
  void confirm(const Folded& folded, const State& state);
  void restore(const Instr& instr, uint32_t region, const State& state);
  bool is_with(uint32_t at) const;
  void fail(const std::string& what);

  Regions code_;
  uint32_t size_;
  std::vector<uint8_t> leader_;  // by index: 1 where a block starts
  // For an instruction with a back edge from outside of its region: the region that holds both
  // ends. All edges from outside of the instruction's own region enter an empty block before it,
  // which heads the loop; the statement whose region starts there (`try`, `with`) is inside of the
  // loop. kNoOuter for all others; empty if there is no such instruction.
  std::vector<uint32_t> outer_;

  Draft draft_;
  Chains chains_;
  std::vector<State> states_;             // at the entry of each block
  std::vector<BlockId> plain_, outside_;  // by index of the first instruction (see outer_)
  std::map<std::pair<uint32_t, uint32_t>, HandlerId> handlers_;  // by region and saved exceptions
  // Exits whose Exit::interrupted is known once all handlers are.
  struct Interrupt {
    uint32_t block;
    uint8_t way;
    uint32_t region, saved;
  };
  std::vector<Interrupt> interrupts_;
  std::optional<Error> error_;
  bool confirmed_ = true;

  uint32_t at_ = 0;  // the instruction that is being run
  Exit exit_;        // of the block that is being walked
};

ExceptionTable::ExceptionTable(const object::Module& module, const bytecode::Stream& stream,
                               const Survey& survey, bool fold)
    : code_(regions_of(module, stream, survey, fold)),
      size_(static_cast<uint32_t>(stream.instrs.size())),
      leader_(size_ + 1, 0),
      plain_(size_) {
  draft_.code = stream.code;
  draft_.wraps_stop_iteration = code_.wraps_stop_iteration;
  draft_.parted = code_.parted;
  draft_.stream = stream.instrs;
  find_leaders();
}

// Returns the innermost region that protects both the code before and the code after an unprotected
// jump. Compilers (3.12+) leave those unprotected that they add last, in the middle of a region.
uint32_t ExceptionTable::around_jump(uint32_t at) const {
  const auto is_bare = [&](uint32_t i) {
    return code_.gone[i] || (code_.cover[i] == kNoRegion && transfers_control(code_.instrs[i].op));
  };
  uint32_t before = at, last = at;
  constexpr uint32_t kFew = 8;  // in a row
  while (before > 0 && at - before < kFew && is_bare(before)) --before;
  while (last + 1 < size_ && last - at < kFew && is_bare(last)) ++last;
  return code_.common(code_.cover[before], code_.cover[last]);
}

// Returns the region of an instruction. An unprotected jump was either added last, or leaves a
// `try`. If the regions are nested it was added last, since the outer region would protect a jump
// out of the inner one; else it is not known.
ExceptionTable::Cover ExceptionTable::cover_of(uint32_t at) const {
  if (code_.cover[at] != kNoRegion || bytecode::facts_of(code_.instrs[at].op).raises) {
    return {code_.cover[at], true};
  }
  const uint32_t around = around_jump(at);
  const bool is_nested = around != kNoRegion && code_.regions[around].parent != kNoRegion;
  return {around, around == kNoRegion || is_nested};
}

void ExceptionTable::find_leaders() {
  for (const Region& region : code_.regions) leader_[code_.live(region.target)] = 1;
  struct Back {
    uint32_t target;
    Cover cover;
  };
  std::vector<Back> back;
  std::unordered_map<uint32_t, uint32_t> entered_in;  // the region of all other edges to a target
  size_t jumps = 0;
  for (uint32_t i = 0; i < size_; ++i) {
    const Instr& instr = code_.instrs[i];
    if (!bytecode::has_target(instr.op) || code_.gone[i]) continue;
    ++jumps;
    const uint32_t target = code_.live(instr.a);
    leader_[target] = 1;
    if (target > i || code_.cover[target] == kNoRegion) continue;
    back.push_back({target, cover_of(i)});
    if (!back.back().cover.is_known) entered_in.try_emplace(target, kUnknownRegion);
  }
  // A jump leads to a block, and another one follows it.
  draft_.blocks.reserve(2 * jumps + code_.regions.size() + 1);
  states_.reserve(draft_.blocks.capacity());
  if (!entered_in.empty()) find_entered(entered_in);
  for (const auto& [target, cover] : back) {
    uint32_t from = cover.region;
    if (!cover.is_known) {
      const uint32_t entered = entered_in[target];
      const bool is_within = entered != kUnknownRegion && code_.common(entered, from) == from;
      if (!is_within) from = kNoRegion;
    }
    const uint32_t both = code_.common(from, code_.cover[target]);
    if (both == code_.cover[target]) continue;
    if (outer_.empty()) {
      outer_.assign(size_, kNoOuter);
      outside_.resize(size_);
    }
    outer_[target] = has_outer(target) ? code_.common(outer_[target], both) : both;
  }
}

// Sets, for each target, the innermost region that holds all edges to it whose region is known.
void ExceptionTable::find_entered(std::unordered_map<uint32_t, uint32_t>& entered_in) const {
  const auto comes = [&](uint32_t from, uint32_t target) {
    const auto found = entered_in.find(target);
    if (found == entered_in.end()) return;
    const Cover cover = cover_of(from);
    if (!cover.is_known) return;
    uint32_t& known = found->second;
    known = known == kUnknownRegion ? cover.region : code_.common(known, cover.region);
  };
  for (uint32_t i = 0; i < size_; ++i) {
    if (code_.gone[i]) continue;
    const auto control = control_of(code_.instrs[i]);
    if (!control || control->falls) comes(i, code_.live(i + 1));
    if (control && control->jumps) comes(i, code_.live(code_.instrs[i].a));
  }
}

Result<Draft> ExceptionTable::run() {
  follow(kNoRegion, 0, State());
  for (uint32_t i = 0; i < draft_.blocks.size() && !error_; ++i) walk(i);
  if (error_) return *error_;
  for (const Interrupt& it : interrupts_) {
    const auto found = handlers_.find({it.region, it.saved});
    draft_.blocks[it.block].exit.interrupted[it.way] =
        found == handlers_.end() ? kUnknownHandler : found->second;
  }
  draft_.instrs = std::move(code_.instrs);
  return std::move(draft_);
}

void ExceptionTable::fail(const std::string& what) {
  if (error_) return;
  const uint32_t offset = size_ == 0 ? 0 : draft_.stream[std::min(at_, size_ - 1)].offset;
  error_ =
      Error{ErrorCode::Malformed, offset, "flow: " + what + " at offset " + std::to_string(offset)};
}

BlockId ExceptionTable::follow(uint32_t from_region, uint32_t target, const State& state) {
  const uint32_t at = code_.live(target);
  if (at >= size_) {
    fail("control falls off the end of the code");
    return BlockId();
  }
  const uint32_t region = code_.cover[at];
  if (!has_outer(at) || code_.common(from_region, region) == region) return block_at(at, state);
  BlockId& outside = outside_[at];
  if (outside.valid()) {
    agree(at, outside, state);
    return outside;
  }
  outside = add_block(at, state);
  draft_.blocks[outside.index()].rank = 0;
  const BlockId result = outside;
  const BlockId inside = block_at(at, state);
  DraftBlock& block = draft_.blocks[result.index()];
  block.exit.falls = true;
  block.exit.next[0] = inside;
  block.exit.instr.op = Op::Jump;
  block.exit.instr.offset = draft_.stream[at].offset;
  protect(result.value, outer_[at], state);
  return result;
}

BlockId ExceptionTable::block_at(uint32_t at, const State& state) {
  BlockId& block = plain_[at];
  if (block.valid())
    agree(at, block, state);
  else
    block = add_block(at, state);
  return block;
}

BlockId ExceptionTable::add_block(uint32_t at, const State& state) {
  DraftBlock& block = draft_.blocks.emplace_back();
  block.at = at;
  block.depth = state.depth;
  block.exc_depth = chains_[state.saved].length;
  states_.push_back(state);
  return BlockId(draft_.blocks.size() - 1);
}

void ExceptionTable::agree(uint32_t at, BlockId block, const State& state) {
  const State& other = states_[block.index()];
  if (other == state) return;
  at_ = at;
  if (other.depth != state.depth)
    fail("two ways in disagree about the stack (" + std::to_string(other.depth) + " and " +
         std::to_string(state.depth) + " slots)");
  else
    fail("two ways in disagree about the exceptions that are being handled");
}

void ExceptionTable::walk(uint32_t index) {
  const uint32_t start = draft_.blocks[index].at;
  if (plain_[start] != BlockId(index)) return;  // an empty block before a loop: done when made
  const uint32_t region = code_.cover[start];
  State state = states_[index];
  bool protects = region != kNoRegion;
  uint32_t last = start;  // instruction of the body
  uint32_t count = 0;     // of these
  exit_ = Exit();
  // No handler gets anything, and nothing is to be confirmed.
  const bool is_bare = region == kNoRegion && code_.folded.empty();
  for (at_ = start; !error_; ++at_) {
    if (at_ >= size_) {
      fail("control falls off the end of the code");
      break;
    }
    if (code_.gone[at_]) continue;
    if (at_ != start && (leader_[at_] || code_.cover[at_] != region)) {
      go_on(follow(region, at_, state), code_.instrs[last]);
      break;
    }
    const Instr& instr = code_.instrs[at_];
    if (is_bare && state.saved == 0 && is_simple(instr) && run_simple(instr, state.depth)) {
      last = at_;
      ++count;
      continue;
    }
    if (!code_.folded.empty()) confirm(code_.folded[at_], state);
    if (state.saved != 0) restore(instr, region, state);
    // The handler gets the stack of an instruction that can raise.
    if (region != kNoRegion && bytecode::facts_of(instr.op).raises) {
      if (state.depth < code_.regions[region].depth)
        fail("a handler keeps more slots than there are");
      else if (protects)
        protect(index, region, state);
      protects = false;
    }
    if (transfers_control(instr.op)) {
      transfer(index, instr, *control_of(instr), state);
      break;
    }
    step(instr, state);
    last = at_;
    ++count;
  }
  if (protects && !error_) protect(index, region, state);
  DraftBlock& block = draft_.blocks[index];
  store_body(block, start, last + 1, count);
  block.exit = exit_;
}

// Stores which instructions a block has: `count` of those in a range, without those that are gone.
// A range with gaps is copied to the end, beyond the instructions that are still to be walked.
void ExceptionTable::store_body(DraftBlock& block, uint32_t start, uint32_t end, uint32_t count) {
  block.first = start;
  block.count = count;
  if (count == 0 || count == end - start) return;
  block.first = static_cast<uint32_t>(code_.instrs.size());
  for (uint32_t at = start; at < end; ++at) {
    if (code_.gone[at]) continue;
    const Instr instr = code_.instrs[at];
    code_.instrs.push_back(instr);
  }
}

void ExceptionTable::go_on(BlockId next, const Instr& last) {
  exit_.kind = ExitKind::Goto;
  exit_.falls = true;
  exit_.next[0] = next;
  exit_.instr = last;
}

void ExceptionTable::step(const Instr& instr, State& state) {
  const bytecode::StackEffect effect = bytecode::effect_of(instr);
  if (state.depth < reach_of(instr, effect.pops)) return fail("stack underflow");
  if (instr.op == Op::PushExcInfo) {
    state.saved = chains_.push(state.saved, 0, 0, state.depth - 1);
  } else if (instr.op == Op::PopExcept) {
    if (state.saved == 0) return fail("POP_EXCEPT outside of a handler");
    state.saved = chains_[state.saved].parent;
  }
  state.depth = state.depth - effect.pops + effect.pushes;
  if (state.depth > kMaxDepth) return fail("stack overflow");
}

void ExceptionTable::transfer(uint32_t index, const Instr& instr, const Control& control,
                              const State& state) {
  exit_.kind = control.kind;
  exit_.jump = control.jump;
  exit_.instr = instr;
  if (state.depth < reach_of(instr)) return fail("stack underflow");
  const auto way = [&](uint32_t target, int change) {
    State then = state;
    then.depth += static_cast<uint32_t>(change);
    return follow(code_.cover[at_], target, then);
  };
  if (control.falls) exit_.next[control.jump ^ 1u] = way(at_ + 1, control.fall_depth);
  if (control.jumps) exit_.next[control.jump] = way(instr.a, control.jump_depth);
  if (!control.jumps || instr.a > at_) return;
  exit_.interrupted[control.jump] = HandlerId();
  const auto found = code_.interrupts.find(at_);
  if (found == code_.interrupts.end() || found->second == kNoRegion) return;
  const uint32_t region = found->second;
  const uint32_t kept = region == kUnknownRegion ? 0 : code_.regions[region].depth;
  interrupts_.push_back({index, control.jump, region, chains_.cut(state.saved, kept)});
}

void ExceptionTable::protect(uint32_t index, uint32_t region, const State& state) {
  if (region == kNoRegion || state.depth < code_.regions[region].depth) return;
  const Region& it = code_.regions[region];
  State entry;
  entry.depth = it.depth + (it.lasti ? 2 : 1);
  entry.saved = chains_.cut(state.saved, it.depth);
  HandlerId& id = handlers_[{region, entry.saved}];
  if (!id.valid()) {
    id = HandlerId(draft_.handlers.size());
    Handler handler;
    const uint32_t at = code_.live(it.target);
    if (at >= size_) return fail("control falls off the end of the code");
    handler.entry = block_at(at, entry);
    handler.depth = it.depth;
    handler.lasti = it.lasti;
    handler.pushes = it.lasti ? 2 : 1;
    handler.is_with = is_with(at);
    handler.exc_depth = chains_[entry.saved].length;
    draft_.handlers.push_back(handler);
  }
  draft_.blocks[index].handler = id;
}

bool ExceptionTable::is_with(uint32_t at) const {
  return at + 1 < size_ && code_.instrs[at].op == Op::PushExcInfo &&
         code_.instrs[at + 1].op == Op::WithExceptStart;
}

// Records the first instruction, among those that run in a handler, from which an exception leaves
// it without its exception state being restored: the folded handlers restored fewer exceptions than
// are no longer handled.
void ExceptionTable::restore(const Instr& instr, uint32_t region, const State& state) {
  if (draft_.unrestored || !bytecode::facts_of(instr.op).raises) return;
  const bool is_lost = instr.b == kLostTest && instr.op != Op::Reraise && instr.op != Op::Raise &&
                       instr.op != Op::Send && instr.op != Op::ForIter && control_of(instr);
  if (is_lost) return;
  const uint32_t kept = region == kNoRegion
                            ? 0
                            : chains_[chains_.cut(state.saved, code_.regions[region].depth)].length;
  const uint32_t restores = code_.folded.empty() ? 0 : code_.folded[at_].restores;
  if (chains_[state.saved].length - kept > restores) draft_.unrestored = instr.offset;
}

void ExceptionTable::confirm(const Folded& folded, const State& state) {
  confirmed_ &= folded.depth_at == kAnything || folded.depth_at == state.depth;
  const uint32_t slot = folded.saved_at;
  if (slot == kAnything) return;
  const uint32_t saved = chains_.cut(state.saved, slot + 1);
  confirmed_ &= saved != 0 && chains_[saved].level == slot;
}

}  // namespace

Result<Draft> draft_from_exception_table(const object::Module& module,
                                         const bytecode::Stream& stream, const Survey& survey) {
  ExceptionTable folded(module, stream, survey, true);
  Result<Draft> draft = folded.run();
  if (folded.confirmed()) return draft;
  return ExceptionTable(module, stream, survey, false).run();
}

}  // namespace pellucid::flow
