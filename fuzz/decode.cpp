// SPDX-License-Identifier: Apache-2.0
// Any bytecode with any tables, in any version: decode returns a stream that satisfies its
// invariants, or an error. The first byte selects the version, the next two are the sizes of the
// line table and of the exception table, which follow; the rest is bytecode.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bytecode/decode.h"

namespace {

using namespace pellucid;

object::Module module_of(object::Version version) {
  object::Module module = object::new_module(version);
  object::Code code;
  code.version = version;
  code.name = code.qualname = code.filename = module.strings.intern("f");
  code.names = {module.strings.intern("a"), module.strings.intern("b")};
  code.varnames = {module.strings.intern("c"), module.strings.intern("d")};
  code.cellvars = {module.strings.intern("e")};
  code.freevars = {module.strings.intern("g")};
  code.nlocals = 2;
  object::derive_localsplus(code);
  code.consts = {module.add({.kind = object::ConstKind::None})};
  module.codes.push_back(code);
  module.root = object::CodeId(size_t{0});
  return module;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  object::Module module = module_of({3, static_cast<uint8_t>(8 + data[0] % 7)});
  object::Code& code = module.codes.edit(module.root);
  const uint8_t* const end = data + size;
  const uint8_t* const lines = data + 3 + std::min<size_t>(data[1], size - 3);
  const uint8_t* const exceptions = lines + std::min<ptrdiff_t>(data[2], end - lines);
  code.linetable.assign(data + 3, lines);
  code.exceptiontable.assign(lines, exceptions);
  code.bytecode.assign(exceptions, end);
  object::check(module);
  const Result<bytecode::Stream> stream = bytecode::decode(module, module.root);
  if (!stream.ok()) return 0;
  bytecode::check(module, *stream);
  bytecode::dump(module, *stream);
  return 0;
}
