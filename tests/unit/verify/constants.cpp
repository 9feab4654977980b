// SPDX-License-Identifier: Apache-2.0
// Constants of two modules: which are the same.
#include <limits>
#include <string_view>
#include <vector>

#include "testing.h"
#include "verify/domain/constant_table.h"

namespace pellucid {
namespace {

using object::Const;
using object::ConstId;
using object::ConstKind;

struct Constants {
  object::Module module;
  std::vector<ConstId> ids = {};

  ConstId add(Const value) {
    ids.push_back(module.add(std::move(value)));
    return ids.back();
  }
  ConstId integer(int64_t value) { return add({.kind = ConstKind::Int, .integer = value}); }
  ConstId real(double value) { return add({.kind = ConstKind::Float, .real = value}); }
  void text(ConstKind kind, std::string_view text) {
    add({.kind = kind, .text = module.strings.intern(text)});
  }
  void many(ConstKind kind, std::vector<ConstId> items) {
    add({.kind = kind, .items = std::move(items)});
  }

  // One of each kind and value that could be taken for another.
  Constants() {
    for (const ConstKind kind : {ConstKind::None, ConstKind::False, ConstKind::True,
                                 ConstKind::Ellipsis, ConstKind::StopIteration}) {
      add({.kind = kind});
    }
    const ConstId zero = integer(0);
    const ConstId one = integer(1);
    integer(-1);
    const ConstId positive = real(0.0);
    const ConstId negative = real(-0.0);
    real(1.0);
    real(std::numeric_limits<double>::quiet_NaN());
    real(-std::numeric_limits<double>::quiet_NaN());
    add({.kind = ConstKind::Complex, .real = 1.0});
    for (const ConstKind kind : {ConstKind::Str, ConstKind::Bytes}) {
      for (const char* each : {"", "a", "b", "1"}) text(kind, each);
    }
    text(ConstKind::BigInt, "1");
    for (const ConstKind kind : {ConstKind::Tuple, ConstKind::List, ConstKind::Slice}) {
      many(kind, {zero, one, zero});
      many(kind, {one, zero, zero});
    }
    many(ConstKind::Tuple, {positive});
    many(ConstKind::Tuple, {negative});
    many(ConstKind::FrozenSet, {zero, one});
    many(ConstKind::Set, {zero, one});
  }
};

TEST("constants of two modules are the same where their numbers are") {
  const Constants a;
  const Constants b;
  verify::ConstantTable table(a.module, b.module);
  for (size_t i = 0; i < a.ids.size(); ++i) {
    for (size_t j = 0; j < b.ids.size(); ++j) {
      EXPECT_EQ(table.same(a.ids[i], b.ids[j]), i == j);
      EXPECT_EQ(table.number(verify::Side::A, a.ids[i]) == table.number(verify::Side::B, b.ids[j]),
                i == j);
    }
  }
}

TEST("sets are the same in any order, and texts wherever they are stored") {
  Constants a;
  Constants b;
  b.text(ConstKind::Bytes, "first in one of them only");
  a.text(ConstKind::Str, "later");
  b.text(ConstKind::Str, "later");
  verify::ConstantTable table(a.module, b.module);
  EXPECT(table.same(a.ids.back(), b.ids.back()));
  Constants c;
  Constants d;
  const std::vector<ConstId> in_c = {c.integer(5), c.integer(6)};
  const std::vector<ConstId> in_d = {d.integer(6), d.integer(5)};
  c.many(ConstKind::FrozenSet, in_c);
  d.many(ConstKind::FrozenSet, in_d);
  verify::ConstantTable other(c.module, d.module);
  EXPECT(other.same(c.ids.back(), d.ids.back()));
}

}  // namespace
}  // namespace pellucid
