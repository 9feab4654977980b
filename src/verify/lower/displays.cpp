// SPDX-License-Identifier: Apache-2.0
// Displays and f-strings. Large ones are built item by item (3.10+) to limit the stack; constant
// ones are built from constants.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

namespace {

// CPython's STACK_USE_GUIDELINE.
constexpr size_t kMostOnStack = 30;

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

}  // namespace

// Drops all but the first of equal constants, as a constant set does.
void Compiler::drop_equal(std::vector<ConstId>& items) const {
  std::vector<ConstId> kept;
  std::unordered_set<std::string> known;
  for (const ConstId item : items) {
    if (known.insert(sameness(out_.module, item)).second) kept.push_back(item);
  }
  items = std::move(kept);
}

void Compiler::iterated(NodeId node, bool is_searched) {
  if (!folds()) return expression(node);
  // Since 3.14 an iterated tuple that would be built from a list stays a list.
  const bool is_tuple = tree_.is(node, Kind::Tuple) && !is_searched;
  if (features_.folds_late && (is_tuple || tree_.is(node, Kind::List)) && !constant_of(node)) {
    const auto elements = tree_.items(ListId(tree_.slot(node, 0)));
    const bool is_made_of_list = elements.size() > kMostOnStack ||
                                 std::any_of(elements.begin(), elements.end(), [&](NodeId element) {
                                   return tree_.is(element, Kind::Starred);
                                 });
    if (is_made_of_list) return sequence(Display::List, elements);
  }
  if (tree_.is(node, Kind::List)) {
    const auto elements = tree_.items(tree_.as<ast::List>(node).elts);
    const auto is_starred = [&](NodeId element) { return tree_.is(element, Kind::Starred); };
    if (std::none_of(elements.begin(), elements.end(), is_starred)) {
      std::vector<ConstId> items;
      for (NodeId element : elements) {
        const auto constant = constant_of(element);
        if (!constant) break;
        items.push_back(*constant);
      }
      if (items.size() == elements.size()) return load(tuple_constant(items));
      return sequence(Display::Tuple, elements);
    }
  }
  if (tree_.is(node, Kind::Set)) {
    object::Const frozen;
    frozen.kind = object::ConstKind::FrozenSet;
    const auto elements = tree_.items(tree_.as<ast::Set>(node).elts);
    for (NodeId element : elements) {
      if (const auto constant = constant_of(element)) frozen.items.push_back(*constant);
    }
    if (frozen.items.size() == elements.size()) {
      drop_equal(frozen.items);
      return load(out_.module.add(std::move(frozen)));
    }
  }
  expression(node);
}

void Compiler::sequence(Display display, std::span<const NodeId> elements, uint32_t pushed) {
  if (!features_.extends_containers) return unpacked_38(display, elements);
  const Op build = display == Display::Set ? Op::BuildSet : Op::BuildList;
  const Op append = display == Display::Set ? Op::SetAdd : Op::ListAppend;
  const Op extend = display == Display::Set ? Op::SetUpdate : Op::ListExtend;
  const bool big = features_.limits_stack && elements.size() + pushed > kMostOnStack;
  // 3.14 folds constants only after the code of the display is emitted.
  if (elements.size() > 2 && display != Display::Tuple && !(features_.folds_late && big)) {
    object::Const folded;
    folded.kind = display == Display::Set ? object::ConstKind::FrozenSet : object::ConstKind::Tuple;
    for (NodeId element : elements) {
      const auto constant = constant_of(element);
      if (!constant) break;
      folded.items.push_back(*constant);
    }
    if (folded.items.size() == elements.size()) {
      if (display == Display::Set) drop_equal(folded.items);
      emit().op(build, pushed);
      load(out_.module.add(std::move(folded)));
      return emit().op(extend, 1);
    }
  }
  const bool starred = std::any_of(elements.begin(), elements.end(), [&](NodeId element) {
    return tree_.is(element, Kind::Starred);
  });
  if (!starred && !big) {
    expressions(elements);
    return emit().op(display == Display::Tuple ? Op::BuildTuple : build,
                     static_cast<uint32_t>(elements.size()) + pushed);
  }
  bool built = false;
  if (big) {
    emit().op(build, pushed);
    built = true;
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (tree_.is(elements[i], Kind::Starred)) {
      if (!built) emit().op(build, static_cast<uint32_t>(i) + pushed);
      built = true;
      expression(tree_.as<ast::Starred>(elements[i]).value);
      emit().op(extend, 1);
    } else {
      expression(elements[i]);
      if (built) emit().op(append, 1);
    }
  }
  if (display == Display::Tuple) emit().op(Op::ListToTuple);
}

void Compiler::unpacked_38(Display display, std::span<const NodeId> elements) {
  const Op part = display == Display::Set ? Op::BuildSet : Op::BuildTuple;
  uint32_t parts = 0;
  uint32_t pending = 0;
  for (NodeId element : elements) {
    if (tree_.is(element, Kind::Starred)) {
      if (pending > 0) {
        emit().op(part, pending);
        ++parts;
      }
      pending = 0;
      expression(tree_.as<ast::Starred>(element).value);
      ++parts;
    } else {
      expression(element);
      ++pending;
    }
  }
  if (parts > 0) {
    if (pending > 0) {
      emit().op(part, pending);
      ++parts;
    }
    const Op unpack = display == Display::Tuple  ? Op::BuildTupleUnpack
                      : display == Display::List ? Op::BuildListUnpack
                                                 : Op::BuildSetUnpack;
    return emit().op(unpack, parts);
  }
  const Op build = display == Display::Tuple  ? Op::BuildTuple
                   : display == Display::List ? Op::BuildList
                                              : Op::BuildSet;
  emit().op(build, pending);
}

