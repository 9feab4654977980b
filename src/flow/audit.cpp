// SPDX-License-Identifier: Apache-2.0
#include "flow/audit.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/op_facts.h"
#include "bytecode/traits.h"
#include "flow/order.h"
#include "flow/shared_bits.h"

namespace pellucid::flow {
namespace {

using bytecode::Breach;
using bytecode::Mark;
using object::LocalKind;

enum class What : uint8_t {
  Value,     // an object; `of`: 1 + the local that it is borrowed from, 0: not borrowed
  Null,      // as PUSH_NULL pushes it
  Callee,    // the lower slot that LoadMethod pushes; `of` identifies which
  Receiver,  // the upper slot
  Saved,     // saved by LoadFastAndClear; `of`: 1 if it is certainly an object or a cell
  Previous,  // the exception that was being handled before
  Lasti,     // where the exception was raised
};

struct Slot {
  What what = What::Value;
  uint32_t of = 0;
  bool operator==(const Slot&) const = default;
};

// The known state whenever control enters a block.
struct State {
  bool is_known = false;
  std::vector<Slot> stack;
  SharedBits::Set unbound = 0;  // by slot of the frame: may be empty, or have no cell
  SharedBits::Set lent = 0;     // by slot of the frame: an inlined comprehension has a local in it
};

// Returns what is known of a slot that has either content.
Slot either(const Slot& x, const Slot& y) {
  if (x == y) return x;
  if (x.what == What::Value && y.what == What::Value) return {What::Value, std::max(x.of, y.of)};
  if (x.what == What::Saved && y.what == What::Saved) return {What::Saved, 0};
  // An object on one path and another kind of slot on the other merge to that kind, so that no
  // rule is skipped.
  if (x.what == What::Value) return y;
  return x;
}

class Audit {
 public:
  Audit(const object::Module& module, const bytecode::Stream& stream, const Graph& graph)
      : code_(module[stream.code]),
        stream_(stream),
        graph_(graph),
        traits_(bytecode::traits_of(code_.version)),
        order_(edges_of(graph, EdgeSet::WithHandlers)),
        minor_(code_.version.minor),
        bits_(code_.localsplus.size()) {}

  std::optional<Breach> run() {
    if (graph_.unrestored) say("an exception is left as being handled", *graph_.unrestored);
    begin();
    // In reverse postorder, so that a block comes after all its predecessors except those of back
    // edges.
    while (next_ < is_open_.size() && !found_) {
      const uint32_t at = next_++;
      if (std::exchange(is_open_[at], uint8_t{0}) == 0) continue;
      const BlockId block = order_.blocks[at];
      running_ = states_[block.index()];
      bits_.freeze();
      walk(graph_[block], running_);
    }
    return found_;
  }

 private:
  void say(std::string what, uint32_t offset) {
    if (!found_) found_ = Breach{std::move(what), offset};
  }
  void hold(bool holds, const char* what, const Instr& instr) {
    if (holds) return;
    say(std::string(bytecode::name_of(instr.op)) + ": " + what, instr.offset);
  }

  void set_unbound(State& state, uint32_t place, bool is) {
    state.unbound = bits_.with(state.unbound, place, is);
  }
  void set_lent(State& state, uint32_t place, bool is) {
    state.lent = bits_.with(state.lent, place, is);
  }
  bool is_unbound(const State& state, uint32_t place) const {
    return bits_.has(state.unbound, place);
  }
  bool is_lent(const State& state, uint32_t place) const { return bits_.has(state.lent, place); }

