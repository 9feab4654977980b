// SPDX-License-Identifier: Apache-2.0
#include "cli/judge.h"

#include <algorithm>
#include <cstdio>

namespace pellucid::cli {

namespace {

std::string hex(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

// Adds the worst verdict of all code objects, and the reason of the first unproven one. Marks each
// unproven code object in the source.
void add_verdict(const Decompilation& made, Judgement& judged) {
  judged.verdict = "equivalent";
  size_t count = 0;
  std::string first;
  for (const CodeVerdict& code : made.verdict->codes) {
    if (code.status != Status::Unproven) continue;
    judged.verdict = "unproven";
    const Error where{ErrorCode::Unsupported, code.offset, code.path + ": " + code.reason};
    if (judged.reason.empty()) judged.reason = "unproven: " + described(where);
    const auto has_no_source = [&](const Diagnostic& said) {
      return said.severity == Severity::Refused && said.code == code.code;
    };
    if (std::any_of(made.diagnostics.begin(), made.diagnostics.end(), has_no_source)) continue;
    if (count++ == 0) first = described(where);
    judged.comments.push_back({made.codes[code.code].first_line, "unproven: " + described(where)});
  }
  if (count == 0) return;
  const size_t others = count - 1;
  judged.complaint =
      "unproven: " + first + (others > 0 ? ", and " + std::to_string(others) + " more" : "");
}

}  // namespace

std::string described(const Error& error) {
  if (error.message.find(" byte 0x") != std::string::npos) return error.message;
  return error.message + " at byte " + hex(error.offset);
}

Judgement judge(const Decompilation& made) {
  Judgement judged;
  for (const std::string& line : made.remarks) judged.comments.push_back({1, line});
  if (made.verdict) add_verdict(made, judged);
  for (const std::string& line : made.hidden) judged.comments.push_back({0xffffffffu, line});
  return judged;
}

}  // namespace pellucid::cli
