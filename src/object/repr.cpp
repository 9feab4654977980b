// SPDX-License-Identifier: Apache-2.0
#include "object/repr.h"

#include <charconv>
#include <cstdio>

#include "object/identifiers.h"
#include "object/utf8.h"

namespace pellucid::object {
namespace {

constexpr size_t kMaxRepr = 1000;

void append_escape(std::string& out, char32_t point) {
  char text[16];
  const char* format = point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(text, sizeof text, format, static_cast<unsigned>(point));
  out += text;
}

void append_character(std::string& out, char32_t point) {
  if (point == '\n') {
    out += "\\n";
  } else if (point == '\'' || point == '\\') {
    out += '\\';
    out += static_cast<char>(point);
  } else if (point >= 0x20 && point < 0x7f) {
    out += static_cast<char>(point);
  } else {
    append_escape(out, point);
  }
}

std::string repr_of_bytes(std::string_view bytes) {
  std::string out = "b'";
  for (const char c : bytes) append_character(out, static_cast<uint8_t>(c));
  return out + "'";
}

std::string repr_of_float(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string out(text, end);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

struct Brackets {
  const char* open;
  const char* close;
};

Brackets brackets_of(ConstKind kind) {
  if (kind == ConstKind::Tuple) return {"(", ")"};
  if (kind == ConstKind::List) return {"[", "]"};
  if (kind == ConstKind::FrozenSet) return {"frozenset({", "})"};
  if (kind == ConstKind::Slice) return {"slice(", ")"};
  return {"{", "}"};
}

class Writer {
 public:
  explicit Writer(const Module& module) : module_(module) {}

  void write(ConstId id) {
    const Const& value = module_[id];
    switch (value.kind) {
      case ConstKind::None:
        out += "None";
        return;
      case ConstKind::False:
        out += "False";
        return;
      case ConstKind::True:
        out += "True";
        return;
      case ConstKind::Ellipsis:
        out += "Ellipsis";
        return;
      case ConstKind::StopIteration:
        out += "StopIteration";
        return;
      case ConstKind::Int:
        out += std::to_string(value.integer);
        return;
      case ConstKind::BigInt:
        write_big(module_.text(value.text));
        return;
      case ConstKind::Float:
        out += repr_of_float(value.real);
        return;
      case ConstKind::Complex:
        out += "complex(" + repr_of_float(value.real) + ", " + repr_of_float(value.imag) + ")";
        return;
      case ConstKind::Str:
        out += repr_of_text(module_.text(value.text));
        return;
      case ConstKind::Bytes:
        out += repr_of_bytes(module_.text(value.text));
        return;
      case ConstKind::Code:
        out += "<code " + std::to_string(value.code.value) + ' ';
        out += module_.text(module_[value.code].name);
        out += '>';
        return;
      case ConstKind::Opaque:
        out += "<opaque " + std::string(module_.text(value.text)) + '>';
        return;
      case ConstKind::Tuple:
      case ConstKind::List:
      case ConstKind::Set:
      case ConstKind::FrozenSet:
      case ConstKind::Dict:
      case ConstKind::Slice:
        write_items(value);
        return;
    }
  }

  std::string out;

 private:
  void write_big(std::string_view text) {
    const bool negative = text.starts_with('-');
    out += negative ? "-0x" : "0x";
    out += text.substr(negative ? 1 : 0);
  }

  void write_items(const Const& value) {
    const Brackets brackets = brackets_of(value.kind);
    out += brackets.open;
    for (size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) out += value.kind == ConstKind::Dict && i % 2 == 1 ? ": " : ", ";
      if (out.size() > kMaxRepr) {
        out += "...";
        break;
      }
      write(value.items[i]);
    }
    if (value.kind == ConstKind::Tuple && value.items.size() == 1) out += ',';
    out += brackets.close;
  }

  const Module& module_;
};

}  // namespace

std::string on_one_line(std::string_view text) {
  std::string out;
  const bool is_text = is_utf8_with_surrogates(text);
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t point = is_text ? next_code_point(text, at) : static_cast<uint8_t>(text[at++]);
    if (is_visible(point) && (is_text || point < 0x80)) {
      out += text.substr(start, at - start);
    } else {
      append_escape(out, point);
    }
  }
  return out;
}

std::string repr_of_text(std::string_view text) {
  std::string out = "'";
  for (size_t at = 0; at < text.size();) append_character(out, next_code_point(text, at));
  return out + "'";
}

std::string repr(const Module& module, ConstId id) {
  Writer writer(module);
  writer.write(id);
  return std::move(writer.out);
}

}  // namespace pellucid::object
