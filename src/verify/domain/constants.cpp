// SPDX-License-Identifier: Apache-2.0
// Numbers constants by type and value, as CPython's compiler does (`_PyCode_ConstantKey`).
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "verify/domain/values.h"

namespace pellucid::verify {

using object::Const;
using object::ConstId;
using object::ConstKind;

namespace {

constexpr uint32_t kUnnumbered = 0xffffffffu;
constexpr size_t kLongestRepr = 60;

// Returns a key for a float. NaN is equal to itself, whatever its payload; -0.0 differs from 0.0.
std::string bits_of(double value) {
  if (value != value) return "nan";
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

bool has_parts(ConstKind kind) { return kind == ConstKind::Tuple || kind == ConstKind::Slice; }

}  // namespace

uint32_t Values::intern(Constant constant, const std::string& key) {
  const auto [it, is_new] =
      constant_index_.try_emplace(key, static_cast<uint32_t>(constants_.size()));
  if (is_new) {
    if (constant.repr.empty() && has_parts(constant.kind)) {
      constant.repr = constant.kind == ConstKind::Slice ? "slice(" : "(";
      for (size_t i = 0; i < constant.items.size(); ++i) {
        if (constant.repr.size() > kLongestRepr) {
          constant.repr += ", ...";
          break;
        }
        constant.repr += (i ? ", " : "") + constants_[constant.items[i]].repr;
      }
      constant.repr += constant.items.size() == 1 ? ",)" : ")";
    }
    constants_.push_back(std::move(constant));
  }
  return it->second;
}

// Numbers one constant whose items have been numbered.
uint32_t Values::intern_one(Side side, const Const& value) {
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
      constant.repr = "None";
      break;
    case ConstKind::False:
      constant.repr = "False";
      break;
    case ConstKind::True:
      constant.repr = "True";
      break;
    case ConstKind::Ellipsis:
      constant.repr = "...";
      break;
    case ConstKind::StopIteration:
      constant.repr = "StopIteration";
      break;
    case ConstKind::Int:
      constant.integer = value.integer;
      constant.repr = std::to_string(value.integer);
      key += constant.repr;
      break;
    case ConstKind::Float:
      constant.repr = std::to_string(value.real);
      key += bits_of(value.real);
      constant.integer = value.real != 0;
      break;
    case ConstKind::Complex:
      constant.repr = std::to_string(value.real) + "+" + std::to_string(value.imag) + "j";
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
      constant.repr = value.kind == ConstKind::Str     ? quoted(text(constant.text), "")
                      : value.kind == ConstKind::Bytes ? quoted(text(constant.text), "b")
                                                       : std::string(text(constant.text));
      break;
    case ConstKind::Tuple:
    case ConstKind::Slice:
      items();
      append_items();
      break;
    case ConstKind::List:
    case ConstKind::Dict:
      items();
      append_items();
      constant.repr = "<constant container>";
      break;
    case ConstKind::Set:
    case ConstKind::FrozenSet:
      items();
      std::sort(constant.items.begin(), constant.items.end());
      append_items();
      constant.repr = "<constant set>";
      break;
    case ConstKind::Code:
      // Inside a container, where no compiler puts one: equal to itself only.
      key += std::to_string(index(side)) + ' ' + std::to_string(value.code.value);
      constant.repr = "<code>";
      break;
  }
  return intern(std::move(constant), key);
}

uint32_t Values::number(Side side, ConstId id) {
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

std::string Values::describe(Value value) const {
  const Node& node = (*this)[value];
  switch (node.kind) {
    case Kind::Null:
      return "nothing";
    case Kind::Const:
      return constants_[node.x].repr;
    case Kind::Code: {
      const object::Module& owner = module(node.y == 0 ? Side::A : Side::B);
      return "<code " + std::string(owner.text(owner[object::CodeId(node.x)].name)) + ">";
    }
    case Kind::Cell:
      return "<cell " + std::string(text(Name(node.x))) + ">";
    case Kind::Special:
      return std::string(bytecode::name_of(static_cast<bytecode::Op>(node.x)));
    case Kind::Not:
      return "not " + describe(Value(node.x));
    case Kind::Is:
      return describe(Value(node.x)) + " is " + describe(Value(node.y));
    case Kind::Fresh:
      return node.hint.valid() ? std::string(text(node.hint)) : "<new container>";
    case Kind::Method:
      return "<list>." + std::string(text(Name(node.y)));
    case Kind::Unknown:
    case Kind::Bool:
    case Kind::Maybe:
      return node.hint.valid() ? std::string(text(node.hint)) : "<value>";
  }
  return "<value>";
}

}  // namespace pellucid::verify
