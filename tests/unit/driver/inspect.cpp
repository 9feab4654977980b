// SPDX-License-Identifier: Apache-2.0
#include "driver/inspect.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "driver/marks.h"
#include "object/utf8.h"
#include "testing.h"

namespace pellucid::driver {
namespace {

std::vector<std::filesystem::path> files_of_the_fuzzer() {
  std::vector<std::filesystem::path> found;
  const std::filesystem::path folder = PELLUCID_SOURCE_DIR "/tests/regress/fuzz";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// (Under the sanitizers, that no byte outside is read.)
TEST("what the fuzzer found is inspected") {
  size_t count = 0;
  for (const std::filesystem::path& path : files_of_the_fuzzer()) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    const Result<Input> input = read_input(bytes);
    if (!input.ok()) continue;
    for (const bool is_brief : {false, true}) {
      EXPECT(!inspect(*input, is_brief).codes.empty());
    }
    ++count;
  }
  EXPECT(count > 10);
}

TEST("a long name is cut between two characters") {
  Output output;
  const std::string euro = "\xe2\x82\xac";
  output.renamed.emplace_back("_a", std::string(299, 'a') + euro + "b");
  const std::vector<std::string> lines = lines_on_names(output);
  REQUIRE(lines.size() == 2);
  EXPECT_EQ(lines[1], "- _a is '" + std::string(299, 'a') + "'...");
}

}  // namespace
}  // namespace pellucid::driver
