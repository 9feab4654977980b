#include "structure/joins.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "structure/copies.h"
#include "structure/ops.h"

namespace pellucid::structure {
namespace {

bool is_pop_of_any(const Graph& g, ValueId item, ValueId param) {
  return is_op(g[item], Op::Pop) && g.resolve(g.f.operands(item)[0]) == param;
}

constexpr size_t kFarthestCopy = 32;  // among the endings of one line
constexpr size_t kLongestCopy = 4;    // in instructions

class Endings {
 public:
  // Which blocks end in what is joined, and in what they may differ.
  enum class Kind : uint8_t {
    Handler,    // those that raise the exception of a handler again: it may not differ
    Statement,  // returns and raises, where the value goes into a statement in front of them
    Any,        // returns and raises
  };

  Endings(Graph& graph, Kind kind) : g_(graph), kind_(kind) {}

  // `shortest`: how many items endings have in common at least.
  std::vector<BlockId> join(size_t shortest) {
    if (kind_ == Kind::Statement) draw_in_returns();
    for (std::vector<BlockId>& left : groups(shortest)) {
      while (left.size() > 1) cluster(left, shortest);
    }
    if (!made_.empty()) g_.recompute();
    return std::move(made_);
  }

 private:
  // How many items at the end of `a` and `b` do the same with one value different: `differs` of a.
  struct Match {
    size_t length = 0;
    ValueId differs;
  };

  // The last statement of a `try` ends the body before it returns: where that was copied as a
  // whole, each copy has its return behind the region. It cannot raise, and may as well be inside.
  void draw_in_returns() {
    g_.recompute();
    std::map<std::array<uint32_t, 4>, std::vector<BlockId>> found;
    for (const BlockId id : g_.order()) {
      const ir::Block& block = g_[id];
      if (block.exit != ExitKind::Goto || block.items.empty()) continue;
      const BlockId next = block.next[0].to;
      const ir::Block& rest = g_[next];
      const bool returns = rest.exit == ExitKind::Return && rest.items.size() == 1 &&
                           rest.params.empty() && rest.handler != block.handler &&
                           g_[rest.items[0]].op == Op::LoadConst &&
                           g_.resolve(rest.operands[0]) == rest.items[0];
      if (!returns || g_.ways_into(next).size() != 1) continue;
      const ir::Value& last = g_[block.items.back()];
      found[{block.handler.value, static_cast<uint32_t>(last.op), last.a,
             static_cast<uint32_t>(last.line)}]
          .push_back(id);
    }
    for (const auto& [key, blocks] : found) {
      if (blocks.size() < 2) continue;
      for (const BlockId id : blocks) {
        const BlockId next = g_[id].next[0].to;
        g_[id].items.push_back(g_[next].items[0]);
        g_[next].items.clear();
        g_.take_exit(id, next);
      }
    }
  }

  // Only what ends on one line can be one statement, and where items are shared, the last one is.
  std::vector<std::vector<BlockId>> groups(size_t shortest) {
    const bool of_handlers = kind_ == Kind::Handler;
    g_.recompute();
    std::map<std::array<uint32_t, 7>, std::vector<BlockId>> found;
    for (const BlockId id : g_.order()) {
      const ir::Block& block = g_[id];
      // What raises the exception of a handler again stands on no line: the statement before does.
      const bool reraises = block.exit == ExitKind::Reraise && !block.items.empty();
      const bool ends = block.exit == ExitKind::Return || block.exit == ExitKind::Raise;
      if (of_handlers ? !reraises : !ends) continue;
      const int32_t line = of_handlers ? g_[block.items.back()].line : block.exit_line;
      if (line == bytecode::kNoLine || block.next[0].to.valid()) continue;
      std::array<uint32_t, 7> key{block.handler.value, static_cast<uint32_t>(block.exit),
                                  static_cast<uint32_t>(line)};
      // What the compiler has not copied lies in one place (tails.cpp).
      if (g_.f.keeps_ends) key[6] = block.exit_offset;
      if (shortest > 0) {
        if (block.items.empty()) continue;
        const ir::Value& last = g_[block.items.back()];
        key[3] = static_cast<uint32_t>(last.op);
        key[4] = last.a;
        key[5] = static_cast<uint32_t>(last.line);
      }
      found[key].push_back(id);
    }
    std::vector<std::vector<BlockId>> out;
    for (auto& [key, blocks] : found) out.push_back(std::move(blocks));
    return out;
  }

