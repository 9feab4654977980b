// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/computed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "verify/lower/folding.h"

namespace pellucid::verify::lower {

namespace {

using object::Const;
using object::ConstKind;

// Limits of what is computed (safe_multiply and the like in ast_opt.c and flowgraph.c).
constexpr uint64_t kMostBits = 128;
constexpr uint64_t kMostItems = 256;
constexpr uint64_t kMostBytes = 4096;
// Operands nested deeper than this are taken for constants.
constexpr uint32_t kDeepestOperand = 40;

class Computed {
 public:
  explicit Computed(Unit& unit) : unit_(unit) {}

  bool operation(NodeId node, uint32_t depth) {
    if (unit_.tree.is(node, Kind::BinOp)) return binary(unit_.tree.as<ast::BinOp>(node), depth);
    if (unit_.tree.is(node, Kind::UnaryOp)) return unary(unit_.tree.as<ast::UnaryOp>(node), depth);
    if (unit_.tree.is(node, Kind::Subscript)) {
      return subscript(unit_.tree.as<ast::Subscript>(node), depth);
    }
    if (!unit_.tree.is(node, Kind::Tuple)) return false;
    const auto items = unit_.tree.items(unit_.tree.as<ast::Tuple>(node).elts);
    return std::ranges::all_of(items, [&](NodeId item) { return constant(item, depth + 1); });
  }

 private:
  // Returns true if an operand may be a constant when the operation is compiled.
  bool constant(NodeId node, uint32_t depth) {
    if (depth > kDeepestOperand || unit_.tree.is(node, Kind::Constant)) return true;
    // 3.14+ decides first which arm a known test chooses.
    if (unit_.features.folds_late && unit_.tree.is(node, Kind::IfExp)) {
      const auto choice = unit_.tree.as<ast::IfExp>(node);
      return is_known(choice.test, depth + 1) &&
             (constant(choice.body, depth + 1) || constant(choice.orelse, depth + 1));
    }
    return operation(node, depth);
  }

  // Returns true if the truth of a test may be known.
  bool is_known(NodeId test, uint32_t depth) {
    if (!unit_.tree.is(test, Kind::BoolOp)) return constant(test, depth) || is_not(test);
    const auto parts = unit_.tree.items(unit_.tree.as<ast::BoolOp>(test).values);
    return depth > kDeepestOperand ||
           std::ranges::any_of(parts, [&](NodeId part) { return is_known(part, depth + 1); });
  }
  bool is_not(NodeId test) {
    return unit_.tree.is(test, Kind::UnaryOp) &&
           unit_.tree.as<ast::UnaryOp>(test).op == static_cast<uint32_t>(ast::UnaryOperator::Not);
  }

  // Returns the constant that an operand is; null if it is none yet.
  const Const* value_of(NodeId node) {
    const auto id = constant_of(unit_, node);
    return id ? &unit_.module[*id] : nullptr;
  }

  static bool is_int(const Const& value) {
    return value.kind == ConstKind::Int || value.kind == ConstKind::BigInt || is_bool(value);
  }
  static bool is_bool(const Const& value) {
    return value.kind == ConstKind::True || value.kind == ConstKind::False;
  }
  static bool is_real(const Const& value) {
    return is_int(value) || value.kind == ConstKind::Float;
  }
  static bool is_number(const Const& value) {
    return is_real(value) || value.kind == ConstKind::Complex;
  }
  static bool is_text(const Const& value) {
    return value.kind == ConstKind::Str || value.kind == ConstKind::Bytes;
  }
  bool is_zero(const Const& value) const { return is_number(value) && !is_true(value); }
  bool is_true(const Const& value) const { return object::is_true(unit_.module, value); }
  bool is_negative(const Const& value) const {
    if (value.kind == ConstKind::BigInt) return unit_.module.text(value.text).starts_with('-');
    if (value.kind == ConstKind::Float) return value.real < 0;
    return value.kind == ConstKind::Int && value.integer < 0;
  }
  // Returns the value of a float or of an int that fits into one register.
  static std::optional<double> real_of(const Const& value) {
    if (value.kind == ConstKind::Float) return value.real;
    if (value.kind == ConstKind::Int) return static_cast<double>(value.integer);
    return std::nullopt;
  }

  // Returns the size of an int.
  uint64_t bits_of(const Const& value) const {
    if (is_bool(value)) return value.kind == ConstKind::True ? 1 : 0;
    if (value.kind == ConstKind::Int) {
      const auto number = static_cast<uint64_t>(value.integer);
      return static_cast<uint64_t>(std::bit_width(value.integer < 0 ? ~number + 1 : number));
    }
    std::string_view digits = unit_.module.text(value.text);
    if (digits.starts_with('-')) digits.remove_prefix(1);
    const char first = digits.front();
    const int top = first <= '9' ? first - '0' : (first | 32) - 'a' + 10;
    return 4 * (digits.size() - 1) + static_cast<uint64_t>(std::bit_width(unsigned(top)));
  }
  // Returns the value of a small int that is not negative; a large number for others.
  static uint64_t count_of(const Const& value) {
    if (is_bool(value)) return value.kind == ConstKind::True ? 1 : 0;
    constexpr uint64_t kMany = uint64_t{1} << 62;
    if (value.kind != ConstKind::Int || value.integer < 0) return kMany;
    return std::min(static_cast<uint64_t>(value.integer), kMany);
  }

