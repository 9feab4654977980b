// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/displays.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "verify/lower/expressions.h"
#include "verify/lower/folding.h"

namespace pellucid::verify::lower {

namespace {

// Returns equal keys for constants that compare equal, where that is easily determined.
std::string sameness(const object::Module& module, ConstId id) {
  constexpr double kExact = 9007199254740992;  // 2 ** 53
  const object::Const& value = module[id];
  const auto of_number = [&](double number) {
    const bool is_exact = std::abs(number) < kExact;
    return is_exact ? "number " + std::to_string(number + 0.0)
                    : "constant " + std::to_string(id.value);
  };
  switch (value.kind) {
    case object::ConstKind::False:
      return of_number(0);
    case object::ConstKind::True:
      return of_number(1);
    case object::ConstKind::Int:
      return of_number(static_cast<double>(value.integer));
    case object::ConstKind::Float:
      if (value.real == std::floor(value.real)) return of_number(value.real);
      break;
    case object::ConstKind::Str:
      return "text " + std::string(module.text(value.text));
    case object::ConstKind::Bytes:
      return "bytes " + std::string(module.text(value.text));
    case object::ConstKind::Tuple:
      if (value.items.empty()) return "tuple";
      break;
    case object::ConstKind::None:
      return "None";
    default:  // NOLINT: kept distinct, so that at worst nothing is proven
      break;
  }
  return "constant " + std::to_string(id.value);
}

// Drops all but the first of equal constants, as a constant set does.
void drop_equal(const object::Module& module, std::vector<ConstId>& items) {
  std::vector<ConstId> kept;
  std::unordered_set<std::string> known;
  for (const ConstId item : items) {
    if (known.insert(sameness(module, item)).second) kept.push_back(item);
  }
  items = std::move(kept);
}

void build_part(Unit& unit, Op build, uint32_t count) {
  if (build == Op::BuildTuple) return build_tuple(unit, count);
  unit.emit.op(build, count);
}

// Builds a display in 3.8, which unpacks all parts at once.
void unpacked_38(Unit& unit, Display display, std::span<const NodeId> elements) {
  const Op part = display == Display::Set ? Op::BuildSet : Op::BuildTuple;
  uint32_t parts = 0;
  uint32_t pending = 0;
  for (NodeId element : elements) {
    if (unit.tree.is(element, Kind::Starred)) {
      if (pending > 0) {
        build_part(unit, part, pending);
        ++parts;
      }
      pending = 0;
      expression(unit, unit.tree.as<ast::Starred>(element).value);
      ++parts;
    } else {
      expression(unit, element);
      ++pending;
    }
  }
  if (parts > 0) {
    if (pending > 0) {
      build_part(unit, part, pending);
      ++parts;
    }
    const Op unpack = display == Display::Tuple  ? Op::BuildTupleUnpack
                      : display == Display::List ? Op::BuildListUnpack
                                                 : Op::BuildSetUnpack;
    return unit.emit.op(unpack, parts);
  }
  const Op build = display == Display::Tuple  ? Op::BuildTuple
                   : display == Display::List ? Op::BuildList
                                              : Op::BuildSet;
  build_part(unit, build, pending);
}

// Builds a dictionary of pairs.
void dictionary_part(Unit& unit, std::span<const NodeId> keys, std::span<const NodeId> values) {
  const auto count = static_cast<uint32_t>(keys.size());
  const bool big = unit.features.limits_stack && keys.size() * 2 > kMostOnStack;
  if (count > 1 && !big && !unit.features.maps_have_pairs) {
    std::vector<ConstId> constants;
    for (NodeId key : keys) {
      const auto constant = constant_of(unit, key);
      if (!constant) break;
      constants.push_back(*constant);
    }
    if (constants.size() == keys.size()) {
      expressions(unit, values);
      load(unit, unit.constants.tuple(constants));
      return unit.emit.op(Op::BuildConstKeyMap, count);
    }
  }
  if (big) unit.emit.op(Op::BuildMap, 0);
  for (size_t i = 0; i < keys.size(); ++i) {
    expression(unit, keys[i]);
    expression(unit, values[i]);
    if (big) unit.emit.op(Op::MapAdd, 1);
  }
  if (!big) unit.emit.op(Op::BuildMap, count);
}

// Builds a dictionary display in 3.8, which unpacks all parts at once.
void dictionary_38(Unit& unit, std::span<const NodeId> keys, std::span<const NodeId> values) {
  uint32_t parts = 0;
  size_t pending = 0;
  const auto flush = [&](size_t end) {
    dictionary_part(unit, keys.subspan(end - pending, pending),
                    values.subspan(end - pending, pending));
    ++parts;
    pending = 0;
  };
  bool unpacks = false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (keys[i].valid()) {
      ++pending;
      continue;
    }
    if (pending > 0) flush(i);
    expression(unit, values[i]);
    unpacks = true;
    ++parts;
  }
  if (pending > 0 || parts == 0) flush(values.size());
  if (parts > 1 || unpacks) unit.emit.op(Op::BuildMapUnpack, parts);
}

}  // namespace

