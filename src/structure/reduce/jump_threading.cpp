// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/jump_threading.h"

#include <algorithm>

#include "structure/graph/loops.h"
#include "structure/graph/uses.h"

namespace pellucid::structure {
namespace {

class Unthreader {
 public:
  explicit Unthreader(Graph& graph) : g_(graph) {}

  void run() {
    std::vector<BlockId> tests;
    for (const BlockId id : g_.order()) {
      if (tests_what_is_brought(id)) tests.push_back(id);
    }
    if (tests.empty()) return;
    const Analysis analysis = analyse(g_);
    // Inner tests first: an edge redirected to an inner test may be redirected to an outer one
    // next.
    for (size_t i = tests.size(); i-- > 0;) {
      for (uint8_t side = 0; side < 2; ++side) gather(tests[i], side, analysis);
    }
  }

 private:
  bool tests_what_is_brought(BlockId id) const {
    const ir::Block& block = g_[id];
    return block.exit == ExitKind::Branch && block.items.empty() && block.params.size() == 1 &&
           g_.resolve(block.operands[0]) == block.params[0] && g_.ways_into(id).size() > 1 &&
           block.next[0].to != block.next[1].to;
  }

  // Redirects to `test` the branches that were threaded past this side of it.
  void gather(BlockId test, uint8_t side, const Analysis& analysis) {
    const ir::Edge past = g_[test].next[side];
    const BlockId above = analysis.idom(test);
    for (const Way way : g_.ways_into(past.to).copy()) {
      const bool is_below = way.from != above && analysis.dominates(above, way.from) &&
                            analysis.number[way.from.index()] < analysis.number[test.index()];
      if (way.edge != side || !is_below || !may_lead_to(way, test, past)) continue;
      const ValueId value = g_.resolve(g_[way.from].operands[0]);
      const auto& args = g_[way.from].next[way.edge].args;
      const auto brought = static_cast<uint32_t>(std::count_if(
          args.begin(), args.end(), [&](ValueId arg) { return g_.resolve(arg) == value; }));
      set_uses(g_, value, g_[value].uses + 1 - brought);
      g_.redirect(way.from, way.edge, test, {value});
    }
  }

  // Returns true if `test`, with the value that the block tests, leads where the block leads.
  bool may_lead_to(const Way& way, BlockId test, const ir::Edge& past) const {
    const ir::Block& block = g_[way.from];
    if (block.exit != ExitKind::Branch || block.handler != g_[test].handler ||
        block.exc_depth != g_[test].exc_depth)
      return false;
    const ValueId value = g_.resolve(block.operands[0]), param = g_[test].params[0];
    const auto& args = block.next[way.edge].args;
    if (args.size() != past.args.size()) return false;
    for (size_t i = 0; i < args.size(); ++i) {
      const ValueId expected = g_.resolve(past.args[i]);
      if (g_.resolve(args[i]) != (expected == param ? value : expected)) return false;
    }
    return true;
  }

  Graph& g_;
};

}  // namespace

void unthread_operands(Graph& graph) { Unthreader(graph).run(); }

}  // namespace pellucid::structure
