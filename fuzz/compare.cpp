// SPDX-License-Identifier: Apache-2.0
// Any bytes, as a .pyc: no difference is found between a code object and itself.

#include <cstddef>
#include <cstdint>
#include <span>

#include "mutate_code.h"
#include "object/pyc.h"
#include "verify/compare.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pellucid;
  const Result<object::Module> module = object::read_pyc(std::span(data, size));
  if (!module.ok()) return 0;
  const verify::Verdict verdict = verify::compare(*module, module->root, *module, module->root);
  // Invalid bytecode is unproven, with a reason.
  if (verdict.status == verify::Status::Unproven && verdict.first_unproven() == nullptr) {
    __builtin_trap();
  }
  return 0;
}
