// SPDX-License-Identifier: Apache-2.0
// archive: marshalled data as a structure: where its objects begin and end, without their values.
//
// Objects that occur again are numbered from the start of the data, so a code object in a list
// cannot be read without what precedes it. `code_alone` writes it with what it refers to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "archive/source.h"

namespace pellucid::archive {

// The fields of code objects: those of 3.8 to 3.10, and those of 3.11 and later.
enum class Fields : uint8_t { Old, New };

struct Walk {
  // A code object that no other one contains.
  struct Code {
    size_t start = 0;
    size_t end = 0;
  };

  std::vector<Code> codes;
  std::vector<size_t> numbered;  // where the object with this number begins
  size_t start = 0;
  size_t end = 0;
  Fields fields = Fields::New;
};

// Returns the structure of the value that begins at `start`; nothing if there is none. Each object
// takes one of `steps`; without any left, there is no value.
std::optional<Walk> walk(Span bytes, size_t start, Fields fields, uint64_t& steps);

// Returns a code object of a value as marshalled data of its own.
std::optional<Bytes> code_alone(Span bytes, const Walk& value, const Walk::Code& code);

}  // namespace pellucid::archive
