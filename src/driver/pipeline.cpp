#include "driver/pipeline.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ast/fitting.h"
#include "ast/misfits.h"
#include "ast/nodes.h"
#include "ast/tree.h"
#include "base/check.h"
#include "bytecode/decode.h"
#include "bytecode/lines.h"
#include "driver/code_paths.h"
#include "driver/faults.h"
#include "driver/lifting.h"
#include "driver/shared_bodies.h"
#include "driver/stages.h"
#include "driver/verdicts.h"
#include "fallback/unstructured.h"
#include "flow/inlined_locals.h"
#include "flow/lazy_values.h"
#include "object/fitting_names.h"
#include "polish/polish.h"
#include "polish/release.h"
#include "print/print.h"
#include "structure/expressions/expressions.h"
#include "structure/graph/not_structured.h"
#include "structure/recover.h"
#include "structure/scopes/names.h"
#include "structure/scopes/scopes.h"
#include "structure/steps.h"
#include "verify/lower/lower.h"

namespace pellucid::driver {
namespace {

// Code objects that a bug of ours leaves without a text, and how it shows.
using Broken = std::unordered_map<object::CodeId, Error>;

// Past so many of them in one file the whole is given up.
constexpr size_t kMostBroken = 8;

// Whether the shape of the body is read where the code object is used: it says what nobody wrote.
bool is_read_by_shape(const object::Module& module, object::CodeId code) {
  const std::string_view name = module.text(module[code].name);
  return name.starts_with("<generic parameters of ") || name == "__annotate__";
}

// Takes back what 3.8 says about which handlers are finally bodies. False: it says nothing.
bool forget_finally(ir::Function& function) {
  bool was_said = false;
  for (flow::Handler& handler : function.handlers) {
    was_said |= std::exchange(handler.is_finally, false);
  }
  return was_said;
}

// The body, or why no text can say it.
Result<ast::ListId> expressible(const object::Module& module, object::CodeId code,
                                const ast::Tree& tree, ast::Misfits& misfits,
                                Result<ast::ListId> body) {
  // What is read where it is used is looked at there; a module is not, whatever it is called.
  const std::string_view name = module.text(module[code].name);
  const bool is_function = (module[code].flags & object::kOptimized) != 0;
  const bool is_hidden = is_function && name.starts_with('<');
  if (!body.ok() || is_hidden || is_read_by_shape(module, code)) return body;
  const ast::NodeId misfit = misfits.find(*body);
  if (!misfit.valid()) return body;
  const uint32_t offset = tree.where(misfit).offset;
  return Error{
      ErrorCode::Unsupported, offset == ast::Where{}.offset ? 0 : offset,
      std::string("a definition or a part of one within a ") + ast::name_of(tree.kind(misfit))};
}

std::string outcome(const Result<ast::ListId>& body) {
  if (body.ok()) return "  succeeds\n";
  return "  fails: " + body.error().message + " at byte " + std::to_string(body.error().offset) +
         '\n';
}

// The body that statements of Python's own say, or what stands in the way.
Result<ast::ListId> structured_body(object::Module& module, object::CodeId code, ast::Tree& tree,
                                    structure::Scopes& scopes,
                                    const std::vector<ast::ListId>& bodies, bool only_if_straight,
                                    bool joins_copies, const object::Facts& facts,
                                    ast::Misfits& misfits, SharedBodies& shared, Faults& faults,
                                    structure::Trace* trace = nullptr) {
  const auto attempt = [&](const char* name, const ir::Function& function) {
    if (trace != nullptr) trace->text += std::string("attempt: ") + name + '\n';
    Result<ast::ListId> body = structure::recover(function, tree, bodies, joins_copies, trace);
    if (trace != nullptr) trace->text += outcome(body);
    return body;
  };
  const auto finished = [&](ast::ListId body, const ir::Function& function) {
    return expressible(module, code, tree, misfits,
                       scopes.finish_body(body, function, facts.empty()));
  };
  try {
    PELLUCID_TRY(ir::Function full, to_ir(module, code, true, faults, facts));
    if (!shared.fits(full)) return kTooLong;
    if (only_if_straight && full.blocks.size() > 1 && !is_read_by_shape(module, code)) {
      return Error{ErrorCode::Unsupported, 0, "structure is switched off"};
    }
    if (full.marks_ends || full.marks_empty_bodies) {
      // What is said about code that never runs is more than a first try need be able to follow.
      Result<ast::ListId> body = attempt("with code that never runs", full);
      if (!body.ok() && forget_finally(full)) {
        tree.restore();
        body = attempt("with that code, and without what 3.8 says of `finally`", full);
      }
      if (body.ok()) return finished(*body, full);
      tree.restore();
      PELLUCID_TRY(full, to_ir(module, code, false, faults, facts));
    }
    forget_finally(full);
    PELLUCID_TRY(const ast::ListId body, attempt("without code that never runs", full));
    return finished(body, full);
  } catch (const structure::NotStructured& reason) {
    return Error{ErrorCode::Unsupported, reason.offset, reason.what()};
  } catch (const InternalError& bug) {
    return Error{ErrorCode::Internal, 0, bug.what()};
  }
}

// The same as a loop over a state: for any control flow.
Result<ast::ListId> unstructured_body(object::Module& module, object::CodeId code, ast::Tree& tree,
                                      structure::Scopes& scopes, std::vector<ast::ListId>& bodies,
                                      const Error& reason, ast::Misfits& misfits,
                                      SharedBodies& shared, Faults& faults) {
  try {
    PELLUCID_TRY(const ir::Function function, to_ir_of_slots(module, code, faults));
    if (!shared.fits(function)) return kTooLong;
    PELLUCID_TRY(const ast::ListId body,
                 fallback::unstructured(function, tree, bodies, scopes.bound_names(),
                                        reason.message, static_cast<uint32_t>(reason.offset)));
    return expressible(module, code, tree, misfits, scopes.finish_body(body, function));
  } catch (const InternalError& bug) {
    return Error{ErrorCode::Internal, 0, bug.what()};
  }
}

// What a loop over a state calls is a function: writes the comprehensions of `code` as such.
void make_comprehensions_functions(object::Module& module, object::CodeId code, ast::Tree& tree,
                                   structure::Scopes& scopes, std::vector<ast::ListId>& bodies,
                                   const Error& reason, ast::Misfits& misfits,
                                   SharedBodies& shared) {
  // Those directly inside, and those inside of these: outer ones first.
  std::vector<object::CodeId> order{code};
  for (size_t i = 0; i < order.size(); ++i) {
    for (const object::ConstId id : module[order[i]].consts) {
      const object::Const& constant = module[id];
      if (constant.kind != object::ConstKind::Code) continue;
      const std::string_view name = module.text(module[constant.code].name);
      if (structure::is_comprehension_name(name)) order.push_back(constant.code);
    }
  }
  for (size_t i = order.size(); --i > 0;) {
    ast::ListId& body = bodies[order[i].index()];
    if (ast::is_unstructured(tree, body)) continue;
    Faults faults;
    const auto loop =
        unstructured_body(module, order[i], tree, scopes, bodies, reason, misfits, shared, faults);
    if (loop.ok()) body = *loop;
  }
}

// Tells the scopes what they cannot see from within a code object: which locals of those around it
// only inlined comprehensions (3.12+) bind, and whether it is a value that is evaluated later.
// Functions are done from the inside out, so what is around one has not been looked at when this
// is asked for it.
void tell_of_surroundings(const object::Module& module, const std::vector<object::CodeId>& order,
                          structure::Scopes& scopes) {
  if (module.version.minor < 12) return;
  for (const object::CodeId code : order) {
    const auto& consts = module[code].consts;
    const bool has_nested = std::any_of(consts.begin(), consts.end(), [&](object::ConstId id) {
      return module[id].kind == object::ConstKind::Code;
    });
    if (!has_nested) continue;
    const Result<bytecode::Stream> stream = bytecode::decode(module, code);
    if (!stream.ok()) continue;
    for (const object::CodeId lazy : flow::lazy_values(module, *stream)) scopes.set_lazy(lazy);
    if ((module[code].flags & object::kOptimized) == 0) continue;
    scopes.hide(code, flow::names_of_inlined(module[code], *stream));
  }
}

polish::Body kind_of(structure::ScopeKind scope) {
  using structure::ScopeKind;
  if (scope == ScopeKind::Function) return polish::Body::Function;
  const bool is_block = scope == ScopeKind::Module || scope == ScopeKind::Class;
  return is_block ? polish::Body::Block : polish::Body::Expression;
}

// The body as a person would write it.
Result<ast::ListId> polished_body(ast::Tree& tree, object::CodeId code, ast::ListId body,
                                  polish::Body kind, Form form, const object::Facts& facts) {
  const object::Module& module = tree.module();
  try {
    if (form == Form::Usual) {
      const std::vector<object::Columns> columns = bytecode::columns_of_units(module[code]);
      const flow::Folds folds = flow::folds_of(module.version);
      body =
          polish::run(tree, body, kind,
                      {.makes_f_strings_of_percent = folds.formats,
                       .leaves_dropped = module.version.minor == 12 || module.version.minor == 13,
                       .copies_exits = module.version.minor >= 10,
                       .looks_into_walrus = folds.walruses},
                      {columns, module[code].firstlineno});
    }
    // Compilers keep nothing in names of their own; generators care how long they do.
    if (!facts.empty()) body = polish::release_temporaries(tree, body, code, facts);
    return body;
  } catch (const InternalError& bug) {
    return Error{ErrorCode::Internal, 0, bug.what()};
  }
}

// The statements of every code object below `root`: structured, else a loop over a state with a
// diagnostic that says why, else (a bug of ours) a marker.
ast::NodeId recover_all(object::Module& module, object::CodeId root, ast::Tree& tree,
                        const Options& options, const Forms& forms, const Broken& broken,
                        std::vector<Diagnostic>& diagnostics, structure::Trace* trace = nullptr) {
  structure::Scopes scopes(tree);
  ast::Misfits misfits(tree);
  std::vector<ast::ListId> bodies(module.codes.size());
  const std::vector<object::CodeId> order = innermost_first(module, root);
  tell_of_surroundings(module, order, scopes);
  SharedBodies shared(module, order);
  for (const object::CodeId code : order) {
    const size_t first = tree.size();
    const auto note = [&](const Error& error, bool refused) {
      diagnostics.push_back({code, static_cast<uint32_t>(error.offset), error.message, refused});
    };
    if (!shared.hand_out(code, tree, bodies)) note(kTooLong, true);
    const Form form = code.index() < forms.size() ? forms[code.index()] : Form::Usual;
    const bool is_forced =
        form == Form::Unstructured || (options.force_unstructured && !scopes.is_in_lazy(code));
    const bool is_generated = options.facts.hold_for(code == root, module.text(module[code].name));
    const object::Facts facts = is_generated ? options.facts : object::Facts();
    if (trace != nullptr)
      trace->text += "code " + std::string(module.text(module[code].qualname)) + '\n';
    // A try that fails may leave the bodies that it read as expressions half rewritten.
    tree.remember();
    Faults faults;
    Result<ast::ListId> body =
        structured_body(module, code, tree, scopes, bodies, is_forced, form == Form::Usual, facts,
                        misfits, shared, faults, trace);
    if (!body.ok()) {
      Error reason = body.error();
      if (form == Form::Unstructured)
        reason.message = "what was written with structure is unproven";
      tree.restore();
      tree.remember();  // comprehensions stay what they are, wherever they can be called as such
      body = unstructured_body(module, code, tree, scopes, bodies, reason, misfits, shared, faults);
      if (trace != nullptr) trace->text += "attempt: a loop over a state\n" + outcome(body);
      if (!body.ok()) {
        tree.restore();
        make_comprehensions_functions(module, code, tree, scopes, bodies, reason, misfits, shared);
        body =
            unstructured_body(module, code, tree, scopes, bodies, reason, misfits, shared, faults);
      }
      if (!options.force_unstructured) {
        note(reason, false);
      } else if (!body.ok()) {
        tree.restore();
        body = structured_body(module, code, tree, scopes, bodies, false, true, facts, misfits,
                               shared, faults);
      }
      if (!body.ok()) note(body.error(), true);
    }
    if (body.ok()) {
      body = polished_body(tree, code, *body, kind_of(scopes.scope_of(code)), form, facts);
      const auto bug = broken.find(code);
      if (bug != broken.end()) body = bug->second;
      if (!body.ok()) {
        note(body.error(), true);
        tree.restore();
      }
    }
    if (body.ok()) {
      body = with_instructions(tree, *body, faults);
      for (const bytecode::Fault& fault : faults) {
        note({ErrorCode::Malformed, fault.offset, fault.message}, true);
      }
    }
    bodies[code.index()] = body.ok() ? *body : marker_body(tree, body.error());
    shared.note(code, bodies[code.index()], !body.ok());
    tree.mark_code(first, code);
  }
  const bool is_function = (module[root].flags & object::kOptimized) != 0;
  const ast::NodeId top = is_function ? structure::function_source(tree, root, bodies)
                                      : tree.add(ast::Module{bodies[root.index()]});
  ast::fit_names(tree, top);
#ifdef PELLUCID_CHECKS
  ast::check(tree, top);
#endif
  return top;
}

// Notes the names that stand in the text for those that no source can write.
void note_renamed(const object::Module& module, Output& out) {
  for (const auto& [given, before] : module.names_given.pairs) {
    // A function goes by the name that it is bound to, where it can.
    const bool may_be_nowhere = module.names_given.of_code.contains(given);
    if (may_be_nowhere && out.source.find(module.text(given)) == std::string::npos) continue;
    out.renamed.emplace_back(module.text(given), module.text(before));
  }
}

// One decompilation, in these forms; with its verdict where that was asked for.
Output written(const object::Module& fitted, object::CodeId root, const Options& options,
               const Forms& forms, Broken broken = {}) {
  Output out;
  object::Module module = fitted;  // gains the names and constants that this text needs
  ast::Tree tree(module);
  const ast::NodeId top = recover_all(module, root, tree, options, forms, broken, out.diagnostics);
  const print::Source source = print::to_source(tree, top, {module.version, options.keep_lines, 0});
  if (source.failure) {
    // Once more without the one code object.
    const ast::Where& where = source.failure->where;
    const bool is_one = where.code.valid() && broken.size() < kMostBroken;
    const Error bug{ErrorCode::Internal, where.offset, source.failure->message};
    if (!broken.emplace(is_one ? where.code : root, bug).second) throw InternalError(bug.message);
    return written(fitted, root, options, forms, std::move(broken));
  }
  out.source = source.text;
  for (const print::LineEntry& entry : source.map) {
    const object::CodeId code = entry.where.code.valid() ? entry.where.code : root;
    out.line_map.push_back({entry.line, entry.where.line, entry.where.offset, code});
  }
  // What the syntax of the version cannot say is no less a failure than what was not recovered.
  for (const print::Problem& problem : source.problems) {
    const object::CodeId code = problem.where.code.valid() ? problem.where.code : root;
    out.diagnostics.push_back({code, problem.where.offset, problem.message, true});
  }
  for (const object::Const& value : module.consts) {
    if (value.kind != object::ConstKind::Opaque) continue;
    const auto known = static_cast<object::Known>(value.integer);
    out.opaques.push_back({std::string(module.text(value.text)), known, value.code});
  }
  note_renamed(module, out);
  if (options.verify && tree.is(top, ast::Kind::Module)) out.verdict = relowered(module, tree, top);
  return out;
}

size_t unproven(const Output& output) {
  return static_cast<size_t>(std::count_if(
      output.verdict->codes.begin(), output.verdict->codes.end(),
      [](const verify::CodeVerdict& code) { return code.status == verify::Status::Unproven; }));
}

// The next form of each code object that is unproven in these; none left: false. `as_is` stay in
// theirs.
bool next_forms(const verify::Verdict& verdict, const std::vector<bool>& as_is, Forms& forms) {
  bool is_new = false;
  for (const verify::CodeVerdict& code : verdict.codes) {
    Form& form = forms[code.code.index()];
    if (code.status != verify::Status::Unproven || form == Form::Unstructured) continue;
    if (as_is[code.code.index()]) continue;
    form = static_cast<Form>(static_cast<uint8_t>(form) + 1);
    is_new = true;
  }
  return is_new;
}

// Decompiles in forms that are all proven, where there are any: what is not is tried in the next
// one, up to the last. What none of them proves stays in the first, which reads best; so does
// everything if it is no better for all that.
Output search(const object::Module& module, object::CodeId root, const Options& options,
              const std::vector<bool>& as_is) {
  Forms forms = options.forms;
  forms.resize(module.codes.size(), Form::Usual);
  const Forms before = forms;
  Output first = written(module, root, options, forms);
  if (!first.verdict || unproven(first) == 0) return first;
  const auto again = [&] { return written(module, root, options, forms); };
  Output last = first;
  while (next_forms(*last.verdict, as_is, forms)) last = again();
  bool has_left = false;
  for (const verify::CodeVerdict& code : last.verdict->codes) {
    if (code.status != verify::Status::Unproven) continue;
    Form& form = forms[code.code.index()];
    has_left = has_left || form != before[code.code.index()];
    form = before[code.code.index()];
  }
  if (has_left) last = again();
  return unproven(last) < unproven(first) ? last : first;
}

// A source with other names than the code is no proof of it, whatever the tree's code compares to.
void doubt_names(const object::Fitted& fitted, Output& out) {
  if (!out.verdict || fitted.codes.empty()) return;
  out.verdict->status = verify::Status::Unproven;
  for (verify::CodeVerdict& code : out.verdict->codes) {
    const auto& codes = fitted.codes;
    if (std::find(codes.begin(), codes.end(), code.code) == codes.end()) continue;
    code.status = verify::Status::Unproven;
    code.reason = "it has names that no source can write";
  }
}

// Whether code that stays in the usual form has no structure in that: the plain form may have.
bool has_plainer(const Output& output, const std::vector<bool>& as_is, Forms& forms) {
  bool is_any = false;
  for (const Diagnostic& said : output.diagnostics) {
    if (said.refused || !as_is[said.code.index()]) continue;
    forms.resize(as_is.size(), Form::Usual);
    forms[said.code.index()] = Form::Plain;
    is_any = true;
  }
  return is_any;
}

void name_codes(const object::Module& module, std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& said : diagnostics) said.qualname = module.text(module[said.code].qualname);
}

}  // namespace

