// SPDX-License-Identifier: Apache-2.0
// StackMachine: executes one block's instructions on a stack of values.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "ir/function.h"

namespace pellucid::ir {

class StackMachine {
 public:
  // `used`: marks of the values that are used so far (kUsed) and of the iterators of loops
  // (kIterator).
  StackMachine(Function& out, Block& block, std::vector<uint8_t>& used)
      : out_(out), block_(block), used_(used) {}

  void step(const bytecode::Instr& instr);

  ValueId top() const;
  ValueId peek(size_t depth) const;  // 1: the top
  ValueId pop();
  ValueId pop_used() {
    const ValueId id = pop();
    use(id);
    return id;
  }
  void use(ValueId id) { used_[id.index()] |= kUsed; }
  void mark_iterator(ValueId id) { used_[id.index()] |= kIterator; }

  // Makes a value with these operands; it is no item, and not on the stack.
  ValueId make(Value value, std::span<const ValueId> operands);
  ValueId make(Value value, std::initializer_list<ValueId> operands) {
    return make(value, std::span<const ValueId>(operands.begin(), operands.size()));
  }

  std::vector<ValueId> stack;
  ValueId settled;         // had its effect in the block before, which left it on the stack
  bool has_drops = false;  // there is a Pop of a Dropped::Result or Dropped::Used

 private:
  static constexpr uint8_t kUsed = 1;
  static constexpr uint8_t kIterator = 2;

  // Adds a value of these operands, to be filled in.
  Value& add(std::span<const ValueId> operands);
  ValueId emit(const bytecode::Instr& instr, std::span<const ValueId> operands);
  ValueId emit(const bytecode::Instr& instr, std::initializer_list<ValueId> operands) {
    return emit(instr, std::span<const ValueId>(operands.begin(), operands.size()));
  }
  ValueId element(ValueId of, uint32_t index);
  static ValueId null();
  void discard(const bytecode::Instr& instr);
  void emit_drop(bytecode::Instr instr, ValueId id, Dropped what);
  void call(const bytecode::Instr& instr, uint32_t extra);
  void update_container(const bytecode::Instr& instr, uint32_t items);
  void push_elements(const bytecode::Instr& instr, uint32_t count);
  void generic(const bytecode::Instr& instr);

  Function& out_;
  Block& block_;
  std::vector<uint8_t>& used_;
  bool copied_ = false;  // the last instruction copied the top of the stack
};

}  // namespace pellucid::ir
