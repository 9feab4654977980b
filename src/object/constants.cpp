// SPDX-License-Identifier: Apache-2.0
// Equality of constants as in CPython's compiler (_PyCode_ConstantKey in Objects/codeobject.c).
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "object/code.h"

namespace pellucid::object {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdull;
}

bool is_set(ConstKind kind) { return kind == ConstKind::Set || kind == ConstKind::FrozenSet; }

// Structural hashes, equal for equal constants. Only sets need them, which are unordered.
class Hasher {
 public:
  explicit Hasher(const Module& module) : module_(module) {}

  uint64_t operator()(ConstId id) {
    const auto known = known_.find(id);
    if (known != known_.end()) return known->second;
    const uint64_t hash = compute(module_[id]);
    known_.emplace(id, hash);
    return hash;
  }

 private:
  uint64_t compute(const Const& value) {
    uint64_t hash = mix(0, static_cast<uint64_t>(value.kind));
    hash = mix(hash, static_cast<uint64_t>(value.integer));
    hash = mix(hash, std::bit_cast<uint64_t>(value.real));
    hash = mix(hash, std::bit_cast<uint64_t>(value.imag));
    if (value.text.valid())
      hash = mix(hash, std::hash<std::string_view>()(module_.text(value.text)));
    uint64_t sum = 0;
    for (const ConstId item : value.items) {
      const uint64_t of_item = (*this)(item);
      sum += of_item;
      if (!is_set(value.kind)) hash = mix(hash, of_item);
    }
    return is_set(value.kind) ? mix(hash, sum) : hash;
  }

  const Module& module_;
  std::unordered_map<ConstId, uint64_t> known_;
};

// Recursion is bounded by the depth of constants, which the marshal reader caps. Equal pairs are
// remembered; otherwise constants with shared parts would be compared once for each path to a part.
class Comparer {
 public:
  Comparer(const Module& a, const Module& b) : a_(a), b_(b), hash_a_(a), hash_b_(b) {}

  bool same(ConstId x, ConstId y) {
    if (&a_ == &b_ && x == y) return true;
    const Const& p = a_[x];
    const Const& q = b_[y];
    if (p.kind != q.kind) return false;
    switch (p.kind) {
      case ConstKind::None:
      case ConstKind::False:
      case ConstKind::True:
      case ConstKind::Ellipsis:
      case ConstKind::StopIteration:
        return true;
      case ConstKind::Int:
        return p.integer == q.integer;
      case ConstKind::Float:
        return same_bits(p.real, q.real);
      case ConstKind::Complex:
        return same_bits(p.real, q.real) && same_bits(p.imag, q.imag);
      case ConstKind::BigInt:
      case ConstKind::Str:
      case ConstKind::Bytes:
      case ConstKind::Opaque:
        return a_.text(p.text) == b_.text(q.text);
      case ConstKind::Code:
        return &a_ == &b_ && p.code == q.code;
      case ConstKind::Tuple:
      case ConstKind::List:
      case ConstKind::Dict:
      case ConstKind::Slice:
      case ConstKind::Set:
      case ConstKind::FrozenSet:
        break;
    }
    if (p.items.size() != q.items.size()) return false;
    if (p.items.empty() || equal_.contains({x, y})) return true;
    const bool result = is_set(p.kind) ? same_elements(p.items, q.items) : same_items(p, q);
    if (result) equal_.emplace(x, y);
    return result;
  }

 private:
  static bool same_bits(double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  }

  bool same_items(const Const& p, const Const& q) {
    for (size_t i = 0; i < p.items.size(); ++i) {
      if (!same(p.items[i], q.items[i])) return false;
    }
    return true;
  }

  // Sorts both sides by hash; tries every pairing of elements whose hashes collide.
  bool same_elements(std::vector<ConstId> xs, std::vector<ConstId> ys) {
    std::stable_sort(xs.begin(), xs.end(),
                     [&](ConstId i, ConstId j) { return hash_a_(i) < hash_a_(j); });
    std::stable_sort(ys.begin(), ys.end(),
                     [&](ConstId i, ConstId j) { return hash_b_(i) < hash_b_(j); });
    for (size_t i = 0; i < xs.size(); ++i) {
      size_t j = i;
      while (j < ys.size() && hash_b_(ys[j]) == hash_a_(xs[i]) && !same(xs[i], ys[j])) ++j;
      if (j == ys.size() || hash_b_(ys[j]) != hash_a_(xs[i])) return false;
      std::swap(ys[i], ys[j]);
    }
    return true;
  }

  const Module& a_;
  const Module& b_;
  Hasher hash_a_;
  Hasher hash_b_;
  std::set<std::pair<ConstId, ConstId>> equal_;
};

}  // namespace

std::string supported_versions() {
  const auto text = [](Version version) {
    return std::to_string(version.major) + "." + std::to_string(version.minor);
  };
  return text(kOldestVersion) + "-" + text(kNewestVersion);
}

Module new_module(Version version) {
  Module module;
  module.version = version;
  module.consts.resize(small_int_count(version));
  for (size_t n = 0; n < module.consts.size(); ++n) {
    module.consts[n].kind = ConstKind::Int;
    module.consts[n].integer = static_cast<int64_t>(n);
  }
  // A `with` of 3.8 calls __exit__ with three None, whether or not None is among its code's
  // constants.
  if (version.minor == 8) module.add(Const{.kind = ConstKind::None});
  if (common_const_count(version) > 0) {
    module.add(Const{.kind = ConstKind::None});
    Const empty{.kind = ConstKind::Str};
    empty.text = module.strings.intern("");
    module.add(std::move(empty));
    module.add(Const{.kind = ConstKind::True});
    module.add(Const{.kind = ConstKind::False});
    module.add(Const{.kind = ConstKind::Int, .integer = -1});
  }
  return module;
}

bool is_true(const Module& module, const Const& value) {
  switch (value.kind) {
    case ConstKind::None:
    case ConstKind::False:
      return false;
    case ConstKind::Int:
      return value.integer != 0;
    case ConstKind::Float:
      return value.real != 0;
    case ConstKind::Complex:
      return value.real != 0 || value.imag != 0;
    case ConstKind::Str:
    case ConstKind::Bytes:
      return !module.text(value.text).empty();
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
      return !value.items.empty();
    case ConstKind::True:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
    case ConstKind::BigInt:
    case ConstKind::Slice:
    case ConstKind::Code:
    case ConstKind::Opaque:
      return true;
  }
  return true;
}

bool same_constant(const Module& a, ConstId x, const Module& b, ConstId y) {
  return Comparer(a, b).same(x, y);
}

}  // namespace pellucid::object
