// SPDX-License-Identifier: Apache-2.0
// Any bytes, as a .pyc: read and decompile in a form selected by the length of the input, with or
// without proof and search. Nothing may crash, hang or leak.
//
// Random changes are seldom proven, and a search for a proven form repeats all the work in each
// form, so only one input in eight is searched.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

#include "driver/pipeline.h"
#include "mutate_code.h"
#include "object/pyc.h"

namespace {

pellucid::driver::Options options_for(size_t size) {
  pellucid::driver::Options options;
  options.verify = size % 2 == 1;
  options.search = size % 8 == 1;
  options.keep_lines = size % 4 >= 2;
  options.force_unstructured = size % 5 == 0;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pellucid;
  Result<object::Module> module = object::read_pyc(std::span(data, size));
  if (!module.ok()) return 0;
  object::check(*module);
  const Result<driver::Output> output = driver::decompile(*module, module->root, options_for(size));
  // A failed check is our bug for any input, even if only one function is lost.
  if (!output.ok() && output.error().code == ErrorCode::Internal) __builtin_trap();
  if (!output.ok()) return 0;
  for (const driver::Diagnostic& diagnostic : output->diagnostics) {
    if (!diagnostic.message.starts_with("check failed")) continue;
    std::fprintf(stderr, "%s\n", diagnostic.message.c_str());
    __builtin_trap();
  }
  return 0;
}