  bool binary(const ast::BinOp& node, uint32_t depth) {
    if (!constant(node.right, depth + 1) || !constant(node.left, depth + 1)) return false;
    const Const* left = value_of(node.left);
    if (left == nullptr) return true;
    const Const x = *left;
    const Const* right = value_of(node.right);
    return right == nullptr || computes(static_cast<ast::Operator>(node.op), x, *right);
  }

  bool computes(ast::Operator op, const Const& x, const Const& y) const {
    switch (op) {
      case ast::Operator::Add:
        return (is_number(x) && is_number(y)) || (x.kind == y.kind && is_sequence(x));
      case ast::Operator::Sub:
        return is_number(x) && is_number(y);
      case ast::Operator::Mult:
        return multiplies(x, y);
      case ast::Operator::Div:
        return is_number(x) && is_number(y) && !is_zero(y);
      case ast::Operator::FloorDiv:
      case ast::Operator::Mod:
        return is_real(x) && is_real(y) && !is_zero(y);
      case ast::Operator::Pow:
        return powers(x, y);
      case ast::Operator::LShift:
        return is_int(x) && is_int(y) && !is_negative(y) &&
               (is_zero(x) || is_zero(y) || bits_of(x) + count_of(y) <= kMostBits);
      case ast::Operator::RShift:
        return is_int(x) && is_int(y) && !is_negative(y);
      case ast::Operator::BitOr:
      case ast::Operator::BitXor:
      case ast::Operator::BitAnd:
        return is_int(x) && is_int(y);
      case ast::Operator::MatMult:
        return false;
    }
    return true;
  }

  static bool is_sequence(const Const& value) {
    return is_text(value) || value.kind == ConstKind::Tuple;
  }

  bool multiplies(const Const& x, const Const& y) const {
    if (is_int(x) && is_int(y)) {
      return is_zero(x) || is_zero(y) || bits_of(x) + bits_of(y) <= kMostBits;
    }
    if (is_number(x) && is_number(y)) return true;
    const bool is_left = is_sequence(x);
    const Const& repeated = is_left ? x : y;
    const Const& count = is_left ? y : x;
    if (!is_sequence(repeated) || !is_int(count)) return false;
    const bool is_tuple = repeated.kind == ConstKind::Tuple;
    const uint64_t size =
        is_tuple ? repeated.items.size() : characters(unit_.module.text(repeated.text), repeated);
    return size == 0 || count_of(count) <= (is_tuple ? kMostItems : kMostBytes) / size;
  }

  static uint64_t characters(std::string_view text, const Const& value) {
    if (value.kind == ConstKind::Bytes) return text.size();
    const auto starts = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
    return static_cast<uint64_t>(std::ranges::count_if(text, starts));
  }

  bool powers(const Const& x, const Const& y) const {
    if (!is_number(x) || !is_number(y)) return false;
    const bool are_ints = is_int(x) && is_int(y);
    const bool is_turned = y.kind == ConstKind::Complex && (y.imag != 0 || y.real < 0);
    if (is_zero(x) && (is_negative(y) || is_turned)) return false;
    if (!are_ints) {
      const auto base = real_of(x), exponent = real_of(y);
      const bool is_finite = base && exponent && std::isfinite(*base) && std::isfinite(*exponent);
      return !is_finite || !std::isinf(std::pow(*base, *exponent));
    }
    if (is_zero(x) || is_zero(y) || is_negative(y)) return true;
    return bits_of(x) <= kMostBits / count_of(y);
  }

  // The results of the others are small, or the operand itself.
  bool unary(const ast::UnaryOp& node, uint32_t depth) {
    const auto op = static_cast<ast::UnaryOperator>(node.op);
    if (op == ast::UnaryOperator::Not || op == ast::UnaryOperator::UAdd) return false;
    if (!constant(node.operand, depth + 1)) return false;
    const Const* value = value_of(node.operand);
    if (value == nullptr) return true;
    if (is_bool(*value)) return false;
    return op == ast::UnaryOperator::Invert ? is_int(*value) : is_number(*value);
  }

  // (An item of a tuple is there already, and so are bytes and the characters of Latin-1.)
  bool subscript(const ast::Subscript& node, uint32_t depth) {
    if (!constant(node.value, depth + 1)) return false;
    if (unit_.tree.is(node.slice, Kind::Slice)) {
      return constant_slice(unit_, unit_.tree.as<ast::Slice>(node.slice)).has_value();
    }
    const Const* value = value_of(node.value);
    if (value == nullptr) return constant(node.slice, depth + 1);
    if (value->kind != ConstKind::Str) return false;
    const std::string_view text = unit_.module.text(value->text);
    const bool is_plain = std::ranges::all_of(
        text, [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
    return !is_plain && constant(node.slice, depth + 1);
  }

  Unit& unit_;
};

}  // namespace

void leave_to_run_time(Unit& unit, NodeId node) {
  if (!folds_here(unit) || !Computed(unit).operation(node, 0)) return;
  give_up("an operation on constants that CPython may compute when it compiles");
}

}  // namespace pellucid::verify::lower