  // -- the frame ------------------------------------------------------------------------------
  void begin() {
    for (uint32_t i = 0; i < code_.localsplus.size(); ++i) {
      const LocalKind kind = code_.localspluskinds[i];
      const bool is_local = kind == LocalKind::Local || kind == LocalKind::Hidden;
      (is_local ? locals_ : cells_).emplace_back(code_.localsplus[i].value, i);
    }
    for (auto* places : {&locals_, &cells_}) std::sort(places->begin(), places->end());
    State entry;
    entry.is_known = true;
    entry.unbound = entry.lent = bits_.none();
    const size_t parameters = object::parameter_count(code_);
    for (uint32_t i = 0; i < code_.localsplus.size(); ++i) {
      const LocalKind kind = code_.localspluskinds[i];
      const bool is_cell = kind == LocalKind::Cell || kind == LocalKind::CellLocal;
      const bool is_bound = kind == LocalKind::Free || (!is_cell && i < parameters);
      set_unbound(entry, i, minor_ >= 11 && !is_bound);
    }
    make_first_cells(entry);
    // super() without arguments takes the first argument from its cell.
    if (parameters > 0 && minor_ >= 11 && is_unbound(entry, 0)) {
      say("the cell of the first argument is not made", 0);
    }
    states_.resize(graph_.blocks.size());
    states_[0] = std::move(entry);
    is_open_.assign(order_.blocks.size(), 0);
    is_open_[0] = 1;
  }

  // Makes the cells of the prologue, whose instructions have no canonical form.
  void make_first_cells(State& entry) {
    if (minor_ < 11) return;
    std::vector<bool> is_told;  // by raw instruction
    for (size_t i = 0; i < stream_.raw.size(); ++i) {
      const bytecode::RawInstr& instr = stream_.raw[i];
      if (traits_[instr.opcode].mark != Mark::MakeCell) continue;
      if (is_told.empty()) {
        is_told.resize(stream_.raw.size());
        for (const Instr& told : stream_.instrs) is_told[told.raw] = true;
      }
      if (!is_told[i] && instr.arg < code_.localsplus.size()) set_unbound(entry, instr.arg, false);
    }
  }

  bool is_cell(uint32_t place) const {
    const LocalKind kind = code_.localspluskinds[place];
    return kind != LocalKind::Local && kind != LocalKind::Hidden;
  }
  std::optional<uint32_t> place_of(const Instr& instr) const {
    const bool is_cell = bytecode::facts_of(instr.op).operand == bytecode::Operand::Cell;
    for (const auto* places : {is_cell ? &cells_ : &locals_, is_cell ? &locals_ : &cells_}) {
      const auto found = std::lower_bound(places->begin(), places->end(), Place{instr.a, 0});
      if (found != places->end() && found->first == instr.a) return found->second;
    }
    return std::nullopt;
  }

  // -- joins ----------------------------------------------------------------------------------
  void meet(BlockId block, const State& state, size_t keep, const std::vector<Slot>& pushed = {}) {
    bits_.freeze();
    State& entry = states_[block.index()];
    bool changes = !entry.is_known;
    if (changes) {
      entry.is_known = true;
      entry.unbound = state.unbound;
      entry.lent = state.lent;
      entry.stack.assign(state.stack.begin(), state.stack.begin() + static_cast<ptrdiff_t>(keep));
      entry.stack.insert(entry.stack.end(), pushed.begin(), pushed.end());
    } else {
      // (The union is the set that was there if that has all of the other.)
      const SharedBits::Set unbound = bits_.either(entry.unbound, state.unbound);
      const SharedBits::Set lent = bits_.either(entry.lent, state.lent);
      changes = unbound != entry.unbound || lent != entry.lent;
      entry.unbound = unbound;
      entry.lent = lent;
      for (size_t i = 0; i < entry.stack.size(); ++i) {
        const Slot& now = i < keep ? state.stack[i] : pushed[i - keep];
        const Slot both = either(entry.stack[i], now);
        // (Two rules may exclude each other: then the first stays.)
        changes = changes || (both != entry.stack[i] && entry.stack[i].what == What::Value) ||
                  (both.what == What::Saved && both != entry.stack[i]);
        entry.stack[i] = both;
      }
    }
    if (!changes) return;
    const uint32_t number = order_.number[block.index()];
    is_open_[number] = 1;
    next_ = std::min(next_, number);
  }