Result<Output> decompile(const object::Module& original, object::CodeId root,
                         const Options& given) {
  Options options = given;
  object::Module module = original;  // in names that a source can write
  std::unordered_map<std::string, std::string> none_before;
  // The names of live objects fit already.
  const object::Fitted fitted =
      module.names_given.are_live ? object::Fitted() : object::fit_names(module, none_before);
  // No form would prove it.
  std::vector<bool> as_is(module.codes.size());
  for (const auto* codes : {&fitted.codes, &fitted.holders}) {
    for (const object::CodeId code : *codes) {
      as_is[code.index()] = true;
      if (code.index() < options.forms.size()) options.forms[code.index()] = Form::Usual;
    }
  }
  const bool searches = options.verify && options.search && !options.force_unstructured;
  const auto made = [&] {
    return searches ? search(module, root, options, as_is)
                    : written(module, root, options, options.forms);
  };
  Output out = made();
  if (!options.force_unstructured && has_plainer(out, as_is, options.forms)) {
    out = made();
  }
  doubt_names(fitted, out);
  if (!options.doubt.empty() && out.verdict) {
    out.verdict = of_a_guess(module, out.verdict->tier, options.doubt);
  }
  out.paths = paths_of(module);
  name_codes(module, out.diagnostics);
  return out;
}

