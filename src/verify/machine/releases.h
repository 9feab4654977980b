// SPDX-License-Identifier: Apache-2.0
// Releases: which objects the frame of one side ceases to refer to, and in which order.
//
// An object that nothing refers to any more runs its `__del__` and the callbacks of weak references
// at once. What the rest of the program refers to changes only at effects, which are the same on
// both sides. So the order in which a frame gives up its last reference to each value, relative to
// the effects and to other values, tells when objects are released. The machine logs it in
// Half::released, and the walk compares these logs.
#pragma once

#include <vector>

#include "verify/machine/machine.h"

namespace pellucid::verify {

// One step of one side: what it may release is added before it, and what the frame does not refer
// to after it is logged.
class Release {
 public:
  explicit Release(const SideCode& on) : on_(on) {}

  void add_top(const State& state, size_t slots);
  void add_local(const State& state, uint32_t slot) { add(state[on_.side].locals[slot]); }
  void add_exceptions(const State& state, size_t left);
  // Adds what a silent instruction may release.
  void add(const State& state, const Instr& instr);
  void log(State& state) const;

 private:
  void add(Value value);
  void add_item(const State& state, Value in, Value key);

  const SideCode& on_;
  std::vector<Value> found_;
};

}  // namespace pellucid::verify