  // Joins the first block of the list with those that end as it does; takes them off the list.
  void cluster(std::vector<BlockId>& left, size_t shortest) {
    const BlockId first = left[0];
    std::vector<BlockId> same{first}, twins, others;
    Match common;
    for (size_t i = 1; i < left.size(); ++i) {
      // Copies lie close together; a `finally` may bring any number of other endings to its line.
      if (same.size() == 1 && i > kFarthestCopy) {
        others.insert(others.end(), left.begin() + static_cast<ptrdiff_t>(i), left.end());
        break;
      }
      if (are_twins(first, left[i])) {
        twins.push_back(left[i]);
        continue;
      }
      const std::optional<Match> match = compare(first, left[i], shortest);
      const bool fits = match && (same.size() == 1 || (match->length == common.length &&
                                                       match->differs == common.differs));
      if (fits) common = *match;
      (fits ? same : others).push_back(left[i]);
    }
    if (same.size() > 1) {
      for (const BlockId twin : twins) replace(twin, first);
      make(same, common.length, common.differs);
    } else {
      others.insert(others.end(), twins.begin(), twins.end());
    }
    left = std::move(others);
  }

  // Whether both are copies of one ending: `~(a if (b if c else d) else e)` comes to `~a` by two
  // ways, each with its own. Where nothing but that was copied, tails.h makes one of it.
  bool are_twins(BlockId x, BlockId y) const {
    const ir::Block &a = g_[x], &b = g_[y];
    const size_t length = a.items.size();
    if (kind_ == Kind::Handler || length == 0 || length != b.items.size()) return false;
    if (!a.params.empty() || !b.params.empty() || a.exc_depth != b.exc_depth) return false;
    if (a.operands.size() != b.operands.size()) return false;
    if (!std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                    [&](ValueId v, ValueId w) { return same_items(v, w); })) {
      return false;
    }
    const std::optional<ValueId> differs = difference(x, y, length);
    return differs && !differs->valid() && fail_alike(x, y);
  }

  // Whether a test that leads to `x` and one that leads to `y` lead to one place otherwise, as the
  // tests of one choice do.
  bool fail_alike(BlockId x, BlockId y) const {
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

  void replace(BlockId copy, BlockId ending) {
    each_operand(copy, [&](ValueId& operand) { --g_[g_.resolve(operand)].uses; });
    for (const Way way : g_.ways_into(copy).copy()) g_.redirect(way.from, way.edge, ending);
  }

  bool same_items(ValueId x, ValueId y) const {
    const ir::Value &a = g_[x], &b = g_[y];
    if (ends_statement(a) && ends_statement(b)) return a.line == b.line;
    return a.kind == ValueKind::Instr && b.kind == ValueKind::Instr && a.op == b.op && a.a == b.a &&
           a.b == b.b && a.count == b.count && a.line == b.line;
  }

  // How many items at the end of a block may be a copy of what follows a choice: compilers copy
  // what returns or raises if it has four instructions at most. (All of it, if it starts on no
  // line: 3.10 gives none to what adds an argument to many keywords, and to the end of a statement
  // whose value nobody takes.)
  size_t longest_copy(BlockId id) const {
    const auto& items = g_[id].items;
    if (kind_ == Kind::Handler) return items.size();
    size_t length = 0, instructions = 1;  // with the one that returns
    while (length < items.size()) {
      const ValueId item = items[items.size() - 1 - length];
      const bool returned =
          g_[id].exit == ExitKind::Return && item == g_.resolve(g_[id].operands[0]);
      if (!is_part_of_next(g_[item], returned) && ++instructions > kLongestCopy) break;
      ++length;
    }
    return length;
  }

  // RETURN_CONST and BINARY_SLICE are two items each; a marker is none.
  static bool is_part_of_next(const ir::Value& value, bool is_returned) {
    if (value.kind != ValueKind::Instr) return false;
    return (value.op == Op::LoadConst && is_returned) || value.op == Op::BuildSlice ||
           (value.op == Op::PopExcept && value.a == 0);
  }

  // The same Pop in the text, whatever it drops.
  static bool ends_statement(const ir::Value& value) {
    return drops(value, ir::Dropped::Result) || drops(value, ir::Dropped::Stored) ||
           drops(value, ir::Dropped::Constant) || drops(value, ir::Dropped::Carried);
  }

  std::optional<Match> compare(BlockId x, BlockId y, size_t shortest) const {
    const auto &p = g_[x].items, &q = g_[y].items;
    if (g_[x].operands.size() != g_[y].operands.size()) return std::nullopt;
    size_t length = 0;
    while (length < p.size() && length < q.size() &&
           same_items(p[p.size() - 1 - length], q[q.size() - 1 - length])) {
      ++length;
    }
    const size_t most = longest_copy(x);
    for (; length > 0 && length >= shortest; --length) {
      const std::optional<ValueId> differs = difference(x, y, length);
      if (!differs) continue;
      const ir::Value& start = g_[p[p.size() - length]];
      const bool starts_on_no_line = is_op(start, Op::MapAdd) || is_op(start, Op::Pop);
      if (differs->valid() && length > most && !starts_on_no_line) continue;
      const auto& operands = g_[x].operands;
      const bool leaves = std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
        return g_.resolve(operand) == *differs;
      });
      if (leaves && kind_ != Kind::Any) return std::nullopt;
      if (calls(x, length, *differs) || makes_function(x, length, *differs)) continue;
      // Without any difference they are one statement anyway (tails.h), but for `x if c else x`.
      if (!differs->valid()) return equal_choice(x, y, length);
      return Match{length, *differs};
    }
    if (shortest > 0) return std::nullopt;
    if (g_[x].exit == ExitKind::Return) return Match{0, g_.resolve(g_[x].operands[0])};
    const std::optional<ValueId> differs = difference(x, y, 0);
    return differs && differs->valid() ? std::optional(Match{0, *differs}) : std::nullopt;
  }

