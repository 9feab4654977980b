// SPDX-License-Identifier: Apache-2.0
#include "archive/source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#define PELLUCID_MAPS_FILES 1
#else
#define PELLUCID_MAPS_FILES 0
#endif

namespace pellucid::archive {

namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kLargestFile = uintmax_t{1} << 30;
// Smaller files are read. (If another program cuts a file that is mapped, reading it is fatal.)
constexpr uintmax_t kLeastMapped = uintmax_t{64} << 20;
constexpr size_t kRecent = 2;

// Keeps the bytes that were made last, for the next member of the same archive.
void keep(const std::shared_ptr<const void>& keeper) {
  static std::mutex mutex;
  static std::array<std::shared_ptr<const void>, kRecent> recent;
  static size_t next = 0;
  std::shared_ptr<const void> dropped = keeper;  // freed without the lock
  const std::lock_guard lock(mutex);
  std::swap(recent[next++ % kRecent], dropped);
}

Error cannot_read() {
  std::string why = errno != 0 ? std::strerror(errno) : "cannot be read";
  if (!why.empty() && why[0] >= 'A' && why[0] <= 'Z') why[0] = static_cast<char>(why[0] + 32);
  return Error{ErrorCode::Malformed, 0, why};
}

#if PELLUCID_MAPS_FILES
Result<Data> mapped(const char* path, size_t size) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return cannot_read();
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (at == MAP_FAILED) return cannot_read();
  const std::shared_ptr<const void> keeper(at, [at, size](const void*) { ::munmap(at, size); });
  return Data{keeper, Span(static_cast<const uint8_t*>(at), size)};
}
#endif

Result<Data> file_data(const fs::path& path) {
  std::error_code failed;
  const uintmax_t size = fs::file_size(path, failed);
  if (failed) return Error{ErrorCode::Malformed, 0, "no such file or directory"};
  if (size > kLargestFile) return Error{ErrorCode::Limit, 0, "larger than 1 GiB"};
  errno = 0;
#if PELLUCID_MAPS_FILES
  if (size >= kLeastMapped) return mapped(path.c_str(), static_cast<size_t>(size));
#endif
  std::ifstream file(path, std::ios::binary);
  Bytes bytes(static_cast<size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.is_open() || file.bad()) return cannot_read();
  bytes.resize(static_cast<size_t>(file.gcount()));
  return data_of(std::move(bytes));
}

}  // namespace

Data Data::part(uint64_t at, uint64_t size) const {
  const uint64_t start = std::min<uint64_t>(at, bytes.size());
  const uint64_t count = std::min<uint64_t>(size, bytes.size() - start);
  return {keeper, bytes.subspan(static_cast<size_t>(start), static_cast<size_t>(count))};
}

Data data_of(Bytes bytes) {
  auto keeper = std::make_shared<const Bytes>(std::move(bytes));
  const Span all(*keeper);
  return {std::move(keeper), all};
}

Result<Data> Source::open() const {
  const std::lock_guard lock(mutex_);
  if (auto keeper = keeper_.lock()) return Data{std::move(keeper), bytes_};
  PELLUCID_TRY(Data data, make_());
  keeper_ = data.keeper;
  bytes_ = data.bytes;
  keep(data.keeper);
  return data;
}

SourcePtr source_of(std::function<Result<Data>()> make) {
  return std::make_shared<const Source>(std::move(make));
}

SourcePtr source_of(Data data) {
  return source_of([data = std::move(data)]() -> Result<Data> { return data; });
}

SourcePtr source_of_file(const fs::path& path) {
  return source_of([path] { return file_data(path); });
}

SourcePtr part_of(const SourcePtr& source, uint64_t at, uint64_t size) {
  return source_of([source, at, size]() -> Result<Data> {
    PELLUCID_TRY(const Data data, source->open());
    return data.part(at, size);
  });
}

}  // namespace pellucid::archive
