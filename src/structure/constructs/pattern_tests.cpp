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

}  // namespace

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

// Returns the test that makes up the rest of the block.
std::optional<PatternReader::Test> PatternReader::find_test() const {
  const ir::Block& block = g_[at_.block];
  if (block.exit != ExitKind::Branch && block.exit != ExitKind::BranchNone) return std::nullopt;
  const auto rest = block.items.begin() + static_cast<ptrdiff_t>(at_.index);
  const auto states = [&](ValueId item) { return is_statement(g_[item]); };
  if (std::any_of(rest, block.items.end(), states)) return std::nullopt;
  const ValueId tested = g_.resolve(block.operands[0]);
  Test test;
  test.by = tested;
  test.loads.assign(rest, block.items.end());
  if (block.exit == ExitKind::BranchNone) {
    if (std::optional<Test> parts = of_parts(tested, 1)) return parts;
    test.on = tested;
    if (nodes_.count(tested) == 0 || !test.loads.empty()) return std::nullopt;
    return test;
  }
  if (g_[tested].kind == ValueKind::Element) return of_parts(operand(tested, 0), 0);
  if (g_[tested].kind != ValueKind::Instr) return std::nullopt;
  const ValueId left = g_[tested].count == 0 ? ValueId() : operand(tested, 0);
  test.on = left;
  switch (g_[tested].op) {
    case Op::MatchSequence:
    case Op::MatchMapping:
      if (test.loads.size() != 1) return std::nullopt;
      test.kind = g_[tested].op == Op::MatchSequence ? Kind::Sequence : Kind::Mapping;
      break;
    case Op::Compare:
      test.kind = Kind::Constant;
      if (is_op(g_[left], Op::GetLen) && integer(operand(tested, 1)) && test.loads.size() == 3) {
        test.kind = Kind::Length;
        test.on = operand(left, 0);
      } else if (!is_equal(g_[tested])) {
        return std::nullopt;
      }
      break;
    case Op::IsOp:
      if (g_[tested].a != 0) return std::nullopt;
      test.kind = Kind::Singleton;
      break;
    default:
      return std::nullopt;
  }
  const bool compares = test.kind == Kind::Constant || test.kind == Kind::Singleton;
  if (compares) {
    const ValueId right = operand(tested, 1);
    if (test.loads.size() < 2 || !loads_name(right)) return std::nullopt;
    test.loads.pop_back();
    if (test.loads.back() != right) return std::nullopt;
  }
  return nodes_.count(test.on) > 0 ? std::optional(test) : std::nullopt;
}

// Returns the test of the attributes of a class or the values of keys: one value that is None, or
// is unpacked next.
std::optional<PatternReader::Test> PatternReader::of_parts(ValueId id, uint8_t success) const {
  if (!is_op(g_[id], Op::MatchClass, Op::MatchKeys)) return std::nullopt;
  const auto& items = g_[at_.block].items;
  if (at_.index >= items.size() || items.back() != id) return std::nullopt;
  Test test;
  test.kind = is_op(g_[id], Op::MatchClass) ? Kind::Class : Kind::Keys;
  test.on = operand(id, 0);
  test.by = id;
  test.success = success;
  test.loads.assign(items.begin() + static_cast<ptrdiff_t>(at_.index), items.end() - 1);
  return nodes_.count(test.on) > 0 ? std::optional(test) : std::nullopt;
}

// Returns false if the test contradicts the known pattern of its value.
bool PatternReader::apply(const Test& test) {
  Pattern& pattern = *pattern_of(test.on);
  const bool fresh = pattern.kind == PatternKind::Any;
  if (fresh) pattern.line = g_[test.loads.empty() ? test.by : test.loads[0]].line;
  switch (test.kind) {
    case Kind::None:
      pattern.kind = PatternKind::Singleton;
      pattern.value = {};
      return fresh;
    case Kind::Constant:
    case Kind::Singleton:
      return fresh && apply_constant(test, pattern);
    case Kind::Sequence:
    case Kind::Mapping:
      pattern.kind = test.kind == Kind::Sequence ? PatternKind::Sequence : PatternKind::Mapping;
      pattern.open = true;
      typed_ = true;
      return fresh;
    case Kind::Length:
      return apply_length(test, pattern);
    case Kind::Class:
      return fresh && apply_class(test, pattern);
    case Kind::Keys:
      return apply_keys(test, pattern);
  }
  return false;
}

