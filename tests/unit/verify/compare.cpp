// SPDX-License-Identifier: Apache-2.0
// verify::compare on code that no compiler makes, and on every sample.
#include "verify/compare.h"

#include "bytecode/assembler.h"
#include "object/known.h"
#include "object/pyc.h"
#include "samples.h"
#include "testing.h"

namespace pellucid::verify {
namespace {

using testing::Assembler;
using testing::resumed;

const char* name_of(Status status) {
  switch (status) {
    case Status::Identical:
      return "identical";
    case Status::Equivalent:
      return "equivalent";
    case Status::Unproven:
      return "unproven";
  }
  return "";
}

// The verdict on two code objects, with the reason if there is one.
std::string verdict(const Assembler& a, const Assembler& b, const Options& options = {}) {
  const Result<object::Module> in_a = a.read();
  const Result<object::Module> in_b = b.read();
  if (!in_a.ok() || !in_b.ok()) return "unreadable";
  const Verdict verdict = compare(*in_a, in_a->root, *in_b, in_b->root, options);
  const CodeVerdict* unproven = verdict.first_unproven();
  return name_of(verdict.status) + (unproven ? ": " + unproven->reason : std::string());
}

TEST("a stack that is shuffled otherwise is the same") {
  const Assembler a =
      resumed().op("LOAD_NAME", 0).op("LOAD_NAME", 1).op("BUILD_TUPLE", 2).op("RETURN_VALUE");
  const Assembler b = resumed()
                          .op("LOAD_NAME", 0)
                          .op("LOAD_NAME", 1)
                          .op("SWAP", 2)
                          .op("SWAP", 2)
                          .op("COPY", 2)
                          .op("POP_TOP")
                          .op("BUILD_TUPLE", 2)
                          .op("RETURN_VALUE");
  const Assembler c = resumed()
                          .op("LOAD_NAME", 0)
                          .op("LOAD_NAME", 1)
                          .op("SWAP", 2)
                          .op("BUILD_TUPLE", 2)
                          .op("RETURN_VALUE");
  EXPECT_EQ(verdict(a, a), "identical");
  EXPECT_EQ(verdict(a, b), "equivalent");
  EXPECT_EQ(verdict(a, c), "unproven: ReturnValue((...)) / ReturnValue((...))");
}

TEST("an attribute that is called is a method that is called") {
  const Assembler a =
      resumed().op("LOAD_NAME", 0).op("LOAD_ATTR", 1 << 1 | 1).op("CALL", 0).op("RETURN_VALUE");
  const Assembler b = resumed()
                          .op("PUSH_NULL")
                          .op("LOAD_NAME", 0)
                          .op("LOAD_ATTR", 1 << 1)
                          .op("CALL", 0)
                          .op("RETURN_VALUE");
  EXPECT_EQ(verdict(a, b), "equivalent");
}

// Lists as Dynamo passes values through them: built, sliced, grown, popped, given as arguments.
TEST("a list that nobody sees is what it holds") {
  const Assembler a = resumed()
                          .op("PUSH_NULL")
                          .op("LOAD_NAME", 0)  // the callee
                          .op("LOAD_NAME", 1)
                          .op("LOAD_NAME", 2)
                          .op("BUILD_LIST", 2)
                          .op("COPY", 1)
                          .op("LOAD_CONST", 0)
                          .op("LOAD_CONST", 1)
                          .op("BUILD_SLICE", 2)
                          .op("BINARY_SUBSCR")  // [:7]
                          .op("SWAP", 2)
                          .op("POP_TOP")
                          .op("BUILD_LIST", 0)
                          .op("SWAP", 2)
                          .op("LIST_EXTEND", 1)
                          .op("CALL_FUNCTION_EX", 0)
                          .op("RETURN_VALUE");
  const Assembler b = resumed()
                          .op("PUSH_NULL")
                          .op("LOAD_NAME", 0)
                          .op("LOAD_NAME", 1)
                          .op("LOAD_NAME", 2)
                          .op("CALL", 2)
                          .op("RETURN_VALUE");
  EXPECT_EQ(verdict(a, b), "equivalent");
  EXPECT_EQ(verdict(b, a), "equivalent");
}

// What Dynamo does to take a NULL from the stack.
TEST("a call of what returns None is no effect in generated code") {
  const auto popped = [](object::Known known) {
    Result<object::Module> module = resumed()
                                        .op("PUSH_NULL")
                                        .op("LOAD_CONST", 0)
                                        .op("CALL", 0)
                                        .op("POP_TOP")
                                        .op("LOAD_NAME", 0)
                                        .op("RETURN_VALUE")
                                        .read();
    object::Const function;
    function.kind = object::ConstKind::Opaque;
    function.integer = static_cast<int64_t>(known);
    function.text = module->strings.intern("_const_lambda");
    const object::ConstId id = module->add(std::move(function));
    module->codes.edit(module->root).consts[0] = id;
    return module;
  };
  const Result<object::Module> without = resumed().op("LOAD_NAME", 0).op("RETURN_VALUE").read();
  object::Facts facts;
  const auto verdict = [&](object::Known known) {
    const Result<object::Module> module = popped(known);
    Options options;
    options.facts = facts;
    return std::string(
        name_of(compare(*module, module->root, *without, without->root, options).status));
  };
  EXPECT_EQ(verdict(object::Known::ReturnsNone), "unproven");
  facts.steady.push_back("graph");
  EXPECT_EQ(verdict(object::Known::ReturnsNone), "equivalent");
  EXPECT_EQ(verdict(object::Known::Nothing), "unproven");
}

TEST("a loop that does nothing is not the end") {
  const Assembler spins = resumed().op("NOP").op("JUMP_BACKWARD", 2);
  const Assembler returns = resumed().op("LOAD_CONST", 0).op("RETURN_VALUE");
  EXPECT_EQ(verdict(spins, spins), "identical");
  EXPECT_EQ(verdict(spins, returns), "unproven: a loop without effects has no counterpart");
  EXPECT_EQ(verdict(returns, spins), "unproven: ReturnValue(None) / a loop without effects");
}

TEST("every sample proves itself, walked as well as read") {
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    Options options;
    EXPECT_EQ(name_of(compare(*module, module->root, *module, module->root, options).status),
              std::string("identical"));
    options.thorough = true;
    const Verdict verdict = compare(*module, module->root, *module, module->root, options);
    const CodeVerdict* unproven = verdict.first_unproven();
    EXPECT_EQ(version + (unproven ? ' ' + unproven->path + ": " + unproven->reason : ""), version);
  }
}

TEST("no two code objects of a sample are taken for each other") {
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    for (size_t i = 0; i < module->codes.size(); ++i) {
      for (size_t k = 0; k < module->codes.size(); ++k) {
        if (module->codes[i].name == module->codes[k].name) continue;
        const Verdict verdict =
            compare(*module, object::CodeId(i), *module, object::CodeId(k), Options());
        EXPECT(verdict.status == Status::Unproven);
      }
    }
  }
}

// Bytes exchanged at random: whatever comes out, comparing it does no harm, and if the instructions
// that run have changed, it is no longer identical.
TEST("damaged code is compared without harm") {
  uint64_t seed = 1;
  const auto random = [&](size_t below) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<size_t>(seed >> 33) % below;
  };
  size_t proven = 0, unproven = 0;
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    for (size_t i = 0; i < module->codes.size(); ++i) {
      for (int round = 0; round < 8; ++round) {
        object::Module with = *module;
        object::Code copy = module->codes[i];
        std::vector<uint8_t>& bytes = copy.bytecode;
        bytes[random(bytes.size())] = bytes[random(bytes.size())];
        const object::CodeId damaged = with.codes.push_back(std::move(copy));
        Options options;
        options.thorough = true;
        const Verdict verdict = compare(with, object::CodeId(i), with, damaged, options);
        ++(verdict.status == Status::Unproven ? unproven : proven);
      }
    }
  }
  EXPECT(proven > 0 && unproven > 0);
}

}  // namespace
}  // namespace pellucid::verify
