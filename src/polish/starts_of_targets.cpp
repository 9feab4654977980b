// SPDX-License-Identifier: Apache-2.0
// Where an assignment to several targets starts.
#include <algorithm>

#include "polish/keywords.h"
#include "polish/starts.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

// Returns true if an assignment stores the values of a tuple without making one: from the last
// name to the first.
bool Starts::is_swap(const ast::Assign& assign) const {
  constexpr size_t kMost = 3;
  if (!tree_.is(assign.value, Kind::Tuple) || tree_.items(assign.targets).size() > 1) return false;
  const auto values = tree_.items(tree_.as<ast::Tuple>(assign.value).elts);
  return values.size() <= kMost && std::any_of(values.begin(), values.end(), [&](NodeId value) {
           return !tree_.is(value, Kind::Constant);
         });
}

// Returns the column of the leftmost element. Names that one instruction stores (3.13+) share the
// place of the one that is stored first.
int32_t Starts::of_assign(const ast::Assign& assign) const {
  const NodeId target = tree_.items(assign.targets)[0];
  if (!tree_.is(target, Kind::Tuple) && !tree_.is(target, Kind::List)) {
    return leftmost(target).column;
  }
  const auto elements =
      tree_.items(tree_.is(target, Kind::Tuple) ? tree_.as<ast::Tuple>(target).elts
                                                : tree_.as<ast::List>(target).elts);
  int32_t least = kUnknown;
  for (const NodeId element : elements) {
    const int32_t here = leftmost(element).column;
    if (here == kUnknown) return kUnknown;
    if (least == kUnknown || here < least) least = here;
  }
  const bool is_shared = elements.size() > 1 && unit_of(elements[0]) != kNoUnit &&
                         unit_of(elements[0]) == unit_of(elements[1]);
  if (!is_swap(assign)) {
    // What unpacks them is right before the first of them, and starts with a bracket around them.
    const uint32_t unit = first_unit(elements);
    const int32_t begin = unit == kNoUnit || unit == 0 ? kUnknown : places_.columns(unit - 1).begin;
    if (begin != kUnknown && begin <= least) return begin;
    return is_shared ? kUnknown : least;
  }
  if (!is_shared) return least;
  if (!tree_.is(elements[0], Kind::Name)) return kUnknown;
  const auto first = tree_.text(tree_.as<ast::Name>(elements[0]).id);
  return least - width_of(first) - width_of(", ");
}

}  // namespace pellucid::polish
