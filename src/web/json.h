// SPDX-License-Identifier: Apache-2.0
// web: writes JSON, one call a member.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json.h"

namespace pellucid::web {

inline std::string json(std::string_view text) { return cli::json_text(text); }
inline std::string json(bool value) { return value ? "true" : "false"; }
inline std::string json(std::integral auto number) { return std::to_string(number); }
template <typename T>
std::string json(const std::optional<T>& value) {
  return value ? json(*value) : "null";
}

// An array: `write(item)` returns the JSON of one.
template <typename Items, typename Write>
std::string array(const Items& items, Write write) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += write(item);
  }
  return out + ']';
}
template <typename Items>
std::string array(const Items& items) {
  return array(items, [](const auto& item) { return json(item); });
}

class Object {
 public:
  template <typename T>
  Object& add(std::string_view name, const T& value) {
    return add_json(name, json(value));
  }
  Object& add(std::string_view name, const char* value) {
    return add_json(name, json(std::string_view(value)));
  }
  // `value` is JSON already.
  Object& add_json(std::string_view name, std::string_view value) {
    out_ += out_.size() > 1 ? ",\"" : "\"";
    out_ += name;
    out_ += "\":";
    out_ += value;
    return *this;
  }
  std::string text() const { return out_ + '}'; }

 private:
  std::string out_ = "{";
};

}  // namespace pellucid::web
