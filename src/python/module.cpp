// SPDX-License-Identifier: Apache-2.0
// pellucid._core: the engine's interface for Python, described by python/pellucid/_core.pyi.

#include <nanobind/nanobind.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "pellucid/generated.h"
#include "pellucid/views.h"
#include "python/archives.h"
#include "python/boundary.h"
#include "python/files.h"
#include "python/from_code.h"
#include "python/from_tree.h"
#include "python/pickles.h"
#include "python/types.h"

namespace nb = nanobind;

namespace pellucid::python {

namespace {

void require_code(nb::handle object) {
  if (!is_code(object)) throw nb::type_error("a code object is wanted");
}

struct Decompiled {
  nb::str source;
  nb::list line_map;               // (line, original line or None, offset or None, code path)
  nb::list first_lines;            // by code object number
  nb::dict globals;                // opaque name -> object
  nb::dict renamed;                // name in the source -> name in the code object
  nb::list diagnostics;            // (code path, offset, message, true if the source lacks it)
  nb::list notes;                  // unusual ways in which a file was read
  nb::str doubt{""};               // why its version is a guess
  nb::list remarks;                // contents of a file that its source does not show
  nb::list hidden;                 // the source of code that nothing loads
  nb::object verdict{nb::none()};  // of the relowered tier, if requested
  std::tuple<int, int> version;
};

// Returns the forms by the paths of code objects: 0 usual, 1 in order, 2 plain, 3 a loop over a
// state.
FormsByPath by_path(const nb::dict& given) {
  FormsByPath forms;
  for (const auto& [path, form] : given) {
    forms[utf8(nb::str(path))] = static_cast<Form>(std::min(nb::cast<uint32_t>(form), 3u));
  }
  return forms;
}

DecompileOptions options_of(bool keep_lines, bool unstructured, uint32_t line_length,
                            bool say_lost) {
  DecompileOptions options;
  options.keep_lines = keep_lines;
  options.line_length = line_length;
  options.say_lost = say_lost;
  options.structured = !unstructured;
  return options;
}

constexpr const char* kStandIns = "stand_ins";  // of objects among the constants, not a fact

// Returns the facts by their names in object/facts.h; none for None.
object::Facts facts_of(nb::handle given) {
  object::Facts facts;
  if (given.is_none()) return facts;
  for (const auto& [key, value] : nb::cast<nb::dict>(given)) {
    const std::string kind = utf8(nb::str(key));
    if (kind == kStandIns) continue;
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

// Reads a file; its code has the objects that texts stand for, if the facts name such texts.
Program read_generated(const nb::bytes& data, const MaybeVersion& version, nb::handle facts) {
  Program program = read_input(data, version);
  if (facts.is_none() || !facts.attr("__contains__")(kStandIns)) return program;
  const auto names = nb::cast<std::vector<std::string>>(facts[kStandIns]);
  return names.empty() ? program : with_objects(program, names);
}

nb::list line_map_of(const Decompilation& found) {
  nb::list line_map;
  for (const LineMapping& entry : found.lines) {
    nb::object original = nb::none();
    nb::object offset = nb::none();
    if (entry.original_line) original = nb::int_(*entry.original_line);
    if (entry.offset) offset = nb::int_(*entry.offset);
    const std::string& path = found.codes[entry.code].path;
    line_map.append(nb::make_tuple(entry.line, original, offset, text(path)));
  }
  return line_map;
}

Decompiled as_python(const Decompilation& found, Version version, bool line_map) {
  Decompiled made;
  made.source = text(found.source);
  made.version = {version.major, version.minor};
  if (line_map) made.line_map = line_map_of(found);
  for (const CodeObject& code : found.codes) made.first_lines.append(code.first_line);
  for (const auto& [given, original] : found.renamed) made.renamed[text(given)] = text(original);
  for (const Diagnostic& said : found.diagnostics) {
    made.diagnostics.append(nb::make_tuple(text(found.codes[said.code].path), said.offset,
                                           text(said.message), said.severity == Severity::Refused));
  }
  return made;
}

// Drops names that the text does not use: a frozenset that is only searched, and a slice in a
// subscript, alone or in a tuple, are written as displays.
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
                          const nb::dict& forms, nb::handle facts, bool apart, uint32_t line_length,
                          bool say_lost) {
  require_code(code);
  OpaqueNames names;
  const object::Facts known = facts_of(facts);
  const LiveCode live = value_or_raise(from_code(code, names, apart, !known.empty()));
  const DecompileOptions options = options_of(keep_lines, unstructured, line_length, say_lost);
  const FormsByPath wanted = by_path(forms);
  const LiveDecompilation found = value_or_raise(
      without_gil([&] { return decompile_live(live.module, options, wanted, known); }));
  const object::Version version = live.module.version;
  Decompiled made = as_python(found, {version.major, version.minor}, true);
  made.globals = names.bindings();
  drop_unused_displays(live.module, made);
  for (const Opaque& opaque : found.opaques) {
    if (opaque.code.valid()) made.globals[text(opaque.name)] = live.codes[opaque.code.index()];
  }
  for (const Opaque& opaque : found.opaques) {
    if (opaque.known != object::Known::Iter) continue;
    made.globals[text(opaque.name)] = nb::module_::import_("builtins").attr("iter");
  }
  for (const auto& [shown, original] : live.renamed) made.renamed[text(shown)] = text(original);
  return made;
}

// Returns (status, [(status, path, reason, offset a, offset b, code object number), ...]).
nb::tuple as_tuple(const Verdict& found) {
  nb::list codes;
  for (const CodeVerdict& code : found.codes) {
    codes.append(nb::make_tuple(name_of(code.status), text(code.path), text(code.reason),
                                code.offset, code.candidate_offset, code.code));
  }
  return nb::make_tuple(name_of(found.status), codes);
}

Decompiled decompile_pyc(const nb::bytes& data, bool keep_lines, bool unstructured,
                         const nb::dict& forms, const MaybeVersion& version, bool verify,
                         bool line_map, bool strict, const MaybeVersion& syntax, nb::handle facts,
                         uint32_t line_length, bool say_lost) {
  const Program program = read_generated(data, version, facts);
  DecompileOptions options = options_of(keep_lines, unstructured, line_length, say_lost);
  options.syntax = version_of(syntax);
  options.remarks = true;
  options.verify = verify;
  options.strict = strict;
  const FormsByPath wanted = by_path(forms);
  const object::Facts known = facts_of(facts);
  const Decompilation found = value_or_raise(
      without_gil([&] { return decompile_in_forms(program, options, wanted, known); }));
  Decompiled made = as_python(found, program.version(), line_map);
  for (const std::string& line : found.remarks) made.remarks.append(text(line));
  for (const std::string& line : found.hidden) made.hidden.append(text(line));
  for (const std::string& note : program.notes()) made.notes.append(text(note));
  made.doubt = text(program.doubt());
  if (found.verdict) made.verdict = as_tuple(*found.verdict);
  return made;
}

// Returns the code object that a file holds: the names on the way to it in the module that is its
// source, its file name, and why its version is a guess.
nb::tuple subject_of(const nb::bytes& data, const MaybeVersion& version) {
  const Program program = read_input(data, version);
  const object::Module& module = module_of(program);
  nb::list path;
  for (const std::string& name : subject_path(program)) path.append(text(name));
  const object::Code& code = module[module.subject()];
  return nb::make_tuple(path, text(std::string(module.text(code.filename))), text(program.doubt()));
}

nb::str dump_code(nb::handle code, const std::string& stage) {
  require_code(code);
  OpaqueNames names;
  const LiveCode live = value_or_raise(from_code(code, names));
  return text(value_or_raise(without_gil([&] { return dump_live(live.module, stage); })).text);
}

nb::str dump_pyc(const nb::bytes& data, const std::string& stage, const MaybeVersion& version) {
  const Program program = read_input(data, version);
  return text(value_or_raise(without_gil([&] { return dump(program, stage); })).text);
}

nb::tuple compare_codes(nb::handle a, nb::handle b, bool ignore_name, bool extra_locals,
                        nb::handle facts, bool apart, bool strict) {
  require_code(a);
  require_code(b);
  OpaqueNames names;  // shared: the same object has the same name on both sides
  const Allowance allowance{ignore_name, extra_locals, facts_of(facts), strict};
  const bool generated = !allowance.facts.empty();
  const LiveCode left = value_or_raise(from_code(a, names, apart, generated));
  const LiveCode right = value_or_raise(from_code(b, names, false, generated));
  return as_tuple(value_or_raise(
      without_gil([&] { return compare_live(left.module, right.module, allowance); })));
}

nb::tuple compare_pyc(const nb::bytes& pyc, const nb::bytes& marshalled,
                      const MaybeVersion& version, bool strict) {
  const Program original = read_input(pyc, version);
  const Program again = value_or_raise(read_marshal(span_of(marshalled), original.version()));
  CompareOptions options;
  options.strict = strict;
  return as_tuple(value_or_raise(without_gil([&] { return compare(original, again, options); })));
}

// Returns the path of each code object that a walk proves, with the offsets where the proof meets.
nb::list meetings_pyc(const nb::bytes& pyc, const nb::bytes& marshalled,
                      const MaybeVersion& version) {
  const Program original = read_input(pyc, version);
  const Program again = value_or_raise(read_marshal(span_of(marshalled), original.version()));
  CompareOptions options;
  options.meetings = true;
  const Verdict verdict =
      value_or_raise(without_gil([&] { return compare(original, again, options); }));
  nb::list found;
  for (const CodeVerdict& code : verdict.codes) {
    nb::list meetings;
    for (const Meeting& at : code.meetings) {
      meetings.append(nb::make_tuple(at.original, at.candidate));
    }
    found.append(nb::make_tuple(text(code.path), meetings));
  }
  return found;
}

// Returns the relowered tier's verdict on a file's decompilation.
nb::tuple relower_pyc(const nb::bytes& pyc, bool unstructured, const nb::dict& forms,
                      const MaybeVersion& version, bool strict) {
  const Program program = read_input(pyc, version);
  DecompileOptions options;
  options.structured = !unstructured;
  options.verify = true;
  options.strict = strict;
  const FormsByPath wanted = by_path(forms);
  const Decompilation found =
      value_or_raise(without_gil([&] { return decompile_in_forms(program, options, wanted); }));
  return as_tuple(found.verdict.value_or(Verdict()));
}

// Returns the verdict on a file and a source, an ast.Module that any version of Python has parsed.
nb::tuple compare_source(const nb::bytes& pyc, nb::handle parsed, const MaybeVersion& version,
                         nb::handle facts) {
  const Program original = read_generated(pyc, version, facts);
  const object::Module& read = module_of(original);
  object::Module module = object::new_module(read.version);
  object::Code flags;  // some releases of one version have others
  flags.flags = read[read.root].flags;
  module.codes.push_back(std::move(flags));
  module.root = object::CodeId(size_t{0});
  ast::Tree tree(module);
  const ast::NodeId top = from_tree(parsed, tree);
  const object::Facts known = facts_of(facts);
  return as_tuple(
      value_or_raise(without_gil([&] { return compare_with_source(original, tree, top, known); })));
}

nb::str with_comments(const nb::str& source, const nb::list& given, bool keeps_lines) {
  std::vector<Comment> comments;
  for (const nb::handle item : given) {
    const auto [line, said] = nb::cast<std::tuple<uint32_t, nb::str>>(item);
    comments.push_back({line, utf8(said)});
  }
  return text(pellucid::with_comments(utf8(source), std::move(comments), keeps_lines));
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
      .def_ro("hidden", &Decompiled::hidden)
      .def_ro("verdict", &Decompiled::verdict);
  m.def("decompile_code", &decompile_code, nb::arg("code"), nb::arg("keep_lines") = false,
        nb::arg("unstructured") = false, nb::arg("forms") = nb::dict(), nb::kw_only(),
        nb::arg("facts") = nb::none(), nb::arg("apart") = false, nb::arg("line_length") = 100,
        nb::arg("say_lost") = false);
  m.def("decompile_pyc", &decompile_pyc, nb::arg("data"), nb::arg("keep_lines") = false,
        nb::arg("unstructured") = false, nb::arg("forms") = nb::dict(),
        nb::arg("version") = nb::none(), nb::arg("verify") = false, nb::arg("line_map") = true,
        nb::arg("strict") = false, nb::arg("syntax") = nb::none(), nb::arg("facts") = nb::none(),
        nb::arg("line_length") = 100, nb::arg("say_lost") = false);
  m.def("subject_of", &subject_of, nb::arg("data"), nb::arg("version") = nb::none());
  m.def("stages", &stages);
  m.def("dump_code", &dump_code, nb::arg("code"), nb::arg("stage"));
  m.def("dump_pyc", &dump_pyc, nb::arg("data"), nb::arg("stage"), nb::arg("version") = nb::none());
  m.def("compare_codes", &compare_codes, nb::arg("a"), nb::arg("b"), nb::kw_only(),
        nb::arg("ignore_name") = false, nb::arg("extra_locals") = false,
        nb::arg("facts") = nb::none(), nb::arg("apart") = false, nb::arg("strict") = false);
  m.def("compare_pyc", &compare_pyc, nb::arg("pyc"), nb::arg("marshalled"),
        nb::arg("version") = nb::none(), nb::arg("strict") = false);
  m.def("meetings_pyc", &meetings_pyc, nb::arg("pyc"), nb::arg("marshalled"),
        nb::arg("version") = nb::none());
  m.def("relower_pyc", &relower_pyc, nb::arg("pyc"), nb::arg("unstructured") = false,
        nb::arg("forms") = nb::dict(), nb::arg("version") = nb::none(), nb::arg("strict") = false);
  m.def("compare_source", &compare_source, nb::arg("pyc"), nb::arg("parsed"),
        nb::arg("version") = nb::none(), nb::arg("facts") = nb::none());
  m.def(
      "function_name", [](const nb::str& name) { return text(function_name(name)); },
      nb::arg("name"));
  m.def("with_comments", &with_comments, nb::arg("source"), nb::arg("comments"),
        nb::arg("keeps_lines"));
  m.def("pyc_version", &pyc_version, nb::arg("data"));
  add_archives(m);
  add_pickles(m);
  m.def("header_for", &header_for, nb::arg("major"), nb::arg("minor"));
  m.def("holds_code", &holds_code, nb::arg("data"));
  m.def("long_constants", &long_constants, nb::arg("data"), nb::arg("least"),
        nb::arg("version") = nb::none());
  m.def("inspect_pyc", &inspect_pyc, nb::arg("data"), nb::arg("version") = nb::none());
}

}  // namespace pellucid::python
