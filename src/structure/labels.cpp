// Labels: places behind a `try` or `with` that no statement could name.
//
// A region may be left to several places that are code of their own: threaded jumps, or a `break`
// out of a loop that never comes round. `while True:` around a statement and what follows it, with
// a `break` at its end, compiles to no instruction; inside it, `break` leads behind it.
#include <algorithm>

#include "structure/emit.h"

namespace pellucid::structure {

// The place that has to be named so that the region can be written; invalid if none has.
BlockId Emitter::label_of(HandlerId handler, const Scope& scope) const {
  const std::vector<BlockId> ends = exits_of(handler, scope);
  std::vector<BlockId> unnamed;
  const auto add = [&](BlockId end) {
    if (is_jump_target(end, scope) || only_returns(end)) return;
    if (std::find(unnamed.begin(), unnamed.end(), end) == unnamed.end()) unnamed.push_back(end);
  };
  switch (graph_.handlers[handler.index()].kind) {
    case HandlerKind::With: {
      const BlockId follow = skip_markers(graph_.handlers[handler.index()].swallowed, scope);
      for (const BlockId end : ends) {
        if (end != follow) add(end);
      }
      break;
    }
    case HandlerKind::Finally: {
      const BlockId follow = end_of_finally(handler, scope);
      for (const BlockId end : ends) {
        if (end != follow) add(end);
      }
      if (!follow.valid() && unnamed.size() < 2) return {};
      break;
    }
    case HandlerKind::Except: {
      const TryEnds found = ends_of_try(handler, scope);
      for (const BlockId end : ends) {
        if (end != found.follow && (end != found.orelse || end == scope.follow)) add(end);
      }
      for (const ClauseEnd& end : exits_of_clauses(handler, scope)) {
        if (!end.is_left && end.to != found.follow) add(end.to);
      }
      break;
    }
    case HandlerKind::ExceptStar:
    case HandlerKind::Unknown:
    case HandlerKind::Dissolved:
      return {};
  }
  // The last one: the others may lead there.
  BlockId last;
  for (const BlockId end : unnamed) {
    if (!last.valid() || end == scope.follow) {
      last = end;
    } else if (last != scope.follow &&
               analysis_.number[end.index()] > analysis_.number[last.index()]) {
      last = end;
    }
  }
  for (const OpenLoop* loop = scope.loop; last.valid() && loop; loop = loop->outer) {
    // A `break` leads behind the innermost loop only.
    if (loop->follow == last || loop->header == last) return {};
  }
  return last;
}

BlockId Emitter::labelled(BlockId block, BlockId label, const Scope& scope, Statements& out) {
  const OpenLoop loop{{}, label, scope.loop};
  Statements inner(context_);
  const bool falls = emit(block, {label, &loop, scope.handler, scope.handled}, inner);
  const ast::Where at = exit_where(block);
  if (falls) inner.append(tree_.add(ast::Break{}, at));
  const std::vector<ast::NodeId> body = inner.take_list();
  const ast::NodeId test = constant(object::ConstKind::True, at);
  out.append(tree_.add(ast::While{test, tree_.list(body), {}}, at));
  return label;
}

}  // namespace pellucid::structure
