#include "structure/patterns.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace pellucid::structure {
namespace {

struct Cursor {
  BlockId block;
  size_t index = 0;
};

// Reads one case at a time; what it reads is kept in Graph::patterns.
class Case {
 public:
  Case(Graph& graph, const object::Module& module, ValueId subject)
      : g_(graph), module_(module), subject_(subject), root_(node(subject)) {}

  // Reads from `start`. False: no pattern starts there.
  bool read(Cursor start) {
    at_ = start;
    events(false);
    if (!failed_) captures();
    return !failed_ && (fail_.valid() || captured_ > 0);
  }

  PatternId root() const { return root_; }
  Cursor end() const { return at_; }
  BlockId fail() const { return fail_; }
  bool tests() const { return fail_.valid(); }
  bool ends_by_type() const { return typed_; }

 private:
  static constexpr uint32_t kAlternatives = 256;  // readings of `|` that may be given up

  const ir::Value& value(ValueId id) const { return g_[g_.resolve(id)]; }
  ValueId operand(ValueId id, size_t i) const { return g_.resolve(g_.f.operands(id)[i]); }
  bool is_op(ValueId id, Op op) const { return g_[id].kind == ValueKind::Instr && g_[id].op == op; }

  PatternId node(ValueId id) {
    g_.patterns.emplace_back();
    const PatternId fresh(g_.patterns.size() - 1);
    nodes_[id] = fresh;
    return fresh;
  }
  Pattern* pattern_of(ValueId id) {
    const auto known = nodes_.find(g_.resolve(id));
    return known == nodes_.end() ? nullptr : &g_.patterns[known->second.index()];
  }

  // The block itself, or the first one behind it that does something.
  BlockId skip(BlockId id) const {
    for (size_t steps = 0; id.valid() && steps < g_.size(); ++steps) {
      const ir::Block& block = g_[id];
      if (block.exit != ExitKind::Goto || !block.items.empty()) break;
      id = block.next[0].to;
    }
    return id;
  }

  bool fails_to(BlockId target) {
    target = skip(target);
    if (!fail_.valid()) fail_ = target;
    if (fail_ != target) failed_ = true;
    return !failed_;
  }

  // Goes on behind the test that ends the current block.
  void go(uint8_t success) {
    const ir::Block& block = g_[at_.block];
    if (!fails_to(block.next[1 - success].to)) return;
    pass(block.next[success]);
    at_ = {block.next[success].to, 0};
  }

  // Captured values may come together behind alternatives.
  void pass(const ir::Edge& edge) {
    for (size_t p = 0; p < edge.args.size(); ++p) {
      meets_[g_[edge.to].params[p]].push_back(g_.resolve(edge.args[p]));
    }
  }

  // One test after the other, until something else comes or, for an alternative, several ways meet.
  void events(bool alternative) {
    for (size_t steps = 0; steps <= g_.size() && !failed_; ++steps) {
      if (alternative && steps > 0 && g_.ways_into(at_.block).size() > 1) return;
      settle();
      if (!alternative && read_alternatives()) continue;
      if (alternative && steps > 0 && read_alternatives()) continue;
      if (!event()) return;
    }
  }

