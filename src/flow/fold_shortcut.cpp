// SPDX-License-Identifier: Apache-2.0
// `any(...)`, `all(...)` and `tuple(...)` of a generator expression in 3.14, `list(...)` and
// `set(...)` as well in 3.15: the compiler writes the loop of the builtin before the call, after a
// test that the name still means the builtin (maybe_optimize_function_call in codegen.c).
//
//   i:    COPY 1; LOAD_COMMON_CONSTANT any; IS_OP 0; POP_JUMP_IF_FALSE t
//         POP_TOP                           (tuple, list: and BUILD_LIST 0; set: BUILD_SET 0)
//         <the generator>                   (3.15: and PUSH_NULL, the slot above an iterator)
//   l:    FOR_ITER e
//         POP_JUMP_IF_TRUE s; JUMP l        (all: IF_FALSE; tuple, list: LIST_APPEND 2; JUMP l;
//         set: SET_ADD 2)
//   s:    POP_ITER; LOAD_CONST True; ...    (all: False)
//   e:    LOAD_CONST False; ...             (all: True; tuple: LIST_TO_TUPLE; list, set: nothing)
//   t:    PUSH_NULL
//         <the generator>
//         CALL 1; ...
//
// If both paths provably do the same, only the call stays.
#include <optional>
#include <set>
#include <utility>

#include "flow/regions.h"

namespace pellucid::flow {
namespace {

// Numbers of LOAD_COMMON_CONSTANT.
enum Builtin : uint32_t { kTuple = 2, kAll = 3, kAny = 4, kList = 5, kSet = 6 };

// The length of the two paths after the call: compilers copy short exits only.
constexpr size_t kMaxPairs = 256;

using Pair = std::pair<uint32_t, uint32_t>;  // an instruction of the loop's path, one of the call's

class ShortcutFolder {
 public:
  ShortcutFolder(Regions& regions, const object::Module& module)
      : regions_(regions), module_(module), is_target_(regions.instrs.size() + 1, false) {
    for (const Instr& instr : regions.instrs)
      if (has_target(instr)) is_target_[instr.a] = true;
    for (const Region& region : regions.regions) is_target_[region.target] = true;
  }

  void fold(uint32_t at) {
    if (!is(at, Op::Copy, 1) || !is(at + 1, Op::LoadCommonConstant) || !is(at + 2, Op::IsOp, 0) ||
        !is(at + 3, Op::BranchFalse) || !is(at + 4, Op::Pop))
      return;
    for (uint32_t i = at + 1; i < at + 5; ++i)
      if (is_target_[i]) return;
    builtin_ = regions_.instrs[at + 1].a;
    if (builtin_ < kTuple || builtin_ > kSet) return;
    const uint32_t call = regions_.instrs[at + 3].a;
    uint32_t loop = at + 5;
    const bool makes_list = builtin_ == kTuple || builtin_ == kList;
    if (makes_list && !is(loop++, Op::BuildList, 0)) return;
    if (builtin_ == kSet && !is(loop++, Op::BuildSet, 0)) return;
    if (!is(call, Op::PushNull) || !same_generators(loop, call + 1)) return;
    regions_.instrs[at].op = Op::Jump;
    regions_.instrs[at].a = call;
    for (uint32_t i = at + 1; i < at + 4; ++i) regions_.absorb(i, at);
  }

 private:
  static bool has_target(const Instr& instr) {
    return bytecode::operand_of(instr.op) == bytecode::Operand::Target;
  }
  const Instr& at(uint32_t index) const { return regions_.instrs[index]; }
  bool is(uint32_t index, Op op) const {
    return index < regions_.instrs.size() && at(index).op == op && !regions_.gone[index];
  }
  bool is(uint32_t index, Op op, uint32_t a) const { return is(index, op) && at(index).a == a; }
  bool is_branch(uint32_t index) const {
    return is(index, Op::BranchTrue) || is(index, Op::BranchFalse);
  }

