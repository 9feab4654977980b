// SPDX-License-Identifier: Apache-2.0
#include "structure/steps.h"

#include <algorithm>
#include <array>

#include "structure/constructs/cases.h"
#include "structure/constructs/conditions.h"
#include "structure/constructs/handlers.h"
#include "structure/constructs/or_patterns.h"
#include "structure/graph/uses.h"
#include "structure/reduce/duplicated_exits.h"
#include "structure/reduce/exits.h"
#include "structure/reduce/folded_tests.h"
#include "structure/reduce/inlined_comprehensions.h"
#include "structure/reduce/joined_values.h"
#include "structure/reduce/jump_threading.h"
#include "structure/reduce/loop_headers.h"
#include "structure/reduce/loop_inversion.h"
#include "structure/reduce/unused_values.h"

namespace pellucid::structure {

namespace {

constexpr std::array kSteps = {
    Step{"alternatives", "keeps the blocks that tell `case 1 | 2` from two cases",
         kHasTests | kHasCopies, [](Reduction& r) { keep_alternatives(r.graph); }},
    Step{"drop_last", "what a comprehension made is dropped after the locals are put back",
         kHasComprehensions, [](Reduction& r) { drop_at_last(r.graph); }},
    Step{"thread", "stack shuffling leaves blocks without items", kHasWays,
         [](Reduction& r) { thread_empty_blocks(r.graph); }},
    Step{"unfold_copies", "in copies of an ending, tuples are built as in the one that is left",
         kHasEndings,
         [](Reduction& r) {
           if (r.joins_copies) unfold_copies(r.graph, r.tree.module());
         }},
    Step{"join_statements",
         "copies of an ending that differ in a value are one block again, in a `finally` body and "
         "in its copies alike, so that these can be told",
         kHasEndings,
         [](Reduction& r) {
           if (r.joins_copies) r.joins = join_statements(r.graph);
         }},
    Step{"handlers",
         "says what each handler is, and removes what repeats it: before conditions, since copies "
         "are compared as they were compiled",
         kHasHandlers,
         [](Reduction& r) {
           fold_handlers(r.graph, r.tree.module());
           if (!r.graph.handlers.empty()) recount_uses(r.graph);
         }},
    Step{"popped", "removes parameters that are only popped", kHasWays,
         [](Reduction& r) { drop_popped_params(r.graph); }},
    Step{"carried", "a value of another block that is dropped is no statement", kHasCarried,
         [](Reduction& r) { forget_carried(r.graph); }},
    Step{"tails", "copies of a whole ending are one block again", kHasWays,
         [](Reduction& r) {
           if (r.joins_copies) merge_tails(r.graph, r.tree.module());
         }},
    Step{"matches", "reads the cases of `match`, each as one region", kHasTests,
         [](Reduction& r) { fold_matches(r.graph, r.tree.module()); }},
    Step{"join_returns", "the same for all endings of one line, with an item in common or none",
         kHasEndings,
         [](Reduction& r) {
           if (r.joins_copies) join_returns(r.graph, r.joins);
         }},
    Step{"thread_again", "blocks that only led to what was joined", kHasWays,
         [](Reduction& r) { thread_empty_blocks(r.graph); }},
    Step{"unfold", "tests of constants that compilers left, while tests are the ends of blocks",
         kHasTests | kHasSets, [](Reduction& r) { unfold_tested(r.graph, r.tree.module()); }},
    Step{"unthread", "operands lead to the test of the value that they are part of", kHasTests,
         [](Reduction& r) { unthread_operands(r.graph); }},
    Step{"conditions", "short-circuit and conditional control flow becomes regions", kHasWays,
         [](Reduction& r) { reduce_conditions(r.graph, r.tree.module()); }},
    Step{"split_endings", "joined endings that no condition explains are taken apart", kHasEndings,
         [](Reduction& r) { split_endings(r.graph, r.joins); }},
    Step{"forward", "a parameter with one way in is the value that comes by it", kHasWays,
         [](Reduction& r) { forward_single_values(r.graph); }},
    Step{"thread_last", "blocks without items that are left", kHasWays,
         [](Reduction& r) { thread_empty_blocks(r.graph); }},
    Step{"rotate", "loops get their test at the top, which is one value only now", kHasWays,
         [](Reduction& r) { undo_rotation(r.graph, r.analysis); }},
    Step{"headers", "every loop begins at a block of its own", kHasWays,
         [](Reduction& r) { place_loop_headers(r.graph, r.analysis); }},
    Step{"split_exits", "a block ends where a clause or a loop does: what follows is no part of it",
         kHasLeaving, [](Reduction& r) { split_exits(r.graph, r.tree.module()); }},
};

}  // namespace

uint32_t traits_of(const Graph& graph) {
  uint32_t traits = 0;
  if (graph.order().size() > 1) traits |= kHasWays;
  // Handlers are resolved by steps that add endings, and markers of what is left.
  if (!graph.handlers.empty()) traits |= kHasHandlers | kHasEndings | kHasLeaving;
  if (graph.f.marks_ends) traits |= kHasCarried;
  const auto endings = std::count_if(graph.order().begin(), graph.order().end(), [&](BlockId id) {
    return graph[id].exit == ExitKind::Return || graph[id].exit == ExitKind::Raise;
  });
  if (endings > 1) traits |= kHasEndings;
  const bool has_tests = std::any_of(graph.order().begin(), graph.order().end(), [&](BlockId id) {
    return graph[id].exit == ExitKind::Branch || graph[id].exit == ExitKind::BranchNone;
  });
  if (has_tests) traits |= kHasTests;
  for (const ir::Value& value : graph.f.values) {
    if (value.kind != ValueKind::Instr) continue;
    switch (value.op) {
      case Op::LoadFastAndClear:
        traits |= kHasComprehensions;
        break;
      case Op::BuildSet:
        traits |= kHasSets;
        break;
      case Op::PopExcept:
      case Op::Marker:
        traits |= kHasLeaving;
        break;
      case Op::Pop:
        if (drops(value, ir::Dropped::Copy)) traits |= kHasCopies;
        if (drops(value, ir::Dropped::Carried)) traits |= kHasCarried;
        if (drops(value, ir::Dropped::Iterator)) traits |= kHasLeaving;
        break;
      default:
        break;
    }
  }
  return traits;
}

std::span<const Step> steps() { return kSteps; }

}  // namespace pellucid::structure
