// SPDX-License-Identifier: Apache-2.0
#include "driver/file_kind.h"

#include <algorithm>
#include <vector>

#include "object/code.h"
#include "object/marshal_reader.h"
#include "object/pyc.h"

namespace pellucid::driver {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kCarve = "To search it for code, pass --carve";
constexpr std::string_view kUnpack = "Unpack it first";
constexpr std::string_view kNoCode = "It holds no bytecode";
constexpr std::string_view kAgain = "Get the file again, as binary data";

struct Signature {
  size_t offset;
  std::string_view bytes;
  FileKind kind;
};

// From the specifications of the formats, as file(1) knows them.
constexpr Signature kSignatures[] = {
    {0, "\x7f\x45LF"sv, {"an ELF program or library", kCarve}},
    {0, "MZ"sv, {"a Windows program or library", kCarve}},
    {0, "\xcf\xfa\xed\xfe"sv, {"a Mach-O program or library", kCarve}},
    {0, "\xce\xfa\xed\xfe"sv, {"a Mach-O program or library", kCarve}},
    {0, "\xca\xfe\xba\xbe"sv, {"a Mach-O program or library, or a Java class", kCarve}},
    {0, "\0asm"sv, {"a WebAssembly module", kCarve}},
    {0, "\x1f\x8b"sv, {"a gzip file", kUnpack}},
    {0, "BZh"sv, {"a bzip2 file", kUnpack}},
    {0, "\x04\x22\x4d\x18"sv, {"an LZ4 file", kUnpack}},
    {0, "\xfd\x37zXZ\0"sv, {"an xz file", kUnpack}},
    {0, "\x28\xb5\x2f\xfd"sv, {"a Zstandard file", kUnpack}},
    {0, "7z\xbc\xaf\x27\x1c"sv, {"a 7-Zip archive", kUnpack}},
    {0, "Rar!\x1a\x07"sv, {"a RAR archive", kUnpack}},
    {0, "MSCF"sv, {"a Windows cabinet", kUnpack}},
    {0, "!<arch>\n"sv, {"an ar archive: a static library or a Debian package", kUnpack}},
    {257, "ustar"sv, {"a tar archive", kUnpack}},
    {0, "PK\x03\x04"sv, {"a damaged zip archive", kCarve}},
    {0, "\x80\x02"sv, {"a pickle", kCarve}},
    {0, "\x80\x03"sv, {"a pickle", kCarve}},
    {0, "\x80\x04\x95"sv, {"a pickle", kCarve}},
    {0, "\x80\x05\x95"sv, {"a pickle", kCarve}},
    {0, "\x89PNG"sv, {"a PNG image", kNoCode}},
    {0, "\xff\xd8\xff"sv, {"a JPEG image", kNoCode}},
    {0, "%PDF-"sv, {"a PDF document", kNoCode}},
    {0, "PAR1"sv, {"a Parquet file", kCarve}},
    {0, "SQLite format 3\0"sv, {"an SQLite database", kCarve}},
    {0, "\x89HDF"sv, {"an HDF5 file", kCarve}},
    {0, "\x93NUMPY"sv, {"a NumPy array", kCarve}},
    {0, "dex\n"sv, {"an Android program", "A program built for Android is not bytecode of Python"}},
};

constexpr size_t kTextSeen = 4096;  // bytes that tell text from code

std::string_view front_of_text(std::span<const uint8_t> bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .substr(0, kTextSeen);
}

// Returns true if the bytes are text: marshalled code has control characters in its first fields.
bool is_plain_text(std::string_view text) {
  constexpr std::string_view kSpaces = "\t\n\v\f\r";
  return std::ranges::all_of(text, [&](char c) {
    return static_cast<uint8_t>(c) >= ' ' || kSpaces.find(c) != std::string_view::npos;
  });
}

// Returns true if a text is long and has only these letters, in lines or not.
bool consists_of(std::string_view text, std::string_view letters) {
  constexpr size_t kLeastLetters = 32;
  return text.size() >= kLeastLetters && std::ranges::all_of(text, [&](char c) {
           return c == '\n' || c == '\r' || letters.find(c) != std::string_view::npos;
         });
}

FileKind kind_of_text(std::string_view text) {
  constexpr std::string_view kHexadecimal = "0123456789abcdefABCDEF ";
  constexpr std::string_view kBase64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_";
  if (consists_of(text, kHexadecimal)) {
    return {"a text of hexadecimal digits", "Convert it to bytes first, as `xxd -r -p` does"};
  }
  if (consists_of(text, kBase64)) {
    return {"a text in base 64", "Decode it first, as `base64 -d` does"};
  }
  return {"a text file", {}};
}

// Returns true for the header of a `.pyc`, and the letter of a code object.
bool is_headed_code(std::span<const uint8_t> bytes) {
  return bytes.size() > object::kHeaderSize && bytes[2] == '\r' && bytes[3] == '\n' &&
         (bytes[object::kHeaderSize] & 0x7f) == 'c' &&
         object::origin_of_magic(static_cast<uint16_t>(bytes[0] | bytes[1] << 8)).has_value();
}

// Returns the first bytes that were written as letters of Latin-1 in UTF-8.
std::vector<uint8_t> from_utf8(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> front;
  for (size_t i = 0; i < bytes.size() && front.size() <= object::kHeaderSize; ++i) {
    const bool is_pair = (bytes[i] & 0xfe) == 0xc2 && i + 1 < bytes.size();
    front.push_back(is_pair ? static_cast<uint8_t>(bytes[i] << 6 | (bytes[i + 1] & 0x3f))
                            : bytes[i]);
    i += is_pair ? 1 : 0;
  }
  return front;
}

// Recognizes a `.pyc` that something else changed on its way.
FileKind kind_of_changed(std::span<const uint8_t> bytes) {
  const auto at = [&](size_t i) { return i < bytes.size() ? bytes[i] : 0; };
  const auto magic = static_cast<uint16_t>(at(0) | at(1) << 8);
  if (object::origin_of_magic(magic) && at(2) == '\r' && at(3) == '\r' && at(4) == '\n') {
    return {"a .pyc whose line feeds became CR LF", kAgain};
  }
  if (object::origin_of_magic(magic) && at(2) == '\n' && at(3) == 0) {
    return {"a .pyc whose CR LF became line feeds", kAgain};
  }
  if (is_headed_code(from_utf8(bytes)) && !is_headed_code(bytes)) {
    return {"a .pyc that was saved as text in UTF-8",
            "If nothing was lost, decode it as UTF-8 and encode it as Latin-1"};
  }
  return {};
}

// Returns true for MicroPython's bytecode: its version, features, and the bits of a small integer.
bool is_micropython(std::span<const uint8_t> bytes) {
  return bytes.size() > 4 && bytes[0] == 'M' && bytes[1] >= 3 && bytes[1] <= 6 &&
         bytes[3] >= 0x1e && bytes[3] <= 0x3f;
}

// Returns true if the bytes are tensors after their description in JSON, whose size comes first.
bool is_safetensors(std::span<const uint8_t> bytes) {
  constexpr size_t kSize = 8;
  if (bytes.size() <= kSize || bytes[kSize] != '{') return false;
  uint64_t size = 0;
  for (size_t i = kSize; i-- > 0;) size = size << 8 | bytes[i];
  return size >= 2 && size <= bytes.size() - kSize &&
         (bytes[kSize + size - 1] == '}' || bytes[kSize + size - 1] == ' ');
}

// Returns true for marshalled data that can be read and is a container.
bool is_marshalled(std::span<const uint8_t> bytes) {
  constexpr std::string_view kContainers = "()[{<>";
  const char type = bytes.empty() ? '\0' : static_cast<char>(bytes[0] & 0x7f);
  if (kContainers.find(type) == std::string_view::npos) return false;
  for (object::Version version = object::kOldestVersion; version <= object::kNewestVersion;
       ++version.minor) {
    object::Module module = object::new_module(version);
    if (object::read_object(module, bytes, 0, nullptr).ok()) return true;
  }
  return false;
}

}  // namespace

FileKind file_kind(std::span<const uint8_t> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [offset, start, kind] : kSignatures) {
    if (all.size() > offset && all.substr(offset).starts_with(start)) return kind;
  }
  if (is_micropython(bytes)) {
    return {"bytecode of MicroPython", "MicroPython's own mpy-tool.py shows it"};
  }
  if (is_safetensors(bytes)) return {"a safetensors file", "It holds no code"};
  if (const FileKind changed = kind_of_changed(bytes); !changed.name.empty()) return changed;
  const std::string_view front = front_of_text(bytes);
  if (is_plain_text(front)) return kind_of_text(front);
  if (is_marshalled(bytes)) return {"marshalled data that is not a code object", kCarve};
  return {};
}

std::string words_of_file(std::span<const uint8_t> bytes) {
  const FileKind kind = file_kind(bytes);
  if (kind.name.empty()) {
    return "not compiled Python, and no kind of file that pellucid knows (from byte 0x0 on). " +
           std::string(kCarve);
  }
  return "not compiled Python (from byte 0x0 on, this is " + std::string(kind.name) + ')' +
         (kind.advice.empty() ? "" : ". ") + std::string(kind.advice);
}

}  // namespace pellucid::driver
