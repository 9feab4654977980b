// SPDX-License-Identifier: Apache-2.0
// object::same_constant: constants are told apart as Python's compiler tells them apart.
#include <bit>

#include "object/code.h"
#include "testing.h"

namespace pellucid::object {
namespace {

struct Pair {
  Module a = new_module({3, 12});
  Module b = new_module({3, 12});

  bool same(Const x, Const y) {
    const ConstId i = a.add(std::move(x));
    const ConstId j = b.add(std::move(y));
    return same_constant(a, i, b, j);
  }
};

Const integer(int64_t value) { return Const{.kind = ConstKind::Int, .integer = value}; }
Const real(double value) { return Const{.kind = ConstKind::Float, .real = value}; }

TEST("constants differ by type and by value") {
  Pair pair;
  EXPECT(pair.same(integer(1), integer(1)));
  EXPECT(!pair.same(integer(1), integer(2)));
  EXPECT(!pair.same(integer(1), Const{.kind = ConstKind::True}));
  EXPECT(!pair.same(integer(1), real(1)));
}

TEST("constants tell zeros apart and hold NaN equal to itself") {
  Pair pair;
  EXPECT(!pair.same(real(0.0), real(-0.0)));
  const double nan = std::bit_cast<double>(0x7ff8000000000000u);
  EXPECT(pair.same(real(nan), real(nan)));
}

TEST("text is compared across modules") {
  Pair pair;
  pair.b.strings.intern("something first");
  const auto text = [](Module& module, ConstKind kind, const char* value) {
    return Const{.kind = kind, .text = module.strings.intern(value)};
  };
  EXPECT(pair.same(text(pair.a, ConstKind::Str, "x"), text(pair.b, ConstKind::Str, "x")));
  EXPECT(!pair.same(text(pair.a, ConstKind::Str, "x"), text(pair.b, ConstKind::Bytes, "x")));
}

TEST("the order of a frozenset means nothing, that of a tuple does") {
  Pair pair;
  const auto items = [](Module& module, ConstKind kind, int first, int second) {
    const ConstId i = module.add(integer(first));
    const ConstId j = module.add(integer(second));
    return Const{.kind = kind, .items = {i, j}};
  };
  EXPECT(pair.same(items(pair.a, ConstKind::FrozenSet, 1, 2),
                   items(pair.b, ConstKind::FrozenSet, 2, 1)));
  EXPECT(!pair.same(items(pair.a, ConstKind::FrozenSet, 1, 2),
                    items(pair.b, ConstKind::FrozenSet, 1, 3)));
  EXPECT(!pair.same(items(pair.a, ConstKind::Tuple, 1, 2), items(pair.b, ConstKind::Tuple, 2, 1)));
}

TEST("constants that share their parts are compared and shown in linear time") {
  const auto nest = [](Module& module) {
    ConstId id = module.add(integer(1));
    for (int i = 0; i < 60; ++i)
      id = module.add(Const{.kind = ConstKind::Tuple, .items = {id, id}});
    return Const{.kind = ConstKind::FrozenSet, .items = {id}};
  };
  Pair pair;
  EXPECT(pair.same(nest(pair.a), nest(pair.b)));
}

TEST("a module of 3.14 starts with the small ints") {
  const Module module = new_module({3, 14});
  EXPECT_EQ(module.consts.size(), size_t{256});
  EXPECT_EQ(module.consts[255].integer, int64_t{255});
  EXPECT(new_module({3, 13}).consts.empty());
}

}  // namespace
}  // namespace pellucid::object
