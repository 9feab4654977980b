// SPDX-License-Identifier: Apache-2.0
#include "web/links.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace pellucid::web {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

size_t indentation_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Returns true if a line begins a suite that is no statement of its own.
bool begins_suite(std::string_view line) {
  line.remove_prefix(indentation_of(line));
  if (!line.ends_with(':')) return false;
  constexpr std::string_view kWords[] = {"else:", "try:", "finally:", "except", "elif ", "case "};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return line.starts_with(word); });
}

bool is_try(const std::vector<std::string_view>& lines, uint32_t line) {
  if (line == 0 || line > lines.size()) return false;
  const std::string_view text = lines[line - 1];
  return text.substr(indentation_of(text)) == "try:";
}

// Finds the last line of each statement: before the next one, before a line that begins another
// suite, and without empty lines and comments.
void find_ends(const std::vector<std::string_view>& lines, std::vector<LineOrigin>& origins) {
  const auto line_at = [&](uint32_t line) {
    return line >= 1 && line <= lines.size() ? lines[line - 1] : std::string_view();
  };
  for (size_t i = 0; i < origins.size(); ++i) {
    LineOrigin& origin = origins[i];
    // Statements on one line end on one line.
    if (i > 0 && origins[i - 1].line == origin.line) {
      origin.last_line = origins[i - 1].last_line;
      continue;
    }
    auto next = static_cast<uint32_t>(lines.size() + 1);
    for (size_t k = i + 1; k < origins.size(); ++k) {
      if (origins[k].line == origin.line) continue;
      next = std::max(origins[k].line, origin.line + 1);
      break;
    }
    const size_t own = indentation_of(line_at(origin.line));
    origin.last_line = origin.line;
    for (uint32_t line = origin.line + 1; line < next; ++line) {
      const std::string_view here = line_at(line);
      const size_t indentation = indentation_of(here);
      if (indentation <= own && begins_suite(here)) break;
      if (indentation == here.size() || here[indentation] == '#') continue;
      origin.last_line = line;
    }
  }
}

// Returns the statement of an instruction. `by_line` and `by_offset` are those of its code object
// in the order of their original lines, or only of their offsets.
LineOrigin* statement_of(const InstructionView& instruction,
                         const std::vector<LineOrigin*>& by_line,
                         const std::vector<LineOrigin*>& by_offset) {
  if (instruction.line) {
    const auto end = std::upper_bound(
        by_line.begin(), by_line.end(), *instruction.line,
        [](int32_t line, const LineOrigin* origin) { return line < *origin->original_line; });
    if (end == by_line.begin()) return nullptr;
    // Of several statements on one line, the first that ends after the instruction: an offset is
    // that of the instruction that does what the statement says. Of a `try` and its first
    // statement, the latter.
    const int32_t line = *(*(end - 1))->original_line;
    const auto begin = std::partition_point(by_line.begin(), end, [&](const LineOrigin* origin) {
      return *origin->original_line < line;
    });
    const auto found = std::partition_point(begin, end, [&](const LineOrigin* origin) {
      return origin->offset.value_or(0) < instruction.offset;
    });
    if (found == end) return *(end - 1);
    const std::optional<uint32_t> offset = (*found)->offset;
    return *(std::partition_point(
                 found, end, [&](const LineOrigin* origin) { return origin->offset == offset; }) -
             1);
  }
  const auto end = std::upper_bound(
      by_offset.begin(), by_offset.end(), instruction.offset,
      [](uint32_t offset, const LineOrigin* origin) { return offset < *origin->offset; });
  return end == by_offset.begin() ? nullptr : *(end - 1);
}

// Gives the instructions of one code object to its statements: by their line in the original, and
// those without one to the statement of the instruction before them.
void share_out(const BytecodeView& bytecode, const std::vector<LineOrigin*>& own) {
  std::vector<LineOrigin*> by_line, by_offset;
  for (LineOrigin* const origin : own) {
    if (origin->original_line) by_line.push_back(origin);
    if (origin->offset) by_offset.push_back(origin);
  }
  std::stable_sort(by_line.begin(), by_line.end(), [](const LineOrigin* a, const LineOrigin* b) {
    return std::pair(*a->original_line, a->offset.value_or(0)) <
           std::pair(*b->original_line, b->offset.value_or(0));
  });
  std::stable_sort(
      by_offset.begin(), by_offset.end(),
      [](const LineOrigin* a, const LineOrigin* b) { return *a->offset < *b->offset; });
  LineOrigin* last = nullptr;
  for (const InstructionView& instruction : bytecode.instructions) {
    LineOrigin* found = nullptr;
    const auto at = std::partition_point(
        by_offset.begin(), by_offset.end(),
        [&](const LineOrigin* each) { return *each->offset < instruction.offset; });
    const bool is_there = at != by_offset.end() && *(*at)->offset == instruction.offset;
    if (!instruction.line && is_there) {
      found = *at;
    } else if (instruction.line || last == nullptr || by_line.empty()) {
      found = statement_of(instruction, by_line, by_offset);
    }
    // What comes before all statements is part of the first one.
    if (found == nullptr) found = last != nullptr ? last : own.front();
    found->offsets.push_back(instruction.offset);
    last = found;
  }
}

