// pellucid._core: what Python can ask of the engine. python/pellucid/_core.pyi is its description.

#include <nanobind/nanobind.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "driver/code_paths.h"
#include "driver/inspect.h"
#include "driver/marks.h"
#include "driver/pipeline.h"
#include "driver/verdicts.h"
#include "object/known.h"
#include "object/marshal_reader.h"
#include "python/boundary.h"
#include "python/files.h"
#include "python/from_code.h"
#include "python/types.h"
#include "verify/compare.h"

namespace nb = nanobind;

namespace pellucid::python {

namespace {

void require_code(nb::handle object) {
  if (!is_code(object)) throw nb::type_error("a code object is wanted");
}

struct Decompiled {
  nb::str source;
  nb::list line_map;     // (line, original line or None, offset or None, code path)
  nb::list first_lines;  // by the number of the code object
  nb::dict globals;      // opaque name -> object
  nb::dict renamed;      // name in the source -> name in the code object
  nb::list diagnostics;  // (code path, offset, message, whether the source lacks it)
  nb::list notes;        // how a file was read, if that is out of the ordinary
  nb::str doubt{""};     // why its version is a guess
  nb::list remarks;      // what a file holds that its source does not show
  std::vector<std::string> lines_on_names;
  nb::list hidden;  // the source of code that nothing loads
  std::tuple<int, int> version;
  std::vector<std::pair<std::string, object::CodeId>>
      code_values;                      // names of code objects as values
  std::vector<std::string> iter_names;  // names of the built-in function
};

// By the paths of the code objects: 0 as a person would write it, 1 plainly, 2 without structure.
using FormsByPath = std::unordered_map<std::string, uint32_t>;

FormsByPath by_path(const nb::dict& given) {
  FormsByPath forms;
  for (const auto& [path, form] : given) forms[utf8(nb::str(path))] = nb::cast<uint32_t>(form);
  return forms;
}

driver::Forms forms_of(const object::Module& module, const FormsByPath& given) {
  driver::Forms forms;
  if (given.empty()) return forms;
  for (const std::string& path : driver::paths_of(module)) {
    const auto found = given.find(path);
    const uint32_t form = found == given.end() ? 0 : found->second;
    forms.push_back(static_cast<driver::Form>(std::min(form, 2u)));
  }
  return forms;
}

// The facts by their names in object/facts.h; None: there are none.
object::Facts facts_of(nb::handle given) {
  object::Facts facts;
  if (given.is_none()) return facts;
  for (const auto& [key, value] : nb::cast<nb::dict>(given)) {
    const std::string kind = utf8(nb::str(key));
    std::vector<std::string> names;
    for (const nb::handle name : value) names.push_back(utf8(nb::str(name)));
    if (kind == "temporaries") {
      facts.temporaries = names;
    } else if (kind == "steady") {
      facts.steady = names;
    } else if (kind == "apart") {
      facts.apart = names;
    } else if (kind == "reads") {
      facts.reads = names;
    } else if (kind == "graphs") {
      facts.graphs = names;
    } else if (kind == "objects") {
      facts.objects = names;
    } else if (kind == "makers") {
      facts.makers = names;
    } else if (kind == "owned") {
      facts.owned = names;
    } else if (kind == "nested") {
      facts.nested = names;
    } else {
      throw nb::value_error(("no facts of this kind: " + kind).c_str());
    }
  }
  return facts;
}

Decompiled decompile(const object::Module& module, bool keep_lines, bool unstructured,
                     const FormsByPath& forms, object::Facts facts = {}) {
  driver::Options options;
  options.facts = std::move(facts);
  options.keep_lines = keep_lines;
  options.force_unstructured = unstructured;
  options.forms = forms_of(module, forms);
  const driver::Output output =
      value_or_raise(without_gil([&] { return driver::decompile(module, module.root, options); }));
  const std::vector<std::string>& paths = output.paths;

  Decompiled made;
  made.source = text(output.source);
  made.version = {module.version.major, module.version.minor};
  for (const driver::LineMapEntry& entry : output.line_map) {
    nb::object original = nb::none();
    nb::object offset = nb::none();
    if (entry.original_line >= 0) original = nb::int_(entry.original_line);
    if (entry.offset != 0xffffffffu) offset = nb::int_(entry.offset);
    const std::string path = entry.code.valid() ? paths[entry.code.index()] : std::string();
    made.line_map.append(nb::make_tuple(entry.line, original, offset, text(path)));
  }
  for (const uint32_t line : driver::first_lines(module, module.root, output.line_map)) {
    made.first_lines.append(line);
  }
  for (const auto& [given, before] : output.renamed) made.renamed[text(given)] = text(before);
  made.lines_on_names = driver::lines_on_names(output);
  for (const driver::Diagnostic& diagnostic : output.diagnostics) {
    made.diagnostics.append(nb::make_tuple(text(paths[diagnostic.code.index()]), diagnostic.offset,
                                           text(diagnostic.message), diagnostic.refused));
  }
  for (const driver::Opaque& opaque : output.opaques) {
    if (opaque.known == object::Known::Iter) made.iter_names.push_back(opaque.name);
    if (opaque.code.valid()) made.code_values.emplace_back(opaque.name, opaque.code);
  }
  return made;
}

// A frozenset that is only searched, and a slice that stands in brackets, alone or in a tuple, is
// written as a display, and its name nowhere.
void drop_unused_displays(const object::Module& module, Decompiled& made) {
  for (const object::Const& value : module.consts) {
    const bool has_items = value.kind == object::ConstKind::FrozenSet ||
                           value.kind == object::ConstKind::Slice ||
                           value.kind == object::ConstKind::Tuple;
    if (!has_items || !value.text.valid()) continue;
    const nb::str name = text(std::string(module.text(value.text)));
    if (!nb::cast<bool>(made.source.attr("__contains__")(name))) {
      made.globals.attr("pop")(name, nb::none());
    }
  }
}

Decompiled decompile_code(nb::handle code, bool keep_lines, bool unstructured,
                          const nb::dict& forms, nb::handle facts) {
  require_code(code);
  OpaqueNames names;
  const LiveCode live = value_or_raise(from_code(code, names));
  Decompiled made =
      decompile(live.module, keep_lines, unstructured, by_path(forms), facts_of(facts));
  made.globals = names.bindings();
  drop_unused_displays(live.module, made);
  for (const auto& [name, value] : made.code_values) {
    made.globals[text(name)] = live.codes[value.index()];
  }
  for (const std::string& name : made.iter_names) {
    made.globals[text(name)] = nb::module_::import_("builtins").attr("iter");
  }
  for (const auto& [shown, original] : live.renamed) made.renamed[text(shown)] = text(original);
  return made;
}

Decompiled decompile_pyc(const nb::bytes& data, bool keep_lines, bool unstructured,
                         const nb::dict& forms, const MaybeVersion& version) {
  const driver::Input input = read_input(data, version);
  const driver::Remarks remarks =
      without_gil([&] { return driver::remarks_on(input, span_of(data)); });
  Decompiled made = decompile(input.module, keep_lines, unstructured, by_path(forms));
  for (const std::string& line : remarks.before) made.remarks.append(text(line));
  for (const std::string& line : made.lines_on_names) made.remarks.append(text(line));
  for (const std::string& line : remarks.after) made.hidden.append(text(line));
  for (const std::string& note : input.notes) made.notes.append(text(note));
  made.doubt = text(input.doubt);
  return made;
}

// "module" shows what was read; the other stages belong to the driver.
nb::str dump_stage(const object::Module& module, const std::string& stage) {
  if (stage == "module") return text(object::dump(module));
  return text(
      value_or_raise(without_gil([&] { return driver::dump_stage(module, module.root, stage); })));
}

nb::str dump_code(nb::handle code, const std::string& stage) {
  require_code(code);
  OpaqueNames names;
  const LiveCode live = value_or_raise(from_code(code, names));
  return dump_stage(live.module, stage);
}

nb::str dump_pyc(const nb::bytes& data, const std::string& stage, const MaybeVersion& version) {
  const driver::Input input = read_input(data, version);
  return dump_stage(input.module, stage);
}

const char* name_of(verify::Status status) {
  switch (status) {
    case verify::Status::Identical:
      return "identical";
    case verify::Status::Equivalent:
      return "equivalent";
    case verify::Status::Unproven:
      return "unproven";
  }
  return "unproven";
}

// (status, [(status, path, reason, offset a, offset b), ...])
nb::tuple as_tuple(const verify::Verdict& found) {
  nb::list codes;
  for (const verify::CodeVerdict& code : found.codes) {
    codes.append(nb::make_tuple(name_of(code.status), text(code.path), text(code.reason),
                                code.offset_a, code.offset_b, code.code.index()));
  }
  return nb::make_tuple(name_of(found.status), codes);
}

nb::tuple verdict(const object::Module& a, const object::Module& b,
                  const verify::Options& options) {
  return as_tuple(without_gil([&] { return verify::compare(a, a.root, b, b.root, options); }));
}

nb::tuple compare_codes(nb::handle a, nb::handle b, bool ignore_name, bool extra_locals,
                        nb::handle facts) {
  require_code(a);
  require_code(b);
  OpaqueNames names;  // shared: the same object has the same name on both sides
  const LiveCode left = value_or_raise(from_code(a, names));
  const LiveCode right = value_or_raise(from_code(b, names));
  verify::Options options;
  options.ignore_name = ignore_name;
  options.extra_locals = extra_locals;
  options.facts = facts_of(facts);
  return verdict(left.module, right.module, options);
}

nb::tuple compare_pyc(const nb::bytes& pyc, const nb::bytes& marshalled,
                      const MaybeVersion& version) {
  const driver::Input original = read_input(pyc, version);
  const object::Module again =
      value_or_raise(object::read_marshal(span_of(marshalled), original.module.version));
  return as_tuple(without_gil([&] { return driver::compare_recompiled(original.module, again); }));
}

// The verdict of the second tier on what the file is decompiled to.
nb::tuple relower_pyc(const nb::bytes& pyc, bool unstructured, const nb::dict& forms,
                      const MaybeVersion& version) {
  const driver::Input input = read_input(pyc, version);
  const object::Module& module = input.module;
  driver::Options options;
  options.verify = true;
  options.force_unstructured = unstructured;
  options.forms = forms_of(module, by_path(forms));
  const driver::Output output =
      value_or_raise(without_gil([&] { return driver::decompile(module, module.root, options); }));
  return as_tuple(output.verdict.value_or(verify::Verdict()));
}

nb::str with_comments(const nb::str& source, const nb::list& given, bool keeps_lines) {
  std::vector<driver::Comment> comments;
  for (const nb::handle item : given) {
    const auto [line, said] = nb::cast<std::tuple<uint32_t, nb::str>>(item);
    comments.push_back({line, utf8(said)});
  }
  return text(driver::with_comments(utf8(source), std::move(comments), keeps_lines));
}

}  // namespace

NB_MODULE(_core, m) {
  find_types();
  m.attr("__version__") = PELLUCID_VERSION;
  nb::class_<Decompiled>(m, "Decompiled")
      .def_ro("source", &Decompiled::source)
      .def_ro("line_map", &Decompiled::line_map)
      .def_ro("first_lines", &Decompiled::first_lines)
      .def_ro("globals", &Decompiled::globals)
      .def_ro("renamed", &Decompiled::renamed)
      .def_ro("diagnostics", &Decompiled::diagnostics)
      .def_ro("version", &Decompiled::version)
      .def_ro("notes", &Decompiled::notes)
      .def_ro("doubt", &Decompiled::doubt)
      .def_ro("remarks", &Decompiled::remarks)
      .def_ro("hidden", &Decompiled::hidden);
  m.def("decompile_code", &decompile_code, nb::arg("code"), nb::arg("keep_lines") = false,
        nb::arg("unstructured") = false, nb::arg("forms") = nb::dict(), nb::kw_only(),
        nb::arg("facts") = nb::none());
  m.def("decompile_pyc", &decompile_pyc, nb::arg("data"), nb::arg("keep_lines") = false,
        nb::arg("unstructured") = false, nb::arg("forms") = nb::dict(),
        nb::arg("version") = nb::none());
  m.def("stages", &driver::stages);
  m.def("dump_code", &dump_code, nb::arg("code"), nb::arg("stage"));
  m.def("dump_pyc", &dump_pyc, nb::arg("data"), nb::arg("stage"), nb::arg("version") = nb::none());
  m.def("compare_codes", &compare_codes, nb::arg("a"), nb::arg("b"), nb::kw_only(),
        nb::arg("ignore_name") = false, nb::arg("extra_locals") = false,
        nb::arg("facts") = nb::none());
  m.def("compare_pyc", &compare_pyc, nb::arg("pyc"), nb::arg("marshalled"),
        nb::arg("version") = nb::none());
  m.def("relower_pyc", &relower_pyc, nb::arg("pyc"), nb::arg("unstructured") = false,
        nb::arg("forms") = nb::dict(), nb::arg("version") = nb::none());
  m.def(
      "function_name", [](const nb::str& name) { return text(function_name(name)); },
      nb::arg("name"));
  m.def("with_comments", &with_comments, nb::arg("source"), nb::arg("comments"),
        nb::arg("keeps_lines"));
  m.def("pyc_version", &pyc_version, nb::arg("data"));
  m.def("unmarshal", &unmarshal, nb::arg("data"));
  m.def("header_for", &header_for, nb::arg("major"), nb::arg("minor"));
  m.def("holds_code", &holds_code, nb::arg("data"));
  m.def("long_constants", &long_constants, nb::arg("data"), nb::arg("least"),
        nb::arg("version") = nb::none());
  m.def("inspect_pyc", &inspect_pyc, nb::arg("data"), nb::arg("version") = nb::none());
}

}  // namespace pellucid::python
