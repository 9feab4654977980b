// SPDX-License-Identifier: Apache-2.0
// structure: the exception for control flow that no statements express.
#pragma once

#include <stdexcept>
#include <string>

namespace pellucid::structure {

// Thrown when a construct has no structured form yet; the driver reports op and offset.
class NotStructured : public std::runtime_error {
 public:
  NotStructured(const std::string& what, uint32_t at) : std::runtime_error(what), offset(at) {}
  uint32_t offset;
};

}  // namespace pellucid::structure
