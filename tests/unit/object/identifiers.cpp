// SPDX-License-Identifier: Apache-2.0
// object::is_identifier: a name is what CPython makes of it, which is its NFKC form.
#include "object/identifiers.h"

#include "testing.h"

namespace pellucid::object {
namespace {

TEST("a mark that composes with nothing before it may stand in a name") {
  EXPECT(is_identifier("x\u0302"));             // x with a circumflex is two characters
  EXPECT(is_identifier("\u05e2\u05b4\u05d1"));  // Hebrew points are never composed
  EXPECT(is_identifier("\u0bb4\u0bbe"));        // a vowel sign that composes with another one
}

TEST("two characters that become one are no name") {
  EXPECT(!is_identifier("a\u0302"));
  EXPECT(!is_identifier("x\u0302a\u0302"));
  EXPECT(!is_identifier("\u0bc6\u0bbe"));
  EXPECT(!is_identifier("a\u0323\u0302"));
  EXPECT(!is_identifier("a\u0330\u0302"));  // with a mark of another kind between them
}

TEST("marks have a canonical order") {
  EXPECT(is_identifier("x\u0330\u0302"));
  EXPECT(!is_identifier("x\u0302\u0330"));
}

}  // namespace
}  // namespace pellucid::object
