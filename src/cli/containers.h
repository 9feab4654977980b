// SPDX-License-Identifier: Apache-2.0
// cli: containers of code other than `.pyc` files: zip archives, PyInstaller programs and their PYZ
// archives, recognised by their bytes. The rules are those of python/pellucid/containers.py.
// Members are listed first and read on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pellucid/result.h"

namespace pellucid::cli {

// Bytes of an archive, and their owner.
struct Data {
  std::shared_ptr<const std::vector<uint8_t>> keeper;
  std::span<const uint8_t> bytes;

  // Returns a part, clipped to the bytes.
  Data part(uint64_t at, uint64_t size) const;
};

Data data_of(std::vector<uint8_t> bytes);

// One code object of a container: its name there, the place of its source (a path with slashes, not
// yet checked), and how its bytes are read.
struct Member {
  std::string name;
  std::string place;
  std::function<Result<std::vector<uint8_t>>()> read;
};

enum class DataKind { Code, Zip, Pyz, Program };

// Returns the kind of container by its bytes; Code if none is recognised.
DataKind kind_of(const Data& data);

// Returns true if the first kHeadSize bytes of a file alone show that its kind is Code. (That of an
// archive may be seen at its end only.)
constexpr size_t kHeadSize = 20;
bool is_code_by_head(std::span<const uint8_t> head);

// Returns true if a file with this beginning may be a `.pyc`, or code without all or part of its
// header.
bool looks_like_code(std::span<const uint8_t> head);

// Returns the code in a container.
Result<std::vector<Member>> members_of(const Data& data);

}  // namespace pellucid::cli
