// SPDX-License-Identifier: Apache-2.0
// driver/file_kind: what a file is that is not compiled Python, for the error message.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pellucid::driver {

// "a memory dump", and what to do with it.
struct FileKind {
  std::string_view name;
  std::string_view advice;
};

// Returns the kind by the first bytes; without a name if it is unknown.
FileKind file_kind(std::span<const uint8_t> bytes);

// Returns the message for a file of any kind.
std::string words_of_file(std::span<const uint8_t> bytes);

}  // namespace pellucid::driver
