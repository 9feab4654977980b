// SPDX-License-Identifier: Apache-2.0
// Canonical streams for tests, written as text:
//
//   build({3, 12}, R"(
//           LoadFast x
//     loop: BranchFalse done
//           Jump loop
//     done: LoadConst None
//           ReturnValue
//     try loop..done -> done depth 0 lasti
//   )")
//
// Constants are None, numbers, and the functions of a generator that known.h lists: `ReturnsNone`,
// and `Rotates3` of three arguments. One instruction a line, `b=1` after its operand; instruction i
// has the offset 2 * i. `try` lines are the exception table of 3.11+.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "flow/build.h"
#include "object/known.h"

namespace pellucid::testing {

struct TextCode {
  object::Module module;
  bytecode::Stream stream;

  TextCode(object::Version version, const std::string& text) {
    module.version = version;
    object::Code code;
    code.version = version;
    code.qualname = module.strings.intern("f");
    code.consts.push_back(module.add({}));
    module.root = stream.code = module.codes.push_back(std::move(code));
    read(text);
  }

  // The dump of the graph without its heading, or the error.
  std::string graph() const {
    const Result<flow::Graph> graph = flow::build(module, stream);
    if (!graph.ok()) return graph.error().message;
    flow::check(module, *graph);
    const std::string dump = flow::dump(module, *graph);
    return '\n' + dump.substr(dump.find('\n') + 1);
  }

 private:
  struct Line {
    std::string op;
    std::vector<std::string> words;
  };

  void read(const std::string& text) {
    std::vector<Line> lines, tries;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      Line read;
      for (std::string word; words >> word;) {
        if (read.op.empty() && word.back() == ':')
          labels_[word.substr(0, word.size() - 1)] = static_cast<uint32_t>(lines.size());
        else if (read.op.empty())
          read.op = word;
        else
          read.words.push_back(word);
      }
      if (!read.op.empty()) (read.op == "try" ? tries : lines).push_back(read);
    }
    labels_.try_emplace("end", static_cast<uint32_t>(lines.size()));
    for (const Line& line : lines) add(line);
    for (const Line& line : tries) add_try(line.words);
  }

  void add(const Line& line) {
    bytecode::Instr instr;
    instr.op = op_of(line.op);
    instr.raw = static_cast<uint32_t>(stream.instrs.size());
    instr.offset = 2 * instr.raw;
    instr.line = 1;
    for (const std::string& word : line.words) {
      if (word.starts_with("b="))
        instr.b = number(word.substr(2));
      else
        instr.a = operand(bytecode::operand_of(instr.op), word);
    }
    stream.instrs.push_back(instr);
    bytecode::RawInstr raw;
    raw.offset = raw.start = instr.offset;
    stream.raw.push_back(raw);
  }

  uint32_t operand(bytecode::Operand kind, const std::string& word) {
    switch (kind) {
      case bytecode::Operand::Target:
        return label(word);
      case bytecode::Operand::Const: {
        if (word == "None") return 0;
        return module.add(constant(word)).value;
      }
      case bytecode::Operand::Name:
      case bytecode::Operand::Local:
      case bytecode::Operand::Cell:
        return module.strings.intern(word).value;
      case bytecode::Operand::None:
      case bytecode::Operand::Count:
      case bytecode::Operand::Depth:
      case bytecode::Operand::Operator:
      case bytecode::Operand::Flags:
      case bytecode::Operand::Kind:
        return number(word);
    }
    return 0;
  }

  object::Const constant(const std::string& word) {
    object::Const made;
    const bool is_number = word.find_first_not_of("-0123456789") == std::string::npos;
    made.kind = is_number ? object::ConstKind::Int : object::ConstKind::Opaque;
    if (is_number) {
      made.integer = std::stol(word);
      return made;
    }
    made.text = module.strings.intern(word);
    if (word == "ReturnsNone") made.integer = static_cast<int64_t>(object::Known::ReturnsNone);
    if (word.starts_with("Rotates")) made.integer = object::rotates(number(word.substr(7)));
    return made;
  }

  // begin..end -> target depth N [lasti]
  void add_try(const std::vector<std::string>& words) {
    bytecode::ExceptionEntry entry;
    const size_t dots = words[0].find("..");
    entry.begin = label(words[0].substr(0, dots));
    entry.end = label(words[0].substr(dots + 2));
    entry.target = label(words[2]);
    entry.depth = number(words[4]);
    entry.lasti = words.size() > 5;
    stream.exceptions.push_back(entry);
  }

  static uint32_t number(const std::string& word) {
    return static_cast<uint32_t>(std::stoul(word));
  }
  uint32_t label(const std::string& word) const {
    PELLUCID_CHECK(labels_.contains(word));
    return labels_.at(word);
  }
  static bytecode::Op op_of(std::string_view name) {
    uint32_t op = 0;
    while (bytecode::name_of(static_cast<bytecode::Op>(op)) != name)
      PELLUCID_CHECK(op++ < static_cast<uint32_t>(bytecode::Op::WithCleanupFinish));
    return static_cast<bytecode::Op>(op);
  }

  std::map<std::string, uint32_t> labels_;
};

inline std::string graph(object::Version version, const std::string& text) {
  return TextCode(version, text).graph();
}

}  // namespace pellucid::testing
