// SPDX-License-Identifier: Apache-2.0
// Graphs in step: which ones are, and that the walk never disagrees.
#include "verify/headers/in_step.h"

#include "bytecode/assembler.h"
#include "flow/graphs.h"
#include "object/pyc.h"
#include "samples.h"
#include "testing.h"
#include "verify/compare.h"

namespace pellucid::verify {
namespace {

using testing::Assembler;
using testing::resumed;

bool are_in_step(const object::Module& a, object::CodeId code_a, const object::Module& b,
                 object::CodeId code_b, CodePairs* pairs = nullptr) {
  flow::Graphs graphs_a(a), graphs_b(b);
  const auto is_whole = [](const Result<bytecode::Stream>& stream) {
    return stream.ok() && stream->faults.empty();
  };
  if (!is_whole(graphs_a.stream(code_a)) || !is_whole(graphs_b.stream(code_b))) return false;
  const Result<flow::Graph>& in_a = graphs_a.graph(code_a);
  const Result<flow::Graph>& in_b = graphs_b.graph(code_b);
  if (!in_a.ok() || !in_b.ok()) return false;
  Values values(a, b);
  CodePairs ignored;
  return InStep(values).run(*in_a, *in_b, pairs != nullptr ? *pairs : ignored);
}

bool are_in_step(const Assembler& a, const Assembler& b) {
  const Result<object::Module> in_a = a.read();
  const Result<object::Module> in_b = b.read();
  return in_a.ok() && in_b.ok() && are_in_step(*in_a, in_a->root, *in_b, in_b->root);
}

// Returns `n1 if n0 else n2`; `jump` leads to the second arm.
Assembler choice(const char* jump, uint32_t first, uint32_t second) {
  return resumed()
      .op("LOAD_NAME", 0)
      .op(jump, 2)
      .op("LOAD_NAME", first)
      .op("RETURN_VALUE")
      .op("LOAD_NAME", second)
      .op("RETURN_VALUE");
}

TEST("copies, jumps and blocks in another order are in step") {
  const Assembler joined =
      resumed().op("LOAD_NAME", 0).op("POP_JUMP_IF_FALSE", 0).op("LOAD_NAME", 1).op("RETURN_VALUE");
  EXPECT(are_in_step(choice("POP_JUMP_IF_FALSE", 1, 1), joined));
  EXPECT(are_in_step(joined, choice("POP_JUMP_IF_FALSE", 1, 1)));
  EXPECT(are_in_step(choice("POP_JUMP_IF_FALSE", 1, 2), choice("POP_JUMP_IF_TRUE", 2, 1)));
  const Assembler jumps = resumed()
                              .op("LOAD_NAME", 0)
                              .op("JUMP_FORWARD", 1)
                              .op("NOP")
                              .op("LOAD_NAME", 1)
                              .op("BUILD_TUPLE", 2)
                              .op("RETURN_VALUE");
  const Assembler straight =
      resumed().op("LOAD_NAME", 0).op("LOAD_NAME", 1).op("BUILD_TUPLE", 2).op("RETURN_VALUE");
  EXPECT(are_in_step(jumps, straight));
}

TEST("other operands, ways and lengths are not in step") {
  EXPECT(!are_in_step(choice("POP_JUMP_IF_FALSE", 1, 2), choice("POP_JUMP_IF_FALSE", 2, 1)));
  EXPECT(!are_in_step(choice("POP_JUMP_IF_FALSE", 1, 2), choice("POP_JUMP_IF_TRUE", 1, 2)));
  EXPECT(!are_in_step(choice("POP_JUMP_IF_FALSE", 1, 2), choice("POP_JUMP_IF_NONE", 1, 2)));
  EXPECT(!are_in_step(choice("POP_JUMP_IF_FALSE", 1, 1), choice("POP_JUMP_IF_FALSE", 1, 2)));
  const Assembler longer =
      resumed().op("LOAD_NAME", 0).op("LOAD_NAME", 1).op("POP_TOP").op("RETURN_VALUE");
  EXPECT(!are_in_step(longer, resumed().op("LOAD_NAME", 0).op("RETURN_VALUE")));
}

// Loops of two and of three equal turns go on in step for ever; the number of pairs is bounded.
TEST("loops of other lengths are in step if each turn is") {
  const auto loop = [](uint32_t turns) {
    Assembler made = resumed().op("NOP");
    for (uint32_t i = 0; i < turns; ++i) made.op("LOAD_NAME", 0).op("POP_TOP");
    return made.op("JUMP_BACKWARD", 2 * turns + 1);
  };
  EXPECT(are_in_step(loop(2), loop(3)));
  const Assembler spins = resumed().op("NOP").op("JUMP_BACKWARD", 2);
  EXPECT(!are_in_step(spins, spins));
  EXPECT(!are_in_step(spins, loop(1)));
}

TEST("every sample is in step with itself, with its nested code in order") {
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    for (size_t i = 0; i < module->codes.size(); ++i) {
      CodePairs pairs;
      EXPECT(are_in_step(*module, object::CodeId(i), *module, object::CodeId(i), &pairs));
      for (const auto& [a, b] : pairs) EXPECT(a == b);
    }
  }
}

// Where two graphs are in step, the walk proves the same; nothing else is known to it.
TEST("what is in step is proven by the walk, too") {
  uint64_t seed = 2;
  const auto random = [&](size_t below) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<size_t>(seed >> 33) % below;
  };
  size_t in_step = 0, apart = 0;
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    for (size_t i = 0; i < module->codes.size(); ++i) {
      for (int round = 0; round < 30; ++round) {
        object::Module with = *module;
        object::Code copy = module->codes[i];
        std::vector<uint8_t>& bytes = copy.bytecode;
        bytes[random(bytes.size())] = bytes[random(bytes.size())];
        if (!copy.exceptiontable.empty() && round % 3 == 0) {
          copy.exceptiontable[random(copy.exceptiontable.size())] ^= 1;
        }
        const object::CodeId damaged = with.codes.push_back(std::move(copy));
        if (!are_in_step(with, object::CodeId(i), with, damaged)) {
          ++apart;
          continue;
        }
        ++in_step;
        Options options;
        options.thorough = true;
        const CodeVerdict walked =
            compare(with, object::CodeId(i), with, damaged, options).codes.front();
        EXPECT_EQ(version + ' ' + walked.path + ": " + walked.reason,
                  version + ' ' + walked.path + ": ");
      }
    }
  }
  EXPECT(in_step > 100 && apart > 100);
}

}  // namespace
}  // namespace pellucid::verify
