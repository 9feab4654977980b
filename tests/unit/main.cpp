// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <exception>

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

static int run(const char* word) {
  int passed = 0;
  int failed = 0;
  for (const Test& test : registry()) {
    if (word != nullptr && test.name.find(word) == std::string::npos) continue;
    const bool ok = passes(test);
    ++(ok ? passed : failed);
    if (!ok) std::printf("FAILED %s\n", test.name.c_str());
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace pellucid::testing

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const auto& test : pellucid::testing::registry()) std::printf("%s\n", test.name.c_str());
    return 0;
  }
  return pellucid::testing::run(argc > 1 ? argv[1] : nullptr);
}
