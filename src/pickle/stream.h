// SPDX-License-Identifier: Apache-2.0
// pickle::read: all pickles of a file, one after the other, and those in the bytes of others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pickle/codes.h"
#include "pickle/graph.h"

namespace pellucid::pickle {

struct Pickle {
  Graph graph;
  std::vector<FoundCode> codes;
  std::string inside;  // "in the bytes at 0x1c", if it is within another; else empty
  // Of its input, if that is not a part of the file.
  std::shared_ptr<const std::string> keeper{};
};

struct Contents {
  std::vector<Pickle> pickles;
  uint64_t end = 0;                // of the last pickle in the file; bytes may follow
  std::vector<std::string> notes;  // what was not read
};

// Returns true if a file that begins like this may be a pickle of protocol 2 or newer.
bool begins_like_pickle(std::span<const uint8_t> head);

// Returns true if the bytes are a pickle of any protocol, whole or cut off. Text that happens to
// begin with an opcode is none.
bool is_pickle(std::span<const uint8_t> bytes);

// Reads the pickles from `at` on. The bytes must outlive the result.
Contents read(std::span<const uint8_t> bytes, uint64_t at = 0);

}  // namespace pellucid::pickle
