// SPDX-License-Identifier: Apache-2.0
#include "bytecode/raw_table.h"

#include "base/check.h"
#include "bytecode/decode.h"
#include "bytecode/raw_tables.inc"

namespace pellucid::bytecode {

const RawTable& raw_table(object::Version version) {
  PELLUCID_CHECK(version.major == 3 && version.minor >= kFirstMinor && version.minor <= kLastMinor);
  return kRawTables[static_cast<size_t>(version.minor - kFirstMinor)];
}

std::string_view raw_name(object::Version version, uint8_t opcode) {
  return raw_table(version)[opcode].name;
}

}  // namespace pellucid::bytecode
