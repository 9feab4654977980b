// SPDX-License-Identifier: Apache-2.0
// driver: all code objects below one -> the tree of their text.
#pragma once

#include <unordered_map>
#include <vector>

#include "ast/tree.h"
#include "base/result.h"
#include "driver/pipeline.h"
#include "flow/graphs.h"
#include "object/code.h"
#include "structure/steps.h"

namespace pellucid::driver {

// Code objects that a bug of ours leaves without a text, with its error.
using Broken = std::unordered_map<object::CodeId, Error>;

// The code to decompile.
struct Request {
  flow::Graphs& graphs;  // of a module with names that a source can write
  object::CodeId root;
  const Options& options;
};

// Returns the text of `root` with everything nested in it: its statements, or one `def` of a
// function. Each body is structured, else a loop over a state with a diagnostic of the reason, else
// (a bug of ours, or one of `broken`) a marker. `tree` is empty, its module a copy of the
// request's.
ast::NodeId recover_all(const Request& request, const Forms& forms, const Broken& broken,
                        ast::Tree& tree, std::vector<Diagnostic>& diagnostics,
                        structure::Trace* trace = nullptr);

}  // namespace pellucid::driver
