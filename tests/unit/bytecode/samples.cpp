// SPDX-License-Identifier: Apache-2.0
// bytecode::decode on whole compiled files: it agrees with `dis`, and survives any damage.
#include <algorithm>

#include "bytecode/decode.h"
#include "object/pyc.h"
#include "samples.h"
#include "testing.h"

namespace pellucid::bytecode {
namespace {

TEST("decoding the samples agrees with dis in every version") {
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    object::check(*module);
    std::string listing;
    for (size_t i = 0; i < module->codes.size(); ++i) {
      const Result<Stream> stream = decode(*module, object::CodeId(i));
      REQUIRE(stream.ok());
      check(*module, *stream);
      listing += dump_raw(*module, *stream);
    }
    EXPECT_EQ(listing, testing::sample_file(version, ".dis"));
  }
}

// Reads and decodes whatever it is; returns whether it was valid.
bool survives(const std::vector<uint8_t>& pyc) {
  const Result<object::Module> module = object::read_pyc(pyc);
  if (!module.ok()) return false;
  object::check(*module);
  EXPECT(!object::dump(*module).empty());
  bool valid = true;
  for (size_t i = 0; i < module->codes.size(); ++i) {
    const Result<Stream> stream = decode(*module, object::CodeId(i));
    valid = valid && stream.ok();
    if (!stream.ok()) continue;
    check(*module, *stream);
    EXPECT(!dump(*module, *stream).empty());
    EXPECT(!dump_raw(*module, *stream).empty());
  }
  return valid;
}

TEST("a .pyc with any bit flipped is read or refused") {
  for (const std::string& version : testing::sample_versions()) {
    std::vector<uint8_t> bytes = testing::sample_pyc(version);
    REQUIRE(survives(bytes));
    int refused = 0;
    for (size_t at = 0; at < bytes.size(); at += 7) {
      // All bits of all bytes take 56 times as long and find the same.
      const auto bit = static_cast<uint8_t>(1 << at % 8);
      bytes[at] ^= bit;
      refused += survives(bytes) ? 0 : 1;
      bytes[at] ^= bit;
    }
    EXPECT(refused > 100);
  }
}

// A small generator of its own, so that a failure repeats everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t below(size_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state_ >> 33) % limit);
  }

 private:
  uint64_t state_;
};

TEST("a .pyc with bytes overwritten at random is read or refused") {
  for (const std::string& version : testing::sample_versions()) {
    const std::vector<uint8_t> whole = testing::sample_pyc(version);
    Random random(whole.size());
    for (int round = 0; round < 150; ++round) {
      std::vector<uint8_t> bytes = whole;
      for (uint32_t i = random.below(8) + 1; i > 0; --i) {
        bytes[16 + random.below(bytes.size() - 16)] = static_cast<uint8_t>(random.below(256));
      }
      survives(bytes);
    }
  }
}

TEST("bytecode and tables with bytes overwritten at random are decoded or refused") {
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> whole = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(whole.ok());
    Random random(7);
    for (int round = 0; round < 200; ++round) {
      Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
      const object::CodeId changed(random.below(module->codes.size()));
      object::Code& code = module->codes.edit(changed);
      for (std::vector<uint8_t>* bytes : {&code.bytecode, &code.linetable, &code.exceptiontable}) {
        if (bytes->empty() || random.below(3) == 0) continue;
        (*bytes)[random.below(bytes->size())] = static_cast<uint8_t>(random.below(256));
        if (random.below(8) == 0) bytes->resize(random.below(bytes->size() + 1));
      }
      const Result<Stream> stream = decode(*module, changed);
      if (!stream.ok()) continue;
      check(*module, *stream);
      EXPECT(!dump(*module, *stream).empty());
    }
  }
}

}  // namespace
}  // namespace pellucid::bytecode
