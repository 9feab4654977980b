// SPDX-License-Identifier: Apache-2.0
// base: appending to lists that nearly always have room.
#pragma once

#include <vector>

namespace pellucid {

template <typename T>
[[gnu::noinline]] void append_in_more_room(std::vector<T>& list, const T item) {
  list.insert(list.end(), item);
}

// Does the same as push_back(). The growth is no part of the caller, which would save registers for
// it at every call.
template <typename T>
inline void append_to(std::vector<T>& list, T item) {
  if (list.size() == list.capacity()) [[unlikely]] {
    append_in_more_room(list, item);
  } else {
    list.push_back(item);
  }
}

}  // namespace pellucid
