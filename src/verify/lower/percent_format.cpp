// SPDX-License-Identifier: Apache-2.0
// `'...' % (a, b)` with conversions that f-strings have: CPython compiles it as an f-string
// (3.11+).
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/lower/expressions.h"
#include "verify/lower/folding.h"
#include "verify/lower/strings.h"

namespace pellucid::verify::lower {

namespace {

// A literal text, or a field with its conversion and format.
struct Piece {
  bool is_text = true;
  std::string text;
  char conversion = 0;
  bool has_format = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class FormatReader {
 public:
  explicit FormatReader(std::string_view format) : format_(format) {}

  // Returns nothing if an f-string has no such field. (ast_opt.c: optimize_format)
  std::optional<std::vector<Piece>> run() {
    std::vector<Piece> pieces;
    while (at_ < format_.size()) {
      Piece text;
      text.text = literal();
      if (!text.text.empty()) pieces.push_back(std::move(text));
      if (at_ >= format_.size()) break;
      ++at_;
      const auto field = this->field();
      if (!field) return std::nullopt;
      pieces.push_back(*field);
    }
    return pieces;
  }

 private:
  std::string literal() {
    std::string text;
    while (at_ < format_.size()) {
      if (format_[at_] == '%') {
        if (at_ + 1 >= format_.size() || format_[at_ + 1] != '%') break;
        ++at_;
      }
      text += format_[at_++];
    }
    return text;
  }

  // Returns a number of at most two digits; -1 if there is none, nothing if it is longer.
  std::optional<int> number() {
    int value = -1;
    for (int digits = 0; at_ < format_.size() && is_digit(format_[at_]); ++digits) {
      if (digits == 2) return std::nullopt;
      value = (value < 0 ? 0 : value) * 10 + (format_[at_++] - '0');
    }
    return value;
  }

  std::optional<Piece> field() {
    bool left = false;
    for (; at_ < format_.size(); ++at_) {
      const char c = format_[at_];
      if (c != '-' && c != '+' && c != ' ' && c != '#' && c != '0') break;
      left = left || c == '-';
    }
    const auto width = number();
    if (!width) return std::nullopt;
    std::optional<int> precision = -1;
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      precision = number();
      if (!precision) return std::nullopt;
      if (*precision < 0) precision = 0;
    }
    if (at_ >= format_.size()) return std::nullopt;
    Piece field;
    field.is_text = false;
    field.conversion = format_[at_++];
    if (field.conversion != 's' && field.conversion != 'r' && field.conversion != 'a') {
      return std::nullopt;
    }
    if (!left && *width > 0) field.text += '>';
    if (*width >= 0) field.text += std::to_string(*width);
    if (*precision >= 0) field.text += '.' + std::to_string(*precision);
    field.has_format = !field.text.empty();
    return field;
  }

  std::string_view format_;
  size_t at_ = 0;
};

}  // namespace

bool percent_format(Unit& unit, const ast::BinOp& node) {
  if (!unit.features.formats_percent) return false;
  if (node.op != static_cast<uint32_t>(ast::Operator::Mod)) return false;
  if (!unit.tree.is(node.left, Kind::Constant)) return false;
  if (!unit.tree.is(node.right, Kind::Tuple)) return false;
  const object::Const& format = unit.module[unit.tree.as<ast::Constant>(node.left).value];
  if (format.kind != object::ConstKind::Str) return false;
  if (!unit.features.folds_late && constant_of(unit, node.right)) return false;
  const auto values = unit.tree.items(unit.tree.as<ast::Tuple>(node.right).elts);
  size_t fields = 0;
  const auto pieces = FormatReader(unit.module.text(format.text)).run();
  if (!pieces) return false;
  for (const Piece& piece : *pieces) fields += piece.is_text ? 0 : 1;
  if (fields != values.size()) return false;
  for (NodeId value : values) {
    if (unit.tree.is(value, Kind::Starred)) return false;
  }
  size_t next = 0;
  join_pieces(unit, pieces->size(), [&](size_t i) {
    const Piece& piece = (*pieces)[i];
    if (piece.is_text) return load_text(unit, piece.text);
    expression(unit, values[next++]);
    const uint32_t conversion = piece.conversion == 's' ? 1 : piece.conversion == 'r' ? 2 : 3;
    if (unit.features.converts_apart) unit.emit.op(Op::Convert, conversion);
    if (piece.has_format) load_text(unit, piece.text);
    unit.emit.op(Op::Format, unit.features.converts_apart ? 0 : conversion,
                 piece.has_format ? 1 : 0);
  });
  return true;
}

}  // namespace pellucid::verify::lower