  // Reads the items that take values apart; the cursor is behind the last of them.
  void settle() {
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

  // Reads the next test, which all that is left of the block must be.
  bool event() {
    const auto& items = g_[at_.block].items;
    Part loads;
    loads.items.assign(items.begin() + static_cast<ptrdiff_t>(at_.index), items.end());
    const bool pure = std::none_of(loads.items.begin(), loads.items.end(),
                                   [&](ValueId item) { return is_statement(g_[item]); });
    return pure && test(loads);
  }

  // Items that make values of the elements of a known one, or drop one.
  bool take_apart(ValueId item) {
    const ir::Value& v = g_[item];
    if (v.kind != ValueKind::Instr) return false;
    if (v.op == Op::Pop) {
      const ValueId what = operand(item, 0);
      return v.b == 0 && (nodes_.count(what) != 0 || g_[what].kind == ValueKind::Phi);
    }
    if (v.op == Op::UnpackSequence || v.op == Op::UnpackEx) return unpack(item);
    if (v.op == Op::Subscr) return subscript(item);
    if (v.op == Op::CopyDictWithoutKeys) {
      Pattern* mapping = pattern_of(operand(item, 0));
      if (!mapping) return false;
      rests_[item] = nodes_[operand(item, 0)];
      return true;
    }
    if (v.op == Op::BuildMap && v.a == 0) {
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

  bool unpack(ValueId item) {
    const ValueId whole = operand(item, 0);
    const ir::Value v = g_[item];
    if (keys_.count(whole)) return true;  // of the dict that `**rest` receives
    const auto parts = parts_.find(whole);
    const auto known = nodes_.find(whole);
    if (parts == parts_.end() && known == nodes_.end()) return false;
    const PatternId id = parts == parts_.end() ? known->second : parts->second;
    const uint32_t count = v.op == Op::UnpackEx ? v.a + 1 + v.b : v.a;
    if (parts == parts_.end()) {
      Pattern& sequence = g_.patterns[id.index()];
      if (sequence.kind != PatternKind::Sequence) return false;
      sequence.subs.clear();
      if (v.op == Op::UnpackEx) sequence.star = v.a;
    }
    for (uint32_t k = 0; k < count; ++k) {
      const PatternId sub = node(element(item, k));
      Pattern& owner = g_.patterns[id.index()];
      if (k < owner.subs.size()) {
        owner.subs[k] = sub;
      } else {
        owner.subs.push_back(sub);
      }
    }
    return true;
  }

  ValueId element(ValueId of, uint32_t index) {
    for (size_t v = of.index() + 1; v < g_.f.values.size(); ++v) {
      const ir::Value& candidate = g_.f.values[v];
      if (candidate.kind != ValueKind::Element || candidate.count != 1) {
        if (candidate.kind == ValueKind::Instr) break;  // elements follow what they are of
        continue;
      }
      if (operand(ValueId(v), 0) == of && candidate.a == index) return ValueId(v);
    }
    return of;
  }

  std::optional<int64_t> integer(ValueId id) const {
    if (!is_op(id, Op::LoadConst)) return std::nullopt;
    const object::Const& constant = module_[g_[id].constant()];
    if (constant.kind != object::ConstKind::Int) return std::nullopt;
    return constant.integer;
  }

  // v[k] and v[len(v) - k], where nothing else of a sequence is wanted.
  bool subscript(ValueId item) {
    const ValueId whole = operand(item, 0), key = operand(item, 1);
    const auto parts = parts_.find(whole);
    if (const auto k = integer(key)) {
      if (parts != parts_.end()) return set_sub(parts->second, static_cast<size_t>(*k), item);
      Pattern* sequence = pattern_of(whole);
      if (!sequence || sequence->kind != PatternKind::Sequence) return false;
      return set_sub(nodes_[whole], static_cast<size_t>(*k), item);
    }
    if (g_[key].kind != ValueKind::Instr || g_[key].op != Op::Binary) return false;
    Pattern* sequence = pattern_of(whole);
    const auto back = integer(operand(key, 1));
    if (!sequence || !back || !is_op(operand(key, 0), Op::GetLen)) return false;
    return set_back(nodes_[whole], static_cast<size_t>(*back), item);
  }

  bool set_sub(PatternId id, size_t index, ValueId item) {
    if (index >= 100000) return false;
    const PatternId sub = node(item);
    auto& subs = g_.patterns[id.index()].subs;
    if (index >= subs.size()) subs.resize(index + 1);
    subs[index] = sub;
    g_.patterns[id.index()].front = std::max(g_.patterns[id.index()].front, index + 1);
    return true;
  }

  bool set_back(PatternId id, size_t back, ValueId item) {
    auto& subs = g_.patterns[id.index()].subs;
    if (back == 0 || back > subs.size()) return false;
    const PatternId sub = node(item);
    auto& list = g_.patterns[id.index()].subs;
    list[list.size() - back] = sub;
    return true;
  }

  // The test at the end of the current block.
  bool test(Part& loads) {
    const ir::Block& block = g_[at_.block];
    if (block.exit != ExitKind::Branch && block.exit != ExitKind::BranchNone) return false;
    const ValueId tested = g_.resolve(block.operands[0]);
    if (block.exit == ExitKind::BranchNone) {
      if (Pattern* p = pattern_of(tested); p && loads.items.empty()) {
        if (p->kind != PatternKind::Any) return false;
        p->kind = PatternKind::Singleton;
        p->value = {};
        go(0);
        return true;
      }
      return parts_of(tested, loads, 1);
    }
    const ir::Value& v = g_[tested];
    if (v.kind == ValueKind::Element) return parts_of(operand(tested, 0), loads, 0);
    if (v.kind != ValueKind::Instr) return false;
    switch (v.op) {
      case Op::MatchSequence:
      case Op::MatchMapping: {
        Pattern* p = pattern_of(operand(tested, 0));
        if (!p || p->kind != PatternKind::Any || loads.items.size() != 1) return false;
        p->kind = v.op == Op::MatchSequence ? PatternKind::Sequence : PatternKind::Mapping;
        p->open = true;
        typed_ = true;
        go(0);
        return true;
      }
      case Op::Compare:
        return length(tested, loads) || constant(tested, loads, PatternKind::Value);
      case Op::IsOp:
        return v.a == 0 && constant(tested, loads, PatternKind::Singleton);
      default:
        return false;
    }
  }

  bool length(ValueId tested, const Part& loads) {
    const ValueId left = operand(tested, 0);
    const auto count = integer(operand(tested, 1));
    if (!is_op(left, Op::GetLen) || !count || loads.items.size() != 3) return false;
    Pattern* p = pattern_of(operand(left, 0));
    if (!p || *count < 0 || *count >= 100000) return false;
    if (p->kind == PatternKind::Mapping) {
      go(0);
      return true;
    }
    if (p->kind != PatternKind::Sequence || !p->subs.empty()) return false;
    p->open = static_cast<bytecode::CompareOperator>(g_[tested].a) != bytecode::CompareOperator::Eq;
    p->subs.resize(static_cast<size_t>(*count));
    go(0);
    return true;
  }

  bool constant(ValueId tested, Part& loads, PatternKind kind) {
    Pattern* p = pattern_of(operand(tested, 0));
    const ValueId right = operand(tested, 1);
    if (!p || p->kind != PatternKind::Any || loads.items.size() < 2) return false;
    if (kind == PatternKind::Value &&
        static_cast<bytecode::CompareOperator>(g_[tested].a) != bytecode::CompareOperator::Eq) {
      return false;
    }
    if (!loads_name(right)) return false;
    loads.items.pop_back();
    if (loads.items.back() != right) return false;
    p->kind = kind;
    loads.result = right;
    p->value = loads;
    go(0);
    return true;
  }

  // A constant or a dotted name: what may stand in a value pattern.
  bool loads_name(ValueId id) const {
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

  // Attributes of a class or values of keys: one value that is None, or is taken apart next.
  bool parts_of(ValueId id, Part& loads, uint8_t success) {
    if (!is_op(id, Op::MatchClass) && !is_op(id, Op::MatchKeys)) return false;
    Pattern* p = pattern_of(operand(id, 0));
    if (!p || loads.items.empty() || loads.items.back() != id) return false;
    loads.items.pop_back();
    if (is_op(id, Op::MatchKeys)) {
      if (p->kind != PatternKind::Mapping) return false;
      loads.result = operand(id, 1);
      keys_[loads.result] = 1;
      p->value = loads;
      p->subs.resize(is_op(loads.result, Op::LoadConst)
                         ? module_[g_[loads.result].constant()].items.size()
                         : g_[loads.result].count);
    } else {
      const ValueId names = operand(id, 2);
      if (p->kind != PatternKind::Any || !is_op(names, Op::LoadConst)) return false;
      p->kind = PatternKind::Class;
      p->names = g_[names].constant();
      p->positional = g_[id].a;
      std::erase(loads.items, names);
      loads.result = operand(id, 1);
      p->value = loads;
      p->subs.resize(p->positional + module_[p->names].items.size());
    }
    typed_ = true;
    parts_[id] = nodes_[operand(id, 0)];
    go(success);
    return true;
  }

  // `p | q`: every alternative tests the same value and leads to the same block.
  bool read_alternatives() {
    const std::optional<ValueId> tested = next_tested();
    if (!tested || tries_ >= kAlternatives) return false;
    const Case before = *this;
    const std::vector<Pattern> patterns = g_.patterns;
    const PatternId whole = nodes_[*tested];
    if (g_.patterns[whole.index()].kind != PatternKind::Any) return false;
    ++tries_;
    std::vector<PatternId> alternatives;
    BlockId join, next = at_.block;
    size_t index = at_.index;
    const BlockId outer = fail_;
    for (size_t steps = 0; steps <= g_.size(); ++steps) {
      Case one = *this;
      one.fail_ = {};
      one.at_ = {next, index};
      const PatternId fresh = one.node(*tested);
      one.events(true);
      const bool fits = !one.failed_ && one.fail_.valid() &&
                        g_.ways_into(one.at_.block).size() > 1 && one.at_.index == 0 &&
                        keeps(one.at_.block, *tested) && (!join.valid() || join == one.at_.block);
      if (!fits) break;
      join = one.at_.block;
      alternatives.push_back(fresh);
      next = one.fail_;
      index = 0;
      nodes_ = one.nodes_;
      meets_ = one.meets_;
      rests_ = one.rests_;
      keys_ = one.keys_;
      parts_ = one.parts_;
      tries_ = one.tries_;
    }
    if (alternatives.size() < 2) {
      const uint32_t tries = tries_;
      restore(before);
      tries_ = tries;
      g_.patterns = patterns;
      return false;
    }
    nodes_[*tested] = whole;
    g_.patterns[whole.index()].kind = PatternKind::Or;
    g_.patterns[whole.index()].subs = alternatives;
    fail_ = outer;
    if (fails_to(next)) at_ = {join, 0};
    return true;
  }

  void restore(const Case& other) {
    nodes_ = other.nodes_;
    meets_ = other.meets_;
    rests_ = other.rests_;
    keys_ = other.keys_;
    parts_ = other.parts_;
    at_ = other.at_;
    fail_ = other.fail_;
    failed_ = other.failed_;
    typed_ = other.typed_;
  }

  // Behind a `|` the value is still on the stack; behind a case it is not.
  bool keeps(BlockId block, ValueId tested) const {
    const auto& stack = g_[block].entry_stack;
    return std::any_of(stack.begin(), stack.end(),
                       [&](ValueId id) { return g_.resolve(id) == tested; });
  }

  // The value that the current block tests first, if it is one of the pattern's.
  std::optional<ValueId> next_tested() const {
    const auto& items = g_[at_.block].items;
    for (size_t i = at_.index; i < items.size(); ++i) {
      const ir::Value& v = g_[items[i]];
      if (v.kind != ValueKind::Instr || v.count == 0) continue;
      const ValueId first = operand(items[i], 0);
      const bool tests = v.op == Op::Compare || v.op == Op::IsOp || v.op == Op::MatchSequence ||
                         v.op == Op::MatchMapping || v.op == Op::MatchClass;
      if (tests && nodes_.count(first)) return first;
      if (is_statement(v)) return std::nullopt;
    }
    if (g_[at_.block].exit != ExitKind::BranchNone) return std::nullopt;
    const ValueId tested = g_.resolve(g_[at_.block].operands[0]);
    return nodes_.count(tested) ? std::optional(tested) : std::nullopt;
  }

  // The names that a whole pattern binds, stored once all tests have succeeded.
  void captures() {
    const auto& items = g_[at_.block].items;
    for (; at_.index < items.size(); ++at_.index) {
      const ValueId item = items[at_.index];
      const ir::Value& v = g_[item];
      if (take_apart(item)) continue;
      const bool stores =
          v.kind == ValueKind::Instr && (v.op == Op::StoreFast || v.op == Op::StoreName ||
                                         v.op == Op::StoreGlobal || v.op == Op::StoreDeref);
      if (!stores || !capture(operand(item, 0), v.symbol(), 0)) break;
      ++captured_;
    }
  }

  bool capture(ValueId id, Symbol name, size_t depth) {
    id = g_.resolve(id);
    if (const auto rest = rests_.find(id); rest != rests_.end()) {
      g_.patterns[rest->second.index()].rest = name;
      return true;
    }
    if (const auto meets = meets_.find(id); meets != meets_.end() && depth < 64) {
      const std::vector<ValueId> values = meets->second;
      return std::all_of(values.begin(), values.end(),
                         [&](ValueId each) { return capture(each, name, depth + 1); });
    }
    Pattern* p = pattern_of(id);
    if (!p || p->name.valid()) return false;
    p->name = name;
    return true;
  }

  Graph& g_;
  const object::Module& module_;
  ValueId subject_;
  std::unordered_map<ValueId, PatternId> nodes_;
  std::unordered_map<ValueId, std::vector<ValueId>> meets_;  // parameters of joins -> arguments
  std::unordered_map<ValueId, PatternId> rests_;             // dicts without keys -> mapping
  std::unordered_map<ValueId, PatternId> parts_;             // MatchClass, MatchKeys -> pattern
  std::unordered_map<ValueId, int> keys_;
  ValueId rest_map_;
  PatternId root_;
  Cursor at_;
  BlockId fail_;
  uint32_t tries_ = 0;
  size_t captured_ = 0;
  bool failed_ = false;
  bool typed_ = false;
};

class Matches {
 public:
  Matches(Graph& graph, const object::Module& module) : g_(graph), module_(module) {}

  void run() {
    // In the order of the code, and then the bodies that have been cut off.
    for (size_t i = 0; i < g_.size(); ++i) {
      if (g_.reachable(BlockId(i)) && fold(BlockId(i))) g_.recompute();
    }
  }

 private:
  // What the first test of the block looks at.
  ValueId subject_of(BlockId id) const {
    const ir::Block& block = g_[id];
    if (block.exit == ExitKind::BranchNone) {
      const ValueId tested = g_.resolve(block.operands[0]);
      const ir::Value& v = g_[tested];
      if (v.kind != ValueKind::Instr) return {};
      return v.op == Op::MatchClass ? g_.resolve(g_.f.operands(v)[0]) : tested;
    }
    if (block.exit != ExitKind::Branch) return {};
    ValueId tested = g_.resolve(block.operands[0]);
    if (g_[tested].kind == ValueKind::Element) tested = g_.resolve(g_.f.operands(tested)[0]);
    const ir::Value& v = g_[tested];
    if (v.kind != ValueKind::Instr) return {};
    const bool tests = v.op == Op::MatchSequence || v.op == Op::MatchMapping ||
                       v.op == Op::MatchClass || v.op == Op::Compare || v.op == Op::IsOp;
    return tests ? g_.resolve(g_.f.operands(v)[0]) : ValueId();
  }

  struct Found {
    Cursor start, end;
    BlockId fail;
    PatternId pattern;
  };

  bool fold(BlockId id) { return fold(id, captured_in(id)) || fold(id, subject_of(id)); }

  // A value that is stored and tested again when the test at the end of the block has failed.
  ValueId captured_in(BlockId id) const {
    if (g_[id].exit != ExitKind::Branch) return {};
    for (const ValueId item : g_[id].items) {
      const ir::Value& v = g_[item];
      const bool stores =
          v.kind == ValueKind::Instr && (v.op == Op::StoreFast || v.op == Op::StoreName ||
                                         v.op == Op::StoreGlobal || v.op == Op::StoreDeref);
      if (!stores) continue;
      const ValueId stored = g_.resolve(g_.f.operands(v)[0]);
      if (g_[stored].uses > 1 && behind_guard(id, stored).valid()) return stored;
    }
    return {};
  }

  // Patterns of what turns out to be no match are dropped, or trying would cost more every time.
  bool fold(BlockId id, ValueId subject) {
    const size_t before = g_.patterns.size();
    if (folds(id, subject)) return true;
    g_.patterns.resize(before);
    return false;
  }

  bool folds(BlockId id, ValueId subject) {
    if (!subject.valid() || g_[subject].kind == ValueKind::Phi) return false;
    const auto& items = g_[id].items;
    const auto made = std::find(items.begin(), items.end(), subject);
    Cursor start{id, made == items.end() ? 0 : static_cast<size_t>(made - items.begin()) + 1};
    std::vector<Found> cases;
    bool typed = false;
    for (size_t steps = 0; steps <= g_.size(); ++steps) {
      Case one(g_, module_, subject);
      if (!one.read(start)) break;
      // A name alone takes everything, if its guard does.
      const BlockId next = one.tests() ? one.fail() : behind_guard(one.end().block, subject);
      // A value that is left on the stack belongs to something else.
      if (next.valid() && !g_[next].params.empty()) return false;
      cases.push_back({start, one.end(), next, one.root()});
      typed = typed || one.ends_by_type();
      if (!next.valid()) break;
      start = {next, 0};
    }
    // One comparison alone may be a match, but reads as well as an `if`.
    if (cases.empty() || (cases.size() == 1 && !typed)) return false;
    for (size_t i = cases.size(); i-- > 0;) cut(cases[i], i == 0 ? subject : ValueId());
    g_[subject].uses = 1;
    return true;
  }

  // Where a guard leads that fails: to a block that goes on with the subject.
  BlockId behind_guard(BlockId guard, ValueId subject) const {
    if (g_[guard].exit != ExitKind::Branch) return {};
    for (const ir::Edge& edge : g_[guard].next) {
      const auto& items = g_[edge.to].items;
      const auto uses = [&](ValueId item) {
        const auto operands = g_.f.operands(item);
        return std::any_of(operands.begin(), operands.end(),
                           [&](ValueId id) { return g_.resolve(id) == subject; });
      };
      if (std::any_of(items.begin(), items.end(), uses) || subject_of(edge.to) == subject) {
        return edge.to;
      }
    }
    return {};
  }

  void cut(const Found& found, ValueId subject) {
    const BlockId body = g_.split(found.end.block, found.end.index);
    ir::Block& block = g_[found.start.block];
    const uint32_t offset = block.exit_offset;
    const int32_t line = block.exit_line;
    block.items.resize(std::min(block.items.size(), found.start.index));
    Region region;
    region.kind = RegionKind::Pattern;
    region.pattern = found.pattern;
    ir::Value value;
    value.kind = ValueKind::Region;
    value.a = static_cast<uint32_t>(g_.regions.size());
    value.offset = offset;
    value.line = line;
    value.uses = 1;
    g_.regions.push_back(std::move(region));
    std::vector<ValueId> operands;
    if (subject.valid()) operands.push_back(subject);
    const ValueId test = g_.add(value, operands);
    ir::Block& head = g_[found.start.block];
    head.items.push_back(test);
    head.exit = ExitKind::Branch;
    head.jump = 1;
    head.operands.assign(1, test);
    head.exit_line = line;
    head.next[0] = {body, {}};
    head.next[1] = {found.fail, {}};
  }

  Graph& g_;
  const object::Module& module_;
};

}  // namespace

void fold_matches(Graph& graph, const object::Module& module) { Matches(graph, module).run(); }

}  // namespace pellucid::structure
