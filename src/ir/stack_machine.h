// SPDX-License-Identifier: Apache-2.0
// StackMachine: executes the instructions of blocks on a stack of values.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace pellucid::ir {

class StackMachine {
 public:
  // `notes_exceptions`: PUSH_EXC_INFO is an item.
  StackMachine(Function& out, bool notes_exceptions)
      : out_(out), notes_exceptions_(notes_exceptions) {
    constexpr size_t kUsual = 16;  // few stacks get higher
    stack.reserve(kUsual);
  }

  // Starts a block, with its entry stack. `settled`: a value that had its effect in the block
  // before, which left it on the stack.
  void begin(BlockId block, ValueId settled);

  void run(std::span<const bytecode::Instr> instrs);

  ValueId top() const;
  ValueId peek(size_t depth) const;  // 1: the top
  ValueId pop();
  // Pops a value for the exit of the block.
  ValueId pop_used() {
    const ValueId id = pop();
    use(id);
    return id;
  }
  // Uses a value for the exit of the block.
  void use(ValueId id) {
    Value& value = out_[id];
    value.marks |= kUsed;
    ++value.uses;
  }
  void mark_iterator(ValueId id) { out_[id].marks |= kIterator; }

  // Makes a value with these operands; it is no item, and not on the stack.
  ValueId make(Value value, std::span<const ValueId> operands);
  ValueId make(Value value, std::initializer_list<ValueId> operands) {
    return make(value, std::span<const ValueId>(operands.begin(), operands.size()));
  }

  std::vector<ValueId> stack;

  // What was seen so far, in all blocks.
  std::vector<std::pair<BlockId, ValueId>> dropped;  // each Pop of a Dropped::Result or ::Used
  bool calls_null = false;  // there is a NULL among the slots of a callable, or right after them
  bool has_async_loop = false;

 private:
  static constexpr uint8_t kUsed = 1;      // by any value, or an exit
  static constexpr uint8_t kIterator = 2;  // of a loop

  // Adds an item with these operands. (add_item() is a part of the loop over plain instructions.)
  ValueId add_item(const bytecode::Instr& instr, std::span<const ValueId> operands);
  ValueId emit(const bytecode::Instr& instr, std::span<const ValueId> operands);
  ValueId emit(const bytecode::Instr& instr, std::initializer_list<ValueId> operands) {
    return emit(instr, std::span<const ValueId>(operands.begin(), operands.size()));
  }
  ValueId element(ValueId of, uint32_t index);
  void push_null();
  void shrink(size_t slots);

  // Each executes one instruction.
  void plain(const bytecode::Instr& instr);
  void special(const bytecode::Instr& instr);
  void copy(const bytecode::Instr& instr);
  void swap(const bytecode::Instr& instr);
  void rotate(const bytecode::Instr& instr);
  void drop(const bytecode::Instr& instr, bool was_copied);
  void discard(const bytecode::Instr& instr);
  void emit_drop(bytecode::Instr instr, ValueId id, Dropped what);
  void call(const bytecode::Instr& instr, uint32_t extra);
  void call_ex(bytecode::Instr instr);
  void load_method(const bytecode::Instr& instr);
  void look_at(const bytecode::Instr& instr, uint32_t depth);
  void mark(const bytecode::Instr& instr);
  void ask_iterator(const bytecode::Instr& instr);
  void import_name(bytecode::Instr instr);
  void update_container(const bytecode::Instr& instr, uint32_t items);
  void push_elements(const bytecode::Instr& instr, uint32_t count);
  void match_keys(const bytecode::Instr& instr);
  void match_class(const bytecode::Instr& instr);
  void match_group(const bytecode::Instr& instr);
  void copy_without_keys(const bytecode::Instr& instr);
  void push_exception(const bytecode::Instr& instr);
  void leave_handler(const bytecode::Instr& instr);
  void enter_with(const bytecode::Instr& instr);
  void clean_up_throw(const bytecode::Instr& instr);

  Function& out_;
  bool notes_exceptions_;
  BlockId id_;              // of the block
  Block* block_ = nullptr;  // the same
  ValueId settled_;
  bool copied_ = false;  // the last instruction copied the top of the stack
};

}  // namespace pellucid::ir
