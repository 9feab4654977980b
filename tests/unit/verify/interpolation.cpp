// SPDX-License-Identifier: Apache-2.0
// What the remembered text of an interpolation means: two texts mean the same if, and only if, they
// differ in how it is written alone.
#include <string>
#include <utility>

#include "testing.h"
#include "verify/lower/interpolation.h"

namespace pellucid {
namespace {

std::string meaning(std::string_view text) {
  const auto plain = [](std::string_view name) { return std::string(name); };
  return verify::lower::meaning_of_text(text, plain).value_or("?");
}

TEST("texts that are written in another way mean the same") {
  for (const auto& [a, b] :
       {std::pair("x+y", " (x)  + y "),
        std::pair("a.b(c, *d, k=1)[2:3]", "(a.b)(c,*d,k = 1)[(2):3]"), std::pair("0x10", "16"),
        std::pair("60*60", "3600"), std::pair("'a' \"b\"", "'ab'"),
        std::pair("not a in b", "not (a in b)"), std::pair("-a ** b", "-(a ** b)"),
        std::pair("a, b", "(a, b)"),
        std::pair("a if b else c if d else e", "a if b else (c if d else e)")}) {
    EXPECT_EQ(meaning(a), meaning(b));
    EXPECT_EQ(meaning(a) != "?", true);
  }
}

TEST("texts of other expressions do not mean the same") {
  for (const auto& [a, b] :
       {std::pair("x+y", "y+x"), std::pair("(a+b)*c", "a+b*c"), std::pair("a-(b-c)", "a-b-c"),
        std::pair("(a, b)", "[a, b]"), std::pair("(-a) ** b", "-a ** b"), std::pair("a(b)", "a[b]"),
        std::pair("'x'", "x"), std::pair("1", "1.0"), std::pair("True", "1"),
        std::pair("(a < b) < c", "a < b < c"), std::pair("(a and b) or c", "a and (b or c)")}) {
    EXPECT_EQ(meaning(a) != meaning(b), true);
  }
}

TEST("texts of what is not known mean nothing") {
  for (const char* text : {"", "a b", "a)", "(a", "lambda: a", "f'{a}'", "'\\n'", "[a for b in c]",
                           "a := b", "a # b", "await a", "1a", "\xc3\xa9"}) {
    EXPECT_EQ(meaning(text), std::string("?"));
  }
  EXPECT_EQ(meaning(std::string(100000, '(')), std::string("?"));
}

}  // namespace
}  // namespace pellucid