bool PatternReader::apply_constant(const Test& test, Pattern& pattern) {
  pattern.kind = test.kind == Kind::Constant ? PatternKind::Value : PatternKind::Singleton;
  pattern.value.items = test.loads;
  pattern.value.result = operand(test.by, 1);
  return true;
}

bool PatternReader::apply_length(const Test& test, Pattern& pattern) {
  const int64_t count = *integer(operand(test.by, 1));
  if (count < 0 || count >= kLongest) return false;
  if (pattern.kind == PatternKind::Mapping) return true;
  if (pattern.kind != PatternKind::Sequence || !pattern.subs.empty()) return false;
  pattern.open = !is_equal(g_[test.by]);
  pattern.subs.resize(static_cast<size_t>(count));
  return true;
}

bool PatternReader::apply_keys(const Test& test, Pattern& pattern) {
  if (pattern.kind != PatternKind::Mapping) return false;
  const ValueId keys = operand(test.by, 1);
  keys_[keys] = true;
  pattern.value.items = test.loads;
  pattern.value.result = keys;
  pattern.subs.resize(is_op(g_[keys], Op::LoadConst) ? module_[g_[keys].constant()].items.size()
                                                     : g_[keys].count);
  typed_ = true;
  parts_[test.by] = nodes_[test.on];
  return true;
}

bool PatternReader::apply_class(const Test& test, Pattern& pattern) {
  const ValueId names = operand(test.by, 2);
  if (!is_op(g_[names], Op::LoadConst)) return false;
  pattern.kind = PatternKind::Class;
  pattern.attributes = g_[names].constant();
  pattern.positional = g_[test.by].a;
  pattern.value.items = test.loads;
  std::erase(pattern.value.items, names);
  pattern.value.result = operand(test.by, 1);
  pattern.subs.resize(pattern.positional + module_[pattern.attributes].items.size());
  typed_ = true;
  parts_[test.by] = nodes_[test.on];
  return true;
}

// ---- items
// ----------------------------------------------------------------------------------------

// Reads the items that unpack values, and moves the cursor after the last of them.
void PatternReader::settle() {
  const ir::Block& block = g_[at_.block];
  for (size_t i = at_.index; i < block.items.size(); ++i) {
    const ValueId item = block.items[i];
    if (take_apart(item)) {
      at_.index = i + 1;
    } else if (is_statement(g_[item])) {
      break;
    }
  }
}

// Reads an item that makes values of the elements of a known one, or drops one. Returns false for
// other items.
bool PatternReader::take_apart(ValueId item) {
  const ir::Value& v = g_[item];
  if (v.kind != ValueKind::Instr) return false;
  if (v.op == Op::Pop) {
    const ValueId what = operand(item, 0);
    Pattern* pattern = pattern_of(what);
    const bool is_any = pattern != nullptr && pattern->kind == PatternKind::Any;
    if (is_any && pattern->line < 0) pattern->line = v.line;
    if (drops(v, ir::Dropped::Copy)) {
      if (pattern != nullptr) pattern->is_spelt = true;
      return pattern != nullptr;
    }
    return v.b == 0 && (nodes_.count(what) != 0 || g_[what].kind == ValueKind::Phi);
  }
  if (v.op == Op::UnpackSequence || v.op == Op::UnpackEx) return unpack(item);
  if (v.op == Op::Subscr) return subscript(item);
  if (v.op == Op::CopyDictWithoutKeys) {
    if (!pattern_of(operand(item, 0))) return false;
    rests_[item] = nodes_[operand(item, 0)];
    return true;
  }
  if (v.op == Op::BuildMap && v.a == 0) {
    // Other dicts without keys belong to the body.
    const auto& items = g_[at_.block].items;
    const auto next = std::find(items.begin(), items.end(), item) + 1;
    if (next == items.end() || !is_op(g_[*next], Op::DictUpdate) || operand(*next, 0) != item ||
        !pattern_of(operand(*next, 1))) {
      return false;
    }
    rest_map_ = item;
    return true;
  }
  if (v.op == Op::DictUpdate && operand(item, 0) == rest_map_ && pattern_of(operand(item, 1))) {
    rests_[rest_map_] = nodes_[operand(item, 1)];
    rests_[item] = nodes_[operand(item, 1)];
    return true;
  }
  if (v.op == Op::DeleteSubscr) return rests_.count(operand(item, 0)) != 0;
  return false;
}

