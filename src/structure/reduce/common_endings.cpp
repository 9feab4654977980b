// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/common_endings.h"

#include <algorithm>

#include "structure/graph/block_kinds.h"
#include "structure/graph/copies.h"
#include "structure/graph/items.h"
#include "structure/graph/same.h"

namespace pellucid::structure {
namespace {

// RETURN_CONST and BINARY_SLICE are two items each; a marker is none.
bool is_part_of_next(const ir::Value& value, bool is_returned) {
  if (value.kind != ValueKind::Instr) return false;
  return (value.op == Op::LoadConst && is_returned) || value.op == Op::BuildSlice ||
         is_marker(value);
}

// The text of an expression statement is the same whatever its Pop drops.
constexpr MayDiffer kEndings{.drops = true};

}  // namespace

bool Endings::are_twins(BlockId x, BlockId y) const {
  const ir::Block &a = g_[x], &b = g_[y];
  const size_t length = a.items.size();
  if (kind_ == EndingKind::Handler || length == 0 || length != b.items.size()) return false;
  if (!a.params.empty() || !b.params.empty() || a.exc_depth != b.exc_depth) return false;
  if (a.operands.size() != b.operands.size()) return false;
  if (!std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                  [&](ValueId v, ValueId w) { return same_operation(g_, v, w, kEndings); })) {
    return false;
  }
  const std::optional<ValueId> differs = difference(x, y, length);
  return differs && !differs->valid() && fail_alike(x, y);
}

// Returns true if a branch into `x` and a branch into `y` share their other target, as the tests of
// one conditional expression do.
bool Endings::fail_alike(BlockId x, BlockId y) const {
  const auto other = [&](const Way& way) {
    const ir::Block& from = g_[way.from];
    return from.exit == ExitKind::Branch ? from.next[1 - way.edge].to : BlockId();
  };
  for (const Way& a : g_.ways_into(x)) {
    for (const Way& b : g_.ways_into(y)) {
      if (a.from != b.from && other(a).valid() && other(a) == other(b)) return true;
    }
  }
  return false;
}

// Returns how many items at the end of the block may be a copy of the code after a conditional
// expression. CPython copies code that returns or raises if it has at most four instructions
// (copies.h); all of it if it starts on no line: 3.10 gives no line to the instruction that adds an
// argument to many keywords, nor to the Pop that ends an expression statement.
size_t Endings::longest_copy(BlockId id) const {
  const auto& items = g_[id].items;
  if (kind_ == EndingKind::Handler) return items.size();
  size_t length = 0, instructions = 1;  // with the one that returns
  while (length < items.size()) {
    const ValueId item = items[items.size() - 1 - length];
    const bool returned = g_[id].exit == ExitKind::Return && item == g_.resolve(g_[id].operands[0]);
    if (!is_part_of_next(g_[item], returned) && ++instructions > kCopiedInstructions) break;
    ++length;
  }
  return length;
}

// Returns true if both items add to a dictionary, and only their lines differ: where a copy starts
// with one that has no line, it takes that of the code before the copy.
bool Endings::differ_in_line(ValueId x, ValueId y) const {
  return is_op(g_[x], Op::MapAdd) && same_operation(g_, x, y, {.lines = true});
}

std::optional<CommonEnding> Endings::compare(BlockId x, BlockId y) const {
  const auto &p = g_[x].items, &q = g_[y].items;
  if (g_[x].operands.size() != g_[y].operands.size()) return std::nullopt;
  size_t length = 0;
  while (length < p.size() && length < q.size() &&
         same_operation(g_, p[p.size() - 1 - length], q[q.size() - 1 - length], kEndings)) {
    ++length;
  }
  if (length < p.size() && length < q.size() &&
      differ_in_line(p[p.size() - 1 - length], q[q.size() - 1 - length])) {
    ++length;
  }
  const size_t most = longest_copy(x);
  for (; length > 0; --length) {
    const std::optional<ValueId> differs = difference(x, y, length);
    if (!differs) continue;
    const ir::Value& start = g_[p[p.size() - length]];
    const bool starts_on_no_line = is_op(start, Op::MapAdd, Op::Pop);
    if (differs->valid() && length > most && !starts_on_no_line) continue;
    const auto& operands = g_[x].operands;
    const bool leaves = std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
      return g_.resolve(operand) == *differs;
    });
    if (leaves && kind_ != EndingKind::Any) return std::nullopt;
    if (calls(x, length, *differs) || makes_function(x, length, *differs)) continue;
    // Without a difference they are one statement anyway (duplicated_exits.h), except for `x if c
    // else x`.
    if (!differs->valid()) return equal_choice(x, y, length);
    return CommonEnding{length, *differs};
  }
  if (kind_ != EndingKind::Any) return std::nullopt;
  if (g_[x].exit == ExitKind::Return) return CommonEnding{0, g_.resolve(g_[x].operands[0])};
  const std::optional<ValueId> differs = difference(x, y, 0);
  return differs && differs->valid() ? std::optional(CommonEnding{0, *differs}) : std::nullopt;
}

