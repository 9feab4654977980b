// SPDX-License-Identifier: Apache-2.0
#include "cli/loads.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "archive/containers.h"
#include "cli/json.h"

namespace pellucid::cli {

namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kLargestPickle = uintmax_t{1} << 30;

std::string or_null(const std::string& text) { return text.empty() ? "null" : json_text(text); }

std::string to_json(const archive::Load& load, const std::string& file) {
  std::string steps;
  for (const archive::LoadStep& step : load.steps) {
    steps += (steps.empty() ? "" : ", ") + ("{\"offset\": " + std::to_string(step.offset)) +
             ", \"kind\": " + json_text(step.kind) + ", \"name\": " + json_text(step.name) +
             ", \"text\": " + json_text(step.text) + ", \"danger\": " + json_text(step.danger) +
             ", \"why\": " + json_text(step.why) + '}';
  }
  std::string notes;
  for (const std::string& note : load.notes) notes += (notes.empty() ? "" : ", ") + json_text(note);
  return "{\"file\": " + json_text(file) +
         ", \"error\": null, \"pickle\": {\"member\": " + or_null(load.name) +
         ", \"inside\": " + or_null(load.inside) + ", \"start\": " + std::to_string(load.start) +
         ", \"end\": " + std::to_string(load.end) +
         ", \"protocol\": " + std::to_string(load.protocol) + ", \"steps\": [" + steps +
         "], \"notes\": [" + notes + "], \"failure\": " + or_null(load.failure) + "}}\n";
}

std::vector<fs::path> files_of(const std::string& input) {
  std::error_code failed;
  if (!fs::is_directory(input, failed)) return {input};
  std::vector<fs::path> paths;
  const auto skipping = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(input, skipping, failed)) {
    const bool is_source = entry.path().extension() == ".py";
    if (entry.is_regular_file(failed) && !is_source) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Result<size_t> list_loads(const std::string& input, bool as_json,
                          const std::function<bool(const std::string&)>& put) {
  std::error_code failed;
  const bool is_folder = fs::is_directory(input, failed);
  size_t count = 0;
  archive::Options options;
  options.lists_loads = true;
  for (const fs::path& path : files_of(input)) {
    const bool is_large = fs::file_size(path, failed) > kLargestPickle && !failed;
    if (is_large && is_folder) continue;
    if (is_large) return Error{ErrorCode::Limit, 0, "larger than 1 GiB"};
    const Result<archive::Contents> found =
        archive::contents_of(archive::source_of_file(path), options);
    if (!found.ok() && !is_folder) return found.error();
    if (!found.ok()) continue;
    for (const archive::Load& load : found->loads) {
      ++count;
      const std::string name = path.string();
      if (!put(as_json ? to_json(load, name) : archive::text_of(load, name))) return count;
    }
  }
  return count;
}

}  // namespace pellucid::cli
