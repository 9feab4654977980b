// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "object/identifiers.h"
#include "print/expand.h"
#include "print/wrap.h"

namespace pellucid::print {

using object::Const;
using object::ConstId;
using object::ConstKind;

namespace {

// The limit of a constant's text. Constants may share parts, so that a small module can hold a
// constant of astronomical length.
constexpr size_t kMaxText = size_t{256} << 20;

// Returns true for a text of lines that one line of source does not hold, and whose ends show in an
// editor.
bool has_lines(std::string_view content) {
  constexpr size_t kLong = 50;  // bytes
  constexpr std::ptrdiff_t kFew = 3;
  return content.size() > kLong && content.find('\t') == std::string_view::npos &&
         content.find(" \n") == std::string_view::npos && std::ranges::count(content, '\n') >= kFew;
}

void text_constant(Writer& writer, std::string_view content, TextKind kind) {
  const bool is_free = !writer.is_confined && !writer.inside && !writer.keeps_lines;
  if (kind == TextKind::Str && is_free && writer.tree != nullptr && has_lines(content)) {
    writer.out += docstring(content);
    return;
  }
  if (!writer.is_confined) {
    append_quoted(writer.out, content, kind, writer.quotes);
    return;
  }
  const auto literal =
      quoted_without_escapes(content, kind, writer.confined.quotes, writer.confined.newlines);
  if (literal) writer.write(*literal);
  writer.failed = writer.failed || !literal;
}

void constant_items(Writer& writer, std::span<const ConstId> items, const char* opening,
                    const char* closing) {
  writer.open(opening);
  bool first = true;
  for (const ConstId item : items) {
    if (!first) writer.separator();
    first = false;
    writer.put(Task::Const, item.value, kTest);
  }
  writer.close(closing, items.size() > 1);
}

void constant_tuple(Writer& writer, const Const& value, Place place) {
  const bool subscript = place.has(Place::kSubscript);
  const bool bare = !value.items.empty() && !needs_parentheses(Level::Tuple, place) &&
                    (subscript || value.items.size() > 1);
  if (!bare) writer.open("(");
  const Place item_place = {Level::Test, bare && subscript ? uint16_t{Place::kSlice} : uint16_t{0}};
  bool first = true;
  for (const ConstId item : value.items) {
    if (!first) writer.separator();
    first = false;
    writer.put(Task::Const, item.value, item_place);
  }
  if (value.items.size() == 1) writer.text(",");
  if (!bare) writer.close(")", value.items.size() > 1);
}

void constant_slice(Writer& writer, const Const& value, Place place) {
  if (value.items.size() != 3) {
    writer.problem("a slice constant without start, stop and step");
    return;
  }
  const auto part = [&](size_t i) { writer.put(Task::Const, value.items[i].value, kTest); };
  const auto is_none = [&](size_t i) {
    return writer.module[value.items[i]].kind == ConstKind::None;
  };
  if (!place.has(Place::kSlice)) {
    writer.open_call("slice(");
    for (size_t i = 0; i < 3; ++i) {
      if (i > 0) writer.separator();
      part(i);
    }
    writer.close(")");
    return;
  }
  if (!is_none(0)) part(0);
  writer.text(":");
  if (!is_none(1)) part(1);
  if (is_none(2)) return;
  writer.text(":");
  part(2);
}

}  // namespace

void expand_constant(Writer& writer, ConstId id, Place place) {
  const Const& value = writer.module[id];
  if (!value.items.empty() && writer.out.size() > kMaxText) {
    writer.problem("a constant that is longer than 256 MiB");
    writer.write("...");
    return;
  }
  switch (value.kind) {
    case ConstKind::None:
      writer.write("None");
      break;
    case ConstKind::False:
      writer.write("False");
      break;
    case ConstKind::True:
      writer.write("True");
      break;
    case ConstKind::Ellipsis:
      writer.write(place.has(Place::kNoNumber) ? "(...)" : "...");
      break;
    case ConstKind::StopIteration:
      writer.write("StopIteration");
      break;
    case ConstKind::Int:
    case ConstKind::BigInt:
    case ConstKind::Float:
    case ConstKind::Complex: {
      const Number number = number_of(writer.module, value, writer.version);
      const bool parens = place.has(Place::kNoNumber) || needs_parentheses(number.level, place);
      writer.write(parens ? '(' + number.text + ')' : number.text);
      break;
    }
    case ConstKind::Str:
      text_constant(writer, writer.module.text(value.text), TextKind::Str);
      break;
    case ConstKind::Bytes:
      text_constant(writer, writer.module.text(value.text), TextKind::Bytes);
      break;
    case ConstKind::Tuple:
      if (value.text.valid()) {
        writer.write(writer.module.text(value.text));
      } else {
        constant_tuple(writer, value, place);
      }
      break;
    case ConstKind::List:
      constant_items(writer, value.items, "[", "]");
      break;
    case ConstKind::Set:
      constant_items(writer, value.items, value.items.empty() ? "{*()" : "{", "}");
      break;
    case ConstKind::FrozenSet:
      // The compiler makes these of displays, in membership tests and in the iterable of a loop.
      if (place.has(Place::kMembership) && !value.items.empty()) {
        constant_items(writer, value.items, "{", "}");
      } else if (value.text.valid()) {
        writer.write(writer.module.text(value.text));
      } else if (value.items.empty()) {
        writer.write("frozenset()");
      } else {
        writer.text("frozenset(");
        writer.put(Task::Const, id.value, {Level::Test, Place::kMembership});
        writer.text(")");
      }
      break;
    case ConstKind::Dict: {
      writer.open("{");
      for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
        if (i > 0) writer.separator();
        writer.put(Task::Const, value.items[i].value, kTest);
        writer.text(": ");
        writer.put(Task::Const, value.items[i + 1].value, kTest);
      }
      writer.close("}");
      break;
    }
    case ConstKind::Slice:
      if (value.text.valid()) {
        writer.write(writer.module.text(value.text));
      } else {
        constant_slice(writer, value, place);
      }
      break;
    case ConstKind::Code:
      writer.problem("a code object has no literal");
      writer.write(object::as_identifier(writer.module.text(writer.module[value.code].name)));
      break;
    case ConstKind::Opaque:
      writer.write(writer.module.text(value.text));
      break;
  }
}

}  // namespace pellucid::print
