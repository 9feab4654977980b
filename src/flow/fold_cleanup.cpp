// SPDX-License-Identifier: Apache-2.0
// Makes regions of the exception table, and folds the handlers that are mere bookkeeping.
#include <algorithm>
#include <array>
#include <map>

#include "bytecode/op_facts.h"
#include "flow/regions.h"

namespace pellucid::flow {
namespace {

constexpr uint32_t kStopIterationError = 3;  // INTRINSIC_STOPITERATION_ERROR
constexpr uint32_t kSecondIsLasti = 2;       // the `b` of RERAISE 1

// Returns true for COPY 3; POP_EXCEPT; RERAISE 1.
bool is_cleanup(const std::vector<Instr>& instrs, uint32_t at) {
  return at + 2 < instrs.size() && instrs[at].op == Op::Copy && instrs[at].a == 3 &&
         instrs[at + 1].op == Op::PopExcept && instrs[at + 2].op == Op::Reraise &&
         instrs[at + 2].b == kSecondIsLasti;
}

// Returns true for CALL_INTRINSIC_1 3; RERAISE 1.
bool is_stop_iteration_wrapper(const std::vector<Instr>& instrs, uint32_t at) {
  return at + 1 < instrs.size() && instrs[at].op == Op::Intrinsic1 &&
         instrs[at].a == kStopIterationError && instrs[at + 1].op == Op::Reraise &&
         instrs[at + 1].b == kSecondIsLasti;
}

// Returns the region that replaces `region` when all cleanup handlers are folded; `restores` counts
// these.
uint32_t region_past_cleanups(const Regions& regions, uint32_t region, uint32_t& restores) {
  // A handler that protects itself is no cleanup handler.
  for (size_t steps = 0; steps <= regions.regions.size(); ++steps) {
    if (region == kNoRegion) return region;
    const Region& it = regions.regions[region];
    if (!it.lasti || it.depth == 0 || !is_cleanup(regions.instrs, it.target)) return region;
    region = regions.cover[it.target + 2];
    ++restores;
  }
  return region;
}

void fold_cleanups(Regions& regions) {
  std::vector<uint32_t> instead(regions.regions.size());
  std::vector<uint32_t> restores(regions.regions.size(), 0);
  for (uint32_t i = 0; i < instead.size(); ++i)
    instead[i] = region_past_cleanups(regions, i, restores[i]);
  const auto size = static_cast<uint32_t>(regions.cover.size());
  for (uint32_t i = 0; i < size; ++i) {
    uint32_t& cover = regions.cover[i];
    if (cover == kNoRegion || instead[cover] == cover) continue;
    Folded& folded = regions.fold(i);
    if (regions.raises[i]) folded.saved_at = regions.regions[cover].depth - 1;
    folded.restores = restores[cover];
    cover = instead[cover];
  }
  for (auto& [jump, region] : regions.interrupts) {
    if (region < instead.size()) region = instead[region];
  }
}

// Returns true if the wrapper does not protect the code before the start of the generator, which
// runs outside of it. `start`: that start.
bool starts_generator_within(const Regions& regions, uint32_t wrapper, uint32_t& start) {
  start = 0;
  for (uint32_t i = 0; i < regions.instrs.size(); ++i) {
    if (regions.instrs[i].op != Op::StartGenerator) continue;
    for (uint32_t before = start; before <= i; ++before)
      if (regions.cover[before] == wrapper) return false;
    start = i + 1;
  }
  return true;
}

// Removes the wrapper if nothing outside of it can raise.
void fold_stop_iteration_wrapper(Regions& regions) {
  uint32_t wrapper = kNoRegion;
  for (uint32_t i = 0; i < regions.regions.size(); ++i) {
    const Region& region = regions.regions[i];
    if (!is_stop_iteration_wrapper(regions.instrs, region.target)) continue;
    if (!region.lasti) return;
    if (wrapper != kNoRegion) return;
    wrapper = i;
  }
  if (wrapper == kNoRegion) return;
  const uint32_t target = regions.regions[wrapper].target;
  // What it raises leaves the function.
  if (regions.cover[target] != kNoRegion || regions.cover[target + 1] != kNoRegion) return;
  uint32_t start = 0;
  if (!starts_generator_within(regions, wrapper, start)) return;
  for (uint32_t i = start; i < regions.instrs.size(); ++i)
    if (regions.cover[i] == kNoRegion && (i < target || i > target + 1) && regions.raises[i])
      return;
  std::replace(regions.cover.begin(), regions.cover.end(), wrapper, kNoRegion);
  std::erase_if(regions.interrupts, [&](const auto& jump) { return jump.second == wrapper; });
  regions.wraps_stop_iteration = true;
}

// Notes what can raise: of the branches since 3.13 those alone that stand for a TO_BOOL too.
void find_raising(Regions& regions, const bytecode::Stream& stream, bool branches_raise) {
  regions.raises.reserve(regions.instrs.size());
  for (const Instr& instr : regions.instrs) {
    const bool is_test = instr.op == Op::BranchTrue || instr.op == Op::BranchFalse;
    regions.raises.push_back(bytecode::facts_of(instr.op).raises && (!is_test || branches_raise));
  }
  for (const uint32_t test : stream.truth_tests) regions.raises[test] = 1;
}

// Gives a branch that cannot raise the region of its test: the compiler loses the regions of some.
// The same for the backward jump that 3.12+ emits after a branch, in place of a conditional
// backward jump.
void protect_branches(Regions& regions) {
  const auto size = static_cast<uint32_t>(regions.instrs.size());
  for (uint32_t i = 1; i < size; ++i) {
    const Op op = regions.instrs[i].op;
    if (!transfers_control(op)) continue;
    const bool is_branch = op == Op::BranchTrue || op == Op::BranchFalse || op == Op::BranchNone ||
                           op == Op::BranchNotNone;
    const Instr& before = regions.instrs[i - 1];
    if (is_branch && !regions.raises[i] && !transfers_control(before.op))
      regions.cover[i] = regions.cover[i - 1];
    if (op != Op::Jump || regions.instrs[i].a > i || regions.cover[i] != kNoRegion) continue;
    const auto control = control_of(before);
    if (control && control->jumps && control->falls) regions.cover[i] = regions.cover[i - 1];
  }
}

// Restores the regions that 3.14 loses of some tests of an operand: of `a` in `(a or b) or c`,
// whose jump is threaded past the next test. No handler gets an exception of such a test, but it
// was written in the operand's region.
void mark_lost_tests(Regions& regions) {
  const auto size = static_cast<uint32_t>(regions.instrs.size());
  for (uint32_t i = 1; i + 1 < size; ++i) {
    const Instr& copy = regions.instrs[i];
    if (copy.op != Op::Copy || copy.a != 1) continue;
    Instr& test = regions.instrs[i + 1];
    const bool tests = test.op == Op::BranchTrue || test.op == Op::BranchFalse;
    if (!tests || regions.cover[i] != kNoRegion || regions.cover[i + 1] != kNoRegion) continue;
    if (regions.cover[i - 1] == kNoRegion) continue;
    if (transfers_control(regions.instrs[i - 1].op)) continue;
    regions.cover[i] = regions.cover[i + 1] = regions.cover[i - 1];
    test.b = kLostTest;
  }
}

// Sets the parents; cycles (a handler that protects itself) are cut.
void find_parents(Regions& regions) {
  std::vector<uint32_t> state(regions.regions.size(), 0);  // 1: being numbered, 2: numbered
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < regions.regions.size(); ++i) {
    path.clear();
    uint32_t at = i;
    while (at != kNoRegion && state[at] == 0) {
      state[at] = 1;
      path.push_back(at);
      Region& region = regions.regions[at];
      const uint32_t target = regions.live(region.target);
      region.parent = target < regions.cover.size() ? regions.cover[target] : kNoRegion;
      at = region.parent;
    }
    if (at != kNoRegion && state[at] == 1) regions.regions[path.back()].parent = kNoRegion;
    for (; !path.empty(); path.pop_back()) {
      Region& region = regions.regions[path.back()];
      state[path.back()] = 2;
      if (region.parent != kNoRegion) region.nesting = regions.regions[region.parent].nesting + 1;
    }
  }
}

}  // namespace

