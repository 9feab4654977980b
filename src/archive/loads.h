// SPDX-License-Identifier: Apache-2.0
// archive: what loading a pickle would do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pellucid::archive {

struct LoadStep {
  uint64_t offset = 0;  // of the opcode
  std::string kind;     // "import", "call", "state", "append", "store", "add", ...
  std::string name;     // the dotted name of what is imported or called; empty if unknown
  std::string text;     // "calls os.system('id')"
  std::string why;      // "acts on the system"; empty if that depends on another module
  std::string danger;   // "runs" code or reaches what can, "unknown", or "none"
};

// One pickle.
struct Load {
  std::string name;    // in the container; empty for the file itself
  std::string inside;  // "in the bytes at 0x1c", if it is within another pickle; else empty
  uint64_t start = 0;
  uint64_t end = 0;
  int protocol = 0;
  std::vector<LoadStep> steps;     // in order
  std::vector<std::string> notes;  // unusual things
  std::string failure;             // where Python's pickle would stop, and why; else empty
};

// Returns the lines of `pellucid inspect`. `file` is the name of the input.
std::string text_of(const Load& load, const std::string& file);

}  // namespace pellucid::archive
