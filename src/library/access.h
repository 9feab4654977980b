// SPDX-License-Identifier: Apache-2.0
// library: the implementation of the public header's classes.
#pragma once

#include <memory>
#include <utility>

#include "base/check.h"
#include "driver/input.h"
#include "pellucid/pellucid.h"

namespace pellucid {

struct Program::Impl {
  driver::Input input;
};

struct Value::Impl {
  object::Module module;
};

struct Access {
  static Program program(driver::Input input) {
    return Program(std::make_shared<const Program::Impl>(Program::Impl{std::move(input)}));
  }
  static const driver::Input& input(const Program& program) { return program.impl_->input; }

  static Value value(object::Module module, object::ConstId id) {
    return Value(std::make_shared<const Value::Impl>(Value::Impl{std::move(module)}), id.value);
  }
};

// Returns the result of `work`. A bug of ours becomes an error, like a fault of the input.
template <typename Work>
auto guarded(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const InternalError& bug) {
    return Error{ErrorCode::Internal, 0, bug.what()};
  }
}

}  // namespace pellucid
