// SPDX-License-Identifier: Apache-2.0
// print: the text of an annotation that was compiled to a string.
#pragma once

#include <string>
#include <string_view>

namespace pellucid::print {

// Returns the text with `...` for `Ellipsis` in tuples that hold constants only. CPython 3.8 folds
// the tuple in `Callable[..., None]` into a constant before it writes the annotation, so that the
// string has the constant's repr: `Callable[(Ellipsis, None)]`.
std::string with_ellipses(std::string_view annotation);

}  // namespace pellucid::print
