// SPDX-License-Identifier: Apache-2.0
#include "flow/audit.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/op_facts.h"
#include "bytecode/traits.h"
#include "flow/audit_stack.h"
#include "flow/frame_slots.h"
#include "flow/kept_slots.h"
#include "flow/order.h"
#include "flow/shared_bits.h"

namespace pellucid::flow {
namespace {

using bytecode::Breach;
using bytecode::Mark;
using object::LocalKind;

// The known state whenever control enters a block.
struct State {
  bool is_known = false;
  std::vector<Slot> stack;
  SharedBits::Set unbound = 0;  // by slot of the frame: may be empty, or have no cell
  SharedBits::Set lent = 0;     // by slot of the frame: an inlined comprehension has a local in it
};

class Audit {
 public:
  Audit(const object::Module& module, const bytecode::Stream& stream, const Graph& graph)
      : code_(module[stream.code]),
        stream_(stream),
        graph_(graph),
        traits_(bytecode::traits_of(code_.version)),
        is_straight_(graph.blocks.size() == 1 && graph.handlers.empty() &&
                     !graph.blocks[0].exit.next[0].valid() &&
                     !graph.blocks[0].exit.next[1].valid()),
        order_(is_straight_ ? Order() : Order(graph)),
        minor_(code_.version.minor),
        bits_(code_.localsplus.size()),
        slots_(code_),
        stack_(minor_ >= 14 ? code_.localsplus.size() : 0, code_.stacksize) {}

  std::optional<Breach> run(bool is_generated) {
    if (graph_.unrestored) say("an exception is left as being handled", *graph_.unrestored);
    if (graph_.parted) say(std::string(bytecode::kPartsWhole), *graph_.parted);
    if (!found_) found_ = takes_kept_slot(graph_, is_generated);
    begin();
    if (is_straight_ && !found_) walk(graph_[BlockId(0u)]);
    if (is_straight_) return found_;
    states_.resize(graph_.blocks.size());
    is_open_.resize(order_.blocks.size());
    meet(BlockId(0u), {});
    // In reverse postorder: a block comes after all its predecessors but those of back edges.
    while (!open_.empty() && !found_) {
      const uint32_t at = open_.top();
      open_.pop();
      is_open_[at] = false;
      const BlockId block = order_.blocks[at];
      const State& entry = states_[block.index()];
      stack_.assign(entry.stack);
      unbound_ = entry.unbound;
      lent_ = entry.lent;
      bits_.freeze();
      walk(graph_[block]);
    }
    return found_;
  }

 private:
  void say(std::string what, uint32_t offset) {
    if (!found_) found_ = Breach{std::move(what), offset};
  }
  void say_of(const Instr& instr, const char* what) {
    say(std::string(bytecode::name_of(instr.op)) + ": " + what, instr.offset);
  }
  void hold(bool holds, const char* what, const Instr& instr) {
    if (!holds) say_of(instr, what);
  }

  void set_unbound(uint32_t place, bool is) { unbound_ = bits_.with(unbound_, place, is); }
  void set_lent(uint32_t place, bool is) { lent_ = bits_.with(lent_, place, is); }
  bool is_unbound(uint32_t place) const { return bits_.has(unbound_, place); }
  bool is_lent(uint32_t place) const { return bits_.has(lent_, place); }

  // -- the frame ------------------------------------------------------------------------------
  void begin() {
    unbound_ = lent_ = bits_.none();
    const size_t parameters = object::parameter_count(code_);
    for (uint32_t i = 0; minor_ >= 11 && i < code_.localsplus.size(); ++i) {
      const LocalKind kind = code_.localspluskinds[i];
      const bool is_cell = kind == LocalKind::Cell || kind == LocalKind::CellLocal;
      const bool is_bound = kind == LocalKind::Free || (!is_cell && i < parameters);
      if (!is_bound) set_unbound(i, true);
    }
    make_first_cells();
    // super() without arguments takes the first argument from its cell.
    if (parameters > 0 && minor_ >= 11 && is_unbound(0)) {
      say("the cell of the first argument is not made", 0);
    }
  }

