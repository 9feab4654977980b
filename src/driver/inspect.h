// SPDX-License-Identifier: Apache-2.0
// driver: the contents of a file that the text of its code does not show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/input.h"
#include "object/code.h"

namespace pellucid::driver {

// One thing in the file that is not in the text.
struct Finding {
  std::string kind;        // "constant", "code", "name", "operands", "junk", "odd name", ...
  std::string text;        // what it is, in ASCII
  uint64_t offset = 0;     // in the bytecode of the code object, or in the file
  bool is_common = false;  // what compilers leave behind
  std::string value = {};  // of a constant or name: itself
};

struct CodeReport {
  explicit CodeReport(object::CodeId of) : code(of) {}

  object::CodeId code;
  std::string path;  // empty in a brief inspection that finds nothing
  std::vector<Finding> findings;
  std::vector<object::CodeId> hidden;  // code objects that no instruction loads
};

struct Inspection {
  std::vector<CodeReport> codes;  // outer ones first
  std::vector<Finding> file;      // of the file as a whole
};

// Inspects a file; with `is_brief`, leaves out common findings.
Inspection inspect(const Input& input, bool is_brief = false);

// The comments of a text on what it does not show, without what compilers leave behind.
struct Remarks {
  std::vector<std::string> before;  // a line each
  std::vector<std::string> after;   // the source of code that no instruction loads
};
Remarks remarks_on(const Input& input);

}  // namespace pellucid::driver