  // The arms of a choice that do all the same: what they load first is what they choose.
  std::optional<Match> equal_choice(BlockId x, BlockId y, size_t length) const {
    const bool is_whole = length == g_[x].items.size() && length == g_[y].items.size();
    if (!is_whole || !are_arms_of_choice(g_, x, y)) return std::nullopt;
    const auto& items = g_[x].items;
    size_t at = 0;
    // A function is made of its code first (and of its name, up to 3.10).
    if (makes_function(x, length, items[0])) {
      while (!is_op(g_[items[at]], Op::MakeFunction)) ++at;
      if (g_[items[at]].count != at) return std::nullopt;
    }
    const ValueId chosen = items[at];
    const ir::Value& value = g_[chosen];
    if ((at == 0 && value.count > 0) || value.uses != 1 || calls(x, length, chosen)) {
      return std::nullopt;
    }
    return Match{length - 1 - at, chosen};
  }

  // `f(x) if c else g(x)` repeats the call with its function: only `(f if c else g)(x)` of 3.11 and
  // 3.12 has begun the call, with a NULL, before the choice.
  bool calls(BlockId block, size_t length, ValueId value) const {
    const auto& items = g_[block].items;
    const auto& stack = g_[block].entry_stack;
    if (!value.valid() || (!stack.empty() && g_[stack.back()].kind == ValueKind::Null))
      return false;
    return std::any_of(
        items.end() - static_cast<ptrdiff_t>(length), items.end(), [&](ValueId item) {
          const ir::Value& call = g_[item];
          const bool is_call =
              call.kind == ValueKind::Instr &&
              (call.op == Op::Call || call.op == Op::CallKw || call.op == Op::CallEx);
          if (!is_call || g_.resolve(g_.f.operands(call)[0]) != value) return false;
          // Without NULLs (3.8-3.10) `x.f()` is a call of a method: an attribute was chosen first.
          return call.b > 1 || g_[value].kind != ValueKind::Instr || g_[value].op != Op::LoadAttr;
        });
  }

  // Two functions differ in their code, which no expression chooses.
  bool makes_function(BlockId block, size_t length, ValueId code) const {
    const auto& items = g_[block].items;
    return std::any_of(items.end() - static_cast<ptrdiff_t>(length), items.end(),
                       [&](ValueId item) {
                         if (!code.valid() || !is_op(g_[item], Op::MakeFunction)) return false;
                         const auto operands = g_.f.operands(item);
                         const size_t behind = g_[item].b == 1 ? 2 : 1;  // the name, up to 3.10
                         return operands.size() >= behind &&
                                g_.resolve(operands[operands.size() - behind]) == code;
                       });
  }

