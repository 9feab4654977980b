// SPDX-License-Identifier: Apache-2.0
// Writes marshal data for tests: what marshal.dumps would, and what it never would.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "object/code.h"
#include "object/pyc.h"

namespace pellucid::testing {

class MarshalWriter {
 public:
  using Writer = MarshalWriter;

  Writer& byte(int value) {
    bytes.push_back(static_cast<uint8_t>(value));
    return *this;
  }
  Writer& number(int64_t value, int size = 4) {
    for (int i = 0; i < size; ++i)
      byte(static_cast<int>(static_cast<uint64_t>(value) >> 8 * i & 255));
    return *this;
  }
  Writer& type(char code) { return byte(static_cast<uint8_t>(code)); }
  Writer& kept(char code) { return byte(static_cast<uint8_t>(code) | 0x80); }  // FLAG_REF
  Writer& reference(int index) { return type('r').number(index); }
  Writer& text(char code, std::string_view value) {
    type(code).number(static_cast<int64_t>(value.size()));
    bytes.insert(bytes.end(), value.begin(), value.end());
    return *this;
  }
  Writer& name(std::string_view value) { return text('u', value); }
  Writer& data(std::string_view value) { return text('s', value); }
  Writer& tuple(int count) { return type('(').number(count); }
  Writer& names(const std::vector<std::string>& values) {
    tuple(static_cast<int>(values.size()));
    for (const std::string& value : values) name(value);
    return *this;
  }
  Writer& raw(const Writer& other) {
    bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
    return *this;
  }

  std::vector<uint8_t> bytes;
};

// A function's code object whose fields a test fills in as it needs them.
struct CodeWriter {
  object::Version version{3, 12};
  std::string bytecode;
  MarshalWriter consts;  // the items alone
  int const_count = 0;
  std::vector<std::string> names;
  std::vector<std::string> varnames;
  std::vector<std::string> cellvars;
  std::vector<std::string> freevars;
  int flags = 3;
  std::string linetable;
  std::string exceptiontable;

  MarshalWriter write() const {
    const bool since_311 = version.minor >= 11;
    MarshalWriter out;
    out.type('c').number(0).number(0).number(0);
    if (!since_311) out.number(static_cast<int64_t>(varnames.size()));
    out.number(10).number(flags).data(bytecode);
    out.tuple(const_count).raw(consts).names(names);
    if (since_311) {
      std::vector<std::string> slots = varnames;
      std::string kinds(varnames.size(), '\x20');
      for (const std::string& cell : cellvars) {
        slots.push_back(cell);
        kinds += '\x40';
      }
      for (const std::string& cell : freevars) {
        slots.push_back(cell);
        kinds += '\x80';
      }
      out.names(slots).data(kinds).name("file.py").name("f").name("outer.f");
      return out.number(1).data(linetable).data(exceptiontable);
    }
    out.names(varnames).names(freevars).names(cellvars).name("file.py").name("f");
    return out.number(1).data(linetable);
  }
  Result<object::Module> read() const { return object::read_marshal(write().bytes, version); }
};

}  // namespace pellucid::testing
