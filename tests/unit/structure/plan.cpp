// SPDX-License-Identifier: Apache-2.0
// The plan of a reduced graph: tests/unit/structure/plan/<construct>/<case>.txt.
//
// graph_text.h says how to read the graph; `tools/step_case.py plan/<construct>` makes such a file
// from Python.
#include "structure/plan/plan.h"

#include "golden.h"
#include "structure/graph_text.h"
#include "structure/plan_text.h"

namespace pellucid::structure {
namespace {

std::string run_plan(const std::string&, const std::string& input) {
  return plan_text(*read_graph(input).reduction);
}

const bool registered = testing::register_goldens("structure/plan", run_plan);

TEST("plans of each construct are tested") {
  namespace fs = std::filesystem;
  const fs::path folder = PELLUCID_SOURCE_DIR "/tests/unit/structure/plan";
  for (const char* construct : {"try", "with", "loops", "branches", "jumps", "escapes"}) {
    EXPECT(registered && fs::is_directory(folder / construct));
  }
}

}  // namespace
}  // namespace pellucid::structure
