// SPDX-License-Identifier: Apache-2.0
// The contents of the stack slots at the start of each block of an unstructured body.
#pragma once

#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::fallback {

using namespace structure;  // shared by both ways of making a body

enum class SlotKind : uint8_t {
  Unknown,  // no way into the block has been examined
  Null,     // on every way
  Hidden,   // a part of an exception that Python does not expose: the state to restore, its offset
  Static,   // the same on every way, and made again at each use: `source`
  Boxed,    // a list of one value or none: the local that LoadFastAndClear saved
  Value,
  Mixed,  // not the same on every way: allowed as long as nothing uses it
};

struct Slot {
  SlotKind kind = SlotKind::Unknown;
  // The level (1 is the outermost) at which this exception is being handled; 0: it is another
  // value.
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
  // Returns the contents of a slot with this value, at the end of the block that uses it.
  Slot of(ValueId id) const;

 private:
  bool join(BlockId block, size_t slot, Slot with);
  void seed_handlers();
  bool flow_from(BlockId block);

  const Graph& graph_;
  const object::Module& module_;
  std::vector<std::vector<Slot>> slots_;             // by block and slot
  std::vector<std::pair<BlockId, uint32_t>> param_;  // by value: as a parameter, its place
};

// Returns true if the value is the function of a class body or of a comprehension, without
// defaults: it has one use, the call that it is made for, and nothing can see when it is made.
bool is_made_for_a_call(const Graph& graph, const object::Module& module, ValueId id);

// Returns how many exceptions are being handled by the code that catches for this handler.
inline uint32_t level_of(const flow::Handler& handler) {
  return handler.is_on_block_stack() ? handler.exc_depth - 1 : handler.exc_depth;
}

// Returns true if the block only starts the handling of the exception on top of the stack.
bool only_pushes(const Graph& graph, BlockId block);

}  // namespace pellucid::fallback
