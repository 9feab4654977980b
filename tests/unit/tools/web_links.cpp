// SPDX-License-Identifier: Apache-2.0
// Links a text of N statements on one line, the N statements after it, and a lambda in each of
// these, to their instructions: `pellucid_web_links N`. Nothing is decompiled, so that what is
// counted here is what the links cost.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "web/links.h"

int main(int count, char** arguments) {
  using namespace pellucid;
  const auto n = static_cast<uint32_t>(count > 1 ? std::atoi(arguments[1]) : 0);
  Decompilation made;
  std::vector<BytecodeView> bytecode(1);
  std::string text;
  for (uint32_t i = 0; i < 2 * n; ++i) {
    LineMapping& mapping = made.lines.emplace_back();
    mapping.line = i < n ? 1 : 2 + i - n;
    mapping.original_line = static_cast<int32_t>(mapping.line);
    mapping.offset = 2 * i;
    InstructionView& instruction = bytecode[0].instructions.emplace_back();
    instruction.offset = 2 * i;
    instruction.line = mapping.original_line;
    text += i < n ? "x(); " : "\nx(lambda: y)";
  }
  std::vector<CodeView> codes(n + 1);
  for (uint32_t i = 1; i <= n; ++i) {
    codes[i].code = i;
    codes[i].parent = 0;
    codes[i].first_line = static_cast<int32_t>(1 + i);
  }
  const std::vector<web::LineOrigin> origins = web::origins_of(made, text, {}, bytecode);
  const std::vector<web::Extent> extents = web::extents_of(origins, codes, codes.size());
  return extents.back().first == n + 1 || n == 0 ? 0 : 1;
}
