// SPDX-License-Identifier: Apache-2.0
// flow::Graphs: every code object decoded once, and one graph of it, or two where something is left
// of code that never runs.
#include "flow/graphs.h"

#include "bytecode/assembler.h"
#include "flow/build.h"
#include "object/pyc.h"
#include "samples.h"
#include "testing.h"

namespace pellucid::flow {
namespace {

using object::CodeId;
using testing::Assembler;

// `try: pass` has a body without code up to 3.10.
object::Module empty_try() {
  Assembler code(3, 9);
  code.op("SETUP_FINALLY", 6).op("POP_BLOCK").op("LOAD_CONST", 0).op("RETURN_VALUE");
  code.op("POP_TOP").op("POP_TOP").op("POP_TOP").op("POP_EXCEPT");
  code.op("LOAD_CONST", 0).op("RETURN_VALUE");
  return std::move(*code.read());
}

TEST("what is asked for twice is made once") {
  Assembler code(3, 12);
  code.op("LOAD_CONST", 0).op("RETURN_VALUE");
  const object::Module module = std::move(*code.read());
  Graphs graphs(module);
  const Result<Graph>& graph = graphs.graph(module.root);
  EXPECT(graph.ok());
  EXPECT(&graphs.graph(module.root) == &graph);
  EXPECT(&graphs.graph_with_ends(module.root) == &graph);
  EXPECT(&graphs.stream(module.root) == &graphs.stream(module.root));
}

TEST("who wants what is left of code that never runs has a graph of its own, whoever asks first") {
  const object::Module module = empty_try();
  for (const bool ends_first : {true, false}) {
    Graphs graphs(module);
    if (ends_first) EXPECT(graphs.graph_with_ends(module.root)->marks_empty_bodies);
    EXPECT(!graphs.graph(module.root)->marks_empty_bodies);
    EXPECT(graphs.graph_with_ends(module.root)->marks_empty_bodies);
    EXPECT(&graphs.graph(module.root) != &graphs.graph_with_ends(module.root));
  }
}

TEST("of very many instructions those that were made last are kept") {
  Assembler code(3, 12);
  for (int i = 0; i < 4000; ++i) code.op("LOAD_CONST", 0).op("POP_TOP");
  code.op("LOAD_CONST", 0).op("RETURN_VALUE");
  object::Module module = std::move(*code.read());
  const object::Code copied = module.codes[0];
  for (int i = 0; i < 3; ++i) module.codes.push_back(copied);
  Graphs graphs(module);
  const std::string first = dump(module, *graphs.graph(CodeId(0u)));
  for (size_t i = 1; i < module.codes.size(); ++i) {
    const Result<Graph>& graph = graphs.graph(CodeId(i));
    EXPECT(graph.ok() && graph->code == CodeId(i));
    EXPECT(&graphs.graph(CodeId(i)) == &graph);
  }
  EXPECT_EQ(dump(module, *graphs.graph(CodeId(0u))), first);
}

TEST("code that cannot be decoded has an error in place of each") {
  Assembler code(3, 9);
  code.op("LOAD_CONST", 0).op("RETURN_VALUE");
  object::Module module = std::move(*code.read());
  module.codes.edit(module.root).fault = "its parts do not agree";
  Graphs graphs(module);
  REQUIRE(!graphs.stream(module.root).ok());
  EXPECT_EQ(graphs.graph(module.root).error().message, graphs.stream(module.root).error().message);
  EXPECT(&graphs.graph_with_ends(module.root) == &graphs.graph(module.root));
}

TEST("where nothing is left of code that never runs, keeping it changes nothing") {
  size_t count = 0;
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    Graphs graphs(*module);
    for (size_t i = 0; i < module->codes.size(); ++i) {
      const Result<Graph>& kept = graphs.graph_with_ends(CodeId(i));
      const Result<bytecode::Stream>& stream = graphs.stream(CodeId(i));
      if (!kept.ok() || kept->marks_ends || kept->marks_empty_bodies) continue;
      EXPECT_EQ(dump(*module, *kept), dump(*module, *build(*module, *stream)));
      ++count;
    }
  }
  EXPECT(count > 50);
}

}  // namespace
}  // namespace pellucid::flow
