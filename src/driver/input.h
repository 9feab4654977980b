// SPDX-License-Identifier: Apache-2.0
// driver: bytes that hold marshalled code in any wrapping -> a Module, and how it was found.
//
// What a header says of the version is believed as long as the code fits it. Where there is no
// header, or one that is short, zeroed, foreign or wrong, the bytes are read as each version from
// each place where the code could begin, and what fits best is taken. Nothing is executed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "object/code.h"
#include "object/pyc.h"

namespace pellucid::driver {

inline constexpr size_t kShownRest = 300;

struct Input {
  object::Module module;
  object::Header header;           // its fields mean something where `start` is not 0
  size_t start = 0;                // where the marshalled code begins
  size_t end = 0;                  // and ends: what follows is no part of it
  size_t size = 0;                 // of all bytes
  std::string rest;                // the first kShownRest bytes of what follows
  std::vector<std::string> notes;  // what is out of the ordinary, for people
  std::string doubt;               // why the version may be another; else empty
  std::string subject;             // what the code is the code of, if it is no module
};

// Reads a `.pyc`, or marshalled code with any or no header. `version` decides where it is given.
Result<Input> read_input(std::span<const uint8_t> bytes,
                         std::optional<object::Version> version = std::nullopt);

// "3.11" -> that version, if it is supported.
std::optional<object::Version> version_named(std::string_view text);

}  // namespace pellucid::driver
