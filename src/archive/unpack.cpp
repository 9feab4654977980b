// SPDX-License-Identifier: Apache-2.0
#include "archive/unpack.h"

namespace pellucid::archive {

std::string name_of(Packing packing) {
  switch (packing) {
    case Packing::Bzip2:
      return "bz2";
    case Packing::Lz4:
      return "lz4";
    case Packing::Lzma:
      return "lzma";
    case Packing::Xz:
      return "xz";
    case Packing::Zstd:
      return "zstd";
  }
  return "";
}

Result<Bytes> unpack_front(const Unpack& unpack, Packing packing, Span packed, uint64_t most) {
  if (unpack) return unpack(packing, packed, most);
  return Error{
      ErrorCode::Unsupported, 0,
      "compressed with " + name_of(packing) +
          ", which this program cannot unpack: unpack it first, or use the Python package"};
}

Result<Bytes> unpack_all(const Unpack& unpack, Packing packing, Span packed, uint64_t limit) {
  PELLUCID_TRY(Bytes bytes, unpack_front(unpack, packing, packed, limit + 1));
  if (bytes.size() <= limit) return bytes;
  return Error{ErrorCode::Limit, 0, "larger than " + std::to_string(limit >> 20) + " MiB unpacked"};
}

}  // namespace pellucid::archive