  // Makes the cells of the prologue, whose instructions have no canonical form. (Each of them is of
  // a slot for a cell, or the code breaks a rule of bytecode/breaches.h.)
  void make_first_cells() {
    const auto places = static_cast<uint32_t>(code_.localsplus.size());
    uint32_t cells = 0;
    for (uint32_t i = 0; i < places; ++i) cells += is_cell(i) ? 1 : 0;
    if (minor_ < 11 || cells == 0) return;
    std::vector<bool> is_told;  // by raw instruction
    for (size_t i = 0; i < stream_.raw.size(); ++i) {
      const bytecode::RawInstr& instr = stream_.raw[i];
      if (traits_[instr.opcode].mark != Mark::MakeCell) continue;
      if (is_told.empty()) {
        is_told.resize(stream_.raw.size());
        for (const Instr& told : stream_.instrs) is_told[told.raw] = true;
      }
      if (!is_told[i] && instr.arg < places) set_unbound(instr.arg, false);
    }
  }

  bool is_cell(uint32_t place) const { return slots_.is_cell(place); }

  // Returns the slot of the frame for a variable; none if it has none.
  std::optional<uint32_t> place_of(const Instr& instr) {
    return slots_.place_of(instr, stream_.raw[instr.raw].arg);
  }

  // Returns the slot of the frame that an instruction on a variable names.
  uint32_t named_place(const Instr& instr) const {
    const bytecode::RawInstr& raw = stream_.raw[instr.raw];
    const bytecode::Form form = traits_[raw.opcode].form;
    const bool has_two = form == bytecode::Form::TwoLocals || form == bytecode::Form::StoreTwo;
    if (!has_two) return raw.arg;
    const bool is_second = at_ > first_ && graph_.instrs[at_ - 1].raw == instr.raw;
    return is_second ? raw.arg & 15 : raw.arg >> 4;
  }

  // -- joins ----------------------------------------------------------------------------------
  // Notes that control reaches a block with the first slots of the stack, and those pushed.
  void meet(BlockId block, std::span<const Slot> stack, std::span<const Slot> pushed = {}) {
    bits_.freeze();
    State& entry = states_[block.index()];
    bool changes = !entry.is_known;
    if (changes) {
      entry.is_known = true;
      entry.unbound = unbound_;
      entry.lent = lent_;
      entry.stack.reserve(stack.size() + pushed.size());
      entry.stack.assign(stack.begin(), stack.end());
      entry.stack.insert(entry.stack.end(), pushed.begin(), pushed.end());
    } else {
      // (The union is the set that was there if that has all of the other.)
      const SharedBits::Set unbound = bits_.either(entry.unbound, unbound_);
      const SharedBits::Set lent = bits_.either(entry.lent, lent_);
      changes = unbound != entry.unbound || lent != entry.lent;
      entry.unbound = unbound;
      entry.lent = lent;
      for (size_t i = 0; i < entry.stack.size(); ++i) {
        const Slot& now = i < stack.size() ? stack[i] : pushed[i - stack.size()];
        const Slot both = either(entry.stack[i], now);
        // (Two rules may exclude each other: then the first stays.)
        changes = changes || (both != entry.stack[i] && entry.stack[i].what == What::Value) ||
                  (both.what == What::Saved && both != entry.stack[i]) ||
                  both.from != entry.stack[i].from;
        entry.stack[i] = both;
      }
    }
    const uint32_t number = order_.number[block.index()];
    if (!changes || is_open_[number]) return;
    is_open_[number] = true;
    open_.push(number);
  }

