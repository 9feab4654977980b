// SPDX-License-Identifier: Apache-2.0
// object: the places in the source that the instructions of a code object have (3.11+, PEP 657).
//
// They are clues to how a text was written, and never part of a proof. What asks them is in
// structure/plan/evidence.h, for control flow, and in polish/starts.h, for statements of a tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pellucid::object {

inline constexpr uint16_t kNoColumn = 0xffff;

// Columns count bytes of UTF-8 from 0.
struct Columns {
  uint16_t begin = kNoColumn;
  uint16_t end = kNoColumn;  // one past the last; kNoColumn if on another line

  // Returns the width; 0: it is on several lines, or not known.
  int32_t width() const { return begin == kNoColumn || end == kNoColumn ? 0 : end - begin; }
  bool operator==(const Columns&) const = default;
};

struct SourcePlace {
  int32_t line = -1;
  int32_t end_line = -1;
  Columns columns;
  bool operator==(const SourcePlace&) const = default;
};

// The places of the code units of one code object, and which of them do nothing but hold one.
class Places {
 public:
  // Not the number of any code unit.
  static constexpr uint32_t kNoUnit = 0xffffffffu;

  // Consecutive units of one place, up to `end`.
  struct Run {
    SourcePlace place;
    uint32_t end;
  };

  Places() = default;
  // `runs`: of all units, in order. `nops`, `leaves`: the units that hold a NOP; a jump without a
  // condition, a return or a raise.
  Places(std::vector<Run> runs, std::vector<uint32_t> nops, std::vector<uint32_t> leaves);

  // Without columns nothing is known: before 3.11, with `-X no_debug_ranges`, for a broken table.
  bool known() const { return !run_of_.empty(); }
  uint32_t size() const { return static_cast<uint32_t>(run_of_.size()); }
  // Units past the end have no place.
  SourcePlace at(uint32_t unit) const {
    return unit < run_of_.size() ? runs_[run_of_[unit]].place : SourcePlace();
  }
  Columns columns(uint32_t unit) const { return at(unit).columns; }

  std::span<const uint32_t> nops() const { return nops_; }
  std::span<const uint32_t> leaves() const { return leaves_; }
  bool is_nop(uint32_t unit) const;
  bool leaves(uint32_t unit) const;

  // Returns true if a code unit does nothing but leave: a jump, or the return of a constant.
  bool only_leaves(uint32_t unit) const;

  // Returns true if control passes from a code unit to a later one: nothing between them leaves.
  bool comes_to(uint32_t unit, uint32_t later) const;

  // Returns true if control never reaches a code unit from the one before it.
  bool is_left_before(uint32_t unit) const;

  // Returns the last code unit before one that leaves; kNoUnit: there is none.
  uint32_t last_leaving(uint32_t unit) const;

  // Returns true if two code units have the same columns.
  bool is_same(uint32_t one, uint32_t other) const { return columns(one) == columns(other); }

  // Returns the first code unit after one that has another place; that after the last one if there
  // is none.
  uint32_t end_of_place(uint32_t unit) const { return runs_[run_of_[unit]].end; }

 private:
  std::vector<Run> runs_;         // each up to the end of those with the same columns
  std::vector<uint32_t> run_of_;  // by unit
  std::vector<uint32_t> nops_, leaves_;
};

}  // namespace pellucid::object
