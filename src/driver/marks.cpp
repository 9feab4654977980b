// SPDX-License-Identifier: Apache-2.0
#include "driver/marks.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

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

using Renamed = std::vector<std::pair<std::string, std::string>>;

// Returns the names without those that differ in their first character only, if many have the same
// one; a line says so.
Renamed without_common(const Renamed& renamed, std::vector<std::string>& lines) {
  constexpr size_t kMany = 3;
  const auto first_of = [](const std::pair<std::string, std::string>& name) {
    const auto& [given, before] = name;
    const bool is_usual =
        before.size() > 1 && before[0] > ' ' && before[0] < 0x7f && given == '_' + before.substr(1);
    return is_usual ? before[0] : '\0';
  };
  const auto usual = std::find_if(renamed.begin(), renamed.end(),
                                  [&](const auto& name) { return first_of(name) != '\0'; });
  if (usual == renamed.end()) return renamed;
  const char first = first_of(*usual);
  const auto is_common = [&](const auto& name) { return first_of(name) == first; };
  const auto count = static_cast<size_t>(std::count_if(renamed.begin(), renamed.end(), is_common));
  if (count < kMany) return renamed;
  lines.push_back("- " + std::to_string(count) + " names that begin with _ here, as " +
                  usual->first + ", begin with " + first);
  Renamed others;
  std::copy_if(renamed.begin(), renamed.end(), std::back_inserter(others),
               [&](const auto& name) { return !is_common(name); });
  return others;
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
  const auto renamed = without_common(output.renamed, lines);
  for (const auto& [given, before] : renamed) {
    if (lines.size() > kMostNames) {
      const size_t left = renamed.size() + 1 - lines.size();
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
