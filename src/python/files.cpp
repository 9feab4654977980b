// SPDX-License-Identifier: Apache-2.0
#include "python/files.h"

#include "pellucid/generated.h"

namespace nb = nanobind;

namespace pellucid::python {

namespace {

nb::list findings_of(const std::vector<Finding>& findings) {
  nb::list list;
  for (const Finding& finding : findings) {
    list.append(
        nb::make_tuple(finding.kind, text(finding.text), finding.offset, finding.is_common));
  }
  return list;
}

}  // namespace

std::tuple<int, int> pyc_version(const nb::bytes& data) {
  const Version version = read_input(data, std::nullopt).version();
  return {version.major, version.minor};
}

// Returns the header of a .pyc of a version, with date and size unknown; None if not supported.
nb::object header_for(int major, int minor) {
  const auto version = version_named(std::to_string(major) + '.' + std::to_string(minor));
  if (!version) return nb::none();
  const std::vector<uint8_t> header = pyc_header(*version);
  return nb::bytes(header.data(), header.size());
}

// Returns how a file was read, its code objects and what is in them besides their instructions.
nb::dict inspect_pyc(const nb::bytes& data, const MaybeVersion& version) {
  const Program program = read_input(data, version);
  const Inspection found = value_or_raise(without_gil([&] { return inspect(program); }));
  nb::dict made;
  made["python"] = nb::make_tuple(program.version().major, program.version().minor);
  made["magic"] = found.magic;
  made["magic_words"] = text(found.magic_words);
  made["flags"] = found.flags;
  made["date"] = found.date;
  made["size"] = found.size;
  made["start"] = found.start;
  made["end"] = found.end;
  made["subject"] = text(program.subject());
  nb::list notes;
  for (const std::string& note : program.notes()) notes.append(text(note));
  made["notes"] = notes;
  made["findings"] = findings_of(found.findings);
  nb::list codes;
  for (const CodeReport& report : found.codes) {
    nb::dict one;
    one["code"] = text(report.path);
    one["number"] = report.code;
    one["file"] = text(report.filename);
    one["line"] = report.first_line;
    one["flags"] = report.flags;
    one["bytecode"] = report.bytecode_size;
    one["constants"] = report.constant_count;
    one["names"] = report.name_count;
    one["findings"] = findings_of(report.findings);
    codes.append(one);
  }
  made["codes"] = codes;
  return made;
}

constexpr size_t kLeastNumbers = 16;

// Returns the bytes that the numbers of a tuple or list are; nothing if one of them is none.
std::optional<std::string> bytes_of_numbers(const object::Module& module,
                                            const object::Const& value) {
  if (value.kind != object::ConstKind::Tuple) return std::nullopt;
  std::string bytes;
  for (const object::ConstId item : value.items) {
    const object::Const& number = module[item];
    const bool is_byte =
        number.kind == object::ConstKind::Int && number.integer >= 0 && number.integer < 256;
    if (!is_byte) return std::nullopt;
    bytes.push_back(static_cast<char>(number.integer));
  }
  return bytes;
}

// Returns every string and bytes constant of at least `least` bytes, with the path of its code
// object: [(path, value), ...]. Includes items of tuples and other constants, and tuples of numbers
// that are bytes.
nb::list long_constants(const nb::bytes& data, size_t least, const MaybeVersion& version) {
  const Program program = read_input(data, version);
  const object::Module& module = module_of(program);
  const std::vector<std::string> paths = paths_of(module);
  nb::list found;
  std::vector<bool> seen(module.consts.size());
  for (size_t code = 0; code < module.codes.size(); ++code) {
    std::vector<object::ConstId> todo(module.codes[code].consts.rbegin(),
                                      module.codes[code].consts.rend());
    while (!todo.empty()) {
      const object::ConstId id = todo.back();
      todo.pop_back();
      const object::Const& value = module[id];
      if (seen[id.index()]) continue;
      seen[id.index()] = true;
      if (const auto bytes = bytes_of_numbers(module, value);
          bytes && bytes->size() >= kLeastNumbers) {
        found.append(nb::make_tuple(text(paths[code]), nb::bytes(bytes->data(), bytes->size())));
        continue;
      }
      todo.insert(todo.end(), value.items.rbegin(), value.items.rend());
      const bool is_bytes = value.kind == object::ConstKind::Bytes;
      if (!is_bytes && value.kind != object::ConstKind::Str) continue;
      const std::string_view bytes = module.text(value.text);
      if (bytes.size() < least) continue;
      const nb::str path = text(paths[code]);
      if (is_bytes) {
        found.append(nb::make_tuple(path, nb::bytes(bytes.data(), bytes.size())));
      } else {
        found.append(nb::make_tuple(path, text(std::string(bytes))));
      }
    }
  }
  return found;
}

// Returns true if the bytes hold marshalled code that pellucid reads.
bool holds_code(const nb::bytes& data) {
  return without_gil([&] { return read_pyc(span_of(data)).ok(); });
}

}  // namespace pellucid::python
