// SPDX-License-Identifier: Apache-2.0
#include "verify/headers/header.h"

#include <algorithm>
#include <optional>
#include <span>

#include "verify/domain/state.h"

namespace pellucid::verify {

namespace {

using object::Code;
using object::ConstKind;

std::string both(const char* what, std::string_view x, std::string_view y) {
  return std::string(what) + ' ' + std::string(x) + " / " + std::string(y);
}

uint32_t future_flags(object::Version version) {
  return version.minor >= 9 ? 0xfff0000u & ~(object::kHasDocstring | object::kMethod) : 0xffe000u;
}

// Returns the `__doc__` of a function with this code.
std::optional<std::string_view> docstring(const object::Module& module, const Code& code) {
  // The function of a comprehension is never visible.
  const std::string_view name = module.text(code.name);
  const bool is_hidden = name.starts_with("<") && name != "<lambda>";
  if (!(code.flags & object::kOptimized) || is_hidden) return std::nullopt;
  if (code.version.minor >= 14 && !(code.flags & object::kHasDocstring)) return std::nullopt;
  if (code.consts.empty()) return std::nullopt;
  const object::Const& first = module[code.consts[0]];
  if (first.kind != ConstKind::Str) return std::nullopt;
  return module.text(first.text);
}

std::vector<std::string_view> texts(const object::Module& module, const std::vector<Symbol>& names,
                                    size_t count) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < count && i < names.size(); ++i) out.push_back(module.text(names[i]));
  return out;
}

// Returns true if the first names of A and B are the same, in this order.
bool are_same(const Values& values, std::span<const Symbol> in_a, std::span<const Symbol> in_b,
              size_t count) {
  return std::ranges::equal(in_a.first(std::min(count, in_a.size())),
                            in_b.first(std::min(count, in_b.size())),
                            [&](Symbol x, Symbol y) { return values.same_name(x, y); });
}

std::string list(const std::vector<std::string_view>& names) {
  std::string out = "(";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ", ";
    out += names[i];
  }
  return out + ')';
}

}  // namespace

std::string header_difference(Values& values, object::CodeId a, object::CodeId b,
                              const HeaderRules& rules) {
  const object::Module& in_a = values.module(Side::A);
  const object::Module& in_b = values.module(Side::B);
  const Code& x = in_a[a];
  const Code& y = in_b[b];
  if (x.version != y.version) return "another version";
  if (!rules.ignore_name && in_a.text(x.name) != in_b.text(y.name)) {
    return both("name", in_a.text(x.name), in_b.text(y.name));
  }
  const std::string_view qualname_a = in_a.text(x.qualname);
  const std::string_view qualname_b = in_b.text(y.qualname);
  if (!rules.ignore_qualname && qualname_a != qualname_b &&
      !(rules.moved && qualname_fits(qualname_a, qualname_b))) {
    return both("qualname", qualname_a, qualname_b);
  }
  uint32_t ignored = 0;
  if (rules.ignore_nested_flag) ignored |= object::kNested;
  if (x.version.minor <= 9) ignored |= object::kNoFree;  // follows from the variables
  if (rules.ignore_future_flags) ignored |= future_flags(x.version);
  if ((x.flags & ~ignored) != (y.flags & ~ignored)) {
    return both("flags", std::to_string(x.flags), std::to_string(y.flags));
  }
  if (x.argcount != y.argcount || x.posonlyargcount != y.posonlyargcount ||
      x.kwonlyargcount != y.kwonlyargcount) {
    return "argument counts";
  }
  const auto compare = [&](const char* what, const std::vector<Symbol>& p,
                           const std::vector<Symbol>& q, size_t count, bool ordered) {
    if (are_same(values, p, q, count)) return std::string();
    std::vector<std::string_view> names_a = texts(in_a, p, std::min(count, p.size()));
    std::vector<std::string_view> names_b = texts(in_b, q, std::min(count, q.size()));
    if (!ordered) {
      std::sort(names_a.begin(), names_a.end());
      std::sort(names_b.begin(), names_b.end());
    }
    return names_a == names_b ? std::string() : both(what, list(names_a), list(names_b));
  };
  constexpr size_t all = ~size_t{0};
  std::string difference =
      compare("argument names", x.varnames, y.varnames, parameter_count(x), true);
  if (difference.empty()) difference = compare("free variables", x.freevars, y.freevars, all, true);
  if (difference.empty()) {
    difference = compare("cell variables", x.cellvars, y.cellvars, all, false);
  }
  if (!difference.empty()) return difference;
  if (docstring(in_a, x) != docstring(in_b, y)) return "docstring";
  return "";
}

}  // namespace pellucid::verify
