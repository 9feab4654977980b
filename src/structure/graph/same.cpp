// SPDX-License-Identifier: Apache-2.0
#include "structure/graph/same.h"

#include <algorithm>

namespace pellucid::structure {
namespace {

// Returns true for the Pop that ends an expression statement, whatever value it drops.
bool ends_statement(const ir::Value& value) {
  return drops(value, ir::Dropped::Result) || drops(value, ir::Dropped::Stored) ||
         drops(value, ir::Dropped::Constant) || drops(value, ir::Dropped::Carried);
}

// Returns true if both load equal constants: compilers that fold tuples after code generation (up
// to 3.9) keep a constant for each.
bool same_constant(const object::Module* module, const ir::Value& a, const ir::Value& b) {
  return module && is_op(a, Op::LoadConst) &&
         object::same_constant(*module, a.constant(), *module, b.constant());
}

// Returns true if the columns show that both were written: copies have one place. One instruction
// may load or store two locals, in the place of the first; what drops a value has any.
bool are_apart(const Graph& graph, const ir::Value& a, const ir::Value& b) {
  const bool has_place = a.count > 0 && !is_op(a, Op::Pop, Op::StoreFast);
  if (graph.places == nullptr || !has_place) return false;
  const object::Columns one = graph.places->columns(a.offset / 2);
  const object::Columns other = graph.places->columns(b.offset / 2);
  return one.begin != object::kNoColumn && other.begin != object::kNoColumn && one != other;
}

}  // namespace

bool same_operation(const Graph& graph, ValueId x, ValueId y, const MayDiffer& may) {
  const ir::Value &a = graph[x], &b = graph[y];
  if (!may.lines && (a.line != b.line || are_apart(graph, a, b))) return false;
  if (may.drops && ends_statement(a) && ends_statement(b)) return true;
  if (a.kind != b.kind || a.op != b.op || a.count != b.count) return false;
  if (a.b != b.b && !(may.unbound && is_op(a, Op::LoadFast))) return false;
  return a.a == b.a || (may.regions && a.kind == ValueKind::Region) ||
         same_constant(may.constants, a, b);
}

bool Twins::same(ValueId x, ValueId y) const {
  x = g_.resolve(x);
  y = g_.resolve(y);
  const ValueId whole = whole_of(g_, x);
  const auto known = twins_.find(whole);
  if (known != twins_.end()) {
    return known->second == whole_of(g_, y) && (whole == x || g_[x].a == g_[y].a);
  }
  return x == y || (g_[x].kind == ValueKind::Null && g_[y].kind == ValueKind::Null);
}

bool Twins::same(std::span<const ValueId> xs, std::span<const ValueId> ys) const {
  return std::equal(xs.begin(), xs.end(), ys.begin(), ys.end(),
                    [&](ValueId x, ValueId y) { return same(x, y); });
}

bool Twins::same_item(ValueId x, ValueId y, const MayDiffer& may) {
  if (!same_operation(g_, x, y, may) || !same(g_.f.operands(x), g_.f.operands(y))) return false;
  pair(x, y);
  return true;
}

bool Twins::same_items(std::span<const ValueId> xs, std::span<const ValueId> ys,
                       const MayDiffer& may) {
  return std::equal(xs.begin(), xs.end(), ys.begin(), ys.end(),
                    [&](ValueId x, ValueId y) { return same_item(x, y, may); });
}

}  // namespace pellucid::structure