  // -- one block ------------------------------------------------------------------------------
  void walk(const Block& block, State& state) {
    exceptions_ = block.exc_depth;
    bool is_told = false;  // the handler has been given this state
    for (uint32_t i = block.first; i < block.first + block.count && !found_; ++i) {
      const Instr& instr = graph_.instrs[i];
      if (bytecode::facts_of(instr.op).raises && !is_told) {
        tell_handler(block, state);
        is_told = true;
      }
      if (one(instr, state)) is_told = false;
      const bool is_last = i + 1 == block.first + block.count;
      const Instr& next = is_last ? block.exit.instr : graph_.instrs[i + 1];
      const bool ends_raw = next.raw != instr.raw || (is_last && block.exit.kind == ExitKind::Goto);
      if (ends_raw && !has_room(instr, state.stack.size())) {
        say("the stack is too small", instr.offset);
      }
    }
    if (found_) return;
    const bool exit_raises =
        block.exit.kind != ExitKind::Goto && bytecode::facts_of(block.exit.instr.op).raises;
    if (exit_raises && !is_told) tell_handler(block, state);
    leave(block, state);
  }

  Mark mark_of(const Instr& instr) const { return traits_[stream_.raw[instr.raw].opcode].mark; }

  // In 3.11 and 3.12 the names of a call take no slot.
  bool has_room(const Instr& instr, size_t slots) const {
    if (slots <= code_.stacksize) return true;
    return slots == size_t{code_.stacksize} + 1 && mark_of(instr) == Mark::KwNames;
  }

  void tell_handler(const Block& block, const State& state) {
    if (!block.handler.valid()) return;
    const Handler& handler = graph_[block.handler];
    if (state.stack.size() < handler.depth) return;
    std::vector<Slot> pushed(handler.pushes);
    if (handler.pushes == 6) std::fill_n(pushed.begin(), 3, Slot{What::Previous, 0});
    if (handler.lasti && handler.pushes == 2) pushed[0] = {What::Lasti, 0};
    meet(handler.entry, state, handler.depth, pushed);
  }

  void leave(const Block& block, State& state) {
    const Exit& exit = block.exit;
    std::vector<Slot>& stack = state.stack;
    switch (exit.kind) {
      case ExitKind::Goto:
        break;
      case ExitKind::Branch:
      case ExitKind::BranchNone:
        take(exit.instr, state, 1);
        break;
      case ExitKind::ForIter: {
        meet(exit.next[1], state, stack.size() - 1 - exit.instr.b);
        stack.push_back({});
        meet(exit.next[0], state, stack.size());
        return;
      }
      case ExitKind::Send: {
        const std::vector<Slot> one(1);
        meet(exit.next[0], state, stack.size() - 1, one);
        meet(exit.next[1], state, stack.size() - (exit.instr.b == 1 ? 2 : 1), one);
        return;
      }
      case ExitKind::Return:
        take(exit.instr, state, 1);
        hold(exceptions_ == 0, "while an exception is being handled", exit.instr);
        return;
      case ExitKind::Raise:
        take(exit.instr, state, exit.instr.a);
        return;
      case ExitKind::Reraise:
        reraise(exit.instr, state);
        return;
    }
    for (const BlockId next : exit.next) {
      if (next.valid()) meet(next, state, stack.size());
    }
  }

  void reraise(const Instr& instr, State& state) {
    const std::vector<Slot>& stack = state.stack;
    if (instr.b != 0) {
      const bool is_there = instr.b <= stack.size();
      hold(is_there && stack[stack.size() - instr.b].what == What::Lasti,
           "no place where it was raised", instr);
    }
    take(instr, state, instr.a);
  }

  // Pops objects.
  void take(const Instr& instr, State& state, uint32_t count) {
    for (uint32_t i = 0; i < count && !state.stack.empty(); ++i) {
      const What what = state.stack.back().what;
      hold(what == What::Value || what == What::Lasti, "of what is no object", instr);
      state.stack.pop_back();
    }
  }