  // Returns where control is after `index`: past jumps and folded instructions.
  uint32_t settle(uint32_t index) const {
    for (size_t steps = 0; steps < kMaxPairs; ++steps) {
      index = regions_.live(index);
      if (!is(index, Op::Jump)) break;
      index = at(index).a;
    }
    return index;
  }
  uint32_t edge(uint32_t branch, bool truth) const {
    const bool jumps = (at(branch).op == Op::BranchTrue) == truth;
    return settle(jumps ? at(branch).a : branch + 1);
  }
  std::optional<bool> constant(uint32_t index) const {
    if (!is(index, Op::LoadConst)) return std::nullopt;
    const object::ConstKind kind = module_[at(index).constant()].kind;
    if (kind == object::ConstKind::True) return true;
    if (kind == object::ConstKind::False) return false;
    return std::nullopt;
  }

  // Returns true if both are protected by handlers of the same form, the second one's with `delta`
  // more stack slots.
  bool same_handlers(uint32_t a, uint32_t b, uint32_t delta, std::vector<Pair>& todo) const {
    const uint32_t left = regions_.cover[a];
    const uint32_t right = regions_.cover[b];
    if (left == right || !regions_.raises[a]) return true;
    if (left == kNoRegion || right == kNoRegion) return false;
    const Region& of_a = regions_.regions[left];
    const Region& of_b = regions_.regions[right];
    if (of_a.lasti != of_b.lasti || of_a.depth + delta != of_b.depth) return false;
    todo.push_back({of_a.target, of_b.target});
    return true;
  }

  // Returns true if both are the same instruction; their successors are appended to `todo`.
  bool same_step(uint32_t a, uint32_t b, uint32_t delta, std::vector<Pair>& todo) const {
    const Instr& left = at(a);
    const Instr& right = at(b);
    if (left.op != right.op || left.b != right.b || (!has_target(left) && left.a != right.a) ||
        !same_handlers(a, b, delta, todo))
      return false;
    const auto control = control_of(left);
    if (control && control->jumps) todo.push_back({left.a, right.a});
    if (!control || control->falls) todo.push_back({a + 1, b + 1});
    return true;
  }

  // Returns true if both paths make the same generator, then one loops over it and the other calls
  // the builtin.
  bool same_generators(uint32_t loop, uint32_t call) const {
    const uint32_t delta = fills() ? 1 : 2;
    std::vector<Pair> todo = {{loop, call}};
    std::set<Pair> seen;
    bool has_loop = false;
    while (!todo.empty()) {
      const Pair pair = {settle(todo.back().first), settle(todo.back().second)};
      todo.pop_back();
      const auto [a, b] = pair;
      if (a >= regions_.instrs.size() || b >= regions_.instrs.size()) return false;
      if (!seen.insert(pair).second) continue;
      if (a == b) return false;
      if (const uint32_t loop_at = loop_after(a); loop_at != kNoRegion && is(b, Op::Call, 1)) {
        if (has_loop) return false;
        const std::vector<uint32_t> parts = parts_of(loop_at, b);
        if (parts.empty()) return false;
        for (const uint32_t part : parts)
          if (!same_handlers(part, b, delta, todo)) return false;
        has_loop = true;
      } else if (!same_step(a, b, delta, todo)) {
        return false;
      }
    }
    return has_loop;
  }

  // Returns true if the loop adds the items to a container.
  bool fills() const { return builtin_ == kTuple || builtin_ == kList || builtin_ == kSet; }

  // Returns the loop that starts here; kNoRegion if there is none.
  uint32_t loop_after(uint32_t index) const {
    if (is(index, Op::ForIter) && at(index).b == 0) return index;
    const uint32_t next = regions_.live(index + 1);
    const bool has_slot = is(index, Op::PushNull) && is(next, Op::ForIter) && at(next).b == 1;
    return has_slot ? next : kNoRegion;
  }

