// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/computed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "verify/lower/expressions.h"
#include "verify/lower/folding.h"

namespace pellucid::verify::lower {

namespace {

using object::Const;
using object::ConstKind;

// Limits of what is computed (safe_multiply and the like in ast_opt.c and flowgraph.c).
constexpr uint64_t kMostBits = 128;
constexpr uint64_t kMostItems = 256;
constexpr uint64_t kMostBytes = 4096;
// Operands of choices nested deeper than this are taken for constants.
constexpr uint32_t kDeepestOperand = 40;

// Which operations CPython computes.
class Computed {
 public:
  explicit Computed(const object::Module& module) : module_(module) {}

  bool binary(ast::Operator op, const Const& x, const Const& y) const {
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

  // (An index that is out of range is not looked up.)
  bool subscript(const Const& value, const Const& index) const {
    if (!is_sequence(value) || !is_int(index)) {
      return is_sequence(value) && index.kind == ConstKind::Slice;
    }
    const auto size = static_cast<int64_t>(size_of(value));
    const int64_t at = index.kind == ConstKind::True ? 1 : index.integer;
    return index.kind != ConstKind::BigInt && -size <= at && at < size;
  }

 private:
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
  bool is_true(const Const& value) const { return object::is_true(module_, value); }
  bool is_negative(const Const& value) const {
    if (value.kind == ConstKind::BigInt) return module_.text(value.text).starts_with('-');
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
    std::string_view digits = module_.text(value.text);
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
    const uint64_t size = size_of(repeated);
    return size == 0 || count_of(count) <= (is_tuple ? kMostItems : kMostBytes) / size;
  }

  // Returns the number of items, bytes or characters.
  uint64_t size_of(const Const& value) const {
    if (value.kind == ConstKind::Tuple) return value.items.size();
    const std::string_view text = module_.text(value.text);
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

  const object::Module& module_;
};

// Returns true if an expression may be a constant where 3.14+ has decided which arm a known test
// chooses.
bool may_be_constant(Unit& unit, NodeId node, uint32_t depth);

// Returns true if the truth of a test may be known.
bool is_known(Unit& unit, NodeId test, uint32_t depth) {
  if (unit.tree.is(test, Kind::UnaryOp)) {
    return depth > kDeepestOperand ||
           is_known(unit, unit.tree.as<ast::UnaryOp>(test).operand, depth + 1);
  }
  if (!unit.tree.is(test, Kind::BoolOp)) return may_be_constant(unit, test, depth + 1);
  const auto parts = unit.tree.items(unit.tree.as<ast::BoolOp>(test).values);
  return depth > kDeepestOperand ||
         std::ranges::any_of(parts, [&](NodeId part) { return is_known(unit, part, depth + 1); });
}

bool may_be_constant(Unit& unit, NodeId node, uint32_t depth) {
  const ast::Tree& tree = unit.tree;
  const auto is_one = [&](NodeId part) { return may_be_constant(unit, part, depth + 1); };
  if (depth > kDeepestOperand || tree.is(node, Kind::Constant)) return true;
  if (tree.is(node, Kind::UnaryOp)) return is_one(tree.as<ast::UnaryOp>(node).operand);
  if (tree.is(node, Kind::Tuple)) {
    return std::ranges::all_of(tree.items(tree.as<ast::Tuple>(node).elts), is_one);
  }
  if (tree.is(node, Kind::BinOp)) {
    const auto operation = tree.as<ast::BinOp>(node);
    return is_one(operation.right) && is_one(operation.left);
  }
  if (tree.is(node, Kind::Subscript)) {
    const auto subscript = tree.as<ast::Subscript>(node);
    return (tree.is(subscript.slice, Kind::Slice) || is_one(subscript.slice)) &&
           is_one(subscript.value);
  }
  if (!tree.is(node, Kind::IfExp)) return false;
  const auto choice = tree.as<ast::IfExp>(node);
  return is_known(unit, choice.test, depth + 1) && (is_one(choice.body) || is_one(choice.orelse));
}

[[noreturn]] void give_up_computing() {
  give_up("an operation on constants that CPython may compute when it compiles");
}

// Returns the constants on top of the stack if CPython computes with them; none if it does not.
std::vector<ConstId> operands(Unit& unit, uint32_t count) {
  return folds_here(unit) ? unit.emit.constants(count) : std::vector<ConstId>();
}

}  // namespace

void refuse_chosen(Unit& unit, std::span<const NodeId> parts) {
  const auto is_choice = [&](NodeId part) { return unit.tree.is(part, Kind::IfExp); };
  const auto is_constant = [&](NodeId part) { return may_be_constant(unit, part, 0); };
  if (!unit.features.folds_late || !std::ranges::any_of(parts, is_choice)) return;
  if (std::ranges::all_of(parts, is_constant)) give_up_computing();
}

void unary(Unit& unit, const ast::UnaryOp& node) {
  refuse_chosen(unit, std::array{node.operand});
  const std::vector<ConstId> taken = operands(unit, 1);
  if (taken.empty()) return unit.emit.op(Op::Unary, node.op);
  const auto folded = folded_unary(unit, node.op, taken[0]);
  if (!folded) return unit.emit.op(Op::Unary, node.op);
  unit.emit.take_constants(1);
  load(unit, *folded);
}

void binary(Unit& unit, const ast::BinOp& node) {
  refuse_chosen(unit, std::array{node.left, node.right});
  const std::vector<ConstId> taken = operands(unit, 2);
  const auto op = static_cast<ast::Operator>(node.op);
  if (!taken.empty() &&
      Computed(unit.module).binary(op, unit.module[taken[0]], unit.module[taken[1]])) {
    give_up_computing();
  }
  unit.emit.op(Op::Binary, node.op);
}

void subscript(Unit& unit, const ast::Subscript& node) {
  refuse_chosen(unit, std::array{node.value, node.slice});
  const std::vector<ConstId> taken = operands(unit, 2);
  if (!taken.empty() &&
      Computed(unit.module).subscript(unit.module[taken[0]], unit.module[taken[1]])) {
    give_up_computing();
  }
  unit.emit.op(Op::Subscr);
}

}  // namespace pellucid::verify::lower
