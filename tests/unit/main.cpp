// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>

#include "testing.h"

namespace pellucid::testing {

static int failures_in_test = 0;

std::vector<Test>& registry() {
  static std::vector<Test> tests;
  return tests;
}

void report_failure(const char* file, int line, const std::string& message) {
  ++failures_in_test;
  std::printf("%s:%d: %s\n", file, line, message.c_str());
}

static bool passes(const Test& test) {
  failures_in_test = 0;
  try {
    test.body();
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    report_failure(__FILE__, __LINE__, std::string("exception: ") + error.what());
  }
  return failures_in_test == 0;
}

// With `announces`, names each test before it runs: a crash is that of the last one.
static int run(const std::string& word, bool announces) {
  int passed = 0;
  int failed = 0;
  for (const Test& test : registry()) {
    if (test.name.find(word) == std::string::npos) continue;
    if (announces) std::printf("RUN %s\n", test.name.c_str());
    std::fflush(stdout);
    const bool ok = passes(test);
    ++(ok ? passed : failed);
    if (!ok) std::printf("FAILED %s\n", test.name.c_str());
  }
  if (passed + failed == 0) {
    std::fprintf(
        stderr,
        "pellucid_tests: no test has \"%s\" in its name (pellucid_tests --list shows all)\n",
        word.c_str());
    return 1;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace pellucid::testing

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "--list") {
    for (const auto& test : pellucid::testing::registry()) std::printf("%s\n", test.name.c_str());
    return 0;
  }
  const bool announces = word == "--announce";
  return pellucid::testing::run(announces ? "" : word, announces);
}
