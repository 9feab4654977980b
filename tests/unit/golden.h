// SPDX-License-Identifier: Apache-2.0
// Tests that are files: what goes in, a line `---`, and what has to come out. Lines at the top that
// start with `#` say what the file specifies.
//
// tests/unit/<folder>/<subject>/<case>.txt is the test `<folder>/<subject>/<case>`. `make
// update-golden` writes what comes out today into all of them; read the difference before you
// commit it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "testing.h"

namespace pellucid::testing {

// `run` gets the subject and what goes in.
using GoldenRun = std::function<std::string(const std::string& subject, const std::string& input)>;

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void run_golden(const std::filesystem::path& path, const std::string& name,
                       const std::string& subject, const GoldenRun& run) {
  const std::string text = read_text(path);
  const std::string line = "\n---\n";
  const size_t end = text.find(line);
  if (!EXPECT(end != std::string::npos)) return;
  const std::string input = text.substr(0, end + 1);
  const std::string wanted = text.substr(end + line.size());
  const std::string got = run(subject, input);
  if (got == wanted) return;
  if (std::getenv("PELLUCID_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << input << "---\n" << got;
    return;
  }
  report_failure(path.string().c_str(),
                 static_cast<int>(std::count(input.begin(), input.end(), '\n')) + 2,
                 "--- got ---\n" + got + "--- wanted ---\n" + wanted +
                     "--- if it is right now: make update-golden; this one alone: "
                     "PELLUCID_UPDATE_GOLDEN=1 build/make/pellucid_tests " +
                     name);
}

// Registers a test for each file of each folder in tests/unit/<folder>.
inline bool register_goldens(const std::string& folder, const GoldenRun& run) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code missing;  // then the test that counts the files says so
  const fs::path root = PELLUCID_SOURCE_DIR "/tests/unit/" + folder;
  for (const auto& entry : fs::recursive_directory_iterator(root, missing)) {
    if (entry.path().extension() == ".txt") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) {
    const std::string subject = path.parent_path().filename().string();
    const std::string name = folder + '/' + subject + '/' + path.stem().string();
    registry().push_back({name, [=] { run_golden(path, name, subject, run); }});
  }
  return true;
}

}  // namespace pellucid::testing
