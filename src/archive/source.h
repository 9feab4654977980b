// SPDX-License-Identifier: Apache-2.0
// archive: bytes, and where they come from. What was unpacked or read from a file is dropped when
// others are used, and made again when it is needed: a folder of archives fits in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "pellucid/result.h"

namespace pellucid::archive {

using Bytes = std::vector<uint8_t>;
using Span = std::span<const uint8_t>;

// Bytes, and their owner.
struct Data {
  std::shared_ptr<const void> keeper;
  Span bytes;

  // Returns a part, clipped to the bytes.
  Data part(uint64_t at, uint64_t size) const;
};

Data data_of(Bytes bytes);

// Where bytes can be had as often as they are needed, from any thread.
class Source {
 public:
  explicit Source(std::function<Result<Data>()> make) : make_(std::move(make)) {}

  // Returns the bytes, which are made unless somebody has them. They may differ from call to call
  // if the file changes.
  Result<Data> open() const;

 private:
  std::function<Result<Data>()> make_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const void> keeper_;
  mutable Span bytes_;
};

using SourcePtr = std::shared_ptr<const Source>;

SourcePtr source_of(Data data);
SourcePtr source_of(std::function<Result<Data>()> make);

// Returns the bytes of a file: a large one is mapped, so that only what is used is read.
SourcePtr source_of_file(const std::filesystem::path& path);

SourcePtr part_of(const SourcePtr& source, uint64_t at, uint64_t size);

}  // namespace pellucid::archive
