// What is known of the object that an Opaque constant stands for: its `integer`.
#pragma once

#include <cstdint>

namespace pellucid::object {

enum class Known : int64_t { Nothing, Iter };  // Iter: the built-in function `iter`

}  // namespace pellucid::object
