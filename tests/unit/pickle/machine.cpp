// SPDX-License-Identifier: Apache-2.0
// The machine: every opcode makes the value that CPython's pickle would, and calls nothing.
#include "pickle/machine.h"

#include <string>
#include <string_view>
#include <vector>

#include "pickle/stream.h"
#include "pickle/text.h"
#include "testing.h"

namespace pellucid::pickle {
namespace {

using std::string_view_literals::operator""sv;

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Returns the value of a pickle, or "fails at N: why".
std::string value_of(std::string_view text) {
  const Graph graph = run(bytes_of(text));
  if (graph.has_failed) {
    return "fails at " + std::to_string(graph.failure.offset) + ": " + graph.failure.message;
  }
  return repr(graph, graph.result);
}

// Returns what loading would do, one line each.
std::string acts_of(std::string_view text) {
  const Graph graph = run(bytes_of(text));
  std::string lines;
  for (const Effect& effect : graph.effects) lines += act_of(graph, effect).text + '\n';
  return lines;
}

std::string whys_of(std::string_view text) {
  const Graph graph = run(bytes_of(text));
  std::string lines;
  for (const Effect& effect : graph.effects) lines += act_of(graph, effect).why + '\n';
  return lines;
}

TEST("a pickle of protocol 0 makes plain values") {
  EXPECT_EQ(value_of("(I1\nI01\nI00\nL-5L\nF1.5\nS'a\\x41'\nVb\\u00e9\nNtp0\n."),
            "(1, True, False, -5, 1.5, 'aA', 'b\\xe9', None)");
  EXPECT_EQ(value_of("(lp0\nI1\naI2\na."), "[1, 2]");
  EXPECT_EQ(value_of("(dp0\nS'k'\nI7\ns."), "{'k': 7}");
  EXPECT_EQ(value_of("I0x10\n."), "16");
  EXPECT_EQ(value_of("I010\n."), "8");
  EXPECT_EQ(value_of("L123456789012345678901234567890L\n."), "0x00018ee90ff6c373e0ee4e3f0ad2");
}

TEST("binary opcodes make plain values") {
  EXPECT_EQ(value_of("\x80\x02(K\x05M\x00\x01J\xff\xff\xff\xff\x8a\x02\x00\x80\x88\x89Nt."sv),
            "(5, 256, -1, -32768, True, False, None)");
  EXPECT_EQ(value_of("\x80\x02G\x3f\xf8\0\0\0\0\0\0."sv), "1.5");
  EXPECT_EQ(value_of("\x80\x04\x8c\x02hiC\x02\xff\0\x86."sv), "('hi', b'\\xff\\x00')");
  EXPECT_EQ(value_of("\x80\x04\x8f(K\x01K\x02\x90."sv), "{1, 2}");
  EXPECT_EQ(value_of("\x80\x04(K\x01\x91."sv), "frozenset({1})");
  EXPECT_EQ(value_of("\x80\x05\x96\x02\0\0\0\0\0\0\0ab."sv), "bytearray(b'ab')");
  EXPECT_EQ(value_of("\x80\x02]K\x01K\x02\x87."sv), "([], 1, 2)");
  EXPECT_EQ(value_of("\x80\x02K\x01\x85."sv), "(1,)");
  EXPECT_EQ(value_of("\x80\x02}(K\x01K\x02u."sv), "{1: 2}");
}

TEST("the memo gives what was put there") {
  EXPECT_EQ(value_of("I5\np7\n0g7\n."), "5");
  EXPECT_EQ(value_of("\x80\x04K\x05\x94K\x06\x94h\0h\x01\x86."sv), "(5, 6)");
  EXPECT_EQ(value_of("\x80\x02K\x05r\xff\xff\xff\xff\x30j\xff\xff\xff\xff."sv), "5");
  EXPECT_EQ(value_of("\x80\x02K\x05h\x09."sv), "fails at 4: no memo value at index 9");
  EXPECT_EQ(value_of("I5\np-1\n."), "fails at 3: a negative memo index");
}

TEST("marks divide the stack") {
  EXPECT_EQ(value_of("I1\n(I2\n1."), "1");
  EXPECT_EQ(value_of("I1\n(0."), "1");
  EXPECT_EQ(value_of("I1\n2\x86."), "(1, 1)");
  EXPECT_EQ(value_of("I1\n(\x85."), "fails at 4: a mark where a value should be");
  EXPECT_EQ(value_of("t."), "fails at 0: no mark on the stack");
  EXPECT_EQ(value_of("0."), "fails at 0: the stack is empty");
}

TEST("a call is a value, and what it does is listed in order") {
  constexpr std::string_view kSystem = "cos\nsystem\n(S'id'\ntR.";
  EXPECT_EQ(value_of(kSystem), "os.system('id')");
  EXPECT_EQ(acts_of(kSystem), "imports os.system\ncalls os.system('id')\n");
  EXPECT_EQ(value_of("(S'id'\nios\nsystem\n."), "os.system('id')");
  EXPECT_EQ(value_of("(cos\nsystem\nS'id'\no."), "os.system('id')");
  EXPECT_EQ(value_of("\x80\x02"
                     "ca\nB\n)\x81}(X\x01\0\0\0kK\x01ub."sv),
            "a.B.__new__()");
  EXPECT_EQ(acts_of("\x80\x02"
                    "ca\nB\n)\x81}(X\x01\0\0\0kK\x01ub."sv),
            "imports a.B\ncalls a.B.__new__()\nsets the state of a.B.__new__() to {'k': 1}\n");
  EXPECT_EQ(acts_of("\x80\x02"
                    "ca\nB\n)\x81K\x01"
                    "aK\x02K\x03s."sv),
            "imports a.B\ncalls a.B.__new__()\nappends 1 to a.B.__new__()\n"
            "stores 2, 3 in a.B.__new__()\n");
  EXPECT_EQ(value_of("K\x01)R."), "fails at 3: a call of a value that is not callable");
}

TEST("what the program gives is listed: persistent ids, extensions, buffers") {
  EXPECT_EQ(acts_of("Pabc\n."), "asks the program for persistent_load('abc')\n");
  EXPECT_EQ(acts_of("\x80\x02K\x07Q."sv), "asks the program for persistent_load(7)\n");
  EXPECT_EQ(acts_of("\x80\x02\x82\x09."sv), "looks up extension 9 in the registry of copyreg\n");
  EXPECT_EQ(acts_of("\x80\x05\x97\x98."sv), "takes buffer 0 from the program\n");
}

TEST("a failure keeps what came before it") {
  const Graph graph = run(bytes_of("cos\nsystem\n(S'id'\ntRXX"));
  EXPECT(graph.has_failed);
  EXPECT_EQ(graph.effects.size(), size_t{2});
  EXPECT_EQ(value_of("\x80\x04K\x01"sv), "fails at 4: unexpected end without STOP");
  EXPECT_EQ(value_of("\x80\x09."sv), "fails at 0: unsupported protocol");
  EXPECT_EQ(value_of("\xff"sv), "fails at 0: unknown opcode");
  EXPECT_EQ(value_of("\x80\x04\x95\xff\0\0\0\0\0\0\0."sv),
            "fails at 2: a frame is longer than the file");
  EXPECT_EQ(value_of("X\xff\xff\xff\xff"
                     "a"sv),
            "fails at 0: unexpected end");
}

TEST("values, marks, the stack and the memo are limited") {
  for (const std::string_view text : {"NNNNNNNNN"sv, "((((((((("sv, "N22222222"sv,
                                      "\x80\x04N\x94\x94\x94\x94\x94\x94\x94\x94"sv}) {
    const Graph graph = run(bytes_of(text), 0, 3);
    EXPECT(graph.failure.code == ErrorCode::Limit);
    EXPECT_EQ(graph.failure.message, "more values than pellucid reads");
  }
}

TEST("names are followed through getattr, attrgetter and __import__, and into modules") {
  EXPECT_EQ(whys_of("cshutil\nos.system\n."), "acts on the system\n");
  EXPECT_EQ(whys_of("c__builtin__\neval\n."), "evaluates an expression\n");
  const std::string chain =
      "cbuiltins\ngetattr\n(cbuiltins\n__import__\n(S'os'\ntRS'system'\ntR"
      "(S'id'\ntR.";
  EXPECT(whys_of(chain).ends_with("acts on the system\n"));
  const std::string getter =
      "coperator\nattrgetter\n(S'system'\ntR(cbuiltins\n__import__\n"
      "(S'os'\ntRtR(S'id'\ntR.";
  EXPECT(whys_of(getter).ends_with("acts on the system\n"));
  EXPECT(whys_of("cdill._dill\n_get_attr\n(S'os'\nS'system'\ntR(S'id'\ntR.")
             .ends_with("acts on the system\n"));
  EXPECT_EQ(whys_of("ccollections\nOrderedDict\n)R."), "makes a value\nmakes a value\n");
  EXPECT_EQ(whys_of("cmodels\nNet\n)R."), "\n\n");
}

TEST("a name may be computed by pure functions") {
  const std::string decoded =
      "\x80\x04\x8c\x07"
      "_codecs\x8c\x06"
      "decode\x93\x8c\x02"
      "bf\x8c\x05"
      "rot13\x86R\x8c\x06"
      "system\x93.";
  EXPECT_EQ(value_of(decoded), "os.system");
  const std::string joined =
      "cbuiltins\ngetattr\n(S''\nS'join'\ntR((S'o'\nS's'\nltR"
      "\x8c\x06"
      "system\x93.";
  EXPECT_EQ(value_of(joined), "os.system");
}

TEST("pickles follow each other and are in each other's bytes") {
  const Contents two = read(bytes_of("\x80\x02K\x01.\x80\x02K\x02.rest"sv));
  EXPECT_EQ(two.pickles.size(), size_t{2});
  EXPECT_EQ(two.end, uint64_t{10});
  const Contents inner =
      read(bytes_of("\x80\x03"
                    "C\x05\x80\x02K\x01.."sv));
  REQUIRE(inner.pickles.size() == 2);
  EXPECT_EQ(inner.pickles[1].inside, "in the bytes at 0x4");
}

TEST("text is told from pickles of protocol 0") {
  EXPECT(is_pickle(bytes_of("cos\nsystem\n(S'id'\ntR.")));
  EXPECT(is_pickle(bytes_of("cos\nsystem\n(S'id'\ntR")));
  EXPECT(is_pickle(bytes_of("(lp0\nI1\na.")));
  EXPECT(!is_pickle(bytes_of("import os\nos.system('id')\n")));
  EXPECT(!is_pickle(bytes_of("N.")));
  EXPECT(!is_pickle(bytes_of("cats and dogs\nare animals\n(they are).")));
}

}  // namespace
}  // namespace pellucid::pickle
