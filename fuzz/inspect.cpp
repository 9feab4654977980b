// SPDX-License-Identifier: Apache-2.0
// Any bytes, as a file: inspect what its text does not show, and say it in comments. Nothing may
// crash, hang, leak or read outside.
#include <cstddef>
#include <cstdint>
#include <span>

#include "driver/inspect.h"
#include "mutate_code.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pellucid;
  const Result<driver::Input> input = driver::read_input(std::span(data, size));
  if (!input.ok()) return 0;
  driver::inspect(*input);
  driver::remarks_on(*input);
  return 0;
}