  // -- one instruction ------------------------------------------------------------------------
  // Returns true if the instruction changes the state that a handler sees.
  bool one(const Instr& instr, State& state) {
    std::vector<Slot>& stack = state.stack;
    switch (instr.op) {
      case Op::Copy: {
        const Slot copied = stack[stack.size() - instr.a];
        hold(copied.what == What::Value || copied.what == What::Lasti, "of what is no object",
             instr);
        stack.push_back(copied);
        return true;
      }
      case Op::Swap:
        std::swap(stack.back(), stack[stack.size() - instr.a]);
        return true;
      case Op::Rot: {
        const Slot top = stack.back();
        stack.pop_back();
        stack.insert(stack.end() - (instr.a - 1), top);
        return true;
      }
      case Op::Pop: {
        // In 3.15 an iterator has a NULL slot above it.
        const What what = stack.back().what;
        hold(what == What::Value || what == What::Lasti || (minor_ >= 15 && what == What::Null),
             "of what is no object", instr);
        stack.pop_back();
        return false;
      }
      case Op::PushNull:
        stack.push_back({What::Null, 0});
        return false;
      case Op::LoadMethod:
        take(instr, state, 1);
        stack.push_back({What::Callee, instr.offset + 1});
        stack.push_back({What::Receiver, instr.offset + 1});
        return false;
      case Op::Call:
      case Op::CallKw:
        take(instr, state, instr.a + (instr.op == Op::CallKw ? 1 : 0));
        call(instr, state);
        return false;
      case Op::CallEx:
        if ((instr.a & 1) != 0 && minor_ >= 14 && stack.back().what == What::Null) {
          stack.pop_back();
          take(instr, state, 1);
        } else {
          take(instr, state, 1 + (instr.a & 1));
        }
        call(instr, state);
        return false;
      case Op::PushExcInfo:
        take(instr, state, 1);
        stack.push_back({What::Previous, 0});
        stack.push_back({});
        ++exceptions_;
        return false;
      case Op::PopExcept:
        pop_except(instr, state);
        return false;
      case Op::EndAsyncFor:
        if (instr.a == 7 && exceptions_ > 0) --exceptions_;
        stack.resize(stack.size() - instr.a);
        return false;
      default:
        break;
    }
    const bytecode::Operand operand = bytecode::facts_of(instr.op).operand;
    if (operand == bytecode::Operand::Local || operand == bytecode::Operand::Cell) {
      return variable(instr, state);
    }
    const bytecode::StackEffect effect = bytecode::effect_of(instr);
    take(instr, state, effect.pops);
    stack.resize(stack.size() + effect.pushes);
    return false;
  }

  // Pops the callee and the slot beside it (NULL, or the receiver of a method), and pushes the
  // result.
  void call(const Instr& instr, State& state) {
    std::vector<Slot>& stack = state.stack;
    if (instr.b == 1) {
      take(instr, state, 1);
      stack.push_back({});
      return;
    }
    const Slot upper = stack.back();
    const Slot lower = stack[stack.size() - 2];
    stack.resize(stack.size() - 2);
    stack.push_back({});
    // CALL_FUNCTION_EX calls the one and ignores the other.
    const bool takes_receiver = instr.op != Op::CallEx;
    const bool is_method =
        takes_receiver && lower.what == What::Callee && upper == Slot{What::Receiver, lower.of};
    const Slot& free = minor_ >= 13 ? upper : lower;
    const Slot& called = minor_ >= 13 ? lower : upper;
    const bool is_function =
        called.what == What::Value &&
        (free.what == What::Null || (takes_receiver && free.what == What::Value));
    hold(is_method || is_function, "of what is no function", instr);
  }

  void pop_except(const Instr& instr, State& state) {
    for (uint32_t i = 0; i < instr.a && !state.stack.empty(); ++i) {
      hold(state.stack.back().what == What::Previous, "of what was not saved", instr);
      state.stack.pop_back();
    }
    if (exceptions_ > 0) --exceptions_;
  }