  // -- one block ------------------------------------------------------------------------------
  void walk(const Block& block) {
    exceptions_ = block.exc_depth;
    bool is_told = !block.handler.valid();  // the handler, if any, has been given this state
    first_ = at_ = block.first;
    for (const Instr& instr : std::span(graph_.instrs).subspan(first_, block.count)) {
      if (!is_told && bytecode::facts_of(instr.op).raises) {
        tell_handler(block);
        is_told = true;
      }
      if (one(instr)) is_told = !block.handler.valid();
      if (stack_.size() > code_.stacksize && is_too_high(block)) {
        say("the stack is too small", instr.offset);
      }
      if (found_) return;
      ++at_;
    }
    const bool exit_raises =
        block.exit.kind != ExitKind::Goto && bytecode::facts_of(block.exit.instr.op).raises;
    if (exit_raises && !is_told) tell_handler(block);
    leave(block);
  }

  Mark mark_of(const Instr& instr) const { return traits_[stream_.raw[instr.raw].opcode].mark; }

  // Returns true if the stack, which is higher than the code object says, is so at the end of a raw
  // instruction. In 3.11 and 3.12 the names of a call take no slot.
  bool is_too_high(const Block& block) const {
    const Instr& instr = graph_.instrs[at_];
    const bool is_last = at_ + 1 == block.first + block.count;
    const Instr& next = is_last ? block.exit.instr : graph_.instrs[at_ + 1];
    const bool ends_raw = next.raw != instr.raw || (is_last && block.exit.kind == ExitKind::Goto);
    const bool is_of_names =
        stack_.size() == size_t{code_.stacksize} + 1 && mark_of(instr) == Mark::KwNames;
    return ends_raw && !is_of_names;
  }

  void tell_handler(const Block& block) {
    const Handler& handler = graph_[block.handler];
    if (stack_.size() < handler.depth) return;
    std::array<Slot, 6> pushed;
    if (handler.pushes == 6) std::fill_n(pushed.begin(), 3, Slot{What::Previous, 0});
    if (handler.lasti && handler.pushes == 2) pushed[0] = {What::Lasti, 0};
    meet(handler.entry, stack_.first(handler.depth), {pushed.data(), handler.pushes});
  }

  void leave(const Block& block) {
    const Exit& exit = block.exit;
    const std::array<Slot, 1> one{};
    switch (exit.kind) {
      case ExitKind::Goto:
        break;
      case ExitKind::Branch:
      case ExitKind::BranchNone:
        take(exit.instr, 1);
        break;
      case ExitKind::ForIter:
        meet(exit.next[1], stack_.first(stack_.size() - 1 - exit.instr.b));
        meet(exit.next[0], stack_.first(stack_.size()), one);
        return;
      case ExitKind::Send:
        meet(exit.next[0], stack_.first(stack_.size() - 1), one);
        meet(exit.next[1], stack_.first(stack_.size() - (exit.instr.b == 1 ? 2 : 1)), one);
        return;
      case ExitKind::Return:
        take(exit.instr, 1);
        hold(exceptions_ == 0, "while an exception is being handled", exit.instr);
        return;
      case ExitKind::Raise:
        take(exit.instr, exit.instr.a);
        return;
      case ExitKind::Reraise:
        reraise(exit.instr);
        return;
    }
    for (const BlockId next : exit.next) {
      if (next.valid()) meet(next, stack_.first(stack_.size()));
    }
  }

  void reraise(const Instr& instr) {
    if (instr.b != 0) {
      const bool is_there = instr.b <= stack_.size();
      hold(is_there && stack_.from_end(instr.b).what == What::Lasti, "no place where it was raised",
           instr);
    }
    take(instr, instr.a);
  }

  // Pops objects.
  void take(const Instr& instr, uint32_t count) {
    for (; count > 0 && !stack_.empty(); --count) {
      hold(stack_.pop().is_object(), "of what is no object", instr);
    }
  }
  // Pops and pushes objects. What is pushed is borrowed if it may be what was popped.
  void exchange(const Instr& instr) {
    const bytecode::StackEffect effect = bytecode::effect_of(instr);
    const uint32_t from = stack_.lender();
    take(instr, effect.pops);
    if (from != 0) return stack_.push_objects(effect.pushes, handed_on(instr, minor_), from);
    stack_.push_objects(effect.pushes);
  }

