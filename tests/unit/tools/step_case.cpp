// SPDX-License-Identifier: Apache-2.0
// pellucid_step_case STEP FILE.pyc [FUNCTION]: the graph of a function before a step of structure,
// or before its plan is made, as text (structure/graph_text.h). tools/step_case.py makes a test of
// it.
//
// Exits with 1 if the step does something else to what is read back: then it looks at what the text
// does not say.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "driver/lifting.h"
#include "object/pyc.h"
#include "structure/graph/not_structured.h"
#include "structure/graph_text.h"
#include "structure/plan_text.h"

namespace pellucid::structure {
namespace {

// The text with blocks and values numbered as they come.
std::string renumbered(const std::string& text) {
  std::string out;
  std::map<std::string, std::string> names;
  std::map<char, int> last;
  for (size_t at = 0; at < text.size();) {
    const bool starts = at == 0 || std::strchr(" (\n", text[at - 1]) != nullptr;
    size_t end = at + 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    std::string word = text.substr(at, end - at);
    if (starts && (text[at] == 'v' || text[at] == 'b') && end > at + 1) {
      const auto [it, is_new] = names.try_emplace(word);
      if (is_new) it->second = text[at] + std::to_string(last[text[at]]++);
      word = it->second;
    }
    out += word;
    at = end;
  }
  return out;
}

std::string after(const Step& step, const object::Module& module, Reduction& reduction) {
  try {
    step.run(reduction);
  } catch (const NotStructured& reason) {
    return std::string("no structure: ") + reason.what() + '\n';
  }
  return renumbered(graph_text(module, reduction));
}

object::CodeId code_named(const object::Module& module, const char* name) {
  for (size_t i = 0; i < module.codes.size(); ++i) {
    if (module.text(module.codes[i].name) == name) return object::CodeId(i);
  }
  return module.root;
}

// Writes the graph, and compares what comes of it with what comes of its text.
template <typename Made>
int write(const object::Module& module, Reduction& reduction, Made made) {
  const std::string text = graph_text(module, reduction);
  std::printf("%s", text.c_str());
  std::fflush(stdout);
  const TextGraph again = read_graph(text);
  const std::string wanted = made(module, reduction);
  const std::string got = made(*again.module, *again.reduction);
  if (got == wanted) return 0;
  std::fprintf(stderr, "something else comes of what is read back\n%s---\n%s", got.c_str(),
               wanted.c_str());
  return 1;
}

int run(const char* name, const char* file, const char* function) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)), {});
  Result<object::Module> module = object::read_pyc(bytes);
  if (!module.ok()) {
    std::fprintf(stderr, "%s\n", module.error().message.c_str());
    return 2;
  }
  driver::Faults faults;
  const object::CodeId code = code_named(*module, function);
  const object::Module read = *module;
  flow::Graphs graphs(read);
  Result<ir::Function> lifted = driver::to_ir(graphs, *module, code, true, faults);
  if (!lifted.ok()) {
    std::fprintf(stderr, "%s\n", lifted.error().message.c_str());
    return 2;
  }
  number_places(*lifted, (*module)[code].firstlineno);
  ast::Tree tree(*module);
  Reduction reduction{Graph(std::move(*lifted)), tree};
  for (const Step& step : steps()) {
    if (std::strcmp(step.name, name) != 0) {
      step.run(reduction);
      continue;
    }
    return write(*module, reduction,
                 [&](const object::Module& of, Reduction& each) { return after(step, of, each); });
  }
  if (std::strcmp(name, kPlanStage) == 0) {
    return write(*module, reduction,
                 [](const object::Module&, Reduction& each) { return plan_text(each); });
  }
  std::fprintf(stderr, "no such step: %s\n", name);
  return 2;
}

}  // namespace
}  // namespace pellucid::structure

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: pellucid_step_case STEP FILE.pyc [FUNCTION]\n");
    return 2;
  }
  try {
    return pellucid::structure::run(argv[1], argv[2], argc > 3 ? argv[3] : "f");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
