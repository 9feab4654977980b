// SPDX-License-Identifier: Apache-2.0
#include "driver/file_kind.h"

#include <algorithm>

namespace pellucid::driver {
namespace {

using std::string_view_literals::operator""sv;

struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view kind;
};

// From the specifications of the formats, as file(1) knows them.
constexpr Signature kSignatures[] = {
    {0,
     "\x7f"
     "ELF"sv,
     "an ELF program or library"},
    {0, "MZ"sv, "a Windows program or library"},
    {0, "\xcf\xfa\xed\xfe"sv, "a Mach-O program or library"},
    {0, "\xce\xfa\xed\xfe"sv, "a Mach-O program or library"},
    {0, "\xca\xfe\xba\xbe"sv, "a Mach-O program or library, or a Java class"},
    {0, "\x1f\x8b"sv, "a gzip file, which has to be unpacked first"},
    {0, "BZh"sv, "a bzip2 file, which has to be unpacked first"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz file, which has to be unpacked first"},
    {0, "\x28\xb5\x2f\xfd"sv, "a Zstandard file, which has to be unpacked first"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7-Zip archive, which has to be unpacked first"},
    {0, "Rar!\x1a\x07"sv, "a RAR archive, which has to be unpacked first"},
    {257, "ustar"sv, "a tar archive, which has to be unpacked first"},
    {0, "PK\x03\x04"sv, "a damaged zip archive"},
    {0, "\x80\x02"sv, "a pickle"},
    {0, "\x80\x03"sv, "a pickle"},
    {0, "\x80\x04\x95"sv, "a pickle"},
    {0, "\x80\x05\x95"sv, "a pickle"},
    {0, "\x89PNG"sv, "a PNG image"},
    {0, "%PDF-"sv, "a PDF document"},
    {0, "PAR1"sv, "a Parquet file"},
    {0, "SQLite format 3\0"sv, "an SQLite database"},
    {0, "\x89HDF"sv, "an HDF5 file"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
};

constexpr size_t kTextSeen = 4096;  // bytes that tell text from code

// Returns true if the bytes are text: marshalled code has control characters in its first fields.
bool is_text(std::span<const uint8_t> bytes) {
  constexpr std::string_view kSpaces = "\t\n\v\f\r";
  return std::ranges::all_of(bytes.first(std::min(bytes.size(), kTextSeen)), [&](uint8_t byte) {
    return byte >= ' ' || kSpaces.find(static_cast<char>(byte)) != std::string_view::npos;
  });
}

}  // namespace

std::string_view file_kind(std::span<const uint8_t> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [offset, start, kind] : kSignatures) {
    if (all.size() > offset && all.substr(offset).starts_with(start)) return kind;
  }
  return is_text(bytes) ? "a text file" : "";
}

}  // namespace pellucid::driver
