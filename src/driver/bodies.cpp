// SPDX-License-Identifier: Apache-2.0
#include "driver/bodies.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "ast/fitting.h"
#include "ast/misfits.h"
#include "ast/nodes.h"
#include "base/check.h"
#include "bytecode/endless_tests.h"
#include "bytecode/left_code.h"
#include "bytecode/lines.h"
#include "driver/attempts.h"
#include "driver/faults.h"
#include "driver/shared_bodies.h"
#include "flow/inlined_locals.h"
#include "flow/lazy_values.h"
#include "polish/polish.h"
#include "polish/release.h"
#include "structure/expressions/expressions.h"
#include "structure/scopes/scopes.h"

namespace pellucid::driver {
namespace {

// Records in the scopes what they cannot see inside a code object: the locals of the code around it
// that only inlined comprehensions (3.12+) bind, and whether it is a value that is evaluated on
// demand. Functions are finished from the inside out, so the code around one is not read yet when
// this is needed.
void tell_of_surroundings(flow::Graphs& graphs, const std::vector<object::CodeId>& order,
                          structure::Scopes& scopes) {
  const object::Module& module = graphs.module();
  if (!flow::habits_of(module.version).inlines_comprehensions) return;
  for (const object::CodeId code : order) {
    const auto& consts = module[code].consts;
    const bool has_nested = std::any_of(consts.begin(), consts.end(), [&](object::ConstId id) {
      return module[id].kind == object::ConstKind::Code;
    });
    if (!has_nested) continue;
    const Result<bytecode::Stream>& stream = graphs.stream(code);
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

polish::Compiler compiler_of(object::Version version) {
  const flow::Folds folds = flow::folds_of(version);
  const flow::Habits habits = flow::habits_of(version);
  return {.makes_f_strings_of_percent = folds.formats,
          .joins_long_f_strings = folds.formats,
          .leaves_dropped = habits.leaves_dropped,
          .copies_exits = habits.copies_exits,
          .looks_into_walrus = folds.walruses};
}

// Returns the body as a person would write it.
Result<ast::ListId> polished_body(ast::Tree& tree, const polish::Compiler& compiler,
                                  const Wanted& wanted, ast::ListId body, polish::Body kind,
                                  Form form, bool is_structured, bool says_lost) {
  static const object::Places kNone;
  const object::Module& module = tree.module();
  const object::CodeId code = wanted.code;
  try {
    if (form <= Form::InOrder) {
      // A body that becomes an expression is not arranged by columns.
      const bool is_expression = kind == polish::Body::Expression;
      polish::Source source = {.places = is_expression ? kNone : *wanted.places,
                               .first_line = module[code].firstlineno,
                               .code = code,
                               .says_lost = says_lost};
      const object::LeftCode left = bytecode::left_code(module[code]);
      source.left = &left;
      // (The loop over a state is no loop of the source.)
      source.has_endless_ones = is_structured && bytecode::has_endless_ones(module, module[code]);
      body = polish::run(tree, body, kind, compiler, source);
    }
    // Only generated code has temporaries, whose lifetime matters.
    if (!wanted.facts->empty()) {
      body = polish::release_temporaries(tree, body, code, *wanted.facts);
    }
    return body;
  } catch (const InternalError& bug) {
    return Error{ErrorCode::Internal, 0, bug.what()};
  }
}

// Returns about how many nodes the tree of the code objects gets. Few trees have more than one for
// two units of bytecode; room that stays empty costs no memory.
size_t nodes_of(const object::Module& module, const std::vector<object::CodeId>& codes) {
  size_t bytes = 0;
  for (const object::CodeId code : codes) bytes += module[code].bytecode.size();
  return bytes / 4;
}

// Bytes of bytecode that are lifted at once.
constexpr size_t kLiftedAtOnce = 1u << 13;

class Bodies {
 public:
  Bodies(const Request& request, const Forms& forms, const Broken& broken, ast::Tree& tree,
         std::vector<Diagnostic>& diagnostics, structure::Trace* trace)
      : request_(request),
        forms_(forms),
        broken_(broken),
        tree_(tree),
        module_(tree.module()),
        diagnostics_(diagnostics),
        scopes_(tree),
        misfits_(tree),
        order_(innermost_first(module_, request.root)),
        shared_(module_, order_),
        bodies_(module_.codes.size()),
        lifted_(module_.codes.size()),
        kinds_(module_.codes.size()),
        compiler_(compiler_of(module_.version)),
        trace_(trace),
        text_{request.graphs, tree, scopes_, misfits_, shared_, bodies_, lifted_, trace} {}

  ast::NodeId run() {
    tree_.make_room(nodes_of(module_, order_));
    tell_of_surroundings(request_.graphs, order_, scopes_);
    for (std::span<const object::CodeId> left = order_; !left.empty();) {
      const std::span<const object::CodeId> next = left.first(lift_first_of(left));
      for (const object::CodeId code : next) finish(code);
      left = left.subspan(next.size());
    }
    const bool is_function = (module_[request_.root].flags & object::kOptimized) != 0;
    const ast::NodeId top = is_function ? structure::function_source(tree_, request_.root, bodies_)
                                        : tree_.add(ast::Module{bodies_[request_.root.index()]});
    ast::fit_names(tree_, top);
#ifdef PELLUCID_CHECKS
    ast::check(tree_, top);
#endif
    return top;
  }

 private:
  // Lifts the first code objects of a list and returns their number. Each step is done for all of
  // them before the next one: its machine code is in the processor's caches then.
  size_t lift_first_of(std::span<const object::CodeId> codes) {
    size_t count = 0;
    for (size_t bytes = 0; count < codes.size(); ++count) {
      bytes += module_[codes[count]].bytecode.size();
      if (count > 0 && bytes > kLiftedAtOnce) break;
    }
    const auto some = codes.first(count);
    // What fails here does so again where it is reported.
    try {
      for (const object::CodeId code : some) request_.graphs.stream(code);
      for (const object::CodeId code : some) request_.graphs.graph_with_ends(code);
      // Facts hold for some code objects only, and change the module.
      if (!request_.options.facts.empty()) return count;
      for (const object::CodeId code : some) {
        Faults faults;
        Result<ir::Function> function = to_ir(request_.graphs, tree_.module(), code, true, faults);
        lifted_[code.index()] =
            std::make_unique<Lifted>(Lifted{std::move(function), std::move(faults)});
      }
    } catch (const InternalError&) {
    }
    return count;
  }

  // Makes the body of a code object; those in it are finished.
  void finish(object::CodeId code) {
    const size_t first = tree_.size();
    tree_.start_kinds(kinds_inside(code));
    if (!shared_.hand_out(code, tree_, bodies_)) note(code, kTooLong, true);
    text_.trace =
        trace_ != nullptr && (!trace_->only.valid() || trace_->only == code) ? trace_ : nullptr;
    if (text_.trace != nullptr) {
      text_.trace->text += "code " + std::string(module_.text(module_[code].qualname)) + '\n';
    }
    const Result<ast::ListId> body = body_of(code);
    bodies_[code.index()] = body.ok() ? *body : marker_body(tree_, body.error());
    shared_.note(code, bodies_[code.index()], !body.ok());
    tree_.mark_code(first, code);
    kinds_[code.index()] = tree_.made();
  }

  // Returns the kinds of the nodes that the bodies in a code object have: some become part of it.
  ast::Kinds kinds_inside(object::CodeId code) const {
    ast::Kinds kinds;
    for (const object::ConstId id : module_[code].consts) {
      if (module_[id].kind != object::ConstKind::Code) continue;
      kinds.add(kinds_[module_[id].code.index()]);
    }
    return kinds;
  }

  void note(object::CodeId code, const Error& error, bool refused) {
    diagnostics_.push_back({code, static_cast<uint32_t>(error.offset), error.message, refused});
  }

  Form form_of(object::CodeId code) const {
    return code.index() < forms_.size() ? forms_[code.index()] : Form::Usual;
  }

  Wanted wanted(object::CodeId code) const {
    const Options& options = request_.options;
    const Form form = form_of(code);
    Wanted wanted{code};
    wanted.unstructured =
        form == Form::Unstructured || (options.force_unstructured && !scopes_.is_in_lazy(code));
    wanted.is_unproven = form == Form::Unstructured;
    wanted.structured_too = options.force_unstructured;
    wanted.joins_copies = form <= Form::InOrder;
    wanted.keeps_order = form != Form::Usual;
    const bool is_root = code == request_.root;
    if (options.facts.hold_for(is_root, module_.text(module_[code].name))) {
      wanted.facts = &options.facts;
    }
    return wanted;
  }

  // Returns the finished body of one code object, and records its diagnostics.
  Result<ast::ListId> body_of(object::CodeId code) {
    const object::Places places = bytecode::places_of(module_[code]);
    Wanted asked = wanted(code);
    asked.places = &places;
    Attempted made = attempt(text_, asked);
    Result<ast::ListId>& body = made.body;
    if (made.no_structure) {
      if (!request_.options.force_unstructured) note(code, *made.no_structure, false);
      if (!body.ok()) note(code, body.error(), true);
    }
    if (!body.ok()) return body;
    body = polished_body(tree_, compiler_, asked, *body, kind_of(scopes_.scope_of(code)),
                         form_of(code), !made.no_structure, request_.options.say_lost);
    const auto bug = broken_.find(code);
    if (bug != broken_.end()) body = bug->second;
    if (!body.ok()) {
      note(code, body.error(), true);
      tree_.restore();
      return body;
    }
    body = with_instructions(tree_, *body, made.faults);
    for (const bytecode::Fault& fault : made.faults) {
      note(code, {ErrorCode::Malformed, fault.offset, fault.message}, true);
    }
    return body;
  }

  const Request& request_;
  const Forms& forms_;
  const Broken& broken_;
  ast::Tree& tree_;
  const object::Module& module_;
  std::vector<Diagnostic>& diagnostics_;
  structure::Scopes scopes_;
  ast::Misfits misfits_;
  const std::vector<object::CodeId> order_;
  SharedBodies shared_;
  std::vector<ast::ListId> bodies_;
  std::vector<std::unique_ptr<Lifted>> lifted_;
  std::vector<ast::Kinds> kinds_;  // of the nodes of each body and those in it, by CodeId
  const polish::Compiler compiler_;
  structure::Trace* const trace_;
  Text text_;
};

}  // namespace

ast::NodeId recover_all(const Request& request, const Forms& forms, const Broken& broken,
                        ast::Tree& tree, std::vector<Diagnostic>& diagnostics,
                        structure::Trace* trace) {
  return Bodies(request, forms, broken, tree, diagnostics, trace).run();
}

}  // namespace pellucid::driver
