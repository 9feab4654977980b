// SPDX-License-Identifier: Apache-2.0
// Any bytes, as pickles: runs them, lists what loading would do, and reads the code objects.
// Nothing may crash, hang, leak or exceed its limits.

#include <cstddef>
#include <cstdint>
#include <span>

#include "object/pyc.h"
#include "pickle/stream.h"
#include "pickle/text.h"

namespace {

using namespace pellucid;

constexpr object::Version kVersions[] = {{3, 9}, {3, 13}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  if (!pickle::is_pickle(bytes)) return 0;
  for (const pickle::Pickle& pickle : pickle::read(bytes).pickles) {
    (void)pickle::dump(pickle.graph);
    for (const pickle::FoundCode& code : pickle.codes) {
      for (const object::Version version : kVersions) {
        (void)object::read_marshal(code.bytes, version);
      }
    }
  }
  return 0;
}
