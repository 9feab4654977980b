// bytecode: code units -> what `dis` shows.
#pragma once

#include <vector>

#include "base/result.h"
#include "bytecode/stream.h"

namespace pellucid::bytecode {

// EXTENDED_ARGs are folded into the instruction behind them, inline caches are skipped.
Result<std::vector<RawInstr>> read_raw(const object::Code& code);

// One entry of a 3.11+ exception table, in byte offsets.
struct RawException {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t target = 0;
  uint32_t depth = 0;
  bool lasti = false;
};
Result<std::vector<RawException>> read_exception_table(const object::Code& code);

}  // namespace pellucid::bytecode
