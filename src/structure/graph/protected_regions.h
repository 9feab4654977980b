// SPDX-License-Identifier: Apache-2.0
// Protection: the blocks and handlers within each handler's region, kept up to date while
// handlers.cpp changes the graph. Collecting a region takes time in its size.
#pragma once

#include <span>
#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::structure {

class Protection {
 public:
  explicit Protection(const Graph& graph) : g_(graph), own_(graph.handlers.size()) {
    inner_.resize(own_.size());
    for (size_t i = 0; i < own_.size(); ++i) {
      const HandlerId outer = g_.handlers[i].outer;
      if (outer.valid()) inner_[outer.index()].push_back(HandlerId(i));
    }
    for (const BlockId id : g_.order()) add(id);
  }

  // Adds a block: a new one, or one whose handler has changed.
  void add(BlockId id) {
    const HandlerId handler = g_[id].handler;
    if (handler.valid()) own_[handler.index()].push_back(id);
  }

  // The blocks that the handler protects directly; some may be unreachable.
  std::span<const BlockId> own(HandlerId handler) const { return own_[handler.index()]; }

  // Returns every reachable block within the region.
  std::vector<BlockId> region(HandlerId handler) const {
    std::vector<BlockId> found;
    std::vector<HandlerId> todo{handler};
    // Limited to their number: handlers may enclose each other in a cycle.
    for (size_t i = 0; i < todo.size() && i < own_.size(); ++i) {
      for (const BlockId id : own_[todo[i].index()]) {
        if (g_[id].handler == todo[i] && g_.reachable(id)) found.push_back(id);
      }
      const auto& inner = inner_[todo[i].index()];
      todo.insert(todo.end(), inner.begin(), inner.end());
    }
    return found;
  }

  // Removes the handler. Returns the blocks and inner handlers that it had, which the enclosing
  // handler gets.
  struct Dissolved {
    std::vector<BlockId> blocks;
    std::vector<HandlerId> inner;
  };
  Dissolved dissolve(HandlerId handler) {
    return {std::move(own_[handler.index()]), std::move(inner_[handler.index()])};
  }
  void add_inner(HandlerId outer, HandlerId inner) {
    if (outer.valid()) inner_[outer.index()].push_back(inner);
  }

 private:
  const Graph& g_;
  std::vector<std::vector<BlockId>> own_;
  std::vector<std::vector<HandlerId>> inner_;
};

}  // namespace pellucid::structure
