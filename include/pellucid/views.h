// SPDX-License-Identifier: Apache-2.0
// views.h: bytecode, flow graphs and stages as values, for programs that draw them. Experimental,
// and not installed. Names that could harm a display are escaped in everything here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/pellucid.h"

namespace pellucid {

// Returns the name of an error's kind, as Python's DecompileError has it: "unknown version".
const char* name_of(ErrorCode code);

// Returns the word for a verdict in all that is shown: "identical".
const char* name_of(Status status);

// One code object of a program.
struct CodeView {
  enum class Kind : uint8_t { Module, Function, Class, Lambda, Comprehension, Other };

  uint32_t code = 0;               // its number: Decompilation::codes
  std::string name;                // the qualified name
  std::string path;                // "<module>/f/<lambda>"
  std::optional<uint32_t> parent;  // the code object around it
  Kind kind = Kind::Module;
  int32_t first_line = 0;
};

// Returns the code objects of a program, outer ones first, the inner ones of each in the order in
// which it has them.
Result<std::vector<CodeView>> view_codes(const Program& program);

// One instruction as `dis` shows it.
struct InstructionView {
  uint32_t offset = 0;          // in bytes, after its EXTENDED_ARGs
  std::optional<int32_t> line;  // in the original source
  uint8_t opcode = 0;
  std::string_view name;
  std::optional<uint32_t> argument;
  std::string shown;              // what the argument stands for; empty: nothing
  std::optional<int64_t> target;  // of a jump
  bool is_target = false;         // some jump or handler leads here
};

// An entry of the exception table (3.11 and later), in bytes, half-open.
struct ProtectedView {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t target = 0;
  uint32_t depth = 0;
  bool lasti = false;
};

struct BytecodeView {
  std::vector<InstructionView> instructions;
  std::vector<ProtectedView> exceptions;
  std::string error;  // why it cannot be listed; else empty
};

// How much of the bytecode is wanted.
enum class Detail : uint8_t {
  Places,  // InstructionView::offset and line
  All,
};

// Returns the bytecode of every code object, by its number.
Result<std::vector<BytecodeView>> view_bytecode(const Program& program, Detail detail);

// One basic block. The lines are its canonical instructions, its exit last.
struct BlockView {
  struct Line {
    std::string text;
    uint32_t offset = 0;
    std::optional<int32_t> line;  // in the original source
  };
  uint32_t offset = 0;
  std::vector<Line> lines;
};

struct EdgeView {
  uint32_t from = 0;
  uint32_t to = 0;
  std::string_view kind;  // "goto", "true", "false", "none", "some", "item", "done", ...
};

// Blocks are in the order of their bytecode; their numbers are those of the stage "flow".
struct GraphView {
  std::vector<BlockView> blocks;
  std::vector<EdgeView> edges;
};

Result<GraphView> view_graph(const Program& program, uint32_t code);

// Returns one stage of one code object: dump() without the others.
Result<Dump> dump_of_code(const Program& program, std::string_view stage, uint32_t code);

struct StageView {
  std::string name;
  std::string about;
};

// Returns stages() and "dis", with what each is.
std::vector<StageView> view_stages();

}  // namespace pellucid
