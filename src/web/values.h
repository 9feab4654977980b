// SPDX-License-Identifier: Apache-2.0
// web: the values of the library as the words and the JSON of the npm package (pellucid.d.ts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "archive/containers.h"
#include "pellucid/pellucid.h"
#include "pellucid/views.h"
#include "web/json.h"
#include "web/links.h"

namespace pellucid::web {

// The words of name_of() without spaces: "unknown-version".
std::string word_of(ErrorCode code);
const char* word_of(Severity severity);
const char* word_of(CodeView::Kind kind);
const char* word_of(archive::DataKind kind);

// "3.11"
std::string text_of(Version version);

// An error as a call returns it.
std::string json_of_failure(const std::string& code, uint64_t offset, const std::string& reason);

std::string json_of(const Diagnostic& said);
std::string json_of(const Rename& renamed);
std::string json_of(const LineOrigin& origin);
std::string json_of(const Finding& found);
std::string json_of(const InstructionView& instruction);
std::string json_of(const ProtectedView& range);
std::string json_of(const BlockView& block, size_t id);
std::string json_of(const EdgeView& edge);

// The JSON of a whole list.
template <typename Item>
std::string json_of_all(const std::vector<Item>& items) {
  return array(items, [](const Item& each) { return json_of(each); });
}

// Adds what a listing of code objects says of each.
void add_place(Object& object, const CodeView& code);

}  // namespace pellucid::web
