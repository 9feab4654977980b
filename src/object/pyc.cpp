// SPDX-License-Identifier: Apache-2.0
#include "object/pyc.h"

#include <string>

#include "object/admit.h"
#include "object/marshal_reader.h"

namespace pellucid::object {
namespace {

struct MagicRange {
  uint16_t first;
  uint16_t last;
  Version version;
};

// Lib/importlib/_bootstrap_external.py (3.14: pycore_magic_number.h) lists what changed with each
// number. `last` is that of the final release; within a range neither the opcodes nor the layout
// changed, only the code that compilers emit. (3410 has the operands of MAP_ADD swapped, 3568 has
// no cache after CONTAINS_OP, 3664 none after GET_ITER.)
constexpr MagicRange kMagic[] = {
    {3411, 3413, {3, 8}},  {3425, 3425, {3, 9}},  {3438, 3439, {3, 10}}, {3494, 3495, {3, 11}},
    {3531, 3531, {3, 12}}, {3569, 3571, {3, 13}}, {3623, 3627, {3, 14}}, {3665, 3666, {3, 15}},
};

// Other known numbers, so that an error can name the version that wrote the file. Each version has
// its own range, including its pre-releases.
constexpr MagicRange kRefused[] = {
    {62171, 62211, {2, 7}}, {3190, 3230, {3, 3}},  {3250, 3310, {3, 4}},  {3320, 3351, {3, 5}},
    {3360, 3379, {3, 6}},   {3390, 3394, {3, 7}},  {3400, 3410, {3, 8}},  {3420, 3424, {3, 9}},
    {3430, 3437, {3, 10}},  {3450, 3493, {3, 11}}, {3500, 3530, {3, 12}}, {3550, 3568, {3, 13}},
    {3600, 3622, {3, 14}},  {3650, 3664, {3, 15}},
};

template <size_t count>
std::optional<Version> version_in(const MagicRange (&ranges)[count], uint16_t magic) {
  for (const MagicRange& range : ranges) {
    if (magic >= range.first && magic <= range.last) return range.version;
  }
  return std::nullopt;
}

uint32_t number_at(std::span<const uint8_t> bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 4; i-- > 0;) {
    number = number << 8 | (at + i < bytes.size() ? bytes[at + i] : 0u);
  }
  return number;
}

}  // namespace

std::optional<Version> version_of_magic(uint16_t magic) { return version_in(kMagic, magic); }

bool is_final(uint16_t magic) {
  for (const MagicRange& range : kMagic) {
    if (magic == range.last) return true;
  }
  return false;
}

uint16_t magic_of(Version version) {
  for (const MagicRange& range : kMagic) {
    if (range.version == version) return range.last;
  }
  return 0;
}

std::optional<Version> origin_of_magic(uint16_t magic) {
  const std::optional<Version> known = version_of_magic(magic);
  return known ? known : version_in(kRefused, magic);
}

// PyPy counts up in steps of 16; CPython 3 starts at 3000.
bool is_of_pypy(uint16_t magic) { return magic >= 48 && magic < 1000 && magic % 16 == 0; }

std::string words_of_magic(uint16_t magic) {
  constexpr uint16_t kPyPy39 = 336;
  if (magic == kPyPy39) return "magic number 336 of PyPy 3.9";
  if (is_of_pypy(magic)) return "magic number " + std::to_string(magic) + " of PyPy";
  const std::optional<Version> origin = origin_of_magic(magic);
  if (!origin) return "unknown magic number " + std::to_string(magic);
  const bool is_early = is_supported(*origin) && !is_final(magic);
  return "magic number " + std::to_string(magic) +
         (is_early ? " of a pre-release of CPython " : " of CPython ") +
         std::to_string(origin->major) + "." + std::to_string(origin->minor);
}

Header header_of(std::span<const uint8_t> bytes) {
  Header header;
  const uint32_t first = number_at(bytes, 0);
  header.magic = static_cast<uint16_t>(first);
  header.has_mark = bytes.size() >= 4 && bytes[2] == '\r' && bytes[3] == '\n';
  header.flags = number_at(bytes, 4);
  header.date = number_at(bytes, 8);
  header.size = number_at(bytes, 12);
  return header;
}

Result<Module> read_marshal(std::span<const uint8_t> bytes, Version version, uint64_t base,
                            size_t* end) {
  if (!is_supported(version)) {
    return Error{ErrorCode::UnknownVersion, 0,
                 "marshal: CPython " + std::to_string(version.major) + "." +
                     std::to_string(version.minor) + " is not supported (" + supported_versions() +
                     " are)"};
  }
  Module module = new_module(version);
  PELLUCID_TRY(const ConstId root, read_object(module, bytes, base, end));
  if (module[root].kind != ConstKind::Code) {
    return Error{ErrorCode::Malformed, base, "marshal: the object is not a code object"};
  }
  module.root = module[root].code;
  if (auto error = admit(module)) return std::move(*error);
  return module;
}

Result<Module> read_pyc(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return Error{ErrorCode::Truncated, 0, "pyc: the file is empty"};
  if (bytes.size() < kHeaderSize) {
    return Error{ErrorCode::Truncated, bytes.size(),
                 "pyc: the file ends within its header of 16 bytes (it has " +
                     std::to_string(bytes.size()) + ")"};
  }
  const Header header = header_of(bytes);
  if (!header.has_mark) {
    return Error{ErrorCode::Malformed, 2, "pyc: not a .pyc file (no CR LF at byte 0x2)"};
  }
  const std::optional<Version> version = version_of_magic(header.magic);
  if (!version) {
    return Error{ErrorCode::UnknownVersion, 0,
                 "pyc: " + words_of_magic(header.magic) + " (CPython " + supported_versions() +
                     " are supported)"};
  }
  if (header.flags & ~kKnownFlags) {
    return Error{ErrorCode::Malformed, 4, "pyc: unknown flags at byte 0x4"};
  }
  return read_marshal(bytes.subspan(kHeaderSize), *version, kHeaderSize);
}

}  // namespace pellucid::object
