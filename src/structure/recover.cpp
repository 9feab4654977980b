#include "structure/recover.h"

#include "structure/alternatives.h"
#include "structure/conditions.h"
#include "structure/drops.h"
#include "structure/emit.h"
#include "structure/handlers.h"
#include "structure/headers.h"
#include "structure/inlined.h"
#include "structure/joins.h"
#include "structure/patterns.h"
#include "structure/rotate.h"
#include "structure/tails.h"
#include "structure/unfold.h"
#include "structure/unthread.h"

namespace pellucid::structure {
namespace {

// No statement gives up control but `await`, `yield` and `yield from`.
void refuse_sends(const Graph& graph) {
  for (const BlockId id : graph.order()) {
    if (graph[id].exit != ExitKind::Send) continue;
    throw NotStructured("a SEND that is no part of `await` or `yield from`", graph[id].exit_offset);
  }
}

}  // namespace

Result<ast::ListId> recover(const ir::Function& function, ast::Tree& tree,
                            const std::vector<ast::ListId>& bodies, bool joins_copies) {
  try {
    Graph graph(function);
    refuse_sends(graph);
    tree.make_room(function.values.size());
    keep_alternatives(graph);
    drop_at_last(graph);
    // Stack shuffling leaves blocks without items.
    graph.thread_empty_blocks();
    // Compilers copy short endings; one statement is one block again, first what differs in a
    // value. In a `finally` body and in its copies alike, so that these can be told.
    std::vector<BlockId> joins;
    if (joins_copies) joins = join_statements(graph);
    // Before conditions: copies of finally bodies are compared as they were compiled.
    fold_handlers(graph, tree.module());
    graph.recount_uses();
    drop_popped_params(graph);
    const auto join_all = [&](uint32_t after) {
      if (!joins_copies) return;
      for (const BlockId join : join_endings(graph, after)) joins.push_back(join);
    };
    join_all(1);
    forget_carried(graph);
    if (joins_copies) merge_tails(graph, tree.module());
    fold_matches(graph, tree.module());
    join_all(0);
    graph.thread_empty_blocks();
    unfold_tested(graph, tree.module());
    unthread_operands(graph);
    reduce_conditions(graph, tree.module());
    split_endings(graph, joins);
    forward_single_values(graph);
    graph.thread_empty_blocks();
    // Only now is the test of a loop one value, and the copy of it as well.
    undo_rotation(graph);
    place_loop_headers(graph);
    Expressions expressions(graph.f, tree, bodies);
    return Emitter(graph, tree, expressions).run();
  } catch (const NotStructured& reason) {
    return Error{ErrorCode::Unsupported, reason.offset, reason.what()};
  }
}

}  // namespace pellucid::structure
