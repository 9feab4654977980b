// SPDX-License-Identifier: Apache-2.0
// flow: the instructions and the graphs of the code objects of one module, each made once.
//
// A code object is decoded, and its graph built, on the first request; later requests get the same.
// Of a module with very many instructions only the latest are kept, and the rest is made again: a
// result is valid until another code object is requested. The module outlives this and does not
// change. One thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bytecode/stream.h"
#include "flow/graph.h"

namespace pellucid::flow {

class Graphs {
 public:
  explicit Graphs(const object::Module& module) : module_(module), entries_(module.codes.size()) {}

  const object::Module& module() const { return module_; }

  // Returns bytecode::decode() of the code object.
  const Result<bytecode::Stream>& stream(object::CodeId code);

  // Returns flow::build() of its stream.
  const Result<Graph>& graph(object::CodeId code);

  // Returns the same with what compilers leave behind of code that never runs (`keep_ends` in
  // build.h); the graph above, if there is no such code.
  const Result<Graph>& graph_with_ends(object::CodeId code);

  // Frees what is kept if it is not all that was made: it would be gone before it is requested
  // again, since requests come in the order of the code objects.
  void free_rest();

 private:
  struct Entry {
    std::optional<Result<bytecode::Stream>> stream;
    std::optional<Result<Graph>> graph;
    std::optional<Result<Graph>> with_ends;
    bool has_no_ends = false;
  };

  Entry& entry(object::CodeId code) {
    std::unique_ptr<Entry>& kept = part_of(entries_, code);
    if (kept == nullptr) kept = std::make_unique<Entry>();
    return *kept;
  }
  void keep(object::CodeId code, size_t instructions);
  Result<Graph> built(object::CodeId code, bool keep_ends);

  const object::Module& module_;
  std::vector<std::unique_ptr<Entry>> entries_;  // by CodeId; null: not kept
  // The kept code objects, the oldest first, with their instructions, and the sum of these.
  std::deque<std::pair<object::CodeId, size_t>> kept_;
  size_t kept_instructions_ = 0;
  bool is_rest_ = false;  // some are no longer kept
};

}  // namespace pellucid::flow
