#include "python/files.h"

#include "driver/code_paths.h"
#include "driver/inspect.h"
#include "object/marshal_reader.h"

namespace nb = nanobind;

namespace pellucid::python {

namespace {

// The value of a constant that is no code; its parts nest no deeper than `depth`.
nb::object plain(const object::Module& module, object::ConstId id, int depth) {
  const object::Const& value = module[id];
  using Kind = object::ConstKind;
  const auto items = [&] {
    if (depth == 0) raise({ErrorCode::Limit, 0, "marshal: a table that is nested too deep"});
    nb::list list;
    for (const object::ConstId item : value.items) list.append(plain(module, item, depth - 1));
    return list;
  };
  if (value.kind == Kind::None) return nb::none();
  if (value.kind == Kind::True || value.kind == Kind::False) {
    return nb::bool_(value.kind == Kind::True);
  }
  if (value.kind == Kind::Int) return nb::int_(value.integer);
  if (value.kind == Kind::Str) return text(std::string(module.text(value.text)));
  if (value.kind == Kind::Bytes) {
    const std::string_view bytes = module.text(value.text);
    return nb::bytes(bytes.data(), bytes.size());
  }
  if (value.kind == Kind::Tuple) return nb::tuple(items());
  if (value.kind == Kind::List) return items();
  if (value.kind == Kind::Dict) {
    const nb::list all = items();
    nb::dict dict;
    for (size_t i = 0; i + 1 < all.size(); i += 2) dict[all[i]] = all[i + 1];
    return dict;
  }
  raise({ErrorCode::Malformed, 0, "marshal: no table"});
}

nb::list findings_of(const std::vector<driver::Finding>& findings) {
  nb::list list;
  for (const driver::Finding& finding : findings) {
    list.append(
        nb::make_tuple(finding.kind, text(finding.text), finding.offset, finding.is_common));
  }
  return list;
}

}  // namespace

std::tuple<int, int> pyc_version(const nb::bytes& data) {
  const object::Version version = read_input(data, std::nullopt).module.version;
  return {version.major, version.minor};
}

// What tables of archives are: numbers, strings, and tuples, lists and dicts of these.
nb::object unmarshal(const nb::bytes& data) {
  object::Module module = object::new_module(object::kOldestVersion);
  const object::ConstId root = value_or_raise(object::read_object(module, span_of(data), 0));
  return plain(module, root, 8);
}

// The bytes that a .pyc of a version begins with, its date and size unknown; none: not supported.
nb::object header_for(int major, int minor) {
  const auto version = driver::version_named(std::to_string(major) + '.' + std::to_string(minor));
  const std::optional<uint16_t> magic =
      version ? std::optional(object::magic_of(*version)) : std::nullopt;
  if (!magic) return nb::none();
  std::string header(object::kHeaderSize, '\0');
  header[0] = static_cast<char>(*magic & 0xff);
  header[1] = static_cast<char>(*magic >> 8);
  header[2] = '\r';
  header[3] = '\n';
  return nb::bytes(header.data(), header.size());
}

// How a file was read, its code objects and what is in them beside their instructions.
nb::dict inspect_pyc(const nb::bytes& data, const MaybeVersion& version) {
  const driver::Input input = read_input(data, version);
  const driver::Inspection found =
      without_gil([&] { return driver::inspect(input, span_of(data)); });
  nb::dict made;
  made["python"] = nb::make_tuple(input.module.version.major, input.module.version.minor);
  made["magic"] = input.header.magic;
  made["magic_words"] = text(object::words_of_magic(input.header.magic));
  made["flags"] = input.header.flags;
  made["date"] = input.header.date;
  made["size"] = input.header.size;
  made["start"] = input.start;
  made["end"] = input.end;
  made["subject"] = text(input.subject);
  nb::list notes;
  for (const std::string& note : input.notes) notes.append(text(note));
  made["notes"] = notes;
  made["findings"] = findings_of(found.file);
  nb::list codes;
  for (const driver::CodeReport& report : found.codes) {
    const object::Code& code = input.module[report.code];
    nb::dict one;
    one["code"] = text(report.path);
    one["number"] = report.code.index();
    one["file"] = text(std::string(input.module.text(code.filename)));
    one["line"] = code.firstlineno;
    one["flags"] = code.flags;
    one["bytecode"] = code.bytecode.size();
    one["constants"] = code.consts.size();
    one["names"] = code.names.size();
    one["findings"] = findings_of(report.findings);
    codes.append(one);
  }
  made["codes"] = codes;
  return made;
}

// Every string and bytes constant of no less than `least` bytes, with the path of its code object:
// [(path, value), ...]. What lies in tuples and other constants is there too.
nb::list long_constants(const nb::bytes& data, size_t least, const MaybeVersion& version) {
  const driver::Input input = read_input(data, version);
  const object::Module& module = input.module;
  const std::vector<std::string> paths = driver::paths_of(module);
  nb::list found;
  std::vector<bool> seen(module.consts.size());
  for (size_t code = 0; code < module.codes.size(); ++code) {
    std::vector<object::ConstId> todo = module.codes[code].consts;
    while (!todo.empty()) {
      const object::ConstId id = todo.back();
      todo.pop_back();
      const object::Const& value = module[id];
      if (seen[id.index()]) continue;
      seen[id.index()] = true;
      todo.insert(todo.end(), value.items.begin(), value.items.end());
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

// Whether the bytes hold marshalled code that pellucid reads.
bool holds_code(const nb::bytes& data) {
  return without_gil([&] { return driver::read_input(span_of(data)).ok(); });
}

}  // namespace pellucid::python
