// SPDX-License-Identifier: Apache-2.0
// object::read_marshal and read_pyc: every kind of constant, every version's layout, bad input.
#include <ctime>

#include "object/marshal_writer.h"
#include "object/pyc.h"
#include "object/repr.h"
#include "samples.h"
#include "testing.h"

namespace pellucid::object {
namespace {

using testing::CodeWriter;
using testing::MarshalWriter;

// The repr of a marshalled constant, or the error.
std::string read_constant(const MarshalWriter& constant, Version version = {3, 12}) {
  CodeWriter code;
  code.version = version;
  code.const_count = 1;
  code.consts = constant;
  const Result<Module> module = code.read();
  if (!module.ok()) return module.error().message;
  check(*module);
  return repr(*module, (*module)[module->root].consts[0]);
}

std::string hex_float(uint64_t bits) {
  MarshalWriter writer;
  return read_constant(writer.type('g').number(static_cast<int64_t>(bits), 8));
}

TEST("marshal reads constants of every type") {
  EXPECT_EQ(read_constant(MarshalWriter().type('N')), "None");
  EXPECT_EQ(read_constant(MarshalWriter().type('T')), "True");
  EXPECT_EQ(read_constant(MarshalWriter().type('F')), "False");
  EXPECT_EQ(read_constant(MarshalWriter().type('.')), "Ellipsis");
  EXPECT_EQ(read_constant(MarshalWriter().type('S')), "StopIteration");
  EXPECT_EQ(read_constant(MarshalWriter().type('i').number(-5)), "-5");
  EXPECT_EQ(hex_float(0x8000000000000000u), "-0.0");
  EXPECT_EQ(hex_float(0x7ff0000000000000u), "inf");
  EXPECT_EQ(read_constant(MarshalWriter().type('f').byte(3).byte('1').byte('.').byte('5')), "1.5");
  EXPECT_EQ(read_constant(MarshalWriter().type('y').number(0, 8).number(0x3ff0000000000000, 8)),
            "complex(0.0, 1.0)");
  EXPECT_EQ(read_constant(MarshalWriter().text('u', "\xc3\xa9")), "'\\xe9'");
  EXPECT_EQ(read_constant(MarshalWriter().text('a', "it's")), "'it\\'s'");
  EXPECT_EQ(read_constant(MarshalWriter().type('z').byte(1).byte(0xe9)), "'\\xe9'");
  EXPECT_EQ(read_constant(MarshalWriter().text('s', std::string("\0\xff", 2))), "b'\\x00\\xff'");
  EXPECT_EQ(read_constant(MarshalWriter().type(')').byte(1).type('N')), "(None,)");
  EXPECT_EQ(read_constant(MarshalWriter().type('[').number(1).type('N')), "[None]");
  EXPECT_EQ(read_constant(MarshalWriter().type('>').number(1).type('T')), "frozenset({True})");
  EXPECT_EQ(read_constant(MarshalWriter().type('<').number(1).type('T')), "{True}");
  EXPECT_EQ(read_constant(MarshalWriter().type('{').type('T').type('F').type('0')),
            "{True: False}");
}

TEST("marshal reads long integers, small ones as Int") {
  EXPECT_EQ(read_constant(MarshalWriter().type('l').number(0)), "0");
  EXPECT_EQ(read_constant(MarshalWriter().type('l').number(-1).number(7, 2)), "-7");
  // 2**63 - 1, -(2**63), 2**63: the ends of int64_t.
  MarshalWriter largest;
  largest.type('l').number(5);
  for (int i = 0; i < 4; ++i) largest.number(0x7fff, 2);
  EXPECT_EQ(read_constant(largest.number(7, 2)), "9223372036854775807");
  MarshalWriter smallest;
  smallest.type('l').number(-5).number(0, 8);
  EXPECT_EQ(read_constant(smallest.number(8, 2)), "-9223372036854775808");
  MarshalWriter beyond;
  beyond.type('l').number(5).number(0, 8);
  EXPECT_EQ(read_constant(beyond.number(8, 2)), "0x8000000000000000");
  EXPECT_EQ(read_constant(MarshalWriter().type('l').number(1).number(0x8000, 2)),
            "marshal: digit of a long out of range at byte 0x1f");
}

TEST("marshal keeps lone surrogates and refuses what is no UTF-8") {
  EXPECT_EQ(read_constant(MarshalWriter().text('u', "\xed\xb2\x80")), "'\\udc80'");
  EXPECT_EQ(read_constant(MarshalWriter().text('u', "\xc0\x80")),
            "marshal: string is not UTF-8 at byte 0x1f");
}

TEST("marshal follows references and refuses those to an enclosing object") {
  MarshalWriter shared;
  shared.tuple(3).kept('u').number(1).byte('x').reference(0).reference(0);
  EXPECT_EQ(read_constant(shared), "('x', 'x', 'x')");
  EXPECT_EQ(read_constant(MarshalWriter().reference(7)),
            "marshal: reference 7 out of range at byte 0x1f");
  EXPECT_EQ(read_constant(MarshalWriter().kept('(').number(1).reference(0)),
            "marshal: reference 0 to an object that holds it at byte 0x24");
}

TEST("marshal has slices since 3.14") {
  MarshalWriter slice;
  slice.type(':').type('N').type('i').number(2).type('N');
  EXPECT_EQ(read_constant(slice, {3, 14}), "slice(None, 2, None)");
  EXPECT_EQ(read_constant(slice, {3, 13}), "marshal: unknown type code 0x3a at byte 0x1f");
}

TEST("marshal stops at lengths that the input cannot hold") {
  EXPECT_EQ(read_constant(MarshalWriter().tuple(0x7fffffff)),
            "marshal: unexpected end at byte 0x5f");
  EXPECT_EQ(read_constant(MarshalWriter().tuple(-1)), "marshal: negative length at byte 0x1f");
}

TEST("marshal stops at nesting deeper than CPython's") {
  MarshalWriter deep;
  for (int i = 0; i < 1900; ++i) deep.tuple(1);
  EXPECT_EQ(read_constant(deep.type('N')).substr(0, 3), "(((");
  MarshalWriter deeper;
  for (int i = 0; i < 100000; ++i) deeper.tuple(1);
  EXPECT_EQ(read_constant(deeper.type('N')).substr(0, 26), "marshal: nested too deeply");
}

TEST("marshal stops where many code objects share one huge object") {
  CodeWriter inner;
  MarshalWriter out;
  out.tuple(200).kept('s').number(1 << 20);
  out.bytes.resize(out.bytes.size() + (1 << 20));
  for (int i = 1; i < 200; ++i) {
    out.type('c').number(0).number(0).number(0).number(1).number(0).reference(0).tuple(0);
    out.tuple(0).tuple(0).data("").name("f").name("f").name("f").number(1).data("").data("");
  }
  CodeWriter code;
  code.const_count = 1;
  code.consts = out;
  const Result<Module> module = code.read();
  REQUIRE(!module.ok());
  EXPECT(module.error().code == ErrorCode::Limit);
}

TEST("marshal reads a long table once, however often it is referred to") {
  constexpr int kMany = 20000;
  CodeWriter code;
  code.consts.tuple(1 + kMany);
  code.consts.type('c').number(0).number(0).number(0).number(1).number(0);
  code.consts.kept('s').number(1 << 20);
  code.consts.bytes.resize(code.consts.bytes.size() + (1 << 20), 9);
  code.consts.tuple(0).tuple(0).tuple(0).data("").name("f").name("f").name("f").number(1);
  code.consts.data("").data("");
  for (int i = 0; i < kMany; ++i) code.consts.reference(0);
  code.const_count = 1;
  const auto begun = std::clock();
  const Result<Module> module = code.read();
  // (Reading it for each reference takes half a minute.)
  EXPECT(std::clock() - begun < 3 * CLOCKS_PER_SEC);
  REQUIRE(!module.ok());
  EXPECT(module.error().code == ErrorCode::Limit);
}

TEST("code objects get the slots of fast locals in every version") {
  for (const uint8_t minor : {8, 10, 11, 14}) {
    CodeWriter code;
    code.version = {3, minor};
    code.varnames = {"a", "b"};
    code.cellvars = {"c"};
    code.freevars = {"d"};
    const Result<Module> module = code.read();
    REQUIRE(module.ok());
    check(*module);
    const std::string text = dump(*module);
    EXPECT(text.find("localsplus 'a':local 'b':local 'c':cell 'd':free") != std::string::npos);
    EXPECT(text.find("cellvars 'c'\n  freevars 'd'") != std::string::npos);
  }
}

TEST("an argument that is a cell has one slot until 3.10 too") {
  CodeWriter code;
  code.version = {3, 9};
  code.varnames = {"a"};
  code.cellvars = {"a"};
  const Result<Module> module = code.read();
  REQUIRE(module.ok());
  EXPECT(dump(*module).find("localsplus 'a':cell-local\n") != std::string::npos);
}

TEST("pyc headers that are wrong say why") {
  const auto message = [](std::vector<uint8_t> bytes) {
    const Result<Module> module = read_pyc(bytes);
    return module.ok() ? "read" : module.error().message;
  };
  EXPECT_EQ(message({}), "pyc: the file is empty");
  EXPECT_EQ(message({0x55, 0x0d, 0x0d}),
            "pyc: the file ends within its header of 16 bytes (it has 3)");
  EXPECT_EQ(message(std::vector<uint8_t>(20, 'x')), "pyc: not a .pyc file (no CR LF at byte 0x2)");
  std::vector<uint8_t> header(17);
  header[2] = '\r';
  header[3] = '\n';
  EXPECT_EQ(message(header), "pyc: unknown magic number 0 (CPython 3.8-3.15 are supported)");
  const auto magic = [&](int number) {
    header[0] = static_cast<uint8_t>(number & 0xff);
    header[1] = static_cast<uint8_t>(number >> 8);
    const std::string said = message(header);
    return said.substr(0, said.find(" ("));
  };
  EXPECT_EQ(magic(3394), "pyc: magic number 3394 of CPython 3.7");
  EXPECT_EQ(magic(3650), "pyc: magic number 3650 of a pre-release of CPython 3.15");
  EXPECT_EQ(magic(3555), "pyc: magic number 3555 of a pre-release of CPython 3.13");
}

TEST("magic numbers of the final releases are known") {
  const int finals[] = {3413, 3425, 3439, 3495, 3531, 3571, 3627, 3666};
  for (int i = 0; i < 8; ++i) {
    const auto version = version_of_magic(static_cast<uint16_t>(finals[i]));
    EXPECT(version && *version == Version({3, static_cast<uint8_t>(8 + i)}));
  }
  EXPECT(!version_of_magic(3394));
  EXPECT(!version_of_magic(20121));
}

TEST("magic numbers of pre-releases are those of a release only where the format is") {
  // 3410 takes the operands of MAP_ADD the other way round, 3568 has no cache after CONTAINS_OP,
  // 3664 none after GET_ITER.
  for (const int other : {3410, 3424, 3437, 3493, 3530, 3568, 3622, 3664}) {
    EXPECT(!version_of_magic(static_cast<uint16_t>(other)));
    EXPECT(origin_of_magic(static_cast<uint16_t>(other)).has_value());
  }
  for (const int same : {3411, 3438, 3494, 3569, 3623, 3665}) {
    EXPECT(version_of_magic(static_cast<uint16_t>(same)).has_value());
    EXPECT(!is_final(static_cast<uint16_t>(same)));
  }
}

TEST("a .pyc cut at any byte is one clear error") {
  for (const std::string& version : testing::sample_versions()) {
    const std::vector<uint8_t> whole = testing::sample_pyc(version);
    REQUIRE(read_pyc(whole).ok());
    // All before a cut is read again for each, and the last quarters have no more kinds of fields.
    for (size_t size = 0; size < whole.size(); size += size < whole.size() / 4 ? 1 : 7) {
      // A copy of its own, so that the sanitizer sees a read past the end.
      const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<long>(size));
      const Result<Module> module = read_pyc(cut);
      REQUIRE(!module.ok());
      REQUIRE(module.error().code == ErrorCode::Truncated);
      REQUIRE(!module.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace pellucid::object
