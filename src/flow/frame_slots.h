// SPDX-License-Identifier: Apache-2.0
// flow: the slots of a frame (3.11+) by the names of their variables. Private to audit.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bytecode/op_facts.h"
#include "object/code.h"

namespace pellucid::flow {

class FrameSlots {
 public:
  explicit FrameSlots(const object::Code& code) : code_(code) {}

  bool is_cell(uint32_t slot) const {
    const object::LocalKind kind = code_.localspluskinds[slot];
    return kind != object::LocalKind::Local && kind != object::LocalKind::Hidden;
  }

  // Returns the slot for the variable of an instruction, whose raw argument is `arg`; none if it
  // has none.
  std::optional<uint32_t> place_of(const bytecode::Instr& instr, uint32_t arg) {
    // No compiler gives two variables one name but those of inlined comprehensions.
    if (names_ == Names::Unknown) look_at_names();
    if (names_ == Names::Apart) {
      // Some instructions have two slots in their argument.
      for (const uint32_t slot : {arg, arg >> 4, arg & 15}) {
        const bool is_it =
            slot < code_.localsplus.size() && code_.localsplus[slot] == instr.symbol();
        if (is_it) return slot;
      }
    }
    if (locals_.empty() && cells_.empty()) list_slots();
    const bool is_cell = bytecode::facts_of(instr.op).operand == bytecode::Operand::Cell;
    for (const auto* slots : {is_cell ? &cells_ : &locals_, is_cell ? &locals_ : &cells_}) {
      const auto found = std::lower_bound(slots->begin(), slots->end(), Named{instr.a, 0});
      if (found != slots->end() && found->first == instr.a) return found->second;
    }
    return std::nullopt;
  }

  // Returns true if two variables have one name, as far as place_of() was asked.
  bool has_namesakes() const { return names_ == Names::Shared; }

 private:
  using Named = std::pair<uint32_t, uint32_t>;  // a symbol and its slot
  enum class Names : uint8_t { Unknown, Apart, Shared };

  void look_at_names() {
    std::vector<Symbol> names = code_.localsplus;
    std::sort(names.begin(), names.end());
    const bool are_apart = std::adjacent_find(names.begin(), names.end()) == names.end();
    names_ = are_apart ? Names::Apart : Names::Shared;
  }

  void list_slots() {
    for (uint32_t i = 0; i < code_.localsplus.size(); ++i) {
      (is_cell(i) ? cells_ : locals_).emplace_back(code_.localsplus[i].value, i);
    }
    for (auto* slots : {&locals_, &cells_}) std::sort(slots->begin(), slots->end());
  }

  const object::Code& code_;
  Names names_ = Names::Unknown;       // whether two variables have one name
  std::vector<Named> locals_, cells_;  // sorted
};

}  // namespace pellucid::flow
