// SPDX-License-Identifier: Apache-2.0
#include "pickle/literals.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "object/utf8.h"

namespace pellucid::pickle {

namespace {

Error malformed(const char* what) { return {ErrorCode::Malformed, 0, what}; }

// A string of Python 2: bytes, which pickle decodes as ASCII unless it is told otherwise.
ValueId old_string(Graph& graph, std::string_view text) {
  constexpr const char* kNote =
      "a string of Python 2 is not ASCII: pickle needs an encoding, and Latin-1 is assumed";
  if (!object::is_ascii(text) &&
      std::find(graph.notes.begin(), graph.notes.end(), kNote) == graph.notes.end()) {
    graph.notes.emplace_back(kNote);
  }
  return graph.add_own(Kind::Str, object::utf8_of_latin1(text));
}

ValueId integer(Graph& graph, const WrittenInt& written) {
  if (written.is_bool) return graph.add(written.number != 0 ? Kind::True : Kind::False);
  if (!written.big.empty()) return graph.add_own(Kind::BigInt, written.big);
  return graph.add(Kind::Int, written.number);
}

}  // namespace

Result<ValueId> literal_of(Graph& graph, Op op, const Argument& argument) {
  const auto as_is = [&](Kind kind) {
    return graph.add_text(kind, argument.offset, argument.text.size());
  };
  switch (op) {
    case Op::None:
      return graph.add(Kind::None);
    case Op::NewTrue:
      return graph.add(Kind::True);
    case Op::NewFalse:
      return graph.add(Kind::False);
    case Op::Int:
    case Op::Long: {
      const auto written = int_of(argument.text, op == Op::Int);
      if (!written) return malformed("text that is not an integer");
      return integer(graph, *written);
    }
    case Op::Float: {
      const auto value = float_of(argument.text);
      if (!value) return malformed("text that is not a float");
      return graph.add(Kind::Float, std::bit_cast<int64_t>(*value));
    }
    case Op::BinFloat:
      return graph.add(Kind::Float, argument.number);
    case Op::Long1:
    case Op::Long4:
      if (argument.text.size() > 8) return as_is(Kind::BigInt);
      return graph.add(Kind::Int, small_int(argument.text));
    case Op::BinBytes:
    case Op::ShortBinBytes:
    case Op::BinBytes8:
      return as_is(Kind::Bytes);
    case Op::ByteArray8:
      return as_is(Kind::ByteArray);
    case Op::Unicode: {
      const auto text = unescaped_unicode(argument.text);
      if (!text) return malformed("a damaged escape");
      return graph.add_own(Kind::Str, *text);
    }
    case Op::String: {
      const auto text = unescaped_string(argument.text);
      if (!text) return malformed("a string without quotes or with a damaged escape");
      return old_string(graph, *text);
    }
    case Op::BinString:
    case Op::ShortBinString:
      return old_string(graph, argument.text);
    case Op::BinUnicode:
    case Op::ShortBinUnicode:
    case Op::BinUnicode8:
      if (!object::is_utf8_with_surrogates(argument.text)) {
        return malformed("text that is not UTF-8");
      }
      return as_is(Kind::Str);
    default:
      return graph.add(Kind::Int, argument.number);
  }
}

}  // namespace pellucid::pickle