  // Returns what the call stands for: all instructions of the loop that do something. None if the
  // loop does not do what the call does.
  std::vector<uint32_t> parts_of(uint32_t loop, uint32_t call) const {
    const uint32_t following = settle(call + 1);
    const uint32_t end = settle(at(loop).a);
    const uint32_t slots = 1 + at(loop).b;  // of the iterator
    if (fills()) {
      const Op add = builtin_ == kSet ? Op::SetAdd : Op::ListAppend;
      if (!is(loop + 1, add, 1 + slots) || settle(loop + 2) != loop) return {};
      std::vector<uint32_t> parts = {loop, loop + 1};
      if (builtin_ == kTuple) {
        if (!is(end, Op::ListToTuple)) return {};
        parts.push_back(end);
      }
      const uint32_t rest = builtin_ == kTuple ? settle(end + 1) : end;
      return same_ends(rest, following) ? parts : std::vector<uint32_t>();
    }
    const uint32_t test = settle(loop + 1);
    const bool found = builtin_ == kAny;
    if (!is_branch(test) || edge(test, !found) != loop) return {};
    uint32_t stop = edge(test, found);
    for (uint32_t slot = 0; slot < slots; ++slot) {
      if (!is(stop, Op::Pop)) return {};
      stop = settle(stop + 1);
    }
    const bool is_same = same_known(stop, following, found) && same_known(end, following, !found);
    return is_same ? std::vector<uint32_t>{loop, test} : std::vector<uint32_t>();
  }

  // Returns true if the paths are the same, where that of the loop knows the result: `value`. The
  // compiler may have folded tests of it.
  bool same_known(uint32_t a, uint32_t b, bool value) const {
    bool loaded = false;
    for (size_t steps = 0; steps < kMaxPairs; ++steps) {
      if (a >= regions_.instrs.size() || b >= regions_.instrs.size()) return false;
      if (loaded && a == b) return true;
      if (!loaded && constant(a) == value) {
        const uint32_t next = settle(a + 1);
        if (next == b || (next < regions_.instrs.size() && at(next).op == at(b).op)) {
          loaded = true;
          a = next;
          continue;
        }
      }
      if (is_branch(b)) {
        if (loaded && !is_branch(a)) return false;
        return same_ends(loaded ? edge(a, value) : a, edge(b, value));
      }
      if (!loaded && is(b, Op::Pop)) return same_ends(a, b + 1);
      const bool negates = is(b, Op::Unary, static_cast<uint32_t>(bytecode::UnaryOperator::Not));
      if (!negates && !is(b, Op::ToBool)) return loaded && same_ends(a, b);
      if (loaded) {
        if (at(a).op != at(b).op || at(a).a != at(b).a) return false;
        a = settle(a + 1);
      }
      if (negates) value = !value;
      b = settle(b + 1);
    }
    return false;
  }

  // Returns true if both paths are the same from here on, or copies of each other until they merge
  // or leave.
  bool same_ends(uint32_t a, uint32_t b) const {
    std::vector<Pair> todo = {{a, b}};
    std::set<Pair> seen;
    while (!todo.empty()) {
      const Pair pair = {settle(todo.back().first), settle(todo.back().second)};
      todo.pop_back();
      if (pair.first == pair.second || !seen.insert(pair).second) continue;
      if (pair.first >= regions_.instrs.size() || pair.second >= regions_.instrs.size() ||
          seen.size() > kMaxPairs || !same_step(pair.first, pair.second, 0, todo))
        return false;
    }
    return true;
  }

  Regions& regions_;
  const object::Module& module_;
  std::vector<bool> is_target_;
  uint32_t builtin_ = 0;
};

}  // namespace

void fold_shortcuts(Regions& regions, const object::Module& module) {
  ShortcutFolder folder(regions, module);
  for (uint32_t i = 0; i < regions.instrs.size(); ++i)
    if (regions.instrs[i].op == Op::Copy && !regions.gone[i]) folder.fold(i);
}

}  // namespace pellucid::flow
