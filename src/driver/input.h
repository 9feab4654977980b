// SPDX-License-Identifier: Apache-2.0
// driver: bytes that hold marshalled code in any wrapping -> a Module, and how it was found.
//
// The version in a header is believed as long as the code fits it. Without a header, or with one
// that is short, zeroed, foreign or wrong, the bytes are read as each version from each possible
// start, and the best fit is taken. Nothing is executed.
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
  object::Header header;           // its fields have a meaning if `start` is not 0
  size_t start = 0;                // where the marshalled code begins
  size_t end = 0;                  // and ends; the rest is no part of it
  size_t size = 0;                 // of all bytes
  std::string rest;                // the first kShownRest bytes of the rest
  bool is_straight = false;        // bytecode::Fit::is_straight is known of its module
  std::vector<bool> uses_all;      // bytecode::Fit::uses_all; empty if that is not known
  std::vector<std::string> notes;  // unusual things, for people
  std::string doubt;               // why the version may be another; else empty
  std::string subject;             // what the code belongs to, if it is no module
};

// Reads a `.pyc`, or marshalled code with any or no header. `version` decides, if it is given.
Result<Input> read_input(std::span<const uint8_t> bytes,
                         std::optional<object::Version> version = std::nullopt);

// Returns the version of code objects that one Python marshalled, without headers: the one that all
// of them fit. Nothing if none does, or if another one does too and runs another program.
std::optional<object::Version> version_of_all(std::span<const std::span<const uint8_t>> marshalled);

// Returns the version that a text such as "3.11" names, if it is supported.
std::optional<object::Version> version_named(std::string_view text);

}  // namespace pellucid::driver