  // No expression chooses between NULLs, between iterators of loops, or between what `with`
  // statements leave by and what comes of it.
  bool may_differ(ValueId id) const {
    if (g_[id].kind == ValueKind::Null) return false;
    while (g_[id].kind == ValueKind::Instr && g_[id].count > 0 &&
           (g_[id].op == Op::Call || g_[id].op == Op::GetAwaitable || g_[id].op == Op::YieldFrom)) {
      id = g_.resolve(g_.f.operands(id)[0]);
    }
    const ir::Value& value = g_[id];
    return value.kind != ValueKind::Instr ||
           (value.op != Op::BeforeWith && value.op != Op::BeforeAsyncWith &&
            value.op != Op::GetIter && value.op != Op::GetAiter);
  }

  // What a value was a part of before it was taken apart, or the value itself.
  ValueId whole_of(ValueId id) const {
    const bool is_part = g_[id].kind == ValueKind::Element && g_[id].count > 0;
    return is_part ? g_.resolve(g_.f.operands(id)[0]) : id;
  }

  // The one value from before the ending that is another one in y; nothing if there are several.
  std::optional<ValueId> difference(BlockId x, BlockId y, size_t length) const {
    const auto &p = g_[x].items, &q = g_[y].items;
    std::unordered_map<ValueId, ValueId> inside;
    ValueId left, right;
    const auto agree = [&](ValueId a, ValueId b) {
      a = g_.resolve(a);
      b = g_.resolve(b);
      const ValueId whole = whole_of(a), other_whole = whole_of(b);
      const auto known = inside.find(whole);
      if (known != inside.end()) {
        return known->second == other_whole && (whole == a || g_[a].a == g_[b].a);
      }
      if (a == b) return true;
      if (left.valid()) return left == a && right == b;
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
      inside[a] = b;
    }
    for (size_t o = 0; o < g_[x].operands.size(); ++o) {
      if (!agree(g_[x].operands[o], g_[y].operands[o])) return std::nullopt;
    }
    return left;
  }

  // The ending of the first block, with `differs` as its parameter, becomes that of all.
  void make(const std::vector<BlockId>& blocks, size_t length, ValueId differs) {
    std::vector<ValueId> args;
    for (const BlockId id : blocks) args.push_back(counterpart(blocks[0], id, length, differs));
    ir::Value phi;
    phi.kind = ValueKind::Phi;
    phi.offset = g_[blocks[0]].exit_offset;
    phi.line = g_[blocks[0]].exit_line;
    const ValueId param = g_.add(phi, {});
    BlockId join;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const BlockId rest = g_.split(blocks[i], g_[blocks[i]].items.size() - length);
      each_operand(rest, [&](ValueId& operand) { --g_[g_.resolve(operand)].uses; });
      ++g_[args[i]].uses;
      if (i == 0) join = rest;
      g_[blocks[i]].next[0].to = join;
      g_[blocks[i]].next[0].args.assign(1, args[i]);
    }
    g_[join].params.push_back(param);
    // Below the value lies what is the same on every way.
    std::vector<ValueId> stack = g_[blocks[0]].entry_stack;
    for (const BlockId id : blocks) {
      const auto& other = g_[id].entry_stack;
      stack.resize(std::min(stack.size(), other.size()));
      const auto differs_at = std::mismatch(stack.begin(), stack.end(), other.begin()).first;
      stack.erase(differs_at, stack.end());
    }
    stack.push_back(param);
    g_[join].entry_stack = std::move(stack);
    each_operand(join, [&](ValueId& operand) {
      if (g_.resolve(operand) == differs) operand = param;
      ++g_[g_.resolve(operand)].uses;
    });
    for (const ValueId item : g_[join].items) {
      if (is_pop_of_any(g_, item, param)) g_[item].b = static_cast<uint32_t>(ir::Dropped::Result);
    }
    made_.push_back(join);
  }

  // What `y` has in the place of `differs`.
  ValueId counterpart(BlockId x, BlockId y, size_t length, ValueId differs) const {
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

  template <typename Visit>
  void each_operand(BlockId id, Visit visit) {
    for (const ValueId item : g_[id].items) {
      const ir::Value& value = g_[item];
      for (size_t o = 0; o < value.count; ++o) visit(g_.f.operand_pool[value.first + o]);
    }
    for (ValueId& operand : g_[id].operands) visit(operand);
  }

  Graph& g_;
  Kind kind_;
  std::vector<BlockId> made_;
};

