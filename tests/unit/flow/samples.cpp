// SPDX-License-Identifier: Apache-2.0
// flow::build on whole compiled files: every code object has a graph, and damage does no harm.
#include <algorithm>

#include "bytecode/decode.h"
#include "flow/build.h"
#include "object/pyc.h"
#include "samples.h"
#include "testing.h"

namespace pellucid::flow {
namespace {

TEST("every code object of the samples has a graph in every version") {
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    for (size_t i = 0; i < module->codes.size(); ++i) {
      const Result<bytecode::Stream> stream = bytecode::decode(*module, object::CodeId(i));
      REQUIRE(stream.ok());
      const Result<Graph> graph = build(*module, *stream);
      if (!EXPECT_EQ(graph.ok() ? std::string() : graph.error().message, std::string())) continue;
      check(*module, *graph);
      const auto left = [](const Instr& instr) { return instr.op == Op::CleanupThrow; };
      EXPECT(std::none_of(graph->instrs.begin(), graph->instrs.end(), left));
    }
  }
}

// Builds what can be built of a code whose instructions were exchanged at random.
TEST("a graph of damaged code is refused or sound") {
  uint64_t seed = 1;
  const auto random = [&](size_t below) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<size_t>(seed >> 33) % below;
  };
  size_t built = 0, refused = 0;
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    for (size_t i = 0; i < module->codes.size(); ++i) {
      const Result<bytecode::Stream> stream = bytecode::decode(*module, object::CodeId(i));
      REQUIRE(stream.ok());
      for (int round = 0; round < 200; ++round) {
        bytecode::Stream damaged = *stream;
        bytecode::Instr& instr = damaged.instrs[random(damaged.instrs.size())];
        const bytecode::Instr& other = damaged.instrs[random(damaged.instrs.size())];
        instr.op = other.op;
        instr.a = other.a;
        instr.b = other.b;
        if (!damaged.exceptions.empty()) {
          bytecode::ExceptionEntry& entry = damaged.exceptions[random(damaged.exceptions.size())];
          entry.target = static_cast<uint32_t>(random(damaged.instrs.size()));
        }
        const Result<Graph> graph = build(*module, damaged);
        ++(graph.ok() ? built : refused);
        if (graph.ok()) check(*module, *graph);
      }
    }
  }
  EXPECT(built > 0);
  EXPECT(refused > 0);
}

}  // namespace
}  // namespace pellucid::flow