void sequence(Unit& unit, Display display, std::span<const NodeId> elements, uint32_t pushed) {
  if (!unit.features.extends_containers) return unpacked_38(unit, display, elements);
  const Op build = display == Display::Set ? Op::BuildSet : Op::BuildList;
  const Op append = display == Display::Set ? Op::SetAdd : Op::ListAppend;
  const Op extend = display == Display::Set ? Op::SetUpdate : Op::ListExtend;
  const bool big = unit.features.limits_stack && elements.size() + pushed > kMostOnStack;
  // 3.14 folds constants only after the code of the display is emitted.
  if (elements.size() > 2 && display != Display::Tuple && !(unit.features.folds_late && big)) {
    object::Const folded;
    folded.kind = display == Display::Set ? object::ConstKind::FrozenSet : object::ConstKind::Tuple;
    for (NodeId element : elements) {
      const auto constant = constant_of(unit, element);
      if (!constant) break;
      folded.items.push_back(*constant);
    }
    if (folded.items.size() == elements.size()) {
      if (display == Display::Set) drop_equal(unit.module, folded.items);
      unit.emit.op(build, pushed);
      load(unit, unit.module.add(std::move(folded)));
      return unit.emit.op(extend, 1);
    }
  }
  const bool starred = std::any_of(elements.begin(), elements.end(), [&](NodeId element) {
    return unit.tree.is(element, Kind::Starred);
  });
  if (!starred && !big) {
    expressions(unit, elements);
    return build_part(unit, display == Display::Tuple ? Op::BuildTuple : build,
                      static_cast<uint32_t>(elements.size()) + pushed);
  }
  bool built = false;
  if (big) {
    unit.emit.op(build, pushed);
    built = true;
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (unit.tree.is(elements[i], Kind::Starred)) {
      if (!built) unit.emit.op(build, static_cast<uint32_t>(i) + pushed);
      built = true;
      expression(unit, unit.tree.as<ast::Starred>(elements[i]).value);
      unit.emit.op(extend, 1);
    } else {
      expression(unit, elements[i]);
      if (built) unit.emit.op(append, 1);
    }
  }
  if (display == Display::Tuple) unit.emit.op(Op::ListToTuple);
}

void dictionary(Unit& unit, const ast::Dict& node) {
  const auto keys = unit.tree.items(node.keys);
  const auto values = unit.tree.items(node.values);
  if (!unit.features.extends_containers) return dictionary_38(unit, keys, values);
  bool have = false;
  size_t pending = 0;
  const auto flush = [&](size_t end) {
    dictionary_part(unit, keys.subspan(end - pending, pending),
                    values.subspan(end - pending, pending));
    if (have) unit.emit.op(Op::DictUpdate, 1);
    have = true;
    pending = 0;
  };
  for (size_t i = 0; i < values.size(); ++i) {
    if (!keys[i].valid()) {
      if (pending > 0) flush(i);
      if (!have) unit.emit.op(Op::BuildMap, 0);
      have = true;
      expression(unit, values[i]);
      unit.emit.op(Op::DictUpdate, 1);
    } else {
      ++pending;
      // Large ones are flushed after this pair, as in CPython.
      if (unit.features.limits_stack && (pending - 1) * 2 > kMostOnStack) flush(i + 1);
    }
  }
  if (pending > 0) flush(values.size());
  if (!have) unit.emit.op(Op::BuildMap, 0);
}

void iterated(Unit& unit, NodeId node, bool is_searched) {
  if (!folds_here(unit)) return expression(unit, node);
  // Since 3.14 an iterated tuple that would be built from a list stays a list.
  const bool is_tuple = unit.tree.is(node, Kind::Tuple) && !is_searched;
  if (unit.features.folds_late && (is_tuple || unit.tree.is(node, Kind::List)) &&
      !constant_of(unit, node)) {
    const auto elements = unit.tree.items(ListId(unit.tree.slot(node, 0)));
    const bool is_made_of_list = elements.size() > kMostOnStack ||
                                 std::any_of(elements.begin(), elements.end(), [&](NodeId element) {
                                   return unit.tree.is(element, Kind::Starred);
                                 });
    if (is_made_of_list) return sequence(unit, Display::List, elements);
  }
  if (unit.tree.is(node, Kind::List)) {
    const auto elements = unit.tree.items(unit.tree.as<ast::List>(node).elts);
    const auto is_starred = [&](NodeId element) { return unit.tree.is(element, Kind::Starred); };
    if (std::none_of(elements.begin(), elements.end(), is_starred)) {
      std::vector<ConstId> items;
      for (NodeId element : elements) {
        const auto constant = constant_of(unit, element);
        if (!constant) break;
        items.push_back(*constant);
      }
      if (items.size() == elements.size()) return load(unit, unit.constants.tuple(items));
      return sequence(unit, Display::Tuple, elements);
    }
  }
  if (unit.tree.is(node, Kind::Set)) {
    object::Const frozen;
    frozen.kind = object::ConstKind::FrozenSet;
    const auto elements = unit.tree.items(unit.tree.as<ast::Set>(node).elts);
    for (NodeId element : elements) {
      if (const auto constant = constant_of(unit, element)) frozen.items.push_back(*constant);
    }
    if (frozen.items.size() == elements.size()) {
      drop_equal(unit.module, frozen.items);
      return load(unit, unit.module.add(std::move(frozen)));
    }
  }
  expression(unit, node);
}

}  // namespace pellucid::verify::lower
