// SPDX-License-Identifier: Apache-2.0
// flow: what an audit knows of the slots of the stack. Private to audit.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/stream.h"

namespace pellucid::flow {

enum class What : uint8_t {
  Value,     // an object
  Null,      // as PUSH_NULL pushes it
  Callee,    // the lower slot that LoadMethod pushes; `of` identifies which
  Receiver,  // the upper slot
  Saved,     // saved by LoadFastAndClear; `of`: 1 if it is certainly an object or a cell
  Previous,  // the exception that was being handled before
  Lasti,     // where the exception was raised
};

// The `from` of what is borrowed from one of several locals.
inline constexpr uint32_t kSomeLocal = 0xffffffffu;

struct Slot {
  What what = What::Value;
  uint32_t of = 0;
  uint32_t from = 0;  // 1 + the slot of the local that it may be borrowed from; 0: not borrowed

  // Returns true for what an instruction may pop as an object.
  bool is_object() const { return what == What::Value || what == What::Lasti; }
  bool is_borrowed() const { return from != 0; }
  bool operator==(const Slot&) const = default;
};

// Returns what is known of a slot that has either content.
inline Slot either(const Slot& x, const Slot& y) {
  if (x == y) return x;
  uint32_t from = std::max(x.from, y.from);
  if (x.from != y.from && x.from != 0 && y.from != 0) from = kSomeLocal;
  if (x.what == What::Saved && y.what == What::Saved) {
    return {What::Saved, x.of == y.of ? x.of : 0, from};
  }
  // An object on one path and another kind of slot on the other merge to that kind, so that no
  // rule is skipped. What is borrowed on one of them stays so.
  const Slot& kept = x.what == What::Value ? y : x;
  return {kept.what, kept.of, from};
}

// Returns how many of the slots that an instruction pushes, the lowest ones, may be the object that
// was the last one on the stack. (flowgraph.c: optimize_load_fast, since 3.14)
inline uint32_t handed_on(const bytecode::Instr& instr, uint8_t minor) {
  switch (instr.op) {
    case bytecode::Op::Format:  // a string is its own text
      return instr.b == 0 ? 1 : 0;
    case bytecode::Op::GetIter:  // what is iterated over may stay in its place
      return minor >= 15 ? 1 : 0;
    case bytecode::Op::LoadSuper:
    case bytecode::Op::GetYieldFromIter:
      return 1;
    case bytecode::Op::LoadSpecial:
    case bytecode::Op::BeforeWith:
    case bytecode::Op::BeforeAsyncWith:
      return 2;  // the method and its receiver, below what entering returns
    default:
      return 0;
  }
}

// The stack in the block that is walked. It counts the slots that are borrowed from each local, so
// that no store has to look through the stack for them.
class AuditStack {
 public:
  // `slots`: the greatest height that is expected.
  explicit AuditStack(size_t locals, size_t slots = 0) : borrowed_(locals, 0) {
    slots_.reserve(std::min(slots, kUsual));
  }

  // Starts a block, or ends the last one.
  void assign(std::span<const Slot> slots) {
    for (const Slot& slot : slots_) uncount(slot);
    slots_.assign(slots.begin(), slots.end());
    for (const Slot& slot : slots_) count(slot);
  }

  bool empty() const { return slots_.empty(); }
  size_t size() const { return slots_.size(); }
  // Returns the `from` of the last slot; 0 also for none.
  uint32_t lender() const { return slots_.empty() ? 0 : slots_.back().from; }
  const Slot& back() const { return slots_.back(); }
  // Returns the slot that is so many slots below the end: 1 is the last one.
  const Slot& from_end(size_t distance) const { return slots_[slots_.size() - distance]; }
  std::span<const Slot> first(size_t count) const { return {slots_.data(), count}; }

  void push(Slot slot) {
    count(slot);
    slots_.push_back(slot);
  }
  void push_objects(uint32_t count) {
    for (; count > 0; --count) slots_.push_back(Slot());
  }
  // The same, of which the lowest `kept` ones are borrowed.
  void push_objects(uint32_t count, uint32_t kept, uint32_t from) {
    for (uint32_t i = 0; i < count; ++i) push({What::Value, 0, i < kept ? from : 0});
  }
  Slot pop() {
    const Slot slot = slots_.back();
    slots_.pop_back();
    uncount(slot);
    return slot;
  }
  void drop(size_t count) {
    for (; count > 0; --count) pop();
  }
  // Swaps the last slot with the one at this distance from the end.
  void swap(size_t distance) { std::swap(slots_.back(), slots_[slots_.size() - distance]); }
  // Moves the last slot to this distance from the end.
  void rotate(size_t distance) {
    std::rotate(slots_.end() - static_cast<ptrdiff_t>(distance), slots_.end() - 1, slots_.end());
  }

  // Returns true if a slot is, or may be, borrowed from the local in this slot of the frame.
  bool borrows_from(uint32_t local) const {
    return borrowed_[local] != 0 || borrowed_of_some_ != 0;
  }

 private:
  // Most stacks have fewer slots.
  static constexpr size_t kUsual = 16;

  void count(const Slot& slot) {
    if (slot.is_borrowed()) ++counter(slot);
  }
  void uncount(const Slot& slot) {
    if (slot.is_borrowed()) --counter(slot);
  }
  uint32_t& counter(const Slot& slot) {
    return slot.from == kSomeLocal ? borrowed_of_some_ : borrowed_[slot.from - 1];
  }

  std::vector<Slot> slots_;
  std::vector<uint32_t> borrowed_;  // by slot of the frame
  uint32_t borrowed_of_some_ = 0;
};

}  // namespace pellucid::flow
