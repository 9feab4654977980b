// SPDX-License-Identifier: Apache-2.0
// Any bytes: read_pyc returns a module that satisfies its invariants or an error, and so does
// decode.
#include <cstddef>
#include <cstdint>
#include <span>

#include "bytecode/decode.h"
#include "mutate_code.h"
#include "object/pyc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pellucid;
  const Result<object::Module> module = object::read_pyc(std::span(data, size));
  if (!module.ok()) return 0;
  object::check(*module);
  for (size_t i = 0; i < module->codes.size(); ++i) {
    const Result<bytecode::Stream> stream = bytecode::decode(*module, object::CodeId(i));
    if (!stream.ok()) continue;
    bytecode::check(*module, *stream);
    bytecode::dump(*module, *stream);
  }
  return 0;
}
