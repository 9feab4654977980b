#include "object/pyc.h"

#include <string>

#include "object/admit.h"
#include "object/marshal_reader.h"

namespace pellucid::object {
namespace {

constexpr size_t kHeaderSize = 16;      // magic, flags, date and size or hash (PEP 552)
constexpr uint32_t kKnownFlags = 0b11;  // hash-based, check the source

struct MagicRange {
  uint16_t first;
  uint16_t last;
  Version version;
};

// Lib/importlib/_bootstrap_external.py (3.14: pycore_magic_number.h) tells what each number
// changed. `last` is that of the final release; between the two neither the opcodes nor the layout
// changed.
constexpr MagicRange kMagic[] = {
    {3410, 3413, {3, 8}},  {3425, 3425, {3, 9}},  {3438, 3439, {3, 10}}, {3494, 3495, {3, 11}},
    {3531, 3531, {3, 12}}, {3568, 3571, {3, 13}}, {3623, 3627, {3, 14}}, {3666, 3666, {3, 15}},
};

// What else a number is known to be of: who is refused wants to know what wrote the file. Each
// version has a range of its own, also for its pre-releases.
constexpr MagicRange kRefused[] = {
    {62171, 62211, {2, 7}}, {3190, 3230, {3, 3}},  {3250, 3310, {3, 4}},  {3320, 3351, {3, 5}},
    {3360, 3379, {3, 6}},   {3390, 3394, {3, 7}},  {3400, 3409, {3, 8}},  {3420, 3424, {3, 9}},
    {3430, 3437, {3, 10}},  {3450, 3493, {3, 11}}, {3500, 3530, {3, 12}}, {3550, 3567, {3, 13}},
    {3600, 3622, {3, 14}},  {3650, 3665, {3, 15}},
};

std::string what_is_refused(uint16_t magic) {
  for (const MagicRange& range : kRefused) {
    if (magic < range.first || magic > range.last) continue;
    const bool is_early = is_supported(range.version);
    return "pyc: magic number " + std::to_string(magic) +
           (is_early ? " of a pre-release of CPython " : " of CPython ") +
           std::to_string(range.version.major) + "." + std::to_string(range.version.minor);
  }
  return "pyc: unknown magic number " + std::to_string(magic);
}

}  // namespace

std::optional<Version> version_of_magic(uint16_t magic) {
  for (const MagicRange& range : kMagic) {
    if (magic >= range.first && magic <= range.last) return range.version;
  }
  return std::nullopt;
}

static Result<Module> read_code(std::span<const uint8_t> bytes, Version version, uint64_t base) {
  if (!is_supported(version)) {
    return Error{ErrorCode::UnknownVersion, 0,
                 "marshal: CPython " + std::to_string(version.major) + "." +
                     std::to_string(version.minor) + " is not supported (" + supported_versions() +
                     " are)"};
  }
  Module module = new_module(version);
  PELLUCID_TRY(const ConstId root, read_object(module, bytes, base));
  if (module[root].kind != ConstKind::Code) {
    return Error{ErrorCode::Malformed, base, "marshal: the object is not a code object"};
  }
  module.root = module[root].code;
  if (auto error = admit(module)) return std::move(*error);
  return module;
}

Result<Module> read_marshal(std::span<const uint8_t> bytes, Version version) {
  return read_code(bytes, version, 0);
}

Result<Module> read_pyc(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return Error{ErrorCode::Truncated, 0, "pyc: the file is empty"};
  if (bytes.size() < kHeaderSize) {
    return Error{ErrorCode::Truncated, bytes.size(),
                 "pyc: the file ends within its header of 16 bytes (it has " +
                     std::to_string(bytes.size()) + ")"};
  }
  if (bytes[2] != '\r' || bytes[3] != '\n') {
    return Error{ErrorCode::Malformed, 2, "pyc: not a .pyc file (no CR LF at byte 0x2)"};
  }
  const auto magic = static_cast<uint16_t>(bytes[0] | bytes[1] << 8);
  const std::optional<Version> version = version_of_magic(magic);
  if (!version) {
    return Error{ErrorCode::UnknownVersion, 0,
                 what_is_refused(magic) + " (CPython " + supported_versions() + " are supported)"};
  }
  const uint32_t flags = bytes[4] | static_cast<uint32_t>(bytes[5]) << 8 |
                         static_cast<uint32_t>(bytes[6]) << 16 |
                         static_cast<uint32_t>(bytes[7]) << 24;
  if (flags & ~kKnownFlags) {
    return Error{ErrorCode::Malformed, 4, "pyc: unknown flags at byte 0x4"};
  }
  return read_code(bytes.subspan(kHeaderSize), *version, kHeaderSize);
}

}  // namespace pellucid::object
