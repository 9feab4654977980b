// SPDX-License-Identifier: Apache-2.0
#include "web/exports.h"

#include <algorithm>
#include <string>
#include <vector>

#include "samples.h"
#include "testing.h"

namespace pellucid::web {
namespace {

void give(const std::vector<uint8_t>& bytes) {
  std::copy(bytes.begin(), bytes.end(), pellucid_input(bytes.size()));
}

std::string result() { return {pellucid_result(), pellucid_result_size()}; }

TEST("no call keeps the input of the one before it, however that ended") {
  const std::vector<uint8_t> pyc = testing::sample_pyc("3.12");
  const auto has_none = [] { return !pellucid_codes(0) && result().find("truncated") < 20; };
  give(pyc);
  EXPECT(pellucid_codes(0));
  EXPECT(has_none());
  give(pyc);
  EXPECT(!pellucid_dump(0, "no such stage", -1));
  EXPECT(has_none());
  // No stage at all is an exception of the standard library.
  give(pyc);
  EXPECT(!pellucid_dump(0, nullptr, -1));
  EXPECT(result().find("internal error") != std::string::npos);
  EXPECT(has_none());
}

}  // namespace
}  // namespace pellucid::web
