// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/pattern_reader.h"

#include <algorithm>

#include "structure/graph/items.h"

namespace pellucid::structure {
namespace {

using Target = PatternRead::Target;
using Capture = PatternRead::Capture;
using Captures = PatternRead::Captures;
using Alternatives = PatternRead::Alternatives;
using Kind = PatternTest::Kind;

// Returns how many ways lead to a block; one for blocks that were made meanwhile.
size_t ways_into(const PatternRead& r, BlockId id) {
  return id.index() < r.known_blocks ? r.graph.ways_into(id).size() : 1;
}

// Returns the height of the stack after the values that the block drops first.
size_t depth_at(const Graph& g, BlockId block) {
  const size_t height = g[block].entry_stack.size();
  return height - std::min<size_t>(height, g[block].drops);
}

// Returns true if the block starts an alternative: it tests the value, which is on the stack.
bool continues_with(const Graph& g, BlockId block, ValueId value) {
  if (!block.valid() || tested_by(g, block) != value) return false;
  const auto& stack = g[block].entry_stack;
  return std::any_of(stack.begin(), stack.end(),
                     [&](ValueId id) { return g.resolve(id) == value; });
}

bool leads_to(const Graph& g, BlockId from, BlockId to) {
  const ir::Block& block = g[from];
  return block.exit == ExitKind::Goto && block.items.empty() && block.next[0].to == to;
}

// Returns true if the block computes the subject: an edge to it starts the next iteration of a
// loop.
bool makes_subject(const PatternRead& r, BlockId block) {
  const auto& items = r.graph[block].items;
  return std::find(items.begin(), items.end(), r.subject) != items.end();
}

// Returns true if a later block leads to this one.
bool comes_round(const Graph& g, BlockId id) {
  const auto ways = g.ways_into(id);
  return std::any_of(ways.begin(), ways.end(),
                     [&](const Way way) { return g[way.from].offset > g[id].offset; });
}

// Returns the target of an edge past blocks that only drop values.
Target past_drops(const PatternRead& r, const ir::Edge& edge) {
  Target target{edge.to, edge.args};
  const auto is_drop = [&](ValueId item) {
    return drops(r.graph[item], ir::Dropped::Result) &&
           (r.graph[r.operand(item, 0)].kind != ValueKind::Instr ||
            r.nodes.count(r.operand(item, 0)) > 0);
  };
  if (!edge.to.valid()) return target;
  Cursor at{edge.to};
  walk_past(r.graph, at, is_drop, [&](const ir::Edge& next) {
    // Alternatives that are names end in an empty block as well.
    if (r.graph.kept.contains(at.block)) return false;
    // A block before a region is the header of a loop around it.
    const HandlerId before = r.graph[at.block].handler, inside = r.graph[next.to].handler;
    const bool enters = inside != before && within(r.graph, inside, before);
    if (enters && comes_round(r.graph, at.block)) return false;
    target = {next.to, next.args};
    at = {next.to};
    return true;
  });
  return target;
}

bool fails_to(PatternRead& r, Target target) {
  if (!r.fail.block.valid())
    r.fail = std::move(target);
  else if (r.fail.block != target.block)
    r.failed = true;
  return !r.failed;
}

void follow(PatternRead& r, const ir::Edge& edge) {
  r.arguments.clear();
  for (const ValueId arg : edge.args) r.arguments.push_back(r.graph.resolve(arg));
  const auto& params = r.graph[edge.to].params;
  if (ways_into(r, edge.to) == 1) {
    for (size_t p = 0; p < params.size(); ++p) r.renamed[params[p]] = r.arguments[p];
  }
  r.at = {edge.to, 0};
  r.blocks.push_back(edge.to);
  r.resumed = {};
}

// Returns how many copies of the subject are on the stack after the test.
size_t held_after(const Graph& g, const ir::Block& test, uint8_t success) {
  const auto known = g.held.find(test.exit_offset);
  return known == g.held.end() ? 0 : known->second[success];
}

// Returns how many copies of the subject the pattern itself needs after the first test: one for
// each name and each group of alternatives around that test.
size_t own_copies(const PatternRead& r) {
  size_t own = r.tested;
  for (PatternId id = r.root;;) {
    const Pattern& pattern = r.graph.patterns[id.index()];
    own += pattern.names.size();
    if (pattern.kind != PatternKind::Or || pattern.subs.empty()) break;
    ++own;
    id = pattern.subs[0];
  }
  return own;
}

// Returns true if the next case is a name that stores the only copy of the subject: `p | _ as name`
// would have a second one.
bool is_named_next(const PatternRead& r) {
  const auto& items = r.graph[r.fail.block].items;
  return r.held == 1 + r.tested && own_copies(r) == r.tested && !items.empty() &&
         stores_name(r.graph[items[0]]) && r.operand(items[0], 0) == r.subject;
}

// Returns true if the block is a merge point of alternatives of the subject: the subject is still
// on the stack, as it is where their tests fail.
bool is_join_of_subject(const PatternRead& r, BlockId block) {
  if (!r.may_meet || !r.fail.block.valid() || ways_into(r, block) < 2) return false;
  const auto holds = [&](BlockId id) {
    const auto& stack = r.graph[id].entry_stack;
    return std::any_of(stack.begin(), stack.end(),
                       [&](ValueId each) { return r.graph.resolve(each) == r.subject; });
  };
  return holds(block) &&
         (r.fail.block == block || continues_with(r.graph, r.fail.block, r.subject));
}

// Returns true if alternatives of the subject meet right before the next case: a guard between them
// is constant and false, and its body was removed. In every alternative, the stack is higher.
bool is_next_case(const PatternRead& r, BlockId block) {
  const bool is_lower = r.met_at == 0 || depth_at(r.graph, block) < r.met_at;
  return r.fail.block == block && is_lower && continues_with(r.graph, block, r.subject);
}

// ---- alternatives ---------------------------------------------------------------------------

// Returns what a name bound to the value belongs to; empty: it is no part of the pattern.
Captures captures_of(PatternRead& r, ValueId id) {
  id = r.graph.resolve(id);
  for (auto other = r.renamed.find(id); other != r.renamed.end(); other = r.renamed.find(id)) {
    id = other->second;
  }
  if (const auto rest = r.rests.find(id); rest != r.rests.end()) return {{rest->second, true}};
  if (const auto met = r.met.find(id); met != r.met.end()) return met->second;
  if (const auto queued = r.queued.find(id); queued != r.queued.end() && !queued->second.empty()) {
    Captures first = std::move(queued->second.front());
    queued->second.pop_front();
    return first;
  }
  const auto known = r.nodes.find(id);
  return known == r.nodes.end() ? Captures() : Captures{{known->second, false}};
}

// Notes the captures that the alternative has left on the stack, to be stored after the join.
void keep_captures(PatternRead& r, const std::vector<ValueId>& args) {
  Alternatives& all = r.open.back();
  const ir::Block& join = r.graph[all.join];
  for (size_t i = 0; i < all.captured.size(); ++i) {
    const ValueId slot = join.entry_stack[all.depth + i];
    const auto param = std::find(join.params.begin(), join.params.end(), slot);
    const ValueId value = param == join.params.end()
                              ? r.graph.resolve(slot)
                              : args[static_cast<size_t>(param - join.params.begin())];
    for (const Capture& each : captures_of(r, value)) all.captured[i].push_back(each);
  }
}

// Moves the captures that the alternatives have left on the stack to the values of these slots
// after the join.
void move_captures(PatternRead& r, Alternatives& all) {
  const ir::Block& join = r.graph[all.join];
  for (size_t i = 0; i < all.captured.size(); ++i) {
    const ValueId slot = join.entry_stack[all.depth + i];
    if (std::find(join.params.begin(), join.params.end(), slot) != join.params.end()) {
      r.met[slot] = std::move(all.captured[i]);
    } else {
      r.queued[r.graph.resolve(slot)].push_back(std::move(all.captured[i]));
    }
  }
}

void join_at(PatternRead& r, BlockId join) {
  Alternatives& all = r.open.back();
  all.join = join;
  all.depth = 0;
  const auto &here = r.graph[join].entry_stack, &there = r.graph[all.second].entry_stack;
  const auto holds = [&](size_t i) {
    return i < here.size() && i < there.size() && r.graph.resolve(here[i]) == all.value &&
           r.graph.resolve(there[i]) == all.value;
  };
  // The second one starts with the value on top.
  const size_t left = depth_at(r.graph, all.second);
  if (all.second != join && left > 0 && holds(left - 1)) all.depth = left;
  for (size_t i = here.size(); all.depth == 0 && i-- > 0;) {
    if (holds(i)) all.depth = i + 1;
  }
  if (all.depth == 0) r.failed = true;
  all.captured.assign(here.size() - all.depth, {});
}

// Starts a group of alternatives: the pattern of the value read so far is the first of them.
void open_alternatives(PatternRead& r, ValueId value, Target fail) {
  Alternatives fresh;
  fresh.value = value;
  fresh.whole = r.nodes[value];
  fresh.current = r.add_pattern();
  fresh.second = fail.block;
  r.pattern(fresh.current) = r.pattern(fresh.whole);
  r.pattern(fresh.whole) = Pattern();
  r.nodes[value] = fresh.current;
  if (value == r.subject) {
    fresh.outer_fail = {};
  } else {
    fresh.outer_fail = r.fail;
    r.fail = {};
  }
  r.open.push_back(std::move(fresh));
}

// `(p | q) | r`: makes the group so far the first alternative of an outer group, with a later merge
// point.
void wrap(PatternRead& r, BlockId join) {
  Alternatives& all = r.open.back();
  const PatternId inner = r.add_pattern();
  r.pattern(inner).kind = PatternKind::Or;
  r.pattern(inner).subs = all.subs;
  const PatternId current = r.nodes[all.value];
  r.nodes[all.value] = inner;
  move_captures(r, all);
  const std::vector<ValueId> args = r.graph[all.join].next[0].args;
  all.subs.assign(1, inner);
  join_at(r, join);
  if (!r.failed) keep_captures(r, args);
  r.nodes[all.value] = current;
}

bool next_alternative(PatternRead& r) {
  Alternatives& all = r.open.back();
  const BlockId next = r.fail.block;
  if (!next.valid()) return false;
  // The next case tests the subject as well, lower on the stack.
  const bool tests = continues_with(r.graph, next, all.value) &&
                     (all.value != r.subject || depth_at(r.graph, next) >= all.depth);
  const ir::Block& block = r.graph[next];
  const bool leads_on = next != all.join && block.exit == ExitKind::Goto &&
                        block.next[0].to == all.join && block.items.empty();
  if (!tests && !leads_on && next != all.join) return false;
  all.current = r.add_pattern();
  r.nodes[all.value] = all.current;
  const Target target = std::move(r.fail);
  r.fail = {};
  if (next == all.join) {
    keep_captures(r, target.args);
    all.subs.push_back(all.current);
    return false;
  }
  all.start = next;
  all.blocks = r.blocks.size();
  r.at = {next, 0};
  r.blocks.push_back(next);
  r.resumed = next;
  return true;
}

void finish_alternatives(PatternRead& r) {
  Alternatives all = std::move(r.open.back());
  r.open.pop_back();
  r.nodes[all.value] = all.whole;
  r.pattern(all.whole).kind = PatternKind::Or;
  r.pattern(all.whole).subs = all.subs;
  r.typed = true;
  if (all.subs.size() < 2) r.failed = true;
  move_captures(r, all);
  if (all.value == r.subject) r.met_at = all.depth;
  r.at = {all.join, 0};
  r.resumed = all.join;
  Target fail = std::move(r.fail);
  // The next case would have the subject lower on the stack: these are cases whose bodies end
  // alike.
  if (all.value == r.subject && continues_with(r.graph, fail.block, r.subject) &&
      depth_at(r.graph, fail.block) >= all.depth) {
    r.failed = true;
  }
  r.fail = std::move(all.outer_fail);
  if (fail.block.valid()) fails_to(r, std::move(fail));
}

void close_alternative(PatternRead& r) {
  const BlockId join = r.at.block;
  if (!r.open.back().join.valid()) {
    join_at(r, join);
  } else if (r.open.back().join != join) {
    if (leads_to(r.graph, r.open.back().join, join)) {
      wrap(r, join);
    } else {
      // `p | (q | r)`: the pattern read for the second one is the first of an inner group, and
      // where it fails the second of them begins.
      if (!r.fail.block.valid()) {
        r.failed = true;
        return;
      }
      open_alternatives(r, r.open.back().value, r.fail);
      r.open.back().outer_fail = {};
      join_at(r, join);
    }
  }
  if (r.failed) return;
  keep_captures(r, r.arguments);
  r.open.back().subs.push_back(r.open.back().current);
  if (!next_alternative(r)) finish_alternatives(r);
}

bool reads_join(PatternRead& r) {
  if (r.at.block == r.resumed || r.blocks.empty() || ways_into(r, r.at.block) < 2) return false;
  if (r.open.empty()) {
    if (!is_join_of_subject(r, r.at.block) || spare_copies(r) == 0) return false;
    open_alternatives(r, r.subject, r.fail);
  }
  close_alternative(r);
  return true;
}

// Gives up the last alternative, which is the next case: it tests the same value on the stack.
bool give_up(PatternRead& r) {
  while (!r.open.empty() && (r.open.back().value != r.subject || r.open.back().subs.size() < 2)) {
    r.open.pop_back();
  }
  if (r.open.empty()) {
    r.failed = true;
    return false;
  }
  r.blocks.resize(r.open.back().blocks);
  r.fail = {r.open.back().start, {}};
  r.failed = r.never = false;
  finish_alternatives(r);
  return true;
}

// ---- names ----------------------------------------------------------------------------------

// Gives the last subpattern the line of a store: 3.11 gives stores the line of the part that was
// read last; other versions that of the whole pattern, which is never later.
void place_last(PatternRead& r, int32_t line) {
  PatternId last = r.root;
  while (!r.pattern(last).subs.empty() && r.pattern(last).subs.back().valid()) {
    last = r.pattern(last).subs.back();
  }
  Pattern& pattern = r.pattern(last);
  if (pattern.kind == PatternKind::Any) pattern.line = std::max(pattern.line, line);
}

// Returns true if the store has the width of `_ as a`: nothing else is left of that (3.12+).
bool is_spelt_as(const PatternRead& r, ValueId store) {
  constexpr size_t kBefore = std::string_view("_ as ").size();
  const ir::Value& value = r.graph[store];
  if (r.graph.places == nullptr) return false;
  const size_t name = r.module.text(value.symbol()).size();
  return static_cast<size_t>(r.graph.places->columns(value.offset / 2).width()) == kBefore + name;
}

// Reads the names that a whole pattern binds, which are stored after all tests have succeeded.
void read_names(PatternRead& r) {
  const auto& items = r.graph[r.at.block].items;
  for (; r.at.index < items.size(); ++r.at.index) {
    const ValueId item = items[r.at.index];
    if (take_apart(r, item)) continue;
    if (!stores_name(r.graph[item])) break;
    const Captures named = captures_of(r, r.operand(item, 0));
    if (named.empty()) break;
    // No pattern binds a name twice: this is the next case, after a guard that is constant and
    // false.
    r.repeats = !r.bound.insert(r.graph[item].symbol()).second;
    if (r.repeats) break;
    for (const Capture& each : named) {
      if (each.rest) {
        r.pattern(each.pattern).rest = r.graph[item].symbol();
      } else {
        Pattern& pattern = r.pattern(each.pattern);
        const bool is_whole = each.pattern == r.root && pattern.names.empty();
        if (is_whole && is_spelt_as(r, item)) pattern.is_spelt = true;
        pattern.names.push_back(r.graph[item].symbol());
      }
    }
    ++r.captured;
    place_last(r, r.graph[item].line);
  }
}

// ---- control --------------------------------------------------------------------------------

// Moves from the last test of an alternative to its merge point.
bool pass_join(PatternRead& r) {
  const ir::Block& block = r.graph[r.at.block];
  if (block.exit != ExitKind::Goto || r.at.index < block.items.size()) return false;
  r.never = r.open.empty() && is_next_case(r, past_drops(r, block.next[0]).block);
  if (r.never) {
    r.at = {r.fail.block, 0};
    return false;
  }
  const BlockId to = block.next[0].to;
  if (r.open.empty() && !is_join_of_subject(r, to) && !r.graph.kept.contains(to)) return false;
  const ir::Edge edge = block.next[0];
  follow(r, edge);
  return true;
}

// Reads one more block. Returns false if the code after it is no part of the pattern's tests.
bool read_block(PatternRead& r) {
  // Each alternative reads the join once more.
  if (r.blocks.size() > 2 * r.graph.size() + 2) return false;
  if (r.at.index == 0 && makes_subject(r, r.at.block)) return false;
  if (r.at.index == 0 && reads_join(r)) return true;
  settle(r);
  const std::optional<PatternTest> test = find_test(r);
  if (!test) return pass_join(r);
  const ir::Block& block = r.graph[r.at.block];
  const ir::Edge success = block.next[test->success];
  Target fail = past_drops(r, block.next[1 - test->success]);
  const bool fresh = r.pattern_of(test->on)->kind == PatternKind::Any;
  const bool in_turn = !r.open.empty() && r.open.back().value == test->on;
  if (fresh && test->on != r.subject && fail.block != r.fail.block && !in_turn &&
      continues_with(r.graph, fail.block, test->on)) {
    open_alternatives(r, test->on, fail);
  }
  if (!r.fail.block.valid() && r.open.empty()) {
    r.held = held_after(r.graph, block, test->success);
    r.tested = test->kind == Kind::Sequence || test->kind == Kind::Mapping ? 1 : 0;
  }
  // An alternative has its own copy of the subject.
  const bool is_alternative = fresh && test->on == r.subject && !r.open.empty();
  const bool keeps = test->kind == Kind::Sequence || test->kind == Kind::Mapping;
  if (is_alternative && held_after(r.graph, block, test->success) < (keeps ? 2 : 1))
    r.failed = true;
  if (!apply(r, *test)) r.failed = true;
  if (r.failed || !fails_to(r, std::move(fail))) return false;
  // A guard that is constant and false: the body was removed.
  r.never = r.open.empty() && past_drops(r, success).block == r.fail.block &&
            (continues_with(r.graph, r.fail.block, r.subject) || is_named_next(r));
  if (r.never) {
    // `p | _` has one more copy of the subject; the test says nothing of what follows it.
    if (r.held > own_copies(r) + 1 && r.pattern(r.root).kind != PatternKind::Or) {
      const PatternId first = r.add_pattern();
      r.pattern(first) = r.pattern(r.root);
      r.pattern(r.root) = Pattern();
      r.pattern(r.root).kind = PatternKind::Or;
      r.pattern(r.root).subs = {first, PatternId()};
    }
    r.at = {r.fail.block, 0};
    return false;
  }
  follow(r, success);
  return true;
}

}  // namespace

bool read_pattern(PatternRead& r, Cursor start) {
  r.at = start;
  do {
    while (!r.failed && read_block(r)) {
    }
  } while (!r.open.empty() && give_up(r));
  if (!r.open.empty()) r.failed = true;
  if (!r.failed && !r.never) read_names(r);
  // `A() | _` has tests whose results do not matter.
  return !r.failed && (r.fail.block.valid() || r.captured > 0 || r.typed);
}

bool is_empty(const PatternRead& r) {
  return !r.failed && !r.fail.block.valid() && r.captured == 0 && !r.typed;
}

size_t spare_copies(const PatternRead& r) { return r.held - std::min(r.held, own_copies(r)); }

bool keeps_subject(const PatternRead& r) { return !r.fail.block.valid() || spare_copies(r) > 0; }

}  // namespace pellucid::structure
