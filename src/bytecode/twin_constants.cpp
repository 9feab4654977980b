// SPDX-License-Identifier: Apache-2.0
#include "bytecode/twin_constants.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace pellucid::bytecode {

namespace {

using object::Const;
using object::ConstId;
using object::ConstKind;

// Ints that are one object in every version, whichever constant they come from.
constexpr int64_t kLeastShared = -5;
constexpr int64_t kGreatestShared = 256;

uint64_t mixed(uint64_t key, uint64_t more) { return (key ^ more) * 0x9e3779b97f4a7c15u; }

// Returns a key that equal constants share, not looking into their items.
uint64_t outer_key(const Const& value) {
  const uint64_t key = mixed(static_cast<uint64_t>(value.kind), value.text.value);
  return mixed(mixed(key, static_cast<uint64_t>(value.integer)) ^ value.items.size(),
               std::bit_cast<uint64_t>(value.real) + 3 * std::bit_cast<uint64_t>(value.imag));
}

// The keys that equal constants share, and few others.
class Keys {
 public:
  explicit Keys(const object::Module& module) : module_(module) {}

  uint64_t of(ConstId id) {
    if (module_[id].items.empty()) return outer_key(module_[id]);
    std::vector<ConstId> todo{id};
    while (!todo.empty()) {
      const ConstId last = todo.back();
      const bool is_new = known_.emplace(last, outer_key(module_[last])).second;
      const size_t before = todo.size();
      for (const ConstId item : module_[last].items) {
        if (is_new && known_.count(item) == 0) todo.push_back(item);
      }
      if (todo.size() > before) continue;
      todo.pop_back();
      if (finished_.insert(last).second) known_[last] = with_items(module_[last]);
    }
    return known_.at(id);
  }

 private:
  uint64_t with_items(const Const& value) const {
    uint64_t items = 0;
    // The items of a set have no order.
    const bool is_set = value.kind == ConstKind::Set || value.kind == ConstKind::FrozenSet;
    for (const ConstId id : value.items) {
      items = is_set ? items + known_.at(id) : mixed(items, known_.at(id));
    }
    return value.items.empty() ? outer_key(value) : mixed(outer_key(value), items);
  }

  const object::Module& module_;
  std::unordered_map<ConstId, uint64_t> known_;
  std::unordered_set<ConstId> finished_;
};

// Returns true if the compiler makes one object of two such constants.
bool is_merged(const Const& value, uint8_t minor) {
  switch (value.kind) {
    case ConstKind::Int:
      return value.integer < kLeastShared || value.integer > kGreatestShared;
    case ConstKind::Float:
      return value.real == value.real;
    case ConstKind::Complex:
      return value.real == value.real && value.imag == value.imag;
    case ConstKind::Str:
    case ConstKind::BigInt:
    case ConstKind::Bytes:
    case ConstKind::FrozenSet:
    case ConstKind::Slice:
      return true;
    case ConstKind::Tuple:
      return minor >= 10 && !value.items.empty();
    case ConstKind::None:
    case ConstKind::False:
    case ConstKind::True:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::Dict:
    case ConstKind::Code:
    case ConstKind::Opaque:
      return false;
  }
  return false;
}

// Returns true if one of the items is a NaN, which keeps tuples apart that are equal otherwise.
bool has_nan(const object::Module& module, ConstId id) {
  std::vector<ConstId> todo{id};
  std::unordered_set<ConstId> known{id};
  while (!todo.empty()) {
    const Const& value = module[todo.back()];
    todo.pop_back();
    if (value.real != value.real || value.imag != value.imag) return true;
    for (const ConstId item : value.items) {
      if (known.insert(item).second) todo.push_back(item);
    }
  }
  return false;
}

// Returns true if nothing but this instruction sees the tuple on top of the stack.
bool takes_names(Op op) { return op == Op::CallKw || op == Op::BuildConstKeyMap; }

// Returns those of the constants that equal one before them.
std::vector<ConstId> twins_among(const object::Module& module, std::vector<ConstId> ids,
                                 uint8_t minor) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<std::pair<uint64_t, ConstId>> keys;
  keys.reserve(ids.size());
  Keys key_of(module);
  for (const ConstId id : ids) {
    if (is_merged(module[id], minor)) keys.emplace_back(key_of.of(id), id);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<ConstId> twins;
  for (size_t i = 1; i < keys.size(); ++i) {
    const auto [key, id] = keys[i];
    const auto [before, other] = keys[i - 1];
    if (key == before && object::same_constant(module, id, module, other) && !has_nan(module, id)) {
      twins.push_back(id);
    }
  }
  return twins;
}

}  // namespace

std::vector<ConstId> twin_constants(const object::Module& module, const Stream& stream) {
  std::vector<ConstId> loaded;
  for (size_t i = 0; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    if (instr.op != Op::LoadConst) continue;
    if (i + 1 < stream.instrs.size() && takes_names(stream.instrs[i + 1].op)) continue;
    loaded.push_back(instr.constant());
  }
  return twins_among(module, std::move(loaded), module[stream.code].version.minor);
}

}  // namespace pellucid::bytecode
