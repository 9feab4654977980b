// SPDX-License-Identifier: Apache-2.0
#include "web/links.h"

#include <optional>
#include <string>

#include "random.h"
#include "testing.h"

namespace pellucid::web {
namespace {

std::string shown(const std::vector<Extent>& extents) {
  std::string text;
  for (const Extent& each : extents) {
    text += std::to_string(each.first) + '-' + std::to_string(each.last) + ' ';
  }
  return text;
}

TEST("statements on one line end on one line") {
  Decompilation made;
  for (const uint32_t line : {1, 2, 2, 2, 5}) made.lines.emplace_back().line = line;
  const std::vector<LineOrigin> origins = origins_of(made, "a\nb; c; d(\n  e)\n\nf\n", {}, {});
  REQUIRE(origins.size() == 5);
  EXPECT_EQ(origins[0].last_line, 1u);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(origins[i].last_line, 3u);
  EXPECT_EQ(origins[4].last_line, 5u);
}

// Each lambda is in the last statement of the text, of those around it, that starts at its line or
// before; lines of the original may come in any order.
TEST("a lambda is in the statement around it") {
  testing::Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<LineOrigin> origins(random.below(12));
    for (uint32_t i = 0; i < origins.size(); ++i) {
      origins[i].line = origins[i].last_line = i + 1;
      origins[i].code = random.below(3);
      if (random.below(6) != 0) {
        origins[i].original_line = static_cast<int32_t>(1 + random.below(9));
      }
    }
    std::vector<CodeView> codes(9);
    for (uint32_t i = 1; i < codes.size(); ++i) {
      codes[i].code = i;
      codes[i].parent = i < 3 ? 0 : random.below(3);
      codes[i].first_line = static_cast<int32_t>(random.below(11));
    }
    const std::vector<Extent> extents = extents_of(origins, codes, codes.size());
    std::vector<Extent> wanted = extents;
    for (uint32_t i = 3; i < codes.size(); ++i) {
      wanted[i] = extents[*codes[i].parent];
      for (const LineOrigin& origin : origins) {
        if (origin.code != codes[i].parent || !origin.original_line) continue;
        if (*origin.original_line > codes[i].first_line) continue;
        wanted[i] = {origin.line, origin.last_line};
      }
    }
    EXPECT_EQ(shown(extents), shown(wanted));
  }
}

}  // namespace
}  // namespace pellucid::web