  // -- one instruction ------------------------------------------------------------------------
  // Returns true if the instruction changes the state that a handler sees.
  bool one(const Instr& instr) {
    switch (instr.op) {
      case Op::Copy: {
        const Slot copied = stack_.from_end(instr.a);
        hold(copied.is_object(), "of what is no object", instr);
        stack_.push(copied);
        return true;
      }
      case Op::Swap:
        stack_.swap(instr.a);
        return true;
      case Op::Rot:
        stack_.rotate(instr.a);
        return true;
      case Op::Pop: {
        // In 3.15 an iterator has a NULL slot above it.
        const Slot popped = stack_.pop();
        hold(popped.is_object() || (minor_ >= 15 && popped.what == What::Null),
             "of what is no object", instr);
        return false;
      }
      case Op::PushNull:
        stack_.push({What::Null, 0});
        return false;
      case Op::LoadMethod: {
        const uint32_t from = stack_.lender();
        take(instr, 1);
        stack_.push({What::Callee, instr.offset + 1});
        stack_.push({What::Receiver, instr.offset + 1, from});
        return false;
      }
      case Op::Call:
      case Op::CallKw:
        take(instr, instr.a + (instr.op == Op::CallKw ? 1 : 0));
        call(instr);
        return false;
      case Op::CallEx:
        if ((instr.a & 1) != 0 && minor_ >= 14 && stack_.back().what == What::Null) {
          stack_.pop();
          take(instr, 1);
        } else {
          take(instr, 1 + (instr.a & 1));
        }
        call(instr);
        return false;
      case Op::PushExcInfo:
        take(instr, 1);
        stack_.push({What::Previous, 0});
        stack_.push({});
        ++exceptions_;
        return false;
      case Op::PopExcept:
        pop_except(instr);
        return false;
      case Op::EndAsyncFor:
        if (instr.a == 7 && exceptions_ > 0) --exceptions_;
        stack_.drop(instr.a);
        return false;
      default:
        break;
    }
    const bytecode::Operand operand = bytecode::facts_of(instr.op).operand;
    if (operand == bytecode::Operand::Local || operand == bytecode::Operand::Cell) {
      return variable(instr);
    }
    exchange(instr);
    return false;
  }

  // Pops the callee and the slot beside it (NULL or a method's receiver), and pushes the result.
  void call(const Instr& instr) {
    if (instr.b == 1) {
      take(instr, 1);
      stack_.push({});
      return;
    }
    const Slot upper = stack_.pop();
    const Slot lower = stack_.pop();
    stack_.push({});
    // CALL_FUNCTION_EX calls the one and ignores the other.
    const bool takes_receiver = instr.op != Op::CallEx;
    const bool is_method = takes_receiver && lower.what == What::Callee &&
                           upper.what == What::Receiver && upper.of == lower.of;
    const Slot& free = minor_ >= 13 ? upper : lower;
    const Slot& called = minor_ >= 13 ? lower : upper;
    const bool is_function =
        called.what == What::Value &&
        (free.what == What::Null || (takes_receiver && free.what == What::Value));
    hold(is_method || is_function, "of what is no function", instr);
  }

  void pop_except(const Instr& instr) {
    for (uint32_t i = 0; i < instr.a && !stack_.empty(); ++i) {
      hold(stack_.pop().what == What::Previous, "of what was not saved", instr);
    }
    if (exceptions_ > 0) --exceptions_;
  }