  // -- variables ------------------------------------------------------------------------------
  bool variable(const Instr& instr, State& state) {
    const auto place = place_of(instr);
    std::vector<Slot>& stack = state.stack;
    const bytecode::StackEffect effect = bytecode::effect_of(instr);
    if (!place || minor_ < 11) {
      take(instr, state, effect.pops);
      stack.resize(stack.size() + effect.pushes);
      return false;
    }
    switch (instr.op) {
      case Op::LoadFast:
        return load(instr, state, *place);
      case Op::LoadFastAndClear:
        not_borrowed(instr, state);
        stack.push_back({What::Saved, is_unbound(state, *place) ? 0u : 1u});
        set_unbound(state, *place, true);
        set_lent(state, *place, true);
        return true;
      case Op::StoreFast:
        store(instr, state, *place);
        return true;
      case Op::DeleteFast:
        not_borrowed(instr, state);
        set_unbound(state, *place, true);
        return true;
      case Op::MakeCell:
        hold(is_unbound(state, *place) || is_lent(state, *place), "the cell is there", instr);
        set_unbound(state, *place, false);
        return true;
      default:  // operations on a cell
        hold(!is_unbound(state, *place) || !is_cell(*place), "the cell is not made yet", instr);
        // A slot that an inlined comprehension has borrowed is loaded from by LoadFast.
        hold(mark_of(instr) != Mark::LoadFastCheck, "the local is a cell", instr);
        take(instr, state, effect.pops);
        stack.resize(stack.size() + effect.pushes);
        return false;
    }
  }

  bool load(const Instr& instr, State& state, uint32_t place) {
    const Mark mark = mark_of(instr);
    const bool checks = minor_ < 12 || mark == Mark::LoadFastCheck;
    const bool was_unbound = is_unbound(state, place);
    hold(checks || !was_unbound || is_cell(place), "the local may be unbound", instr);
    hold(mark != Mark::LoadFastCheck || !is_cell(place) || is_lent(state, place),
         "the local is a cell", instr);
    const bool borrows = mark == Mark::LoadFastBorrow || mark == Mark::LoadFastBorrowLoadFastBorrow;
    state.stack.push_back({What::Value, borrows ? instr.a + 1 : 0});
    // If the load succeeds, the local is bound.
    if (was_unbound && !is_cell(place)) set_unbound(state, place, false);
    return was_unbound;
  }

  void store(const Instr& instr, State& state, uint32_t place) {
    const Slot value = state.stack.back();
    state.stack.pop_back();
    not_borrowed(instr, state);
    if (value.what == What::Saved) {
      set_unbound(state, place, value.of == 0);
      set_lent(state, place, false);
      return;
    }
    hold(value.what == What::Value || value.what == What::Lasti, "of what is no object", instr);
    hold(value.of == 0, "of what is borrowed", instr);
    hold(!is_cell(place) || is_lent(state, place), "in the place of a cell", instr);
    set_unbound(state, place, false);
  }

  // Requires that no stack slot borrows from the local, which has to keep the value meanwhile.
  void not_borrowed(const Instr& instr, const State& state) {
    if (minor_ < 14) return;
    const Slot borrowed{What::Value, instr.a + 1};
    hold(std::find(state.stack.begin(), state.stack.end(), borrowed) == state.stack.end(),
         "the local is borrowed", instr);
  }

  const object::Code& code_;
  const bytecode::Stream& stream_;
  const Graph& graph_;
  const bytecode::TraitsTable& traits_;
  const Order order_;
  int minor_;
  SharedBits bits_;                             // of the slots of the frame
  using Place = std::pair<uint32_t, uint32_t>;  // a symbol and its slot
  std::vector<Place> locals_, cells_;           // sorted
  std::vector<State> states_;                   // at the entry of each block
  State running_;                               // in the block that is walked
  std::vector<uint8_t> is_open_;                // by number in the order: 1 if it is to be walked
  uint32_t next_ = 0;                           // no block before it is
  uint32_t exceptions_ = 0;
  std::optional<Breach> found_;
};

}  // namespace

std::optional<Breach> audit(const object::Module& module, const bytecode::Stream& stream,
                            const Graph& graph) {
  return Audit(module, stream, graph).run();
}

}  // namespace pellucid::flow