uint32_t Regions::common(uint32_t a, uint32_t b) const {
  while (a != b && a != kNoRegion && b != kNoRegion) {
    if (regions[a].nesting >= regions[b].nesting)
      a = regions[a].parent;
    else
      b = regions[b].parent;
  }
  return a == b ? a : kNoRegion;
}

Regions regions_of(const object::Module& module, const bytecode::Stream& stream,
                   const Survey& survey, bool fold) {
  Regions result;
  result.instrs = stream.instrs;
  result.gone.assign(stream.instrs.size(), 0);
  result.cover.assign(stream.instrs.size(), kNoRegion);
  std::map<std::array<uint32_t, 3>, uint32_t> known;
  for (const bytecode::ExceptionEntry& entry : stream.exceptions) {
    if (entry.begin >= entry.end) continue;
    const auto [at, fresh] = known.try_emplace({entry.target, entry.depth, entry.lasti},
                                               static_cast<uint32_t>(result.regions.size()));
    if (fresh) result.regions.push_back({entry.target, entry.depth, entry.lasti, kNoRegion, 1});
    std::fill(result.cover.begin() + entry.begin, result.cover.begin() + entry.end, at->second);
  }
  for (const bytecode::ExceptionEntry& entry : stream.interrupts) {
    const auto found = known.find({entry.target, entry.depth, entry.lasti});
    result.interrupts[entry.begin] = found == known.end() ? kUnknownRegion : found->second;
  }
  // Most code protects nothing.
  const bool protects = !result.regions.empty();
  if (protects) {
    if (habits_of(module[stream.code].version).loses_tests) mark_lost_tests(result);
    find_raising(result, stream, module[stream.code].version < object::Version{3, 13});
    protect_branches(result);
  }
  if (fold && protects) {
    fold_cleanups(result);
    fold_stop_iteration_wrapper(result);
  }
  if (fold && survey.has(Op::Send)) fold_send_loops(result);
  if (fold && survey.has(Op::LoadCommonConstant)) fold_shortcuts(result, module);
  find_parents(result);
  return result;
}

}  // namespace pellucid::flow