  // -- variables ------------------------------------------------------------------------------
  bool variable(const Instr& instr) {
    const auto place = minor_ < 11 ? std::nullopt : place_of(instr);
    if (!place) {
      exchange(instr);
      return false;
    }
    // Of two variables with one name the local of a comprehension is meant here, not the cell.
    if (slots_.has_namesakes()) {
      const bool is_of_local = bytecode::facts_of(instr.op).operand == bytecode::Operand::Local;
      if (is_of_local && !is_cell(*place)) {
        hold(named_place(instr) == *place, "of the cell with the name of a local", instr);
      }
    }
    switch (instr.op) {
      case Op::LoadFast:
        return load(instr, *place);
      case Op::LoadFastAndClear:
        not_borrowed(instr, *place);
        stack_.push({What::Saved, is_unbound(*place) ? 0u : 1u});
        set_unbound(*place, true);
        set_lent(*place, true);
        return true;
      case Op::StoreFast:
        store(instr, *place);
        return true;
      case Op::DeleteFast:
        not_borrowed(instr, *place);
        set_unbound(*place, true);
        return true;
      case Op::MakeCell:
        hold(is_unbound(*place) || is_lent(*place), "the cell is there", instr);
        set_unbound(*place, false);
        return true;
      default:  // operations on a cell
        hold(!is_unbound(*place) || !is_cell(*place), "the cell is not made yet", instr);
        // A slot that an inlined comprehension has borrowed is loaded from by LoadFast.
        hold(mark_of(instr) != Mark::LoadFastCheck, "the local is a cell", instr);
        exchange(instr);
        return false;
    }
  }

  bool load(const Instr& instr, uint32_t place) {
    const bool was_unbound = is_unbound(place);
    // An inlined comprehension keeps a plain local in the slot of a cell that it has borrowed.
    const bool is_plain = !is_cell(place) || is_lent(place);
    if (!is_plain) hold(mark_of(instr) != Mark::LoadFastCheck, "the local is a cell", instr);
    if (was_unbound && is_plain) {
      const bool checks = minor_ < 12 || mark_of(instr) == Mark::LoadFastCheck;
      hold(checks, "the local may be unbound", instr);
      // If the load succeeds, the local is bound.
      set_unbound(place, false);
    }
    stack_.push({What::Value, 0, minor_ >= 14 && borrows(mark_of(instr)) ? place + 1 : 0});
    return was_unbound;
  }

  static bool borrows(Mark mark) {
    return mark == Mark::LoadFastBorrow || mark == Mark::LoadFastBorrowLoadFastBorrow;
  }

  void store(const Instr& instr, uint32_t place) {
    const Slot value = stack_.pop();
    not_borrowed(instr, place);
    if (value.what == What::Saved) {
      hold(!value.is_borrowed(), "of what is borrowed", instr);
      set_unbound(place, value.of == 0);
      set_lent(place, false);
      return;
    }
    hold(value.is_object(), "of what is no object", instr);
    hold(!value.is_borrowed(), "of what is borrowed", instr);
    hold(!is_cell(place) || is_lent(place), "in the place of a cell", instr);
    set_unbound(place, false);
  }

  // Requires that no stack slot borrows from the local, which has to keep the value meanwhile.
  void not_borrowed(const Instr& instr, uint32_t place) {
    hold(minor_ < 14 || !stack_.borrows_from(place), "the local is borrowed", instr);
  }

  const object::Code& code_;
  const bytecode::Stream& stream_;
  const Graph& graph_;
  const bytecode::TraitsTable& traits_;
  const bool is_straight_;  // one block, without a jump to it
  const Order order_;
  int minor_;
  SharedBits bits_;  // of the slots of the frame
  FrameSlots slots_;
  std::vector<State> states_;  // at the entry of each block
  // In the block that is walked, as in a State.
  AuditStack stack_;
  SharedBits::Set unbound_ = 0;
  SharedBits::Set lent_ = 0;
  // The blocks to walk, by their numbers in the order, and whether a number is among them.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> open_;
  std::vector<bool> is_open_;
  uint32_t exceptions_ = 0;
  uint32_t first_ = 0;  // the first instruction of the block
  uint32_t at_ = 0;     // the instruction that is walked
  std::optional<Breach> found_;
};

}  // namespace

std::optional<Breach> audit(const object::Module& module, const bytecode::Stream& stream,
                            const Graph& graph, bool is_generated) {
  return Audit(module, stream, graph).run(is_generated);
}

}  // namespace pellucid::flow
