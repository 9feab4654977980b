// SPDX-License-Identifier: Apache-2.0
#include "driver/marks.h"

#include <algorithm>
#include <cstdio>

#include "object/repr.h"
#include "object/utf8.h"

namespace pellucid::driver {

namespace {

constexpr size_t kMostNames = 30;
constexpr size_t kLongestName = 300;  // bytes that are shown

// Hides "coding:" in a comment: within the first two lines of a file it declares the encoding of
// all of it.
void hide_declaration(std::string& text) {
  for (size_t at = text.find("coding"); at != std::string::npos; at = text.find("coding", at)) {
    at += std::string_view("coding").size();
    if (at == text.size()) return;
    if (text[at] == ':') text.replace(at, 1, "\\x3a");
    if (text[at] == '=') text.replace(at, 1, "\\x3d");
  }
}

// Returns a text as one line of printable ASCII, so that no input can end the comment or hide in
// it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f) {
      out += c;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(byte));
    out += escape;
  }
  hide_declaration(out);
  return out;
}

std::string_view indentation_of(std::string_view line) {
  return line.substr(0, std::min(line.find_first_not_of(' '), line.size()));
}

}  // namespace

std::vector<uint32_t> first_lines(const object::Module& module, object::CodeId root,
                                  const std::vector<LineMapEntry>& line_map) {
  std::vector<uint32_t> lines(module.codes.size(), 0);
  for (const LineMapEntry& entry : line_map) {
    uint32_t& line = lines[entry.code.index()];
    if (line == 0) line = entry.line;
  }
  lines[root.index()] = std::max(lines[root.index()], 1u);
  std::vector<bool> is_seen(module.codes.size());
  std::vector<object::CodeId> pending = {root};
  while (!pending.empty()) {
    const object::CodeId outer = pending.back();
    pending.pop_back();
    if (is_seen[outer.index()]) continue;
    is_seen[outer.index()] = true;
    for (const object::ConstId id : module[outer].consts) {
      if (module[id].kind != object::ConstKind::Code) continue;
      const object::CodeId inner = module[id].code;
      if (lines[inner.index()] == 0) lines[inner.index()] = lines[outer.index()];
      pending.push_back(inner);
    }
  }
  return lines;
}

std::vector<std::string> lines_on_names(const Output& output) {
  if (output.renamed.empty()) return {};
  std::vector<std::string> lines = {"pellucid: names that no source can write, and what they are:"};
  for (const auto& [given, before] : output.renamed) {
    if (lines.size() > kMostNames) {
      const size_t left = output.renamed.size() - kMostNames;
      lines.push_back("- and " + std::to_string(left) + " more");
      break;
    }
    const std::string shown = object::repr_of_text(object::front_of(before, kLongestName));
    lines.push_back("- " + given + " is " + shown + (before.size() > kLongestName ? "..." : ""));
  }
  return lines;
}

std::string with_comments(std::string_view source, std::vector<Comment> comments,
                          bool keeps_lines) {
  std::stable_sort(comments.begin(), comments.end(),
                   [](const Comment& a, const Comment& b) { return a.line < b.line; });
  std::string out;
  auto next = comments.begin();
  const auto put = [&](std::string_view indentation) {
    out += indentation;
    out += "# " + escaped(next->text) + '\n';
    ++next;
  };
  uint32_t number = 1;
  for (size_t at = 0; at < source.size(); ++number) {
    const size_t end = std::min(source.find('\n', at), source.size() - 1) + 1;
    const std::string_view line = source.substr(at, end - at);
    while (!keeps_lines && next != comments.end() && next->line <= number) {
      put(indentation_of(line));
    }
    out += line;
    at = end;
  }
  if (next != comments.end() && !out.empty() && out.back() != '\n') out += '\n';
  while (next != comments.end()) put("");
  return out;
}

}  // namespace pellucid::driver
