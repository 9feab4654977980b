// SPDX-License-Identifier: Apache-2.0
// Any bytes, as a container: finds its kind and its members, and reads the first few, in nested
// containers too. Nothing may crash, hang, leak or exceed its limits.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/containers.h"

namespace {

using namespace pellucid;

constexpr size_t kMembers = 8;  // read from each container
constexpr int kDeepest = 3;

void look_into(const cli::Data& data, int depth) {
  if (cli::kind_of(data) == cli::DataKind::Code) {
    cli::looks_like_code(data.bytes);
    return;
  }
  const Result<std::vector<cli::Member>> members = cli::members_of(data);
  if (!members.ok()) return;
  for (size_t i = 0; i < members->size() && i < kMembers; ++i) {
    Result<std::vector<uint8_t>> bytes = (*members)[i].read();
    if (bytes.ok() && depth < kDeepest) look_into(cli::data_of(std::move(*bytes)), depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  look_into(cli::data_of(std::vector<uint8_t>(data, data + size)), 0);
  return 0;
}
