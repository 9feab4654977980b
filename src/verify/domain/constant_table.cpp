// SPDX-License-Identifier: Apache-2.0
// Numbers constants by type and value, as CPython's compiler does (`_PyCode_ConstantKey`).
#include "verify/domain/constant_table.h"

#include <algorithm>
#include <cstring>

namespace pellucid::verify {

using object::Const;
using object::ConstId;
using object::ConstKind;

namespace {

constexpr size_t kLongestRepr = 60;

// Returns a key for a float. A program can see the sign of a NaN and its payload; -0.0 differs from
// 0.0.
std::string bits_of(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return std::to_string(bits);
}

std::string quoted(std::string_view text, const char* prefix) {
  std::string out = std::string(prefix) + '\'';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (out.size() > kLongestRepr) return out + "...'";
    if (byte < 0x20 || byte == 0x7f) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '\'';
}

// Returns true if two constants have one number, as far as that needs no numbers.
std::optional<bool> same_simply(const object::Module& in_a, const Const& x,
                                const object::Module& in_b, const Const& y) {
  if (x.kind != y.kind) return false;
  switch (x.kind) {
    case ConstKind::None:
    case ConstKind::False:
    case ConstKind::True:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
      return true;
    case ConstKind::Int:
      return x.integer == y.integer;
    case ConstKind::BigInt:
    case ConstKind::Str:
    case ConstKind::Bytes:
      return in_a.text(x.text) == in_b.text(y.text);
    case ConstKind::Float:
    case ConstKind::Complex:
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
    case ConstKind::Slice:
    case ConstKind::Code:
    case ConstKind::Opaque:
      break;
  }
  return std::nullopt;
}

}  // namespace

ConstantTable::ConstantTable(const object::Module& a, const object::Module& b) : modules_{&a, &b} {
  for (Side side : {Side::A, Side::B}) {
    unified_[index(side)].assign(module(side).strings.size(), Name());
  }
  // Nearly every function has these: they come first.
  for (const ConstKind kind : {ConstKind::None, ConstKind::True, ConstKind::False}) number_of(kind);
  for (size_t i = 0; i < a.consts.size(); ++i) {
    const Const& value = a.consts[i];
    const bool has_items = value.kind == ConstKind::FrozenSet || value.kind == ConstKind::Slice ||
                           value.kind == ConstKind::Tuple;
    const bool is_named = has_items && value.text.valid();
    if (value.kind != ConstKind::Opaque && !is_named) continue;
    opaques_[name(Side::A, value.text).value] = number(Side::A, ConstId(i));
  }
  if (opaques_.empty()) return;
  // A name that the original uses was not invented for an object.
  for (const object::Code& code : a.codes) {
    for (Symbol symbol : code.names) opaques_.erase(name(Side::A, symbol).value);
  }
}

Name ConstantTable::name(Side side, Symbol symbol) {
  std::vector<Name>& known = unified_[index(side)];
  if (symbol.index() >= known.size()) known.resize(symbol.index() + 1);
  Name& slot = known[symbol.index()];
  if (!slot.valid()) slot = names_.intern(module(side).text(symbol));
  return slot;
}

bool ConstantTable::same(ConstId in_a, ConstId in_b) {
  const object::Module& a = module(Side::A);
  const object::Module& b = module(Side::B);
  const Const& x = a[in_a];
  const Const& y = b[in_b];
  std::optional<bool> known = same_simply(a, x, b, y);
  if (!known && x.kind == ConstKind::Tuple) {
    if (x.items.size() != y.items.size()) return false;
    known = true;
    for (size_t i = 0; known && *known && i < x.items.size(); ++i) {
      known = same_simply(a, a[x.items[i]], b, b[y.items[i]]);
    }
  }
  return known ? *known : number(Side::A, in_a) == number(Side::B, in_b);
}

uint32_t ConstantTable::intern(Constant constant, const std::string& key) {
  const auto [it, is_new] =
      constant_index_.try_emplace(key, static_cast<uint32_t>(constants_.size()));
  if (is_new) constants_.push_back(std::move(constant));
  return it->second;
}

// Numbers one constant whose items have been numbered.
uint32_t ConstantTable::intern_one(Side side, const Const& value) {
  Constant constant;
  constant.kind = value.kind;
  std::string key(1, static_cast<char>(value.kind));
  const auto items = [&] {
    for (ConstId item : value.items) {
      constant.items.push_back(numbers_[index(side)][item.index()]);
    }
  };
  const auto append_items = [&] {
    for (uint32_t item : constant.items) key += ' ' + std::to_string(item);
  };
  switch (value.kind) {
    case ConstKind::None:
    case ConstKind::False:
    case ConstKind::True:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
      break;
    case ConstKind::Int:
      constant.integer = value.integer;
      key += std::to_string(value.integer);
      break;
    case ConstKind::Float:
      constant.real = value.real;
      key += bits_of(value.real);
      constant.integer = value.real != 0;
      break;
    case ConstKind::Complex:
      constant.real = value.real;
      constant.imag = value.imag;
      key += bits_of(value.real) + ' ' + bits_of(value.imag);
      constant.integer = value.real != 0 || value.imag != 0;
      break;
    case ConstKind::BigInt:
    case ConstKind::Str:
    case ConstKind::Bytes:
    case ConstKind::Opaque:
      if (value.kind == ConstKind::Opaque) constant.integer = value.integer;
      constant.text = name(side, value.text);
      key += std::to_string(constant.text.value);
      break;
    case ConstKind::Tuple:
    case ConstKind::Slice:
    case ConstKind::List:
    case ConstKind::Dict:
      items();
      append_items();
      break;
    case ConstKind::Set:
    case ConstKind::FrozenSet:
      items();
      std::sort(constant.items.begin(), constant.items.end());
      append_items();
      break;
    case ConstKind::Code:
      // Inside a container, where no compiler puts one: equal to itself only.
      key += std::to_string(index(side)) + ' ' + std::to_string(value.code.value);
      break;
  }
  return intern(std::move(constant), key);
}

uint32_t ConstantTable::new_number(Side side, ConstId id) {
  std::vector<uint32_t>& known = numbers_[index(side)];
  if (known.size() < module(side).consts.size()) {
    known.resize(module(side).consts.size(), kUnnumbered);
  }
  std::vector<ConstId> todo{id};
  while (!todo.empty()) {
    const ConstId next = todo.back();
    const size_t waiting = todo.size();
    const Const& value = module(side)[next];
    if (known[next.index()] == kUnnumbered) {
      for (ConstId item : value.items) {
        if (known[item.index()] == kUnnumbered) todo.push_back(item);
      }
      if (todo.size() > waiting) continue;
      const uint32_t found = intern_one(side, value);
      known[next.index()] = found;
    }
    todo.pop_back();
  }
  return known[id.index()];
}

const std::string& ConstantTable::repr(uint32_t number) const {
  // Items have smaller numbers.
  while (reprs_.size() <= number) reprs_.push_back(new_repr(constants_[reprs_.size()]));
  return reprs_[number];
}

// Returns what messages say of the constant after those of reprs_.
std::string ConstantTable::new_repr(const Constant& constant) const {
  switch (constant.kind) {
    case ConstKind::None:
      return "None";
    case ConstKind::False:
      return "False";
    case ConstKind::True:
      return "True";
    case ConstKind::Ellipsis:
      return "...";
    case ConstKind::StopIteration:
      return "StopIteration";
    case ConstKind::Int:
      return std::to_string(constant.integer);
    case ConstKind::Float:
      return std::to_string(constant.real);
    case ConstKind::Complex:
      return std::to_string(constant.real) + "+" + std::to_string(constant.imag) + "j";
    case ConstKind::Str:
      return quoted(text(constant.text), "");
    case ConstKind::Bytes:
      return quoted(text(constant.text), "b");
    case ConstKind::BigInt:
    case ConstKind::Opaque:
      return std::string(text(constant.text));
    case ConstKind::List:
    case ConstKind::Dict:
      return "<constant container>";
    case ConstKind::Set:
    case ConstKind::FrozenSet:
      return "<constant set>";
    case ConstKind::Code:
      return "<code>";
    case ConstKind::Tuple:
    case ConstKind::Slice:
      break;
  }
  std::string out = constant.kind == ConstKind::Slice ? "slice(" : "(";
  for (size_t i = 0; i < constant.items.size(); ++i) {
    if (out.size() > kLongestRepr) {
      out += ", ...";
      break;
    }
    out += (i ? ", " : "") + reprs_[constant.items[i]];
  }
  return out + (constant.items.size() == 1 ? ",)" : ")");
}

uint32_t ConstantTable::number_of(ConstKind kind) {
  Const value;
  value.kind = kind;
  return intern_one(Side::A, value);
}

uint32_t ConstantTable::number_of(ConstKind kind, std::vector<uint32_t> items) {
  std::string key(1, static_cast<char>(kind));
  for (const uint32_t item : items) key += ' ' + std::to_string(item);
  Constant made;
  made.kind = kind;
  made.items = std::move(items);
  return intern(std::move(made), key);
}

std::optional<uint32_t> ConstantTable::opaque(Name name) const {
  const auto it = opaques_.find(name.value);
  if (it == opaques_.end()) return std::nullopt;
  return it->second;
}

}  // namespace pellucid::verify
