// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/check.h"
#include "structure/graph/uses.h"
#include "structure/steps.h"

namespace pellucid::structure {

namespace {

constexpr std::array kRegions = {"And", "Or", "Conditional", "Chain", "Comprehension", "Pattern"};
constexpr std::array kHandlers = {"unknown", "except", "except*", "finally", "with", "dissolved"};
constexpr std::array kPatterns = {"_", "value", "singleton", "sequence", "mapping", "class", "or"};

class Text {
 public:
  Text(const object::Module& module, const Graph& graph) : module_(module), graph_(graph) {}

  std::string run() {
    for (const BlockId id : graph_.order()) block(id);
    for (size_t i = 0; i < graph_.handlers.size(); ++i) handler(HandlerId(i));
    return std::move(out_);
  }

 private:
  static std::string name(BlockId id) { return id.valid() ? "b" + std::to_string(id.value) : "-"; }
  static std::string name(HandlerId id) { return "h" + std::to_string(id.value); }
  std::string name(ValueId id) const { return "v" + std::to_string(graph_.resolve(id).value); }

  std::string list(const std::vector<ValueId>& values) const {
    std::string text;
    for (const ValueId id : values) text += (text.empty() ? "" : ", ") + name(id);
    return text.empty() ? "" : "(" + text + ")";
  }

  void block(BlockId id) {
    const ir::Block& block = graph_[id];
    out_ += name(id) + list(block.params);
    if (block.handler.valid()) out_ += " in " + name(block.handler);
    if (graph_.kept.contains(id)) out_ += " kept";
    if (graph_.tested_loops.contains(id)) out_ += " tested";
    out_ += '\n';
    items(block.items, "  ");
    out_ += "  " + std::string(ir::name_of(block.exit));
    for (const ValueId operand : block.operands) out_ += ' ' + name(operand);
    for (const ir::Edge& edge : block.next) {
      if (edge.to.valid()) out_ += " -> " + name(edge.to) + list(edge.args);
    }
    out_ += '\n';
  }

  void items(const std::vector<ValueId>& items, const std::string& indent) {
    for (const ValueId item : items) {
      const ir::Value& value = graph_[item];
      out_ += indent + name(item) + " = ";
      if (value.kind == ValueKind::Region) {
        region(graph_.regions[value.a], item, indent);
        continue;
      }
      out_ += ir::text_of(module_, value);
      for (const ValueId operand : graph_.f.operands(item)) out_ += ' ' + name(operand);
      out_ += "  ; uses " + std::to_string(value.uses) + '\n';
    }
  }

  void region(const Region& region, ValueId id, const std::string& indent) {
    out_ += kRegions[static_cast<size_t>(region.kind)];
    for (const ValueId operand : graph_.f.operands(id)) out_ += ' ' + name(operand);
    if (region.pattern.valid()) out_ += ' ' + pattern(region.pattern);
    out_ += "  ; uses " + std::to_string(graph_[id].uses) + '\n';
    // Those within one another are written where they are an item.
    for (const Part& part : region.parts) {
      items(part.items, indent + "  | ");
      out_ += indent + "  = " + name(part.result) + '\n';
    }
    for (const ComprehensionStep& step : region.steps) {
      out_ += indent + "  for " + name(step.header);
      for (const BlockId block : step.blocks) out_ += ' ' + name(block);
      out_ += '\n';
    }
  }

  std::string pattern(PatternId id) const {
    const Pattern& pattern = graph_.patterns[id.index()];
    std::string text = kPatterns[static_cast<size_t>(pattern.kind)];
    for (size_t i = 0; i < pattern.subs.size(); ++i) {
      const PatternId sub = pattern.subs[i];
      text += (i == 0 ? "(" : ", ") + (sub.valid() ? this->pattern(sub) : std::string("_"));
    }
    if (!pattern.subs.empty()) text += ')';
    for (const Symbol bound : pattern.names) text += " as " + std::string(module_.text(bound));
    return text;
  }

  void handler(HandlerId id) {
    const HandlerInfo& info = graph_.handlers[id.index()];
    const BlockId entry = graph_.f.handlers[id.index()].entry;
    if (!graph_.reachable(entry)) return;
    out_ += name(id) + ": " + kHandlers[static_cast<size_t>(info.kind)] + " at " + name(entry);
    if (info.outer.valid()) out_ += " in " + name(info.outer);
    if (info.end.valid()) out_ += ", ends at " + name(info.end);
    if (info.swallowed.valid()) out_ += ", swallowed to " + name(info.swallowed);
    out_ += '\n';
  }

  const object::Module& module_;
  const Graph& graph_;
  std::string out_;
};

void check_items(const Graph& graph, const std::vector<ValueId>& items) {
  for (const ValueId item : items) {
    PELLUCID_CHECK(item.index() < graph.f.values.size());
    const ir::Value& value = graph[item];
    PELLUCID_CHECK(value.first + value.count <= graph.f.operand_pool.size());
    for (const ValueId operand : graph.f.operands(item)) {
      PELLUCID_CHECK(operand.index() < graph.f.values.size());
    }
    if (value.kind != ValueKind::Region) continue;
    PELLUCID_CHECK(value.a < graph.regions.size());
    const Region& region = graph.regions[value.a];
    PELLUCID_CHECK(region.kind == RegionKind::Pattern || region.kind == RegionKind::Comprehension ||
                   region.parts.size() > 0);
    PELLUCID_CHECK(!region.pattern.valid() || region.pattern.index() < graph.patterns.size());
    for (const Part& part : region.parts) PELLUCID_CHECK(part.result.valid());
  }
}

// Every value that is made somewhere has as many uses as a recount says.
void check_uses(const Graph& graph) {
  const UseCounts uses = count_uses(graph);
  for (size_t i = 0; i < uses.count.size(); ++i) {
    const ValueId id(i);
    if (!uses.is_made[i] || graph.resolve(id) != id) continue;
    PELLUCID_CHECK(graph[id].uses == uses.count[i]);
  }
}

// Nothing was changed without the graph's knowledge.
void check_current(const Graph& graph) {
  Graph fresh(graph);
  fresh.recompute();
  PELLUCID_CHECK(graph.order() == fresh.order());
  const auto are_same = [](Way a, Way b) { return a.from == b.from && a.edge == b.edge; };
  for (const BlockId id : graph.order()) {
    const auto ways = graph.ways_into(id), others = fresh.ways_into(id);
    PELLUCID_CHECK(std::equal(ways.begin(), ways.end(), others.begin(), others.end(), are_same));
  }
}

}  // namespace

std::string dump(const object::Module& module, const Graph& graph) {
  return Text(module, graph).run();
}

void check(const Graph& graph) {
  check_uses(graph);
  if (graph.is_current()) check_current(graph);
  for (const BlockId id : graph.order()) {
    const ir::Block& block = graph[id];
    check_items(graph, block.items);
    PELLUCID_CHECK(!block.handler.valid() || block.handler.index() < graph.handlers.size());
    for (const ir::Edge& edge : block.next) {
      PELLUCID_CHECK(!edge.to.valid() || edge.to.index() < graph.size());
      PELLUCID_CHECK(!edge.to.valid() || edge.args.size() == graph[edge.to].params.size());
    }
  }
  for (const HandlerInfo& info : graph.handlers) {
    PELLUCID_CHECK(!info.outer.valid() || info.outer.index() < graph.handlers.size());
    PELLUCID_CHECK(info.depth <= graph.handlers.size());
  }
}

}  // namespace pellucid::structure
