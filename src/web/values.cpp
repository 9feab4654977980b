// SPDX-License-Identifier: Apache-2.0
#include "web/values.h"

#include <algorithm>

namespace pellucid::web {

std::string word_of(ErrorCode code) {
  std::string word = name_of(code);
  std::replace(word.begin(), word.end(), ' ', '-');
  return word;
}

const char* word_of(Severity severity) {
  return severity == Severity::Refused ? "refused" : "unstructured";
}

const char* word_of(CodeView::Kind kind) {
  switch (kind) {
    case CodeView::Kind::Module:
      return "module";
    case CodeView::Kind::Function:
      return "function";
    case CodeView::Kind::Class:
      return "class";
    case CodeView::Kind::Lambda:
      return "lambda";
    case CodeView::Kind::Comprehension:
      return "comprehension";
    case CodeView::Kind::Other:
      return "other";
  }
  return "other";
}

const char* word_of(archive::DataKind kind) {
  switch (kind) {
    case archive::DataKind::Code:
    case archive::DataKind::Carved:
      return "code";
    case archive::DataKind::Zip:
      return "zip";
    case archive::DataKind::Pyz:
      return "pyz";
    case archive::DataKind::Program:
      return "program";
    case archive::DataKind::Tar:
      return "tar";
    case archive::DataKind::Gzip:
    case archive::DataKind::Packed:
      return "compressed";
    case archive::DataKind::Pickle:
      return "pickle";
  }
  return "code";
}

std::string text_of(Version version) {
  return std::to_string(version.major) + '.' + std::to_string(version.minor);
}

std::string json_of_failure(const std::string& code, uint64_t offset, const std::string& reason) {
  return Object().add("code", code).add("offset", offset).add("reason", reason).text();
}

std::string json_of(const Diagnostic& said) {
  return Object()
      .add("severity", word_of(said.severity))
      .add("code", said.code)
      .add("name", said.name)
      .add("offset", said.offset)
      .add("message", said.message)
      .text();
}

std::string json_of(const Rename& renamed) {
  return Object().add("given", renamed.given).add("original", renamed.original).text();
}

std::string json_of(const LineOrigin& origin) {
  return Object()
      .add("line", origin.line)
      .add("lastLine", origin.last_line)
      .add("code", origin.code)
      .add("offset", origin.offset)
      .add_json("offsets", array(origin.offsets))
      .add("originalLine", origin.original_line)
      .text();
}

std::string json_of(const Finding& found) {
  return Object()
      .add("kind", found.kind)
      .add("text", found.text)
      .add("offset", found.offset)
      .add("isCommon", found.is_common)
      .text();
}

std::string json_of(const InstructionView& instruction) {
  return Object()
      .add("offset", instruction.offset)
      .add("line", instruction.line)
      .add("opcode", instruction.opcode)
      .add("opname", instruction.name)
      .add("arg", instruction.argument)
      .add("argrepr", instruction.shown)
      .add("target", instruction.target)
      .add("isTarget", instruction.is_target)
      .text();
}

std::string json_of(const ProtectedView& range) {
  return Object()
      .add("start", range.begin)
      .add("end", range.end)
      .add("target", range.target)
      .add("depth", range.depth)
      .add("lasti", range.lasti)
      .text();
}

std::string json_of(const BlockView& block, size_t id) {
  using Line = BlockView::Line;
  return Object()
      .add("id", id)
      .add("offset", block.offset)
      .add_json("lines", array(block.lines, [](const Line& line) { return json(line.text); }))
      .add_json("offsets", array(block.lines, [](const Line& line) { return json(line.offset); }))
      .add_json("originalLines",
                array(block.lines, [](const Line& line) { return json(line.line); }))
      .text();
}

std::string json_of(const EdgeView& edge) {
  return Object()
      .add("from", edge.from)
      .add("to", edge.to)
      .add("kind", edge.kind)
      .add("isBack", edge.to <= edge.from)
      .text();
}

void add_place(Object& object, const CodeView& code) {
  object.add("code", code.code)
      .add("name", code.name)
      .add("path", code.path)
      .add("parent", code.parent);
}

}  // namespace pellucid::web
