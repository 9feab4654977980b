// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "print/expressions.h"

#include "object/identifiers.h"

namespace pellucid::print {

using object::Const;
using object::ConstId;
using object::ConstKind;

// The limit of a constant's text. Constants may share parts, so that a small module can hold a
// constant of astronomical length.
constexpr size_t kMaxText = size_t{256} << 20;

void Expressions::text_constant(std::string_view content, TextKind kind) {
  if (!is_confined_) {
    write(quoted(content, kind, quotes_));
    return;
  }
  const auto literal = quoted_without_escapes(content, kind, confined_.quotes, confined_.newlines);
  if (literal) write(*literal);
  failed_ = failed_ || !literal;
}

void Expressions::expand_constant(ConstId id, Place place) {
  const Const& value = module_[id];
  if (!value.items.empty() && out_.size() > kMaxText) {
    problem("a constant that is longer than 256 MiB");
    write("...");
    return;
  }
  switch (value.kind) {
    case ConstKind::None:
      write("None");
      break;
    case ConstKind::False:
      write("False");
      break;
    case ConstKind::True:
      write("True");
      break;
    case ConstKind::Ellipsis:
      write(place.has(Place::kNoNumber) ? "(...)" : "...");
      break;
    case ConstKind::StopIteration:
      write("StopIteration");
      break;
    case ConstKind::Int:
    case ConstKind::BigInt:
    case ConstKind::Float:
    case ConstKind::Complex: {
      const Number number = number_of(module_, value, version_);
      const bool parens = place.has(Place::kNoNumber) || needs_parentheses(number.level, place);
      write(parens ? '(' + number.text + ')' : number.text);
      break;
    }
    case ConstKind::Str:
      text_constant(module_.text(value.text), TextKind::Str);
      break;
    case ConstKind::Bytes:
      text_constant(module_.text(value.text), TextKind::Bytes);
      break;
    case ConstKind::Tuple:
      if (value.text.valid()) {
        write(module_.text(value.text));
      } else {
        constant_tuple(value, place);
      }
      break;
    case ConstKind::List:
      constant_items(value.items, "[", "]");
      break;
    case ConstKind::Set:
      constant_items(value.items, value.items.empty() ? "{*()" : "{", "}");
      break;
    case ConstKind::FrozenSet:
      // The compiler makes these of displays, in membership tests and in the iterable of a loop.
      if (place.has(Place::kMembership) && !value.items.empty()) {
        constant_items(value.items, "{", "}");
      } else if (value.text.valid()) {
        write(module_.text(value.text));
      } else if (value.items.empty()) {
        write("frozenset()");
      } else {
        text("frozenset(");
        push(Task::Const, id.value, {Level::Test, Place::kMembership});
        text(")");
      }
      break;
    case ConstKind::Dict: {
      open("{");
      for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
        if (i > 0) separator();
        push(Task::Const, value.items[i].value, kTest);
        text(": ");
        push(Task::Const, value.items[i + 1].value, kTest);
      }
      close("}");
      break;
    }
    case ConstKind::Slice:
      if (value.text.valid()) {
        write(module_.text(value.text));
      } else {
        constant_slice(value, place);
      }
      break;
    case ConstKind::Code:
      problem("a code object has no literal");
      write(object::as_identifier(module_.text(module_[value.code].name)));
      break;
    case ConstKind::Opaque:
      write(module_.text(value.text));
      break;
  }
}

void Expressions::constant_items(std::span<const ConstId> items, const char* opening,
                                 const char* closing) {
  open(opening);
  bool first = true;
  for (const ConstId item : items) {
    if (!first) separator();
    first = false;
    push(Task::Const, item.value, kTest);
  }
  close(closing, !items.empty());
}

void Expressions::constant_tuple(const Const& value, Place place) {
  const bool subscript = place.has(Place::kSubscript);
  const bool bare = !value.items.empty() && !needs_parentheses(Level::Tuple, place) &&
                    (subscript || value.items.size() > 1);
  if (!bare) open("(");
  const Place item_place = {Level::Test, bare && subscript ? uint16_t{Place::kSlice} : uint16_t{0}};
  bool first = true;
  for (const ConstId item : value.items) {
    if (!first) separator();
    first = false;
    push(Task::Const, item.value, item_place);
  }
  if (value.items.size() == 1) text(",");
  if (!bare) close(")", value.items.size() > 1);
}

void Expressions::constant_slice(const Const& value, Place place) {
  if (value.items.size() != 3) {
    problem("a slice constant without start, stop and step");
    return;
  }
  const auto part = [&](size_t i) { push(Task::Const, value.items[i].value, kTest); };
  const auto is_none = [&](size_t i) { return module_[value.items[i]].kind == ConstKind::None; };
  if (!place.has(Place::kSlice)) {
    open("slice(");
    for (size_t i = 0; i < 3; ++i) {
      if (i > 0) separator();
      part(i);
    }
    close(")");
    return;
  }
  if (!is_none(0)) part(0);
  text(":");
  if (!is_none(1)) part(1);
  if (is_none(2)) return;
  text(":");
  part(2);
}

}  // namespace pellucid::print
