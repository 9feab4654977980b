// SPDX-License-Identifier: Apache-2.0
#include "python/archives.h"

#include <memory>

#include "archive/carve.h"
#include "archive/containers.h"
#include "archive/pickles.h"

namespace nb = nanobind;

namespace pellucid::python {

namespace {

// Returns the error that a DecompileError of Python's side is.
Error error_of(const nb::object& raised) {
  const auto is = [&](const char* name) {
    return nb::cast<std::string>(raised.attr("code")) == name;
  };
  const ErrorCode code = is("limit")         ? ErrorCode::Limit
                         : is("unsupported") ? ErrorCode::Unsupported
                                             : ErrorCode::Malformed;
  return {code, nb::cast<uint64_t>(raised.attr("offset")),
          nb::cast<std::string>(raised.attr("message"))};
}

// Calls unpack(kind, packed, most) of Python, which raises DecompileError for damaged data.
Result<archive::Bytes> call(const nb::object& function, archive::Packing packing,
                            archive::Span packed, uint64_t most) {
  const nb::gil_scoped_acquire here;
  try {
    const nb::bytes given(packed.data(), packed.size());
    const auto made = nb::cast<nb::bytes>(function(archive::name_of(packing), given, most));
    const std::span<const uint8_t> bytes = span_of(made);
    return archive::Bytes(bytes.begin(), bytes.end());
  } catch (nb::python_error& raised) {
    const nb::object type = nb::module_::import_("pellucid.errors").attr("DecompileError");
    if (!raised.matches(type)) throw;
    return error_of(nb::borrow(raised.value()));
  }
}

archive::Unpack unpack_of(const nb::object& function) {
  if (function.is_none()) return {};
  // Any thread may drop the last reference.
  const std::shared_ptr<nb::object> kept(new nb::object(function), [](nb::object* object) {
    const nb::gil_scoped_acquire here;
    delete object;
  });
  return [kept](archive::Packing packing, archive::Span packed, uint64_t most) {
    return call(*kept, packing, packed, most);
  };
}

// Names are bytes: in Python they are text in the way of os.fsdecode().
nb::str name_text(const std::string& name) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogateescape");
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

nb::bytes read(const archive::Member& member) {
  const archive::Bytes bytes = value_or_raise(without_gil([&] { return member.read(); }));
  return nb::bytes(bytes.data(), bytes.size());
}

// Returns whether a file is an archive, and its code: [Member, ...], first the file itself if it is
// code.
nb::tuple contents(const nb::bytes& path, const nb::object& unpack, size_t most_members,
                   bool sources, bool carves) {
  const std::filesystem::path file(std::u8string(path.c_str(), path.c_str() + path.size()));
  archive::Options options;
  options.name = file.filename().string();
  options.unpack = unpack_of(unpack);
  options.most_members = most_members;
  options.sources = sources;
  options.carves = carves;
  archive::Contents found = value_or_raise(
      without_gil([&] { return archive::contents_of(archive::source_of_file(file), options); }));
  nb::list list;
  for (archive::Member& member : found.members) list.append(nb::cast(std::move(member)));
  return nb::make_tuple(found.is_archive(), list);
}

nb::list lines_of(const std::vector<std::string>& lines) {
  nb::list list;
  for (const std::string& line : lines) list.append(text(line));
  return list;
}

// Returns what loading the pickles of a file would do: [({...}, text), ...].
nb::list loads(const nb::bytes& path, const nb::object& unpack) {
  archive::Options options;
  options.unpack = unpack_of(unpack);
  options.lists_loads = true;
  const archive::SourcePtr source = archive::source_of_file(std::string(path.c_str(), path.size()));
  const archive::Contents found =
      value_or_raise(without_gil([&] { return archive::contents_of(source, options); }));
  nb::list list;
  for (const archive::Load& load : found.loads) {
    nb::dict one;
    one["member"] = load.name.empty() ? nb::object(nb::none()) : nb::object(name_text(load.name));
    one["inside"] = load.inside.empty() ? nb::object(nb::none()) : nb::object(text(load.inside));
    one["start"] = load.start;
    one["end"] = load.end;
    one["protocol"] = load.protocol;
    nb::list steps;
    for (const archive::LoadStep& step : load.steps) {
      nb::dict each;
      each["offset"] = step.offset;
      each["kind"] = text(step.kind);
      each["name"] = text(step.name);
      each["text"] = text(step.text);
      each["danger"] = text(step.danger);
      each["why"] = text(step.why);
      steps.append(each);
    }
    one["steps"] = steps;
    one["notes"] = lines_of(load.notes);
    one["failure"] = load.failure.empty() ? nb::object(nb::none()) : nb::object(text(load.failure));
    list.append(nb::make_tuple(one, text(archive::text_of(load, path.c_str()))));
  }
  return list;
}

// Returns the code objects in a pickle: [(offset, name, bytes, refusal, is nested), ...].
nb::list code_in_pickle(const nb::bytes& data) {
  const auto codes = without_gil([&] { return archive::code_in_pickle(span_of(data)); });
  nb::list list;
  for (const pickle::FoundCode& code : codes) {
    list.append(nb::make_tuple(code.offset, text(code.name),
                               nb::bytes(code.bytes.data(), code.bytes.size()), text(code.refusal),
                               code.is_nested));
  }
  return list;
}

// Returns the code objects at any place of the bytes: [(offset, marshalled), ...].
nb::list code_within(const nb::bytes& data) {
  const std::vector<archive::Carved> found =
      without_gil([&] { return archive::carved_in(span_of(data)).codes; });
  nb::list list;
  for (const archive::Carved& code : found) {
    list.append(nb::make_tuple(code.start, nb::bytes(code.bytes.data(), code.bytes.size())));
  }
  return list;
}

}  // namespace

void add_archives(nb::module_& m) {
  nb::class_<archive::Member>(m, "Member")
      .def_prop_ro("name", [](const archive::Member& member) { return name_text(member.name); })
      .def_prop_ro("place", [](const archive::Member& member) { return name_text(member.place); })
      .def_ro("is_source", &archive::Member::is_source)
      .def_ro("is_whole", &archive::Member::is_whole)
      .def_prop_ro("about", [](const archive::Member& member) { return lines_of(member.about); })
      .def("read", &read);
  m.def("contents", &contents, nb::arg("path"), nb::arg("unpack").none(), nb::arg("most"),
        nb::arg("sources") = false, nb::arg("carves") = false);
  m.def("code_in_pickle", &code_in_pickle, nb::arg("data"));
  m.def("code_within", &code_within, nb::arg("data"));
  m.def("loads", &loads, nb::arg("path"), nb::arg("unpack").none());
}

}  // namespace pellucid::python
