// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/pattern_reader.h"

#include <algorithm>

#include "structure/graph/items.h"

namespace pellucid::structure {

PatternReader::PatternReader(Graph& graph, const object::Module& module, ValueId subject,
                             bool alternatives)
    : g_(graph),
      module_(module),
      subject_(subject),
      may_meet_(alternatives),
      known_(graph.known_ways()) {
  root_ = node(subject);
}

bool PatternReader::read(Cursor start) {
  at_ = start;
  do {
    while (!failed_ && step()) {
    }
  } while (!open_.empty() && give_up());
  if (!open_.empty()) failed_ = true;
  if (!failed_ && !never_) captures();
  // `A() | _` has tests whose results do not matter.
  return !failed_ && (fail_.block.valid() || captured_ > 0 || typed_);
}

// Reads one more block. Returns false if the code after it is no part of the pattern's tests.
bool PatternReader::step() {
  // Each alternative reads the join once more.
  if (blocks_.size() > 2 * g_.size() + 2) return false;
  if (at_.index == 0 && makes_subject(at_.block)) return false;
  if (at_.index == 0 && meets_others()) return true;
  settle();
  const std::optional<Test> test = find_test();
  if (!test) return go_on();
  const ir::Block& block = g_[at_.block];
  const ir::Edge success = block.next[test->success];
  Target fail = past_drops(block.next[1 - test->success]);
  const bool fresh = pattern_of(test->on)->kind == PatternKind::Any;
  const bool in_turn = !open_.empty() && open_.back().value == test->on;
  if (fresh && test->on != subject_ && fail.block != fail_.block && !in_turn &&
      continues_with(fail.block, test->on)) {
    open(test->on, fail);
  }
  if (!fail_.block.valid() && open_.empty()) {
    held_ = held_after(block, test->success);
    tested_ = test->kind == Kind::Sequence || test->kind == Kind::Mapping ? 1 : 0;
  }
  // An alternative has its own copy of the subject.
  const bool is_alternative = fresh && test->on == subject_ && !open_.empty();
  const bool keeps = test->kind == Kind::Sequence || test->kind == Kind::Mapping;
  if (is_alternative && held_after(block, test->success) < (keeps ? 2 : 1)) failed_ = true;
  if (!apply(*test)) failed_ = true;
  if (failed_ || !fails_to(std::move(fail))) return false;
  // A guard that is constant and false: the body was removed.
  never_ = open_.empty() && past_drops(success).block == fail_.block &&
           (continues_with(fail_.block, subject_) || is_named_next());
  if (never_) {
    // `p | _` has one more copy of the subject; the test says nothing of what follows it.
    if (held_ > own_copies() + 1 && at(root_).kind != PatternKind::Or) {
      const PatternId first = add_pattern();
      at(first) = at(root_);
      at(root_) = Pattern();
      at(root_).kind = PatternKind::Or;
      at(root_).subs = {first, PatternId()};
    }
    at_ = {fail_.block, 0};
    return false;
  }
  pass(success);
  return true;
}

// Returns true if the block computes the subject: an edge to it starts the next iteration of a
// loop.
bool PatternReader::makes_subject(BlockId block) const {
  const auto& items = g_[block].items;
  return std::find(items.begin(), items.end(), subject_) != items.end();
}

// Returns true if a later block leads to this one.
bool PatternReader::comes_round(BlockId id) const {
  const auto ways = g_.ways_into(id);
  return std::any_of(ways.begin(), ways.end(),
                     [&](const Way way) { return g_[way.from].offset > g_[id].offset; });
}

// Returns the target of an edge past blocks that only drop values.
PatternReader::Target PatternReader::past_drops(const ir::Edge& edge) const {
  Target target{edge.to, edge.args};
  const auto is_drop = [&](ValueId item) {
    return drops(g_[item], ir::Dropped::Result) &&
           (g_[operand(item, 0)].kind != ValueKind::Instr || nodes_.count(operand(item, 0)) > 0);
  };
  if (!edge.to.valid()) return target;
  Cursor at{edge.to};
  walk_past(g_, at, is_drop, [&](const ir::Edge& next) {
    // Alternatives that are names end in an empty block as well.
    if (g_.is_kept(at.block)) return false;
    // A block before a region is the header of a loop around it.
    const HandlerId before = g_[at.block].handler, inside = g_[next.to].handler;
    const bool enters = inside != before && g_.within(inside, before);
    if (enters && comes_round(at.block)) return false;
    target = {next.to, next.args};
    at = {next.to};
    return true;
  });
  return target;
}

bool PatternReader::fails_to(Target target) {
  if (!fail_.block.valid())
    fail_ = std::move(target);
  else if (fail_.block != target.block)
    failed_ = true;
  return !failed_;
}

void PatternReader::pass(const ir::Edge& edge) {
  arguments_.clear();
  for (const ValueId arg : edge.args) arguments_.push_back(g_.resolve(arg));
  const auto& params = g_[edge.to].params;
  if (ways_into(edge.to) == 1) {
    for (size_t p = 0; p < params.size(); ++p) renamed_[params[p]] = arguments_[p];
  }
  at_ = {edge.to, 0};
  blocks_.push_back(edge.to);
  resumed_ = {};
}

// Returns true if the next case is a name that stores the only copy of the subject: `p | _ as name`
// would have a second one.
bool PatternReader::is_named_next() const {
  const auto& items = g_[fail_.block].items;
  return held_ == 1 + tested_ && own_copies() == tested_ && !items.empty() &&
         stores_name(g_[items[0]]) && operand(items[0], 0) == subject_;
}

// Returns how many copies of the subject are on the stack after the test.
size_t PatternReader::held_after(const ir::Block& test, uint8_t success) const {
  const auto known = g_.held.find(test.exit_offset);
  return known == g_.held.end() ? 0 : known->second[success];
}

bool PatternReader::keeps_subject() const { return !fail_.block.valid() || holds_more(); }

// Returns how many copies of the subject the pattern itself needs after the first test: one for
// each name and each group of alternatives around that test.
size_t PatternReader::own_copies() const {
  size_t own = tested_;
  for (PatternId id = root_;;) {
    const Pattern& pattern = g_.patterns[id.index()];
    own += pattern.names.size();
    if (pattern.kind != PatternKind::Or || pattern.subs.empty()) break;
    ++own;
    id = pattern.subs[0];
  }
  return own;
}

// Moves from the last test of an alternative to its merge point.
bool PatternReader::go_on() {
  const ir::Block& block = g_[at_.block];
  if (block.exit != ExitKind::Goto || at_.index < block.items.size()) return false;
  never_ = open_.empty() && is_next_case(past_drops(block.next[0]).block);
  if (never_) {
    at_ = {fail_.block, 0};
    return false;
  }
  const BlockId to = block.next[0].to;
  if (open_.empty() && !is_join_of_subject(to) && !g_.is_kept(to)) return false;
  const ir::Edge edge = block.next[0];
  pass(edge);
  return true;
}

// ---- alternatives
// ---------------------------------------------------------------------------------

// Returns true if the block starts an alternative: it tests the value, which is on the stack.
bool PatternReader::continues_with(BlockId block, ValueId value) const {
  if (!block.valid() || tested_by(g_, block) != value) return false;
  const auto& stack = g_[block].entry_stack;
  return std::any_of(stack.begin(), stack.end(),
                     [&](ValueId id) { return g_.resolve(id) == value; });
}

// Returns true if the block is a merge point of alternatives of the subject: the subject is still
// on the stack, as it is where their tests fail.
bool PatternReader::is_join_of_subject(BlockId block) const {
  if (!may_meet_ || !fail_.block.valid() || ways_into(block) < 2) return false;
  const auto holds = [&](BlockId id) {
    const auto& stack = g_[id].entry_stack;
    return std::any_of(stack.begin(), stack.end(),
                       [&](ValueId each) { return g_.resolve(each) == subject_; });
  };
  return holds(block) && (fail_.block == block || continues_with(fail_.block, subject_));
}

// Returns true if alternatives of the subject meet right before the next case: a guard between them
// is constant and false, and its body was removed. In every alternative, the stack is higher.
bool PatternReader::is_next_case(BlockId block) const {
  const bool is_lower = met_at_ == 0 || depth_at(block) < met_at_;
  return fail_.block == block && is_lower && continues_with(block, subject_);
}

bool PatternReader::meets_others() {
  if (at_.block == resumed_ || blocks_.empty() || ways_into(at_.block) < 2) return false;
  if (open_.empty()) {
    if (!is_join_of_subject(at_.block) || !holds_more()) return false;
    open(subject_, fail_);
  }
  close_alternative();
  return true;
}

// Starts a group of alternatives: the pattern of the value read so far is the first of them.
void PatternReader::open(ValueId value, Target fail) {
  Alternatives fresh;
  fresh.value = value;
  fresh.whole = nodes_[value];
  fresh.current = add_pattern();
  fresh.second = fail.block;
  at(fresh.current) = at(fresh.whole);
  at(fresh.whole) = Pattern();
  nodes_[value] = fresh.current;
  if (value == subject_) {
    fresh.outer_fail = {};
  } else {
    fresh.outer_fail = fail_;
    fail_ = {};
  }
  open_.push_back(std::move(fresh));
}

void PatternReader::close_alternative() {
  const BlockId join = at_.block;
  if (!open_.back().join.valid()) {
    join_at(join);
  } else if (open_.back().join != join) {
    if (leads_to(open_.back().join, join)) {
      wrap(join);
    } else {
      // `p | (q | r)`: the pattern read for the second one is the first of an inner group.
      open(open_.back().value, fail_);
      open_.back().outer_fail = {};
      join_at(join);
    }
  }
  if (failed_) return;
  keep_captures(arguments_);
  open_.back().subs.push_back(open_.back().current);
  if (!next_alternative()) finish_alternatives();
}

void PatternReader::join_at(BlockId join) {
  Alternatives& all = open_.back();
  all.join = join;
  all.depth = 0;
  const auto &here = g_[join].entry_stack, &there = g_[all.second].entry_stack;
  const auto holds = [&](size_t i) {
    return i < here.size() && i < there.size() && g_.resolve(here[i]) == all.value &&
           g_.resolve(there[i]) == all.value;
  };
  // The second one starts with the value on top.
  const size_t left = depth_at(all.second);
  if (all.second != join && left > 0 && holds(left - 1)) all.depth = left;
  for (size_t i = here.size(); all.depth == 0 && i-- > 0;) {
    if (holds(i)) all.depth = i + 1;
  }
  if (all.depth == 0) failed_ = true;
  all.captured.assign(here.size() - all.depth, {});
}

bool PatternReader::leads_to(BlockId from, BlockId to) const {
  const ir::Block& block = g_[from];
  return block.exit == ExitKind::Goto && block.items.empty() && block.next[0].to == to;
}

// `(p | q) | r`: makes the group so far the first alternative of an outer group, with a later merge
// point.
void PatternReader::wrap(BlockId join) {
  Alternatives& all = open_.back();
  const PatternId inner = add_pattern();
  at(inner).kind = PatternKind::Or;
  at(inner).subs = all.subs;
  const PatternId current = nodes_[all.value];
  nodes_[all.value] = inner;
  hand_on(all);
  const std::vector<ValueId> args = g_[all.join].next[0].args;
  all.subs.assign(1, inner);
  join_at(join);
  if (!failed_) keep_captures(args);
  nodes_[all.value] = current;
}

// Moves the captures that the alternatives have left on the stack to the values of these slots
// after the join.
void PatternReader::hand_on(Alternatives& all) {
  const ir::Block& join = g_[all.join];
  for (size_t i = 0; i < all.captured.size(); ++i) {
    const ValueId slot = join.entry_stack[all.depth + i];
    if (std::find(join.params.begin(), join.params.end(), slot) != join.params.end()) {
      met_[slot] = std::move(all.captured[i]);
    } else {
      queued_[g_.resolve(slot)].push_back(std::move(all.captured[i]));
    }
  }
}

// Gives up the last alternative, which is the next case: it tests the same value on the stack.
bool PatternReader::give_up() {
  while (!open_.empty() && (open_.back().value != subject_ || open_.back().subs.size() < 2)) {
    open_.pop_back();
  }
  if (open_.empty()) {
    failed_ = true;
    return false;
  }
  blocks_.resize(open_.back().blocks);
  fail_ = {open_.back().start, {}};
  failed_ = never_ = false;
  finish_alternatives();
  return true;
}

// Returns the height of the stack after the values that the block drops first.
size_t PatternReader::depth_at(BlockId block) const {
  const size_t height = g_[block].entry_stack.size();
  return height - std::min<size_t>(height, g_[block].drops);
}

// Notes the captures that the alternative has left on the stack, to be stored after the join.
void PatternReader::keep_captures(const std::vector<ValueId>& args) {
  Alternatives& all = open_.back();
  const ir::Block& join = g_[all.join];
  for (size_t i = 0; i < all.captured.size(); ++i) {
    const ValueId slot = join.entry_stack[all.depth + i];
    const auto param = std::find(join.params.begin(), join.params.end(), slot);
    const ValueId value = param == join.params.end()
                              ? g_.resolve(slot)
                              : args[static_cast<size_t>(param - join.params.begin())];
    for (const Capture& each : captures_of(value)) all.captured[i].push_back(each);
  }
}

bool PatternReader::next_alternative() {
  Alternatives& all = open_.back();
  const BlockId next = fail_.block;
  if (!next.valid()) return false;
  // The next case tests the subject as well, lower on the stack.
  const bool tests =
      continues_with(next, all.value) && (all.value != subject_ || depth_at(next) >= all.depth);
  const ir::Block& block = g_[next];
  const bool leads_on = next != all.join && block.exit == ExitKind::Goto &&
                        block.next[0].to == all.join && block.items.empty();
  if (!tests && !leads_on && next != all.join) return false;
  all.current = add_pattern();
  nodes_[all.value] = all.current;
  const Target target = std::move(fail_);
  fail_ = {};
  if (next == all.join) {
    keep_captures(target.args);
    all.subs.push_back(all.current);
    return false;
  }
  all.start = next;
  all.blocks = blocks_.size();
  at_ = {next, 0};
  blocks_.push_back(next);
  resumed_ = next;
  return true;
}

void PatternReader::finish_alternatives() {
  Alternatives all = std::move(open_.back());
  open_.pop_back();
  nodes_[all.value] = all.whole;
  at(all.whole).kind = PatternKind::Or;
  at(all.whole).subs = all.subs;
  typed_ = true;
  if (all.subs.size() < 2) failed_ = true;
  hand_on(all);
  if (all.value == subject_) met_at_ = all.depth;
  at_ = {all.join, 0};
  resumed_ = all.join;
  Target fail = std::move(fail_);
  // The next case would have the subject lower on the stack: these are cases whose bodies end
  // alike.
  if (all.value == subject_ && continues_with(fail.block, subject_) &&
      depth_at(fail.block) >= all.depth) {
    failed_ = true;
  }
  fail_ = std::move(all.outer_fail);
  if (fail.block.valid()) fails_to(std::move(fail));
}

// ---- names
// ----------------------------------------------------------------------------------------

// Reads the names that a whole pattern binds, which are stored after all tests have succeeded.
void PatternReader::captures() {
  const auto& items = g_[at_.block].items;
  for (; at_.index < items.size(); ++at_.index) {
    const ValueId item = items[at_.index];
    if (take_apart(item)) continue;
    if (!stores_name(g_[item])) break;
    const Captures named = captures_of(operand(item, 0));
    if (named.empty()) break;
    // No pattern binds a name twice: this is the next case, after a guard that is constant and
    // false.
    repeats_ = !bound_.insert(g_[item].symbol()).second;
    if (repeats_) break;
    for (const Capture& each : named) {
      if (each.rest) {
        at(each.pattern).rest = g_[item].symbol();
      } else {
        at(each.pattern).names.push_back(g_[item].symbol());
      }
    }
    ++captured_;
    place_last(g_[item].line);
  }
}

// Gives the last subpattern the line of a store: 3.11 gives stores the line of the part that was
// read last; other versions that of the whole pattern, which is never later.
void PatternReader::place_last(int32_t line) {
  PatternId last = root_;
  while (!at(last).subs.empty() && at(last).subs.back().valid()) last = at(last).subs.back();
  if (at(last).kind == PatternKind::Any) at(last).line = std::max(at(last).line, line);
}

// Returns what a name bound to the value belongs to; empty: it is no part of the pattern.
PatternReader::Captures PatternReader::captures_of(ValueId id) {
  id = g_.resolve(id);
  for (auto other = renamed_.find(id); other != renamed_.end(); other = renamed_.find(id)) {
    id = other->second;
  }
  if (const auto rest = rests_.find(id); rest != rests_.end()) return {{rest->second, true}};
  if (const auto met = met_.find(id); met != met_.end()) return met->second;
  if (const auto queued = queued_.find(id); queued != queued_.end() && !queued->second.empty()) {
    Captures first = std::move(queued->second.front());
    queued->second.pop_front();
    return first;
  }
  const auto known = nodes_.find(id);
  return known == nodes_.end() ? Captures() : Captures{{known->second, false}};
}

}  // namespace pellucid::structure
