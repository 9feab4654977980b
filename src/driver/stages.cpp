// SPDX-License-Identifier: Apache-2.0
#include "driver/stages.h"

#include <algorithm>
#include <array>

#include "driver/faults.h"
#include "driver/lifting.h"
#include "flow/build.h"
#include "structure/steps.h"

namespace pellucid::driver {
namespace {

constexpr std::array kOfCodes{"raw", "stream", "flow", "ir", "dis"};

// Returns the text of one stage of a code object. `module` is a copy of that of the graphs, and
// gains constants.
Result<std::string> text_of(flow::Graphs& graphs, object::Module& module, object::CodeId code,
                            const std::string& stage, Faults& faults) {
  if (stage == "ir") {
    PELLUCID_TRY(const ir::Function function, to_ir(graphs, module, code, true, faults));
    return ir::dump(module, function);
  }
  return with_places(module, graphs.stream(code), faults,
                     [&](const bytecode::Stream& stream) -> Result<std::string> {
                       if (stage == "raw") return bytecode::dump_raw(module, stream);
                       if (stage == "stream") return bytecode::dump(module, stream);
                       PELLUCID_TRY(const flow::Graph graph, flow::build(module, stream, true));
                       return stage == "dis" ? flow::listing(module, graph)
                                             : flow::dump(module, graph);
                     });
}

}  // namespace

Result<std::string> list_codes(flow::Graphs& graphs, const std::vector<object::CodeId>& codes,
                               const std::string& stage, std::vector<Diagnostic>& told) {
  object::Module module = graphs.module();
  if (std::find(kOfCodes.begin(), kOfCodes.end(), stage) == kOfCodes.end()) {
    return Error{ErrorCode::Unsupported, 0, "unknown stage '" + stage + "'"};
  }
  std::string text;
  for (const object::CodeId code : codes) {
    Faults faults;
    const Result<std::string> listed = text_of(graphs, module, code, stage, faults);
    const auto tell = [&](uint64_t offset, const std::string& message) {
      told.push_back({code, static_cast<uint32_t>(offset), message, true});
    };
    for (const bytecode::Fault& fault : faults) tell(fault.offset, fault.message);
    if (listed.ok()) {
      text += *listed;
      continue;
    }
    tell(listed.error().offset, listed.error().message);
    text +=
        std::string(module.text(module[code].qualname)) + "  # " + listed.error().message + '\n';
    // Its raw instructions can be listed all the same.
    const Result<bytecode::Stream>& stream = graphs.stream(code);
    if (stream.ok() && stage != "raw") text += bytecode::dump_raw(module, *stream);
  }
  return text;
}

std::vector<std::string> stages() {
  std::vector<std::string> names = {"module", "raw", "stream", "flow", "ir", "structure"};
  for (const structure::Step& step : structure::steps()) {
    names.push_back(std::string("structure:") + step.name);
  }
  names.push_back(std::string("structure:") + structure::kPlanStage);
  names.emplace_back("ast");
  return names;
}

}  // namespace pellucid::driver
