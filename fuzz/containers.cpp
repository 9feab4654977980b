// SPDX-License-Identifier: Apache-2.0
// Any bytes, as a container: finds its members, and reads the first few, in nested
// containers too. Nothing may crash, hang, leak or exceed its limits.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "archive/carve.h"
#include "archive/containers.h"

namespace {

using namespace pellucid;

constexpr size_t kMembers = 8;  // read from each container
constexpr int kDeepest = 3;

void look_into(const archive::Data& data, int depth) {
  const Result<archive::Contents> found = archive::contents_of(archive::source_of(data));
  if (!found.ok()) return;
  for (size_t i = 0; i < found->members.size() && i < kMembers; ++i) {
    Result<std::vector<uint8_t>> bytes = found->members[i].read();
    if (bytes.ok() && depth < kDeepest) look_into(archive::data_of(std::move(*bytes)), depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const archive::Data all = archive::data_of(std::vector<uint8_t>(data, data + size));
  look_into(all, 0);
  archive::carve(all);
  return 0;
}
