// SPDX-License-Identifier: Apache-2.0
#include "driver/search.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "driver/verdicts.h"
#include "print/print.h"

namespace pellucid::driver {
namespace {

// With more broken code objects than this in one file, the whole is given up.
constexpr size_t kMostBroken = 8;

void note_lines(const print::Source& source, object::CodeId root, Output& out) {
  out.line_map.reserve(source.map.size());
  for (const print::LineEntry& entry : source.map) {
    const object::CodeId code = entry.where.code.valid() ? entry.where.code : root;
    out.line_map.push_back({entry.line, entry.where.line, entry.where.offset, code});
  }
}

// Adds a diagnostic for what the syntax of the version cannot express: it is a failure like code
// that was not recovered.
void note_problems(const print::Source& source, object::CodeId root, Output& out) {
  for (const print::Problem& problem : source.problems) {
    const object::CodeId code = problem.where.code.valid() ? problem.where.code : root;
    out.diagnostics.push_back({code, problem.where.offset, problem.message, true});
  }
}

// Makes a text unproven that its version cannot read: it is no proof, whatever its tree compares
// to.
void doubt_unsayable(const print::Source& source, object::CodeId root, verify::Verdict& verdict) {
  for (const print::Problem& problem : source.problems) {
    const object::CodeId culprit = problem.where.code.valid() ? problem.where.code : root;
    verdict.status = verify::Status::Unproven;
    for (verify::CodeVerdict& code : verdict.codes) {
      if (code.code != culprit || code.status == verify::Status::Unproven) continue;
      code.status = verify::Status::Unproven;
      code.reason = problem.message;
    }
  }
}

void note_opaques(const object::Module& module, Output& out) {
  for (const object::Const& value : module.consts) {
    if (value.kind != object::ConstKind::Opaque) continue;
    const auto known = static_cast<object::Known>(value.integer);
    out.opaques.push_back({std::string(module.text(value.text)), known, value.code});
  }
}

// Records the names that stand in the text for those that no source can write.
void note_renamed(const object::Module& module, Output& out) {
  for (const auto& [given, before] : module.names_given.pairs) {
    // A function goes by the name that it is bound to, if it can.
    const bool may_be_nowhere = module.names_given.of_code.contains(given);
    if (may_be_nowhere && out.source.find(module.text(given)) == std::string::npos) continue;
    out.renamed.emplace_back(module.text(given), module.text(before));
  }
}

// Makes room for the constants that a text adds, and for those of its proof: later, beside the tree
// and all graphs, a copy of the constants would be what takes the most memory. What is not used is
// never touched.
void make_room(object::Module& module, bool is_proven) {
  if (!is_proven) return module.make_room();
  const size_t count = module.consts.size();
  module.consts.reserve(count + count / 2 + 4 * module.codes.size() + 64);
}

Output written_without(const Request& request, const Forms& forms, Broken broken) {
  Output out;
  object::Module module = request.graphs.module();
  make_room(module, request.options.verify);
  ast::Tree tree(module);
  const ast::NodeId top = recover_all(request, forms, broken, tree, out.diagnostics);
  const object::Version syntax = request.options.syntax.value_or(module.version);
  const print::Style style = {.version = syntax,
                              .keep_lines = request.options.keep_lines,
                              .line_length = request.options.line_length};
  print::Source source = print::to_source(tree, top, style);
  if (source.failure) {
    // Again, without this code object.
    const ast::Where& where = source.failure->where;
    const bool is_one = where.code.valid() && broken.size() < kMostBroken;
    const Error bug{ErrorCode::Internal, where.offset, source.failure->message};
    const object::CodeId culprit = is_one ? where.code : request.root;
    if (!broken.emplace(culprit, bug).second) throw InternalError(bug.message);
    return written_without(request, forms, std::move(broken));
  }
  out.source = std::move(source.text);
  note_lines(source, request.root, out);
  source.map = {};
  note_problems(source, request.root, out);
  note_opaques(module, out);
  note_renamed(module, out);
  if (request.options.verify && tree.is(top, ast::Kind::Module)) {
    const Options& options = request.options;
    out.verdict = relowered(request.graphs, tree, top, options.strict, options.facts);
    doubt_unsayable(source, request.root, *out.verdict);
  }
  return out;
}

size_t unproven(const Output& output) {
  return static_cast<size_t>(std::count_if(
      output.verdict->codes.begin(), output.verdict->codes.end(),
      [](const verify::CodeVerdict& code) { return code.status == verify::Status::Unproven; }));
}

// Returns the form to try after one that is unproven. Only another order is mended by keeping it.
Form next_form(Form form, const verify::CodeVerdict& code) {
  if (form == Form::Usual && !code.reason.starts_with(verify::kOtherOrder)) return Form::Plain;
  return static_cast<Form>(static_cast<uint8_t>(form) + 1);
}

// Selects the next form of each code object that is unproven in these; returns false if none is
// left.
bool next_forms(const verify::Verdict& verdict, const std::vector<bool>& as_is, Forms& forms) {
  bool is_new = false;
  for (const verify::CodeVerdict& code : verdict.codes) {
    Form& form = forms[code.code.index()];
    if (code.status != verify::Status::Unproven || form == Form::Unstructured) continue;
    if (as_is[code.code.index()]) continue;
    form = next_form(form, code);
    is_new = true;
  }
  return is_new;
}

}  // namespace

Output written(const Request& request, const Forms& forms) {
  return written_without(request, forms, {});
}

Output search(const Request& request, Forms forms, const std::vector<bool>& as_is) {
  forms.resize(request.graphs.module().codes.size(), Form::Usual);
  const Forms before = forms;
  Output first = written(request, forms);
  if (!first.verdict || unproven(first) == 0) return first;
  Output last = first;
  while (next_forms(*last.verdict, as_is, forms)) last = written(request, forms);
  bool has_left = false;
  for (const verify::CodeVerdict& code : last.verdict->codes) {
    if (code.status != verify::Status::Unproven) continue;
    Form& form = forms[code.code.index()];
    has_left = has_left || form != before[code.code.index()];
    form = before[code.code.index()];
  }
  if (has_left) last = written(request, forms);
  return unproven(last) < unproven(first) ? last : first;
}

}  // namespace pellucid::driver