void Compiler::dictionary_part(std::span<const NodeId> keys, std::span<const NodeId> values) {
  const auto count = static_cast<uint32_t>(keys.size());
  const bool big = features_.limits_stack && keys.size() * 2 > kMostOnStack;
  if (count > 1 && !big) {
    std::vector<ConstId> constants;
    for (NodeId key : keys) {
      const auto constant = constant_of(key);
      if (!constant) break;
      constants.push_back(*constant);
    }
    if (constants.size() == keys.size()) {
      expressions(values);
      load(tuple_constant(constants));
      return emit().op(Op::BuildConstKeyMap, count);
    }
  }
  if (big) emit().op(Op::BuildMap, 0);
  for (size_t i = 0; i < keys.size(); ++i) {
    expression(keys[i]);
    expression(values[i]);
    if (big) emit().op(Op::MapAdd, 1);
  }
  if (!big) emit().op(Op::BuildMap, count);
}

void Compiler::dictionary(const ast::Dict& node) {
  const auto keys = tree_.items(node.keys);
  const auto values = tree_.items(node.values);
  if (!features_.extends_containers) return dictionary_38(keys, values);
  bool have = false;
  size_t pending = 0;
  const auto flush = [&](size_t end) {
    dictionary_part(keys.subspan(end - pending, pending), values.subspan(end - pending, pending));
    if (have) emit().op(Op::DictUpdate, 1);
    have = true;
    pending = 0;
  };
  for (size_t i = 0; i < values.size(); ++i) {
    if (!keys[i].valid()) {
      if (pending > 0) flush(i);
      if (!have) emit().op(Op::BuildMap, 0);
      have = true;
      expression(values[i]);
      emit().op(Op::DictUpdate, 1);
    } else {
      ++pending;
      // Large ones are flushed after this pair, as in CPython.
      if (features_.limits_stack && (pending - 1) * 2 > kMostOnStack) flush(i + 1);
    }
  }
  if (pending > 0) flush(values.size());
  if (!have) emit().op(Op::BuildMap, 0);
}

void Compiler::dictionary_38(std::span<const NodeId> keys, std::span<const NodeId> values) {
  uint32_t parts = 0;
  size_t pending = 0;
  const auto flush = [&](size_t end) {
    dictionary_part(keys.subspan(end - pending, pending), values.subspan(end - pending, pending));
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
    expression(values[i]);
    unpacks = true;
    ++parts;
  }
  if (pending > 0 || parts == 0) flush(values.size());
  if (parts > 1 || unpacks) emit().op(Op::BuildMapUnpack, parts);
}

uint32_t Compiler::conversion_of(uint32_t letter) const {
  return letter == 's' ? 1 : letter == 'r' ? 2 : letter == 'a' ? 3 : 0;
}

void Compiler::formatted_value(const ast::FormattedValue& node) {
  const uint32_t conversion = conversion_of(node.conversion);
  expression(node.value);
  if (features_.converts_apart && conversion != 0) emit().op(Op::Convert, conversion);
  if (node.format_spec.valid()) format_specification(node.format_spec);
  emit().op(Op::Format, features_.converts_apart ? 0 : conversion,
            node.format_spec.valid() ? 1 : 0);
}

void Compiler::format_specification(NodeId node) {
  const auto values = tree_.items(tree_.as<ast::JoinedStr>(node).values);
  // 3.12 adds an empty text after a nested field at the end.
  if (!features_.text_after_nested_field || values.empty() ||
      !tree_.is(values.back(), Kind::FormattedValue)) {
    return expression(node);
  }
  expressions(values);
  load_text("");
  emit().op(Op::BuildString, static_cast<uint32_t>(values.size()) + 1);
}

void Compiler::joined_string(const ast::JoinedStr& node) {
  const auto values = tree_.items(node.values);
  join_pieces(values.size(), [&](size_t i) { expression(values[i]); });
}

// Builds a string of `count` pieces, each pushed by `write`.
void Compiler::join_pieces(size_t count, const std::function<void(size_t)>& write) {
  const bool is_large = features_.joins_long_strings && count > kMostOnStack;
  if (is_large) {
    load_text("");
    emit().op(Op::LoadMethod, text("join").value);
    emit().op(Op::BuildList, 0);
  }
  for (size_t i = 0; i < count; ++i) {
    write(i);
    if (is_large) emit().op(Op::ListAppend, 1);
  }
  if (is_large) return emit().op(Op::Call, 1, 2);
  // 3.13+ load the empty string as a constant, and optimise uses of a constant.
  if (count == 0 && features_.loads_empty_string) return load_text("");
  if (count != 1) emit().op(Op::BuildString, static_cast<uint32_t>(count));
}

}  // namespace pellucid::verify::lower
