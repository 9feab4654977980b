// SPDX-License-Identifier: Apache-2.0
// A test harness small enough to read: TEST("what holds") { EXPECT(...); EXPECT_EQ(got, wanted); }
//
// Run all tests with `pellucid_tests`, those whose name contains a word with `pellucid_tests WORD`,
// and list them with `pellucid_tests --list`; `--announce` names each before it runs, so that a
// crash has a name. A failed EXPECT lets the test go on; REQUIRE ends it.
#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace pellucid::testing {

struct Test {
  std::string name;
  std::function<void()> body;
};

// A test that cannot go on throws this; the harness has already been told why.
struct Abandoned {};

std::vector<Test>& registry();
void report_failure(const char* file, int line, const std::string& message);

struct Registration {
  Registration(const char* name, void (*body)()) { registry().push_back({name, body}); }
};

template <typename T>
std::string show(const T& value) {
  if constexpr (requires(std::ostringstream& out) { out << value; }) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else {
    return "(no text form)";
  }
}

template <typename A, typename B>
bool expect_eq(const char* file, int line, const char* text, const A& got, const B& wanted) {
  if (got == wanted) return true;
  report_failure(
      file, line,
      std::string(text) + "\n--- got ---\n" + show(got) + "\n--- wanted ---\n" + show(wanted));
  return false;
}

inline bool expect(const char* file, int line, const char* text, bool holds) {
  if (!holds) report_failure(file, line, text);
  return holds;
}

}  // namespace pellucid::testing

#define PELLUCID_TEST_CONCAT_(a, b) a##b
#define PELLUCID_TEST_CONCAT(a, b) PELLUCID_TEST_CONCAT_(a, b)
#define PELLUCID_TEST_(name, id)                                                               \
  static void PELLUCID_TEST_CONCAT(test_body_, id)();                                          \
  static const ::pellucid::testing::Registration PELLUCID_TEST_CONCAT(test_registration_, id){ \
      name, PELLUCID_TEST_CONCAT(test_body_, id)};                                             \
  static void PELLUCID_TEST_CONCAT(test_body_, id)()
// In a unity build, CMake defines PELLUCID_UNITY_ID for each file; elsewhere it is a word like
// another.
#define TEST(name) PELLUCID_TEST_(name, PELLUCID_TEST_CONCAT(PELLUCID_UNITY_ID, __LINE__))

#define EXPECT(...) \
  ::pellucid::testing::expect(__FILE__, __LINE__, #__VA_ARGS__, static_cast<bool>(__VA_ARGS__))
#define EXPECT_EQ(got, wanted) \
  ::pellucid::testing::expect_eq(__FILE__, __LINE__, #got " == " #wanted, (got), (wanted))
#define REQUIRE(...)                                               \
  if (!EXPECT(__VA_ARGS__)) throw ::pellucid::testing::Abandoned { \
    }
