// SPDX-License-Identifier: Apache-2.0
#include "polish/headers.h"

#include <string_view>

namespace pellucid::polish {

namespace {

int32_t header_width(const object::Module& module, const object::Code& code) {
  size_t width = std::string_view("def (): ").size() + module.strings.view(code.name).size();
  if ((code.flags & (object::kCoroutine | object::kAsyncGenerator)) != 0) {
    width += std::string_view("async ").size();
  }
  size_t count = object::parameter_count(code);
  for (size_t i = 0; i < count && i < code.varnames.size(); ++i) {
    width += module.strings.view(code.varnames[i]).size();
  }
  const bool has_rest = (code.flags & object::kVarArgs) != 0;
  width += (has_rest ? 1u : 0u) + ((code.flags & object::kVarKeywords) != 0 ? 2u : 0u);
  // A `/` or `*` alone is a parameter of one column.
  const size_t marks =
      (code.posonlyargcount > 0 ? 1u : 0u) + (code.kwonlyargcount > 0 && !has_rest ? 1u : 0u);
  width += marks;
  count += marks;
  if (count > 1) width += (count - 1) * std::string_view(", ").size();
  return static_cast<int32_t>(width);
}

// No source nests deeper than kMost, and a name that no compiler made may be as long as the file.
int32_t depth_of(const object::Module& module, const object::Code& code) {
  constexpr int32_t kMost = 100;  // MAXINDENT of CPython's tokenizer
  const std::string_view qualname = module.text(code.qualname);
  int32_t depth = 0;
  for (size_t at = qualname.find('.'); at < qualname.size() && depth < kMost;) {
    depth += qualname.substr(at + 1, 8) != "<locals>" ? 1 : 0;
    at = qualname.find('.', at + 1);
  }
  return depth;
}

}  // namespace

Header header_of(const object::Module& module, const object::Code& code) {
  return {header_width(module, code), depth_of(module, code)};
}

}  // namespace pellucid::polish
