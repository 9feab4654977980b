// SPDX-License-Identifier: Apache-2.0
// What the slots of the stack hold at the start of each block of an unstructured body.
#pragma once

#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::fallback {

using namespace structure;  // what both ways of making a body have in common

enum class SlotKind : uint8_t {
  Unknown,  // no way in has been looked at
  Null,     // on every way
  Hidden,   // a part of an exception that Python keeps to itself: what is restored, its offset
  Static,   // the same on every way, and made again where it is used: `source`
  Boxed,    // a list of one value or none: what LoadFastAndClear found in a local
  Value,
  Mixed,  // not the same on every way: a value as long as nothing looks at it
};

struct Slot {
  SlotKind kind = SlotKind::Unknown;
  // The value is the exception handled at this level (1 is the outermost); 0: it is another one.
  uint32_t handles = 0;
  ValueId source{};

  bool is_variable() const {
    return kind == SlotKind::Value || kind == SlotKind::Boxed || kind == SlotKind::Mixed;
  }
};

class Slots {
 public:
  Slots(const Graph& graph, const object::Module& module);

  const Slot& operator()(BlockId block, size_t slot) const { return slots_[block.index()][slot]; }
  // What a value is, at the end of the block that it is used in.
  Slot of(ValueId id) const;

 private:
  bool join(BlockId block, size_t slot, Slot with);
  void seed_handlers();
  bool flow_from(BlockId block);

  const Graph& graph_;
  const object::Module& module_;
  std::vector<std::vector<Slot>> slots_;             // by block and slot
  std::vector<std::pair<BlockId, uint32_t>> param_;  // by value: where it is a parameter
};

// Returns true if the value is the function of a class body or of a comprehension, without
// defaults: it is only good for the one call that it is made for, and nobody sees when it is made.
bool is_made_for_a_call(const Graph& graph, const object::Module& module, ValueId id);

// How many exceptions are being handled by the code that catches for this handler.
inline uint32_t level_of(const flow::Handler& handler) {
  return handler.is_on_block_stack() ? handler.exc_depth - 1 : handler.exc_depth;
}

// Returns true if the block does nothing but begin to handle the exception on top of the stack.
bool only_pushes(const Graph& graph, BlockId block);

}  // namespace pellucid::fallback
