// SPDX-License-Identifier: Apache-2.0
// The meaning of single tests and of the items between them for the values of a pattern.
#include <algorithm>

#include "structure/constructs/pattern_reader.h"

namespace pellucid::structure {
namespace {

constexpr int64_t kLongest = 100000;  // of a sequence pattern

bool is_equal(const ir::Value& compare) {
  return static_cast<bytecode::CompareOperator>(compare.a) == bytecode::CompareOperator::Eq;
}

using Kind = PatternTest::Kind;

std::optional<int64_t> integer(const PatternRead& r, ValueId id) {
  if (!is_op(r.graph[id], Op::LoadConst)) return std::nullopt;
  const object::Const& constant = r.module[r.graph[id].constant()];
  if (constant.kind != object::ConstKind::Int) return std::nullopt;
  return constant.integer;
}

// Returns true for the attribute of a dotted name: a pattern that is a name alone captures.
bool loads_attribute(const Graph& g, ValueId id) {
  if (!is_op(g[id], Op::LoadAttr)) return false;
  for (size_t steps = 0; steps < g.f.values.size(); ++steps) {
    const ir::Value& v = g[id];
    if (v.kind != ValueKind::Instr) return false;
    if (v.op != Op::LoadAttr) {
      return v.op == Op::LoadGlobal || v.op == Op::LoadName || v.op == Op::LoadFast ||
             v.op == Op::LoadDeref || v.op == Op::LoadClassDeref ||
             v.op == Op::LoadFromDictOrDeref || v.op == Op::LoadFromDictOrGlobals;
    }
    id = g.resolve(g.f.operands(id)[0]);
  }
  return false;
}

// Returns true if a pattern may compare with the value, in this way: a singleton pattern tests
// identity, a value pattern equality, and no text has any other of them.
bool may_compare_with(const PatternRead& r, Kind kind, ValueId id) {
  using object::ConstKind;
  if (!is_op(r.graph[id], Op::LoadConst)) {
    return kind == Kind::Constant && loads_attribute(r.graph, id);
  }
  switch (r.module[r.graph[id].constant()].kind) {
    case ConstKind::None:
    case ConstKind::True:
    case ConstKind::False:
      return kind == Kind::Singleton;
    case ConstKind::Int:
    case ConstKind::BigInt:
    case ConstKind::Float:
    case ConstKind::Complex:
    case ConstKind::Str:
    case ConstKind::Bytes:
      return kind == Kind::Constant;
    default:
      return false;
  }
}

// Returns the test of the attributes of a class or the values of keys: one value that is None, or
// is unpacked next.
std::optional<PatternTest> test_of_parts(const PatternRead& r, ValueId id, uint8_t success) {
  if (!is_op(r.graph[id], Op::MatchClass, Op::MatchKeys)) return std::nullopt;
  const auto& items = r.graph[r.at.block].items;
  if (r.at.index >= items.size() || items.back() != id) return std::nullopt;
  PatternTest test;
  test.kind = is_op(r.graph[id], Op::MatchClass) ? Kind::Class : Kind::Keys;
  test.on = r.operand(id, 0);
  test.by = id;
  test.success = success;
  test.loads.assign(items.begin() + static_cast<ptrdiff_t>(r.at.index), items.end() - 1);
  return r.nodes.count(test.on) > 0 ? std::optional(test) : std::nullopt;
}

bool apply_constant(PatternRead& r, const PatternTest& test, Pattern& pattern) {
  pattern.kind = test.kind == Kind::Constant ? PatternKind::Value : PatternKind::Singleton;
  pattern.value.items = test.loads;
  pattern.value.result = r.operand(test.by, 1);
  return true;
}

bool apply_length(PatternRead& r, const PatternTest& test, Pattern& pattern) {
  const int64_t count = *integer(r, r.operand(test.by, 1));
  if (count < 0 || count >= kLongest) return false;
  if (pattern.kind == PatternKind::Mapping) return true;
  if (pattern.kind != PatternKind::Sequence || !pattern.subs.empty()) return false;
  pattern.open = !is_equal(r.graph[test.by]);
  pattern.subs.resize(static_cast<size_t>(count));
  return true;
}

bool apply_keys(PatternRead& r, const PatternTest& test, Pattern& pattern) {
  if (pattern.kind != PatternKind::Mapping) return false;
  const ValueId keys = r.operand(test.by, 1);
  r.keys[keys] = true;
  pattern.value.items = test.loads;
  pattern.value.result = keys;
  pattern.subs.resize(is_op(r.graph[keys], Op::LoadConst)
                          ? r.module[r.graph[keys].constant()].items.size()
                          : r.graph[keys].count);
  r.typed = true;
  r.parts[test.by] = r.nodes[test.on];
  return true;
}

bool apply_class(PatternRead& r, const PatternTest& test, Pattern& pattern) {
  const ValueId names = r.operand(test.by, 2);
  if (!is_op(r.graph[names], Op::LoadConst)) return false;
  pattern.kind = PatternKind::Class;
  pattern.attributes = r.graph[names].constant();
  pattern.positional = r.graph[test.by].a;
  pattern.value.items = test.loads;
  std::erase(pattern.value.items, names);
  pattern.value.result = r.operand(test.by, 1);
  pattern.subs.resize(pattern.positional + r.module[pattern.attributes].items.size());
  r.typed = true;
  r.parts[test.by] = r.nodes[test.on];
  return true;
}

// ---- items ----------------------------------------------------------------------------------

bool set_sub(PatternRead& r, PatternId id, size_t index, ValueId item) {
  const PatternId sub = r.add_pattern_of(item);
  Pattern& owner = r.pattern(id);
  if (index >= owner.subs.size()) owner.subs.resize(index + 1);
  owner.subs[index] = sub;
  owner.front = std::max(owner.front, index + 1);
  return true;
}

bool set_from_end(PatternRead& r, PatternId id, size_t back, ValueId item) {
  if (back > r.pattern(id).subs.size()) return false;
  const PatternId sub = r.add_pattern_of(item);
  auto& subs = r.pattern(id).subs;
  subs[subs.size() - back] = sub;
  return true;
}

bool unpack(PatternRead& r, ValueId item) {
  const ValueId whole = r.operand(item, 0);
  const ir::Value v = r.graph[item];
  if (r.keys.count(whole) != 0) return true;  // of the dict that `**rest` receives
  const auto parts = r.parts.find(whole);
  const auto known = r.nodes.find(whole);
  if (parts == r.parts.end() && known == r.nodes.end()) return false;
  const PatternId id = parts == r.parts.end() ? known->second : parts->second;
  if (parts == r.parts.end()) {
    Pattern& sequence = r.pattern(id);
    if (sequence.kind != PatternKind::Sequence) return false;
    sequence.subs.clear();
    if (v.op == Op::UnpackEx) sequence.star = v.a;
  }
  const uint32_t count = v.op == Op::UnpackEx ? v.a + 1 + v.b : v.a;
  if (r.pattern(id).subs.size() < count) r.pattern(id).subs.resize(count);
  // Elements come right after the instruction that unpacks them.
  for (size_t i = item.index() + 1; i < r.graph.f.values.size(); ++i) {
    const ir::Value& element = r.graph.f.values[i];
    if (element.kind == ValueKind::Instr) break;
    if (element.kind != ValueKind::Element || r.operand(ValueId(i), 0) != item) continue;
    if (element.a < count) {
      const PatternId sub = r.add_pattern_of(ValueId(i));
      r.pattern(id).subs[r.graph.f.values[i].a] = sub;
    }
  }
  return true;
}

// Reads v[k] and v[len(v) - k], where no other element of the sequence is used.
bool subscript(PatternRead& r, ValueId item) {
  const ValueId whole = r.operand(item, 0), key = r.operand(item, 1);
  const auto parts = r.parts.find(whole);
  if (const auto k = integer(r, key)) {
    if (*k < 0 || *k >= kLongest) return false;
    if (parts != r.parts.end()) return set_sub(r, parts->second, static_cast<size_t>(*k), item);
    Pattern* sequence = r.pattern_of(whole);
    if (!sequence || sequence->kind != PatternKind::Sequence) return false;
    return set_sub(r, r.nodes[whole], static_cast<size_t>(*k), item);
  }
  if (!is_op(r.graph[key], Op::Binary)) return false;
  Pattern* sequence = r.pattern_of(whole);
  const auto back = integer(r, r.operand(key, 1));
  if (!sequence || !back || !is_op(r.graph[r.operand(key, 0)], Op::GetLen)) return false;
  return *back > 0 && set_from_end(r, r.nodes[whole], static_cast<size_t>(*back), item);
}

// The most blocks of a guard: some four comprehensions. Every block is tried as the start of one,
// so that a long sequence must not be followed to its end.
constexpr size_t kGuardBlocks = 16;

// Returns the merge point of a branch that chooses a value, as in `(a or b).c`; invalid: the
// branch decides where control goes. A block is passed once all ways into it have been passed, so
// that the only block ahead is on every way from the branch, and on no other.
BlockId block_after_choice(const Graph& g, BlockId id) {
  std::vector<std::pair<BlockId, size_t>> ahead;  // and how many ways into it were passed
  for (size_t steps = 0; steps < kGuardBlocks; ++steps) {
    if (g[id].exit != ExitKind::Branch && g[id].exit != ExitKind::Goto) return {};
    for (const ir::Edge& edge : g[id].next) {
      if (!edge.to.valid()) continue;
      const auto known = std::find_if(ahead.begin(), ahead.end(),
                                      [&](const auto& each) { return each.first == edge.to; });
      if (known == ahead.end()) {
        ahead.emplace_back(edge.to, 1);
      } else {
        ++known->second;
      }
    }
    const auto passed = std::find_if(ahead.begin(), ahead.end(), [&](const auto& each) {
      return each.second == g.ways_into(each.first).size();
    });
    if (passed == ahead.end()) return {};
    id = passed->first;
    ahead.erase(passed);
    if (ahead.empty()) return g[id].params.empty() ? BlockId() : id;
  }
  return {};
}

}  // namespace

std::vector<uint8_t> left_by_tests(const Graph& g) {
  std::vector<uint8_t> is_left;
  for (const BlockId id : g.order()) {
    if (g[id].exit != ExitKind::Branch) continue;
    for (const ir::Edge& edge : g[id].next) {
      if (!edge.to.valid()) continue;
      const auto& stack = g[edge.to].entry_stack;
      if (!stack.empty()) is_left.resize(g.f.values.size());
      for (size_t depth = 1; depth <= std::min<size_t>(stack.size(), kHeldDepths); ++depth) {
        is_left[g.resolve(stack[stack.size() - depth]).index()] = 1;
      }
    }
  }
  return is_left;
}

BlockId end_of_guard(const Graph& g, BlockId id) {
  for (size_t steps = 0; steps < kGuardBlocks; ++steps) {
    const ir::Block& block = g[id];
    if (block.exit == ExitKind::Branch) {
      const BlockId chosen = block_after_choice(g, id);
      if (!chosen.valid()) return id;
      id = chosen;
      continue;
    }
    if (block.exit != ExitKind::Goto || !block.next[0].args.empty()) return {};
    const BlockId next = block.next[0].to;
    if (!next.valid()) return {};
    const bool is_loop = g[next].exit == ExitKind::ForIter && g[next].items.empty();
    if (!is_loop && g.ways_into(next).size() != 1) return {};
    const bool hides = std::any_of(block.items.begin(), block.items.end(), [&](ValueId item) {
      return is_op(g[item], Op::LoadFastAndClear, Op::BuildList, Op::BuildSet, Op::BuildMap);
    });
    if (is_loop && !hides) return {};
    id = is_loop ? g[next].next[1].to : next;
    if (!id.valid()) return {};  // an endless loop
  }
  return {};
}

ValueId tested_by(const Graph& g, BlockId id) {
  const ir::Block& block = g[id];
  if (block.exit != ExitKind::Branch && block.exit != ExitKind::BranchNone) return {};
  ValueId tested = g.resolve(block.operands[0]);
  if (g[tested].kind == ValueKind::Element) {
    const ValueId of = g.resolve(g.f.operands(tested)[0]);
    const bool result = is_op(g[of], Op::MatchClass);
    if (block.exit == ExitKind::BranchNone && !result) return tested;
    tested = of;
  }
  const ir::Value& value = g[tested];
  const auto first = [&] { return g.resolve(g.f.operands(tested)[0]); };
  if (block.exit == ExitKind::BranchNone) {
    return is_op(value, Op::MatchClass) ? first() : tested;
  }
  if (value.kind != ValueKind::Instr) return {};
  const bool compares =
      (value.op == Op::Compare && is_equal(value)) || (value.op == Op::IsOp && value.a == 0);
  const bool tests = compares || value.op == Op::MatchSequence || value.op == Op::MatchMapping ||
                     value.op == Op::MatchClass;
  return tests ? first() : ValueId();
}

std::optional<PatternTest> find_test(const PatternRead& r) {
  const ir::Block& block = r.graph[r.at.block];
  if (block.exit != ExitKind::Branch && block.exit != ExitKind::BranchNone) return std::nullopt;
  const auto rest = block.items.begin() + static_cast<ptrdiff_t>(r.at.index);
  const auto states = [&](ValueId item) { return is_statement(r.graph[item]); };
  if (std::any_of(rest, block.items.end(), states)) return std::nullopt;
  const ValueId tested = r.graph.resolve(block.operands[0]);
  PatternTest test;
  test.by = tested;
  test.loads.assign(rest, block.items.end());
  if (block.exit == ExitKind::BranchNone) {
    if (std::optional<PatternTest> parts = test_of_parts(r, tested, 1)) return parts;
    test.on = tested;
    if (r.nodes.count(tested) == 0 || !test.loads.empty()) return std::nullopt;
    return test;
  }
  if (r.graph[tested].kind == ValueKind::Element) return test_of_parts(r, r.operand(tested, 0), 0);
  if (r.graph[tested].kind != ValueKind::Instr) return std::nullopt;
  const ValueId left = r.graph[tested].count == 0 ? ValueId() : r.operand(tested, 0);
  test.on = left;
  switch (r.graph[tested].op) {
    case Op::MatchSequence:
    case Op::MatchMapping:
      if (test.loads.size() != 1) return std::nullopt;
      test.kind = r.graph[tested].op == Op::MatchSequence ? Kind::Sequence : Kind::Mapping;
      break;
    case Op::Compare:
      test.kind = Kind::Constant;
      if (is_op(r.graph[left], Op::GetLen) && integer(r, r.operand(tested, 1)) &&
          test.loads.size() == 3) {
        test.kind = Kind::Length;
        test.on = r.operand(left, 0);
      } else if (!is_equal(r.graph[tested])) {
        return std::nullopt;
      }
      break;
    case Op::IsOp:
      if (r.graph[tested].a != 0) return std::nullopt;
      test.kind = Kind::Singleton;
      break;
    default:
      return std::nullopt;
  }
  const bool compares = test.kind == Kind::Constant || test.kind == Kind::Singleton;
  if (compares) {
    const ValueId right = r.operand(tested, 1);
    if (test.loads.size() < 2 || !may_compare_with(r, test.kind, right)) return std::nullopt;
    test.loads.pop_back();
    if (test.loads.back() != right) return std::nullopt;
  }
  return r.nodes.count(test.on) > 0 ? std::optional(test) : std::nullopt;
}

bool apply(PatternRead& r, const PatternTest& test) {
  Pattern& pattern = *r.pattern_of(test.on);
  const bool fresh = pattern.kind == PatternKind::Any;
  if (fresh) pattern.line = r.graph[test.loads.empty() ? test.by : test.loads[0]].line;
  switch (test.kind) {
    case Kind::None:
      pattern.kind = PatternKind::Singleton;
      pattern.value = {};
      return fresh;
    case Kind::Constant:
    case Kind::Singleton:
      return fresh && apply_constant(r, test, pattern);
    case Kind::Sequence:
    case Kind::Mapping:
      pattern.kind = test.kind == Kind::Sequence ? PatternKind::Sequence : PatternKind::Mapping;
      pattern.open = true;
      r.typed = true;
      return fresh;
    case Kind::Length:
      return apply_length(r, test, pattern);
    case Kind::Class:
      return fresh && apply_class(r, test, pattern);
    case Kind::Keys:
      return apply_keys(r, test, pattern);
  }
  return false;
}

bool take_apart(PatternRead& r, ValueId item) {
  const ir::Value& v = r.graph[item];
  if (v.kind != ValueKind::Instr) return false;
  if (v.op == Op::Pop) {
    const ValueId what = r.operand(item, 0);
    Pattern* pattern = r.pattern_of(what);
    const bool is_any = pattern != nullptr && pattern->kind == PatternKind::Any;
    if (is_any && pattern->line < 0) pattern->line = v.line;
    if (drops(v, ir::Dropped::Copy)) {
      if (pattern != nullptr) pattern->is_spelt = true;
      return pattern != nullptr;
    }
    return v.b == 0 && (r.nodes.count(what) != 0 || r.graph[what].kind == ValueKind::Phi);
  }
  if (v.op == Op::UnpackSequence || v.op == Op::UnpackEx) return unpack(r, item);
  if (v.op == Op::Subscr) return subscript(r, item);
  if (v.op == Op::CopyDictWithoutKeys) {
    if (!r.pattern_of(r.operand(item, 0))) return false;
    r.rests[item] = r.nodes[r.operand(item, 0)];
    return true;
  }
  if (v.op == Op::BuildMap && v.a == 0) {
    // Other dicts without keys belong to the body.
    const auto& items = r.graph[r.at.block].items;
    const auto next = std::find(items.begin(), items.end(), item) + 1;
    if (next == items.end() || !is_op(r.graph[*next], Op::DictUpdate) ||
        r.operand(*next, 0) != item || !r.pattern_of(r.operand(*next, 1))) {
      return false;
    }
    r.rest_map = item;
    return true;
  }
  if (v.op == Op::DictUpdate && r.operand(item, 0) == r.rest_map &&
      r.pattern_of(r.operand(item, 1))) {
    r.rests[r.rest_map] = r.nodes[r.operand(item, 1)];
    r.rests[item] = r.nodes[r.operand(item, 1)];
    return true;
  }
  if (v.op == Op::DeleteSubscr) return r.rests.count(r.operand(item, 0)) != 0;
  return false;
}

void settle(PatternRead& r) {
  const ir::Block& block = r.graph[r.at.block];
  for (size_t i = r.at.index; i < block.items.size(); ++i) {
    const ValueId item = block.items[i];
    if (take_apart(r, item)) {
      r.at.index = i + 1;
    } else if (is_statement(r.graph[item])) {
      break;
    }
  }
}

}  // namespace pellucid::structure
