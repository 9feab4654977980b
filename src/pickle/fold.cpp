// SPDX-License-Identifier: Apache-2.0
#include "pickle/fold.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "object/utf8.h"
#include "pickle/names.h"
#include "pickle/reader.h"

namespace pellucid::pickle {

namespace {

constexpr int kDeepestFold = 24;
constexpr size_t kMostText = size_t{64} << 20;  // bytes that folding makes, in one graph
constexpr size_t kMostParts = 65536;            // of one join

using Text = std::optional<std::string>;

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c | 0x20);
    if (c == '_') c = '-';
  }
  return out;
}

// Returns the bytes of Latin-1 text that is stored as UTF-8.
Text latin1_of_utf8(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char32_t point = object::next_code_point(text, at);
    if (point > 0xff) return std::nullopt;
    out += static_cast<char>(point);
  }
  return out;
}

std::string rotated(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const char low = static_cast<char>(c | 0x20);
    if ('a' <= low && low <= 'z') c = static_cast<char>(c + (low < 'n' ? 13 : -13));
  }
  return out;
}

Text unhex(std::string_view text) {
  std::string out;
  if (text.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]);
    const int low = digit_of(text[i + 1]);
    if (high > 15 || low > 15) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {}

  ValueId run(ValueId id, int depth) {
    if (depth == 0 || !id.valid() || graph_[id].kind != Kind::Call ||
        graph_[id].form != Form::Reduce || graph_.own_text.size() > kMostText || !spend(1)) {
      return id;
    }
    const ValueId function = graph_.item(id, 0);
    const ValueId tuple = graph_.item(id, 1);
    if (graph_[tuple].kind != Kind::Tuple || graph_.item(id, 2).valid()) return id;
    std::string path = path_of(graph_, function);
    if (path.empty()) return id;
    std::vector<ValueId> arguments = graph_.items(tuple, 4);
    // ''.join, as getattr('', 'join'): what it is called on comes first.
    if (graph_[function].kind == Kind::Call && path.starts_with("builtins.") &&
        std::count(path.begin(), path.end(), '.') == 2) {
      arguments.insert(arguments.begin(), graph_.item(graph_.item(function, 1), 0));
    }
    for (ValueId& argument : arguments) argument = run(argument, depth - 1);
    const ValueId made = call(path, arguments, depth);
    return made.valid() ? made : id;
  }

 private:
  bool is(ValueId id, Kind kind) const { return graph_.is(id, kind); }
  bool is_binary(ValueId id) const { return is(id, Kind::Bytes) || is(id, Kind::ByteArray); }

  // Returns false if no folding is left. A step is a call, or some bytes of text.
  bool spend(size_t bytes) {
    const uint64_t steps = 1 + bytes / 64;
    if (graph_.folding_left < steps) return false;
    graph_.folding_left -= steps;
    return true;
  }

  ValueId text(Kind kind, const Text& made) {
    return made ? graph_.add_own(kind, *made) : ValueId();
  }

  ValueId call(std::string_view path, const std::vector<ValueId>& arguments, int depth) {
    const size_t count = arguments.size();
    for (const ValueId argument : arguments) {
      const size_t size = graph_.text(argument).size();
      if (size > kMostText || !spend(size)) return {};
    }
    if (count == 0) return path == "builtins.bytes" ? text(Kind::Bytes, "") : ValueId();
    const ValueId first = arguments[0];
    const ValueId second = count > 1 ? arguments[1] : ValueId();
    const std::string_view last = last_part(path);
    if (path == "operator.add" || path == "operator.concat") return added(first, second);
    if (last == "join" && count == 2) return joined(first, second, depth);
    if (path == "builtins.chr" && is(first, Kind::Int)) return character(first);
    if (path == "builtins.str" || path == "builtins.bytes" || path == "builtins.bytearray") {
      return converted(last, first, second);
    }
    if (last == "b64decode" || last == "standard_b64decode" || last == "urlsafe_b64decode" ||
        last == "a2b_base64" || last == "decodebytes" || last == "decodestring") {
      return graph_.is_text(first) ? text(Kind::Bytes, base64_decoded(graph_.text(first)))
                                   : ValueId();
    }
    if (last == "unhexlify" || last == "a2b_hex" || last == "fromhex" || last == "b16decode") {
      // bytes.fromhex has the class first, if it was reached by getattr().
      const ValueId digits = count > 1 && graph_.is_text(second) ? second : first;
      return graph_.is_text(digits) ? text(Kind::Bytes, unhex(graph_.text(digits))) : ValueId();
    }
    const bool encodes = last == "encode";
    if ((encodes || last == "decode") && graph_.is_text(first))
      return coded(encodes, first, second);
    return {};
  }

  ValueId added(ValueId a, ValueId b) {
    if (!b.valid() || !graph_.is_text(a) || graph_[a].kind != graph_[b].kind) return {};
    return text(graph_[a].kind, std::string(graph_.text(a)) + std::string(graph_.text(b)));
  }

  ValueId joined(ValueId separator, ValueId list, int depth) {
    const Kind kind = graph_[separator].kind;
    if (kind != Kind::Str && kind != Kind::Bytes) return {};
    std::string made;
    if (is(list, Kind::Str) && kind == Kind::Str) {
      if (!graph_.text(separator).empty()) return {};
      return list;
    }
    if (!is(list, Kind::List) && !is(list, Kind::Tuple)) return {};
    bool is_first = true;
    for (ValueId part : graph_.items(list, kMostParts)) {
      part = run(part, depth - 1);
      if (graph_[part].kind != kind || made.size() > kMostText) return {};
      if (!spend(graph_.text(part).size())) return {};
      if (!is_first) made += graph_.text(separator);
      is_first = false;
      made += graph_.text(part);
    }
    return text(kind, made);
  }

  ValueId character(ValueId number) {
    const int64_t point = graph_[number].number;
    if (point < 0 || point > 0x7f) return {};
    return text(Kind::Str, std::string(1, static_cast<char>(point)));
  }

  ValueId converted(std::string_view type, ValueId value, ValueId encoding) {
    if (type == "str") {
      if (is(value, Kind::Str) && !encoding.valid()) return value;
      return is_binary(value) && is(encoding, Kind::Str) ? coded(false, value, encoding)
                                                         : ValueId();
    }
    const Kind kind = type == "bytes" ? Kind::Bytes : Kind::ByteArray;
    if (is(value, Kind::Str)) {
      const ValueId made = encoding.valid() ? coded(true, value, encoding) : ValueId();
      return made.valid() ? text(kind, std::string(graph_.text(made))) : made;
    }
    if (is_binary(value)) return text(kind, std::string(graph_.text(value)));
    if (!is(value, Kind::List) && !is(value, Kind::Tuple)) return {};
    std::string made;
    for (const ValueId item : graph_.items(value)) {
      if (!spend(1)) return {};
      const Value& byte = graph_[item];
      if (byte.kind != Kind::Int || byte.number < 0 || byte.number > 255) return {};
      made += static_cast<char>(byte.number);
    }
    return text(kind, made);
  }

  ValueId coded(bool encodes, ValueId value, ValueId encoding) {
    const std::string name =
        is(encoding, Kind::Str) ? lowered(graph_.text(encoding)) : std::string("utf-8");
    const std::string given(graph_.text(value));
    if (name == "rot13" || name == "rot-13") return text(graph_[value].kind, rotated(given));
    if (!encodes && (name == "hex" || name == "hex-codec")) return text(Kind::Bytes, unhex(given));
    if (!encodes && name.starts_with("base64")) return text(Kind::Bytes, base64_decoded(given));
    const bool is_latin1 = name == "latin1" || name == "latin-1" || name == "iso-8859-1" ||
                           name == "raw-unicode-escape";
    const bool is_utf8 = name == "utf-8" || name == "utf8" || name == "ascii" || name == "u8";
    if (encodes && graph_[value].kind == Kind::Str) {
      if (is_latin1) return text(Kind::Bytes, latin1_of_utf8(given));
      return is_utf8 ? text(Kind::Bytes, given) : ValueId();
    }
    if (encodes || !is_binary(value)) return {};
    if (is_latin1) return text(Kind::Str, object::utf8_of_latin1(given));
    return is_utf8 && object::is_utf8_with_surrogates(given) ? text(Kind::Str, given) : ValueId();
  }

  Graph& graph_;
};

int base64_digit(char c) {
  if ('A' <= c && c <= 'Z') return c - 'A';
  if ('a' <= c && c <= 'z') return c - 'a' + 26;
  if ('0' <= c && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

}  // namespace

ValueId folded(Graph& graph, ValueId id) { return Folder(graph).run(id, kDeepestFold); }

std::string base64_decoded(std::string_view text) {
  std::string out;
  unsigned pending = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) continue;
    pending = pending << 6 | static_cast<unsigned>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(pending >> bits & 0xff);
    }
  }
  return out;
}

}  // namespace pellucid::pickle
