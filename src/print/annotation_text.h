// SPDX-License-Identifier: Apache-2.0
// print: the text of an annotation that was compiled to a string.
#pragma once

#include <string>
#include <string_view>

namespace pellucid::print {

// CPython 3.8 has made a constant of the tuple in `Callable[..., None]` before it writes the
// annotation, so that the string holds the constant's repr: `Callable[(Ellipsis, None)]`. Returns
// the text with `...` for `Ellipsis` in tuples that hold constants only.
std::string with_ellipses(std::string_view annotation);

}  // namespace pellucid::print
