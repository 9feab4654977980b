// SPDX-License-Identifier: Apache-2.0
#include "object/utf8.h"

#include "object/repr.h"
#include "testing.h"

namespace pellucid::object {
namespace {

constexpr std::string_view kEuro = "\xe2\x82\xac";
constexpr std::string_view kFace = "\xf0\x9f\x98\x80";

TEST("a character is read whole") {
  size_t at = 0;
  EXPECT(next_code_point(kEuro, at) == 0x20ac);
  EXPECT_EQ(at, size_t{3});
  at = 0;
  EXPECT(next_code_point(kFace, at) == 0x1f600);
  EXPECT_EQ(at, size_t{4});
}

TEST("of a character that the end cuts, only what is there is read") {
  for (const std::string_view whole : {kEuro, kFace}) {
    for (size_t size = 1; size < whole.size(); ++size) {
      size_t at = 0;
      next_code_point(whole.substr(0, size), at);
      EXPECT_EQ(at, size_t{1});
    }
  }
}

TEST("a byte that begins no character is shown whole") {
  EXPECT_EQ(repr_of_text("a\x80\xff"), "'a\\x80\\xff'");
  EXPECT_EQ(repr_of_text(kEuro.substr(0, 1)), "'\\xe2'");
}

TEST("the front of a text ends between two characters") {
  const std::string text = "a" + std::string(kEuro) + std::string(kFace);
  EXPECT_EQ(front_of(text, 0), "");
  for (size_t most = 1; most < 4; ++most) EXPECT_EQ(front_of(text, most), "a");
  for (size_t most = 4; most < 8; ++most) EXPECT_EQ(front_of(text, most), text.substr(0, 4));
  for (size_t most = 8; most < 10; ++most) EXPECT_EQ(front_of(text, most), text);
}

TEST("the front of bytes that are no text is as long as asked") {
  const std::string bytes(9, '\x80');
  EXPECT_EQ(front_of(bytes, 2), bytes.substr(0, 2));
  EXPECT_EQ(front_of(bytes, 7), bytes.substr(0, 7));
}

}  // namespace
}  // namespace pellucid::object