// A copy of the ending `join` for one value of its parameter.
void copy_ending(Graph& g, BlockId join, const Way& way) {
  const ValueId arg = g.resolve(g[way.from].next[way.edge].args[0]);
  BlockId into = way.from;
  if (g[into].exit != ExitKind::Goto) {
    into = BlockId(g.size());
    ir::Block fresh;
    fresh.handler = g[join].handler;
    fresh.exc_depth = g[join].exc_depth;
    fresh.offset = g[join].offset;
    g.f.blocks.push_back(std::move(fresh));
    g.redirect(way.from, way.edge, into);
  } else {
    g.redirect(into, 0, {});
  }
  std::unordered_map<ValueId, ValueId> copies{{g[join].params[0], arg}};
  --g[arg].uses;
  const auto copied = [&](ValueId id) {
    id = g.resolve(id);
    const auto known = copies.find(id);
    if (known != copies.end()) return known->second;
    if (g[id].kind != ValueKind::Element || g[id].count == 0) return id;
    // A part of what the ending takes apart.
    const auto whole = copies.find(g.resolve(g.f.operands(id)[0]));
    if (whole == copies.end()) return id;
    const ValueId copy = g.add(ir::Value(g[id]), std::array<ValueId, 1>{whole->second});
    copies[id] = copy;
    return copy;
  };
  for (const ValueId item : std::vector<ValueId>(g[join].items)) {
    const auto originals = g.f.operands(item);
    std::vector<ValueId> operands;
    for (const ValueId operand : std::vector<ValueId>(originals.begin(), originals.end())) {
      operands.push_back(copied(operand));
      if (copies.count(g.resolve(operand)) == 0 || operands.back() == arg)
        ++g[operands.back()].uses;
    }
    ir::Value value = g[item];
    if (drops(value, ir::Dropped::Result) && is_op(g[operands[0]], Op::LoadConst)) {
      value.b = static_cast<uint32_t>(ir::Dropped::Constant);
    }
    copies[item] = g.add(value, operands);
    g[into].items.push_back(copies[item]);
  }
  for (const ValueId operand : std::vector<ValueId>(g[join].operands)) {
    const ValueId value = copied(operand);
    if (copies.count(g.resolve(operand)) == 0 || value == arg) ++g[value].uses;
    g[into].operands.push_back(value);
  }
  g[into].exit = g[join].exit;
  g[into].jump = g[join].jump;
  g[into].exit_offset = g[join].exit_offset;
  g[into].exit_line = g[join].exit_line;
}

}  // namespace

void forward_single_values(Graph& g) {
  for (const BlockId id : g.order()) {
    if (g[id].params.empty() || g.ways_into(id).size() != 1) continue;
    const Way way = g.ways_into(id).front();
    auto& args = g[way.from].next[way.edge].args;
    g.bind(g[id].params, args);
    args.clear();
    g[id].params.clear();
  }
  g.apply_aliases();
}

std::vector<BlockId> join_endings(Graph& graph, size_t shortest) {
  return Endings(graph, Endings::Kind::Any).join(shortest);
}

std::vector<BlockId> join_statements(Graph& graph) {
  Endings(graph, Endings::Kind::Handler).join(1);
  // What was joined may end as another ending does: a choice that is the last of a chain.
  std::vector<BlockId> joins;
  for (size_t round = 0; round < kLongestCopy; ++round) {
    const std::vector<BlockId> made = Endings(graph, Endings::Kind::Statement).join(1);
    if (made.empty()) break;
    joins.insert(joins.end(), made.begin(), made.end());
  }
  return joins;
}

void split_endings(Graph& g, const std::vector<BlockId>& joins) {
  if (joins.empty()) return;
  for (size_t i = joins.size(); i-- > 0;) {
    const BlockId join = joins[i];
    if (!g.reachable(join) || g[join].params.size() != 1 || g.ways_into(join).size() < 2) continue;
    if (g[join].exit != ExitKind::Return && g[join].exit != ExitKind::Raise) continue;
    for (const Way way : g.ways_into(join).copy()) copy_ending(g, join, way);
  }
  g.recompute();
}

}  // namespace pellucid::structure
