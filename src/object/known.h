// What is known of the object that an Opaque constant stands for: its `integer`.
#pragma once

#include <cstdint>

namespace pellucid::object {

enum class Known : int64_t {
  Nothing,
  Iter,         // the built-in function `iter`
  ReturnsNone,  // a function whose code is that of `lambda: None`, now at least (facts.h)
};

}  // namespace pellucid::object