verify::Verdict compare_with_tree(const object::Module& original, const object::Module& decompiled,
                                  const verify::Options& options) {
  object::Module module = decompiled;
  ast::Tree tree(module);
  std::vector<Diagnostic> diagnostics;
  const ast::NodeId top = recover_all(module, module.root, tree, {}, {}, {}, diagnostics);
  return verify::compare(original, original.root, verify::relower(tree, top), options);
}

Result<std::string> dump_stage(const object::Module& original, object::CodeId root,
                               const std::string& stage, std::vector<Diagnostic>* told) {
  object::Module module = original;
  object::escape_names(module);
  std::vector<Diagnostic> diagnostics;
  if (stage == "ast") {
    ast::Tree tree(module);
    return ast::dump(tree, recover_all(module, root, tree, {}, {}, {}, diagnostics));
  }
  if (stage.starts_with("structure")) {
    ast::Tree tree(module);
    structure::Trace trace{stage.substr(std::min(stage.find(':'), stage.size() - 1) + 1), {}};
    recover_all(module, root, tree, {}, {}, {}, diagnostics, &trace);
    return std::move(trace.text);
  }
  PELLUCID_TRY(std::string text, list_codes(module, root, stage, diagnostics));
  name_codes(module, diagnostics);
  if (told != nullptr) *told = std::move(diagnostics);
  return text;
}

}  // namespace pellucid::driver
