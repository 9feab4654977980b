// Any bytes, as a .pyc: read, decompile, and show every stage. Nothing may crash, hang or leak.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

#include "driver/pipeline.h"
#include "object/pyc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pellucid;
  Result<object::Module> module = object::read_pyc(std::span(data, size));
  if (!module.ok()) return 0;
  object::check(*module);
  const Result<driver::Output> output = driver::decompile(*module, module->root);
  // Whatever the bytes were, a failed check is our bug, also where it costs one function only.
  if (!output.ok() && output.error().code == ErrorCode::Internal) __builtin_trap();
  if (!output.ok()) return 0;
  for (const driver::Diagnostic& diagnostic : output->diagnostics) {
    if (!diagnostic.message.starts_with("check failed")) continue;
    std::fprintf(stderr, "%s\n", diagnostic.message.c_str());
    __builtin_trap();
  }
  return 0;
}
