// PELLUCID_CHECK: what must hold unless pellucid itself is wrong.
//
// A failed check throws InternalError, which the driver catches once per code object and turns
// into an Error{Internal}: a bug of ours costs one function, never the process.
#pragma once

#include <stdexcept>
#include <string>

namespace pellucid {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::string name(file);
  const size_t slash = name.find_last_of('/');
  throw InternalError("check failed: " + std::string(condition) + " (" +
                      (slash == std::string::npos ? name : name.substr(slash + 1)) + ":" +
                      std::to_string(line) + ")");
}

#define PELLUCID_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pellucid::check_failed(#condition, __FILE__, __LINE__))

}  // namespace pellucid
