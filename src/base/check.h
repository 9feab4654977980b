// SPDX-License-Identifier: Apache-2.0
// PELLUCID_CHECK: what must hold unless pellucid itself is wrong.
//
// A failed check throws InternalError, which the driver catches once per code object and turns
// into an Error{Internal}: a bug of ours costs one function, never the process.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/ids.h"

namespace pellucid {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Not inline: what calls it is on the way of everything, and it never runs.
#if defined(__GNUC__)
[[gnu::cold, gnu::noinline]]
#endif
[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::string name(file);
  const size_t slash = name.find_last_of('/');
  throw InternalError("check failed: " + std::string(condition) + " (" +
                      (slash == std::string::npos ? name : name.substr(slash + 1)) + ":" +
                      std::to_string(line) + ")");
}

#define PELLUCID_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pellucid::check_failed(#condition, __FILE__, __LINE__))

// The part that an id names. All access by id goes this way, in every build: an id that names
// nothing costs one code object, whoever made it up.
template <typename Parts, typename Tag>
constexpr auto& part_of(Parts& parts, Id<Tag> id) {
  // In bytes: a vector would divide to know its size.
  constexpr uint64_t kSize = sizeof(parts[id.index()]);
  PELLUCID_CHECK(id.index() * kSize < parts.size() * kSize);
  return parts[id.index()];
}

}  // namespace pellucid
