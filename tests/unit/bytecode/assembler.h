// SPDX-License-Identifier: Apache-2.0
// Raw bytecode of any version for tests, written by opcode name.
//
//   Assembler code(3, 12);
//   code.op("LOAD_FAST", 0).op("RETURN_VALUE");
//   EXPECT_EQ(code.stream(), "...");
#pragma once

#include <string>
#include <string_view>

#include "base/check.h"
#include "bytecode/decode.h"
#include "bytecode/raw_table.h"
#include "object/marshal_writer.h"

namespace pellucid::testing {

class Assembler : public CodeWriter {
 public:
  Assembler(int major, int minor) {
    version = {static_cast<uint8_t>(major), static_cast<uint8_t>(minor)};
    names = {"n0", "n1", "n2"};
    varnames = {"v0", "v1"};
    const_count = 2;
    consts.type('N').type('i').number(7);
  }

  // Appends an instruction with the EXTENDED_ARGs and inline caches that it needs.
  Assembler& op(std::string_view name, uint32_t arg = 0) {
    for (int shift = 24; shift > 0; shift -= 8) {
      if (arg >> shift != 0) unit("EXTENDED_ARG", arg >> shift & 255);
    }
    return unit(name, arg & 255);
  }

  // The dump of the canonical stream without its heading, or the error.
  std::string stream() const {
    const Result<object::Module> module = read();
    if (!module.ok()) return module.error().message;
    const auto decoded = bytecode::decode(*module, module->root);
    if (!decoded.ok()) return decoded.error().message;
    bytecode::check(*module, *decoded);
    const std::string text = bytecode::dump(*module, *decoded);
    return '\n' + text.substr(text.find('\n') + 1);
  }

 private:
  Assembler& unit(std::string_view name, uint32_t arg) {
    const bytecode::RawTable& table = bytecode::raw_table(version);
    size_t opcode = 0;
    while (opcode < table.size() && table[opcode].name != name) ++opcode;
    PELLUCID_CHECK(opcode < table.size());
    bytecode += static_cast<char>(opcode);
    bytecode += static_cast<char>(arg);
    bytecode.append(2 * size_t{table[opcode].caches}, '\0');
    return *this;
  }
};

// Code of 3.12 after its RESUME: without one nothing is proven.
inline Assembler resumed() { return Assembler(3, 12).op("RESUME", 0); }

}  // namespace pellucid::testing
