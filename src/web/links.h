// SPDX-License-Identifier: Apache-2.0
// web: which lines of a text belong to which instructions, both ways.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pellucid/pellucid.h"
#include "pellucid/views.h"

namespace pellucid::web {

// One statement of the text.
struct LineOrigin {
  uint32_t line = 0;       // in the text with its comments, from 1
  uint32_t last_line = 0;  // that belongs to the statement itself
  uint32_t code = 0;
  std::optional<uint32_t> offset;  // of its first instruction
  std::vector<uint32_t> offsets;   // of all its instructions, ascending
  std::optional<int32_t> original_line;
};

// The lines of one code object's text.
struct Extent {
  uint32_t first = 0;  // 0: none
  uint32_t last = 0;
};

// Returns the statements of `text`, which is the source with these comments before its lines (none,
// if they stand at its end). `bytecode`: of each code object, by its number.
std::vector<LineOrigin> origins_of(const Decompilation& made, std::string_view text,
                                   const std::vector<Comment>& comments,
                                   const std::vector<BytecodeView>& bytecode);

// Returns the extent of each code object in `codes`, those within it included.
std::vector<Extent> extents_of(const std::vector<LineOrigin>& origins,
                               const std::vector<CodeView>& codes, size_t count);

}  // namespace pellucid::web
