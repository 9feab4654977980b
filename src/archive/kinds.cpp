// SPDX-License-Identifier: Apache-2.0
#include "archive/kinds.h"

#include <algorithm>
#include <string_view>

#include "archive/pyinstaller.h"
#include "archive/tar.h"
#include "archive/zip.h"
#include "pellucid/pellucid.h"

namespace pellucid::archive {

namespace {

using std::string_view_literals::operator""sv;

bool starts_with(Span bytes, std::string_view mark) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all.starts_with(mark);
}

// Returns true if marshalled code may begin there: its first field is the number of its arguments.
bool begins_code(Span head, size_t at) {
  const auto is_zero = [&](size_t i) { return i >= head.size() || head[i] == 0; };
  return at < head.size() && (head[at] & 0x7f) == 'c' && is_zero(at + 3) && is_zero(at + 4);
}

}  // namespace

DataKind kind_of(Span bytes) {
  if (starts_with(bytes, "PYZ\0"sv)) return DataKind::Pyz;
  if (starts_with(bytes, "\x1f\x8b\x08"sv)) return DataKind::Gzip;
  if (packing_of(bytes)) return DataKind::Packed;
  // The last member of a tar archive may be a zip.
  if (is_tar(bytes)) return DataKind::Tar;
  if (find_cookie(bytes)) return DataKind::Program;
  return is_zip(bytes) ? DataKind::Zip : DataKind::Code;
}

bool looks_like_code(Span head) {
  if (is_headed(head) || begins_code(head, 0)) return true;
  const bool has_mark = head.size() > 3 && head[2] == '\r' && head[3] == '\n';
  for (const size_t at : {4u, 8u, 12u, 16u}) {
    if (!begins_code(head, at)) continue;
    const Span front = head.first(at);
    if (has_mark || std::all_of(front.begin(), front.end(), [](uint8_t b) { return b == 0; })) {
      return true;
    }
  }
  return false;
}

bool is_headed(Span head) {
  return head.size() > 16 && head[2] == '\r' && head[3] == '\n' && (head[16] & 0x7f) == 'c';
}

bool may_be_archive(Span head) {
  constexpr std::string_view kMarks[] = {"PK\3\4"sv, "PYZ\0"sv, "\x7f\x45LF"sv, "MZ"sv};
  return is_tar(head) || is_packed(head) ||
         std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](std::string_view mark) { return starts_with(head, mark); });
}

bool is_packed(Span head) {
  return starts_with(head, "\x1f\x8b\x08"sv) || packing_of(head).has_value();
}

std::optional<Packing> packing_of(Span head) {
  if (starts_with(head, "BZh"sv) && head.size() > 10 && head[4] == '1' && head[5] == 'A') {
    return Packing::Bzip2;
  }
  if (starts_with(head, "\x04\x22\x4d\x18"sv)) return Packing::Lz4;
  if (starts_with(head, "\xfd\x37zXZ\0"sv)) return Packing::Xz;
  if (starts_with(head, "\x28\xb5\x2f\xfd"sv)) return Packing::Zstd;
  return std::nullopt;
}

bool holds_code(Span bytes) {
  return looks_like_code(bytes.first(std::min(bytes.size(), kHeadSize))) && read_pyc(bytes).ok();
}

}  // namespace pellucid::archive
