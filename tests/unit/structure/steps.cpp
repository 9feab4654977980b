// SPDX-License-Identifier: Apache-2.0
// The steps that reduce a graph, each alone: tests/unit/structure/steps/<step>/<case>.txt.
//
// graph_text.h says how to read such a file; tools/step_case.py makes one from Python.
#include "structure/steps.h"

#include <algorithm>

#include "golden.h"
#include "structure/graph/not_structured.h"
#include "structure/graph_text.h"

namespace pellucid::structure {
namespace {

const Step* step_named(const std::string& name) {
  for (const Step& step : steps()) {
    if (name == step.name) return &step;
  }
  return nullptr;
}

std::string run_step(const std::string& name, const std::string& input) {
  const Step* step = step_named(name);
  if (step == nullptr) return "there is no step of this name\n";
  const TextGraph text = read_graph(input);
  Reduction& reduction = *text.reduction;
  const std::string before = graph_text(*text.module, reduction);
  try {
    step->run(reduction);
  } catch (const NotStructured& reason) {
    return std::string("no structure: ") + reason.what() + '\n';
  }
  check(reduction.graph);
  const std::string after = graph_text(*text.module, reduction);
  return after == before ? "unchanged\n" : after;
}

const bool steps_are_registered = testing::register_goldens("structure/steps", run_step);

TEST("every step has tests of its own") {
  namespace fs = std::filesystem;
  const fs::path folder = PELLUCID_SOURCE_DIR "/tests/unit/structure/steps";
  for (const Step& step : steps()) {
    if (!EXPECT(steps_are_registered && fs::is_directory(folder / step.name))) {
      testing::report_failure(__FILE__, __LINE__, std::string("no tests of ") + step.name);
    }
  }
}

}  // namespace
}  // namespace pellucid::structure