bool PatternReader::unpack(ValueId item) {
  const ValueId whole = operand(item, 0);
  const ir::Value v = g_[item];
  if (keys_.count(whole) != 0) return true;  // of the dict that `**rest` receives
  const auto parts = parts_.find(whole);
  const auto known = nodes_.find(whole);
  if (parts == parts_.end() && known == nodes_.end()) return false;
  const PatternId id = parts == parts_.end() ? known->second : parts->second;
  if (parts == parts_.end()) {
    Pattern& sequence = at(id);
    if (sequence.kind != PatternKind::Sequence) return false;
    sequence.subs.clear();
    if (v.op == Op::UnpackEx) sequence.star = v.a;
  }
  const uint32_t count = v.op == Op::UnpackEx ? v.a + 1 + v.b : v.a;
  if (at(id).subs.size() < count) at(id).subs.resize(count);
  // Elements come right after the instruction that unpacks them.
  for (size_t i = item.index() + 1; i < g_.f.values.size(); ++i) {
    const ir::Value& element = g_.f.values[i];
    if (element.kind == ValueKind::Instr) break;
    if (element.kind != ValueKind::Element || operand(ValueId(i), 0) != item) continue;
    if (element.a < count) {
      const PatternId sub = node(ValueId(i));
      at(id).subs[g_.f.values[i].a] = sub;
    }
  }
  return true;
}

std::optional<int64_t> PatternReader::integer(ValueId id) const {
  if (!is_op(g_[id], Op::LoadConst)) return std::nullopt;
  const object::Const& constant = module_[g_[id].constant()];
  if (constant.kind != object::ConstKind::Int) return std::nullopt;
  return constant.integer;
}

// Reads v[k] and v[len(v) - k], where no other element of the sequence is used.
bool PatternReader::subscript(ValueId item) {
  const ValueId whole = operand(item, 0), key = operand(item, 1);
  const auto parts = parts_.find(whole);
  if (const auto k = integer(key)) {
    if (*k < 0 || *k >= kLongest) return false;
    if (parts != parts_.end()) return set_sub(parts->second, static_cast<size_t>(*k), item);
    Pattern* sequence = pattern_of(whole);
    if (!sequence || sequence->kind != PatternKind::Sequence) return false;
    return set_sub(nodes_[whole], static_cast<size_t>(*k), item);
  }
  if (!is_op(g_[key], Op::Binary)) return false;
  Pattern* sequence = pattern_of(whole);
  const auto back = integer(operand(key, 1));
  if (!sequence || !back || !is_op(g_[operand(key, 0)], Op::GetLen)) return false;
  return *back > 0 && set_back(nodes_[whole], static_cast<size_t>(*back), item);
}

bool PatternReader::set_sub(PatternId id, size_t index, ValueId item) {
  const PatternId sub = node(item);
  Pattern& owner = at(id);
  if (index >= owner.subs.size()) owner.subs.resize(index + 1);
  owner.subs[index] = sub;
  owner.front = std::max(owner.front, index + 1);
  return true;
}

bool PatternReader::set_back(PatternId id, size_t back, ValueId item) {
  if (back > at(id).subs.size()) return false;
  const PatternId sub = node(item);
  auto& subs = at(id).subs;
  subs[subs.size() - back] = sub;
  return true;
}

// Returns true for a constant or a dotted name, which a value pattern may consist of.
bool PatternReader::loads_name(ValueId id) const {
  for (size_t steps = 0; steps < g_.f.values.size(); ++steps) {
    const ir::Value& v = g_[id];
    if (v.kind != ValueKind::Instr) return false;
    if (v.op != Op::LoadAttr) {
      return v.op == Op::LoadConst || v.op == Op::LoadGlobal || v.op == Op::LoadName ||
             v.op == Op::LoadFast || v.op == Op::LoadDeref || v.op == Op::LoadClassDeref ||
             v.op == Op::LoadFromDictOrDeref || v.op == Op::LoadFromDictOrGlobals;
    }
    id = operand(id, 0);
  }
  return false;
}

}  // namespace pellucid::structure
