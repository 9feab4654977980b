// SPDX-License-Identifier: Apache-2.0
// cli: what holds code besides `.pyc` files: zip archives, PyInstaller programs and their PYZ
// archives, known by their bytes wherever they are. The rules are those of
// python/pellucid/containers.py. Members are found first and read when their turn comes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pellucid/result.h"

namespace pellucid::cli {

// Bytes of an archive, and who keeps them.
struct Data {
  std::shared_ptr<const std::vector<uint8_t>> keeper;
  std::span<const uint8_t> bytes;

  // A piece of it, as far as it lies within it.
  Data part(uint64_t at, uint64_t size) const;
};

Data data_of(std::vector<uint8_t> bytes);

// One code object of a container: what it is called there, how its bytes are had, and where its
// source goes (a path with slashes, which may still lead anywhere).
struct Member {
  std::string name;
  std::string place;
  std::function<Result<std::vector<uint8_t>>()> read;
};

enum class DataKind { Code, Zip, Pyz, Program };

// What it is by its bytes; Code, if nothing is known.
DataKind kind_of(const Data& data);

// Returns true if a file that begins so may be a `.pyc`, or code without a header or a part of it.
bool looks_like_code(std::span<const uint8_t> head);

// The code in a container.
Result<std::vector<Member>> members_of(const Data& data);

}  // namespace pellucid::cli