// Compares the arms of a conditional expression that are equal: the value that they load first is
// the one chosen.
std::optional<CommonEnding> Endings::equal_choice(BlockId x, BlockId y, size_t length) const {
  const bool is_whole = length == g_[x].items.size() && length == g_[y].items.size();
  if (!is_whole || !are_arms_of_choice(g_, x, y)) return std::nullopt;
  const auto& items = g_[x].items;
  size_t at = 0;
  // A function is made of its code first (and of its name, up to 3.10).
  if (makes_function(x, length, items[0])) {
    while (!is_op(g_[items[at]], Op::MakeFunction)) ++at;
    if (g_[items[at]].count != at) return std::nullopt;
  }
  // A name of a class that may come from an enclosing scope is looked up in the class namespace
  // first.
  if (is_op(g_[items[0]], Op::LoadLocals)) at = 1;
  const ValueId chosen = items[at];
  const ir::Value& value = g_[chosen];
  if ((at == 0 && value.count > 0) || value.uses != 1 || calls(x, length, chosen)) {
    return std::nullopt;
  }
  return CommonEnding{length - 1 - at, chosen};
}

// Returns true if one of the items calls `value`. `f(x) if c else g(x)` repeats the call with its
// function: only `(f if c else g)(x)` of 3.11 and 3.12 has begun the call, with a NULL, before the
// test.
bool Endings::calls(BlockId block, size_t length, ValueId value) const {
  const auto& items = g_[block].items;
  const auto& stack = g_[block].entry_stack;
  if (!value.valid() || (!stack.empty() && g_[stack.back()].kind == ValueKind::Null)) return false;
  return std::any_of(items.end() - static_cast<ptrdiff_t>(length), items.end(), [&](ValueId item) {
    const ir::Value& call = g_[item];
    const bool is_call = is_op(call, Op::Call, Op::CallKw, Op::CallEx);
    if (!is_call || g_.resolve(g_.f.operands(call)[0]) != value) return false;
    // Without NULLs (3.8-3.10) `x.f()` is a method call: the attribute was chosen before.
    return call.b > 1 || !is_op(g_[value], Op::LoadAttr);
  });
}

// Returns true if one of the items makes a function of `code`: two functions differ in their code,
// which no expression chooses.
bool Endings::makes_function(BlockId block, size_t length, ValueId code) const {
  const auto& items = g_[block].items;
  return std::any_of(items.end() - static_cast<ptrdiff_t>(length), items.end(), [&](ValueId item) {
    if (!code.valid() || !is_op(g_[item], Op::MakeFunction)) return false;
    const auto operands = g_.f.operands(item);
    const size_t from_end = g_[item].b == 1 ? 2 : 1;  // the name, up to 3.10
    return operands.size() >= from_end && g_.resolve(operands[operands.size() - from_end]) == code;
  });
}

// Returns false for values that are never the arms of a conditional expression: NULLs, loop
// iterators, `__exit__` functions and their results, and values that a pattern extracts.
bool Endings::may_differ(ValueId id) const {
  if (g_[id].kind == ValueKind::Null) return false;
  const ir::Value& whole = g_[whole_of(g_, id)];
  if (is_op(whole, Op::MatchClass, Op::MatchKeys)) return false;
  while (g_[id].count > 0 && is_op(g_[id], Op::Call, Op::GetAwaitable, Op::YieldFrom)) {
    id = g_.resolve(g_.f.operands(id)[0]);
  }
  return !is_op(g_[id], Op::BeforeWith, Op::BeforeAsyncWith, Op::GetIter, Op::GetAiter);
}

// Returns the one value computed before the ending that differs in `y`, an invalid id if none does;
// nothing if several do.
std::optional<ValueId> Endings::difference(BlockId x, BlockId y, size_t length) const {
  const auto &p = g_[x].items, &q = g_[y].items;
  Twins twins(g_);
  ValueId left, right;
  const auto agree = [&](ValueId a, ValueId b) {
    if (twins.same(a, b)) return true;
    if (twins.knows(a)) return false;
    a = g_.resolve(a);
    b = g_.resolve(b);
    if (left.valid()) return left == a && right == b;
    const ValueId other_whole = whole_of(g_, b);
    const bool later = std::any_of(q.end() - static_cast<ptrdiff_t>(length), q.end(),
                                   [&](ValueId item) { return item == other_whole; });
    if (later || !may_differ(a) || !may_differ(b)) return false;
    left = a;
    right = b;
    return true;
  };
  for (size_t i = length; i > 0; --i) {
    const ValueId a = p[p.size() - i], b = q[q.size() - i];
    for (size_t o = 0; o < g_[a].count; ++o) {
      if (!agree(g_.f.operands(a)[o], g_.f.operands(b)[o])) return std::nullopt;
    }
    twins.pair(a, b);
  }
  for (size_t o = 0; o < g_[x].operands.size(); ++o) {
    if (!agree(g_[x].operands[o], g_[y].operands[o])) return std::nullopt;
  }
  return left;
}

ValueId Endings::counterpart(BlockId x, BlockId y, CommonEnding common) const {
  const auto [length, differs] = common;
  const auto &p = g_[x].items, &q = g_[y].items;
  for (size_t i = length; i > 0; --i) {
    const auto a = g_.f.operands(p[p.size() - i]), b = g_.f.operands(q[q.size() - i]);
    for (size_t o = 0; o < a.size(); ++o) {
      if (g_.resolve(a[o]) == differs) return g_.resolve(b[o]);
    }
  }
  for (size_t o = 0; o < g_[x].operands.size(); ++o) {
    if (g_.resolve(g_[x].operands[o]) == differs) return g_.resolve(g_[y].operands[o]);
  }
  return differs;
}

}  // namespace pellucid::structure
