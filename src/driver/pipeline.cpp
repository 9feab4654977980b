#include "driver/pipeline.h"

#include <algorithm>

#include "ast/tree.h"
#include "base/check.h"
#include "bytecode/decode.h"
#include "flow/build.h"
#include "ir/generated.h"
#include "ir/lift.h"
#include "ir/simplify.h"
#include "polish/polish.h"
#include "polish/release.h"
#include "print/print.h"
#include "structure/expressions.h"
#include "structure/recover.h"
#include "structure/scopes.h"
#include "structure/unstructured.h"
#include "verify/lower/lower.h"

namespace pellucid::driver {
namespace {

// Every code object below `root`, nested ones before those that hold them.
std::vector<object::CodeId> innermost_first(const object::Module& module, object::CodeId root) {
  std::vector<object::CodeId> order;
  std::vector<uint8_t> seen(module.codes.size(), 0);
  std::vector<object::CodeId> stack{root};
  while (!stack.empty()) {
    const object::CodeId code = stack.back();
    stack.pop_back();
    if (seen[code.index()]) continue;
    seen[code.index()] = 1;
    order.push_back(code);
    for (const object::ConstId id : module[code].consts) {
      const object::Const& constant = module[id];
      if (constant.kind == object::ConstKind::Code) stack.push_back(constant.code);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

Result<ir::Function> to_ir(object::Module& module, object::CodeId code, bool keep_ends,
                           const object::Facts& facts = {}) {
  PELLUCID_TRY(const bytecode::Stream stream, bytecode::decode(module, code));
  PELLUCID_TRY(const flow::Graph graph, flow::build(module, stream, keep_ends));
  // From here on no version is visible.
  PELLUCID_TRY(ir::Function function, ir::lift(module, graph));
  // What a generator's own names, and lists that it keeps its values in, stand for.
  if (!facts.empty()) ir::settle_generated(module, facts, function);
  ir::simplify(module, function, !facts.empty());
  return function;
}

// The bodies of the code objects that `code` makes functions and classes of, once more.
std::vector<ast::ListId> with_fresh_copies(const object::Module& module, object::CodeId code,
                                           ast::Tree& tree, std::vector<ast::ListId> bodies) {
  for (const object::ConstId id : module[code].consts) {
    const object::Const& constant = module[id];
    if (constant.kind != object::ConstKind::Code) continue;
    ast::ListId& body = bodies[constant.code.index()];
    if (body.valid()) body = ast::clone(tree, body);
  }
  return bodies;
}

// Whether the shape of the body is read where the code object is used: it says what nobody wrote.
bool is_read_by_shape(const object::Module& module, object::CodeId code) {
  const std::string_view name = module.text(module[code].name);
  return name.starts_with("<generic parameters of ") || name == "__annotate__";
}

// The body that statements of Python's own say, or what stands in the way.
Result<ast::ListId> structured_body(object::Module& module, object::CodeId code, ast::Tree& tree,
                                    structure::Scopes& scopes,
                                    const std::vector<ast::ListId>& bodies, bool only_if_straight,
                                    const object::Facts& facts) {
  try {
    PELLUCID_TRY(const ir::Function full, to_ir(module, code, true, facts));
    if (only_if_straight && full.blocks.size() > 1 && !is_read_by_shape(module, code)) {
      return Error{ErrorCode::Unsupported, 0, "structure is switched off"};
    }
    if (full.keeps_ends) {
      // What is said about code that never runs is more than a first try need be able to follow.
      const auto copies = with_fresh_copies(module, code, tree, bodies);
      const Result<ast::ListId> body = structure::recover(full, tree, copies);
      if (body.ok()) return scopes.finish_body(*body, full, facts.empty());
    }
    PELLUCID_TRY(const ir::Function function, to_ir(module, code, false, facts));
    PELLUCID_TRY(const ast::ListId body, structure::recover(function, tree, bodies));
    return scopes.finish_body(body, function, facts.empty());
  } catch (const InternalError& bug) {
    return Error{ErrorCode::Internal, 0, bug.what()};
  }
}

// The same as a loop over a state: for any control flow.
Result<ast::ListId> unstructured_body(object::Module& module, object::CodeId code, ast::Tree& tree,
                                      structure::Scopes& scopes,
                                      const std::vector<ast::ListId>& bodies, const Error& reason) {
  try {
    PELLUCID_TRY(const bytecode::Stream stream, bytecode::decode(module, code));
    PELLUCID_TRY(const flow::Graph graph, flow::build(module, stream, false));
    PELLUCID_TRY(const ir::Function function, ir::lift_slots(module, graph));
    PELLUCID_TRY(const ast::ListId body,
                 structure::unstructured(function, tree, bodies, reason.message,
                                         static_cast<uint32_t>(reason.offset)));
    return scopes.finish_body(body, function);
  } catch (const InternalError& bug) {
    return Error{ErrorCode::Internal, 0, bug.what()};
  }
}

// A try that fails may leave the bodies that it read as expressions half rewritten.
class SavedBodies {
 public:
  SavedBodies(const object::Module& module, object::CodeId code, ast::Tree& tree,
              const std::vector<ast::ListId>& bodies) {
    for (const object::ConstId id : module[code].consts) {
      const object::Const& constant = module[id];
      if (constant.kind != object::ConstKind::Code) continue;
      const ast::ListId body = bodies[constant.code.index()];
      const bool is_hidden = module.text(module[constant.code].name).starts_with('<');
      if (body.valid() && is_hidden) saved_.push_back({constant.code, ast::clone(tree, body)});
    }
  }
  void restore(std::vector<ast::ListId>& bodies) const {
    for (const auto& [code, body] : saved_) bodies[code.index()] = body;
  }

 private:
  std::vector<std::pair<object::CodeId, ast::ListId>> saved_;
};

// A body that says that there is none, and why.
ast::ListId marker_body(ast::Tree& tree, const Error& error) {
  const auto name = tree.add(ast::Name{tree.intern("NotImplementedError")});
  object::Const text;
  text.kind = object::ConstKind::Str;
  text.text = tree.intern("pellucid: " + error.message);
  const auto message = tree.add(ast::Constant{tree.module().add(text)});
  const auto call = tree.add(ast::Call{name, tree.list({message}), tree.list({})});
  return tree.list({tree.add(ast::Raise{call, {}})});
}

// The statements of every code object below `root`: structured, else a loop over a state with a
// diagnostic that says why, else (a bug of ours) a marker.
ast::NodeId recover_all(object::Module& module, object::CodeId root, ast::Tree& tree,
                        const Options& options, std::vector<Diagnostic>& diagnostics) {
  structure::Scopes scopes(tree);
  std::vector<ast::ListId> bodies(module.codes.size());
  for (const object::CodeId code : innermost_first(module, root)) {
    const size_t first = tree.size();
    const auto note = [&](const Error& error, bool refused) {
      diagnostics.push_back({code, static_cast<uint32_t>(error.offset), error.message, refused});
    };
    const SavedBodies saved(module, code, tree, bodies);
    const object::Facts facts = code == root ? options.facts : object::Facts();
    Result<ast::ListId> body =
        structured_body(module, code, tree, scopes, bodies, options.force_unstructured, facts);
    if (!body.ok()) {
      const Error reason = body.error();
      saved.restore(bodies);
      body = unstructured_body(module, code, tree, scopes, bodies, reason);
      if (!options.force_unstructured) {
        note(reason, false);
      } else if (!body.ok()) {
        saved.restore(bodies);
        body = structured_body(module, code, tree, scopes, bodies, false, facts);
      }
      if (!body.ok()) note(body.error(), true);
    }
    bodies[code.index()] =
        body.ok()
            ? polish::run(tree, *body, {.makes_f_strings_of_percent = module.version.minor >= 11})
            : marker_body(tree, body.error());
    // Compilers keep nothing in names of their own; generators care how long they do.
    if (body.ok() && !facts.empty()) {
      bodies[code.index()] = polish::release_temporaries(tree, bodies[code.index()], code);
    }
    tree.mark_code(first, code);
  }
  const bool is_function = (module[root].flags & object::kOptimized) != 0;
  const ast::NodeId top = is_function ? structure::function_source(tree, root, bodies)
                                      : tree.add(ast::Module{bodies[root.index()]});
#ifdef PELLUCID_CHECKS
  ast::check(tree, top);
#endif
  return top;
}

}  // namespace

Result<Output> decompile(object::Module& module, object::CodeId root, const Options& options) {
  Output out;
  ast::Tree tree(module);
  const ast::NodeId top = recover_all(module, root, tree, options, out.diagnostics);
  const print::Source source = print::to_source(tree, top, {module.version, options.keep_lines, 0});
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
  for (size_t i = 0; i < module.consts.size(); ++i) {
    if (module.consts[i].kind == object::ConstKind::Opaque) {
      out.opaques.push_back(object::ConstId(i));
    }
  }
  if (options.verify && tree.is(top, ast::Kind::Module)) {
    out.verdict = verify::compare(module, root, verify::relower(tree, top));
  }
  return out;
}

verify::Verdict compare_with_tree(const object::Module& original, object::Module& module,
                                  const verify::Options& options) {
  ast::Tree tree(module);
  std::vector<Diagnostic> diagnostics;
  const ast::NodeId top = recover_all(module, module.root, tree, {}, diagnostics);
  return verify::compare(original, original.root, verify::relower(tree, top), options);
}

Result<std::string> dump_stage(object::Module& module, object::CodeId root,
                               const std::string& stage) {
  std::string text;
  if (stage == "ast") {
    ast::Tree tree(module);
    std::vector<Diagnostic> diagnostics;
    return ast::dump(tree, recover_all(module, root, tree, {}, diagnostics));
  }
  for (const object::CodeId code : innermost_first(module, root)) {
    PELLUCID_TRY(const bytecode::Stream stream, bytecode::decode(module, code));
    if (stage == "raw") {
      text += bytecode::dump_raw(module, stream);
      continue;
    }
    if (stage == "stream") {
      text += bytecode::dump(module, stream);
      continue;
    }
    PELLUCID_TRY(const flow::Graph graph, flow::build(module, stream, true));
    if (stage == "dis") {
      text += flow::listing(module, graph);
      continue;
    }
    if (stage == "flow") {
      text += flow::dump(module, graph);
      continue;
    }
    PELLUCID_TRY(const ir::Function function, to_ir(module, code, true));
    if (stage == "ir") {
      text += ir::dump(module, function);
      continue;
    }
    return Error{ErrorCode::Unsupported, 0, "unknown stage '" + stage + "'"};
  }
  return text;
}

}  // namespace pellucid::driver
