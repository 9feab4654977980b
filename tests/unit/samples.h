// SPDX-License-Identifier: Apache-2.0
// Compiled samples for the unit tests: tests/unit/data/sample-<version>.bin is sample.py as that
// version compiles it (a .pyc file), sample-<version>.dis what its `dis` says of it. To make one
// anew:
//
//   cd tests/unit/data && python3.12 ../../../tools/dis_listing.py OUT sample.py
//   cp OUT/00000.pyc sample-3.12.bin && cp OUT/00000.dis sample-3.12.dis
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace pellucid::testing {

inline const std::vector<std::string>& sample_versions() {
  static const std::vector<std::string> versions = {"3.8",  "3.9",  "3.10", "3.11",
                                                    "3.12", "3.13", "3.14"};
  return versions;
}

inline std::string sample_file(const std::string& version, const std::string& extension) {
  std::ifstream in(PELLUCID_SOURCE_DIR "/tests/unit/data/sample-" + version + extension,
                   std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

inline std::vector<uint8_t> sample_pyc(const std::string& version) {
  const std::string text = sample_file(version, ".bin");
  return std::vector<uint8_t>(text.begin(), text.end());
}

}  // namespace pellucid::testing