// Returns, by code object, the statements that are the last of those from before some original
// line: each starts before all that come after it, so their lines are in order.
std::vector<std::vector<const LineOrigin*>> starts_of(const std::vector<LineOrigin>& origins,
                                                      size_t count) {
  std::vector<std::vector<const LineOrigin*>> starts(count);
  for (const LineOrigin& origin : origins) {
    if (origin.code >= count || !origin.original_line) continue;
    std::vector<const LineOrigin*>& own = starts[origin.code];
    while (!own.empty() && *own.back()->original_line >= *origin.original_line) own.pop_back();
    own.push_back(&origin);
  }
  return starts;
}

}  // namespace

std::vector<LineOrigin> origins_of(const Decompilation& made, std::string_view text,
                                   const std::vector<Comment>& comments,
                                   const std::vector<BytecodeView>& bytecode) {
  std::vector<uint32_t> before;
  for (const Comment& comment : comments) before.push_back(comment.line);
  std::sort(before.begin(), before.end());
  std::vector<LineOrigin> origins;
  for (const LineMapping& mapping : made.lines) {
    const auto count = std::upper_bound(before.begin(), before.end(), mapping.line);
    LineOrigin& origin = origins.emplace_back();
    origin.line = mapping.line + static_cast<uint32_t>(count - before.begin());
    origin.code = mapping.code;
    origin.offset = mapping.offset;
    origin.original_line = mapping.original_line;
  }
  const std::vector<std::string_view> lines = lines_of(text);
  find_ends(lines, origins);
  std::unordered_map<uint32_t, std::vector<LineOrigin*>> by_code;
  for (size_t i = 0; i < origins.size(); ++i) {
    // A `try` without instructions has the place of its first statement, which they belong to.
    const bool has_none = i + 1 < origins.size() && origins[i + 1].code == origins[i].code &&
                          origins[i + 1].original_line == origins[i].original_line &&
                          origins[i + 1].line > origins[i].line && is_try(lines, origins[i].line);
    if (!has_none) by_code[origins[i].code].push_back(&origins[i]);
  }
  for (auto& [code, own] : by_code) {
    if (code < bytecode.size()) share_out(bytecode[code], own);
  }
  return origins;
}

std::vector<Extent> extents_of(const std::vector<LineOrigin>& origins,
                               const std::vector<CodeView>& codes, size_t count) {
  std::vector<Extent> extents(count);
  const auto widen = [&](uint32_t code, uint32_t first, uint32_t last) {
    if (code >= count || first == 0) return;
    Extent& extent = extents[code];
    extent.first = extent.first == 0 ? first : std::min(extent.first, first);
    extent.last = std::max(extent.last, last);
  };
  std::vector<const CodeView*> views(count);
  for (const CodeView& code : codes) {
    if (code.code < count) views[code.code] = &code;
  }
  for (size_t i = 0; i < origins.size(); ++i) {
    const LineOrigin& origin = origins[i];
    const bool is_first = origin.code < count && extents[origin.code].first == 0;
    widen(origin.code, origin.line, origin.last_line);
    // The `def` or `class` before a body is a statement of the code around it.
    if (!is_first || i == 0 || views[origin.code] == nullptr) continue;
    if (views[origin.code]->parent == origins[i - 1].code) {
      widen(origin.code, origins[i - 1].line, origins[i - 1].line);
    }
  }
  // Inner ones come after outer ones.
  for (size_t i = codes.size(); i-- > 0;) {
    if (!codes[i].parent || codes[i].code >= count) continue;
    const Extent inner = extents[codes[i].code];
    widen(*codes[i].parent, inner.first, inner.last);
  }
  // What has no statements, as a lambda, is in a statement of the code around it.
  const std::vector<std::vector<const LineOrigin*>> starts = starts_of(origins, count);
  for (const CodeView& code : codes) {
    if (code.code >= count || extents[code.code].first != 0 || !code.parent) continue;
    extents[code.code] = extents[*code.parent];
    const std::vector<const LineOrigin*>& around = starts[*code.parent];
    const auto end = std::upper_bound(
        around.begin(), around.end(), code.first_line,
        [](int32_t line, const LineOrigin* origin) { return line < *origin->original_line; });
    if (end == around.begin()) continue;
    const LineOrigin& origin = **(end - 1);
    extents[code.code] = {origin.line, origin.last_line};
  }
  return extents;
}

}  // namespace pellucid::web
