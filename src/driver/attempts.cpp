// SPDX-License-Identifier: Apache-2.0
#include "driver/attempts.h"

#include <string>
#include <string_view>
#include <utility>

#include "ast/nodes.h"
#include "base/check.h"
#include "fallback/unstructured.h"
#include "structure/graph/not_structured.h"
#include "structure/recover.h"
#include "structure/scopes/names.h"

namespace pellucid::driver {
namespace {

// The ways to read a body with structure. If compilers left nothing of code that never runs, all
// three are the same, and only the last is tried.
struct BodyReading {
  const char* name;
  bool with_ends;         // with what is left of code that never runs
  bool believes_finally;  // 3.8: which handlers are finally bodies
};
constexpr BodyReading kReadings[] = {
    // The first may fail: it also has to follow what is left of code that never runs.
    {"with code that never runs", true, true},
    {"with that code, and without what 3.8 says of `finally`", true, false},
    {"without code that never runs", false, false},
};

// Clears 3.8's marks of handlers that are finally bodies. Returns false if there are none.
bool forget_finally(ir::Function& function) {
  bool was_said = false;
  for (flow::Handler& handler : function.handlers) {
    was_said |= std::exchange(handler.is_finally, false);
  }
  return was_said;
}

// Returns the values of the function: all that is asked of it once it has statements.
ir::Function without_blocks(const ir::Function& function) {
  ir::Function rest;
  rest.code = function.code;
  rest.values = function.values;
  rest.operand_pool = function.operand_pool;
  rest.folds = function.folds;
  rest.habits = function.habits;
  return rest;
}

class Attempts {
 public:
  Attempts(const Text& text, const Wanted& wanted)
      : text_(text), tree_(text.tree), module_(text.tree.module()), wanted_(wanted) {}

  Attempted run() {
    // A failed attempt may leave the bodies that it read as expressions half rewritten.
    tree_.remember();
    Result<ast::ListId> body = structured(wanted_.unstructured, wanted_.joins_copies);
    if (body.ok()) return {body, std::nullopt, std::move(faults_)};
    Error reason = body.error();
    // What lines and columns say may be wrong; where copies stay apart, they are not asked.
    if (wanted_.joins_copies && !wanted_.unstructured) {
      tree_.restore();
      tree_.remember();
      body = structured(false, false);
      if (body.ok()) return {body, std::nullopt, std::move(faults_)};
    }
    if (wanted_.is_unproven) reason.message = "what was written with structure is unproven";
    tree_.restore();
    tree_.remember();
    body = as_loop(wanted_.code, reason, faults_);
    trace("a loop over a state", body);
    if (!body.ok()) {
      // Only now: comprehensions stay what they are, if they can be called as such.
      tree_.restore();
      make_comprehensions_functions(reason);
      body = as_loop(wanted_.code, reason, faults_);
    }
    if (!body.ok() && wanted_.structured_too) {
      tree_.restore();
      text_.trace = nullptr;
      body = structured(false, true);
    }
    return {body, reason, std::move(faults_)};
  }

 private:
  // Returns the body with structure, or the reason why it has none.
  Result<ast::ListId> structured(bool only_if_straight, bool joins_copies) {
    try {
      return read(only_if_straight, joins_copies);
    } catch (const structure::NotStructured& reason) {
      return Error{ErrorCode::Unsupported, reason.offset, reason.what()};
    } catch (const InternalError& bug) {
      return Error{ErrorCode::Internal, 0, bug.what()};
    }
  }

  Result<ast::ListId> read(bool only_if_straight, bool joins_copies) {
    PELLUCID_TRY(ir::Function function, first_lifted());
    if (!text_.shared.fits(function)) return kTooLong;
    if (only_if_straight && function.blocks.size() > 1 &&
        !is_read_by_shape(module_, wanted_.code)) {
      return Error{ErrorCode::Unsupported, 0, "structure is switched off"};
    }
    const bool has_ends = function.marks_ends || function.marks_empty_bodies;
    Result<ast::ListId> body = Error{};
    for (const BodyReading& reading : kReadings) {
      if (reading.with_ends && !has_ends) continue;
      if (has_ends && !reading.with_ends) {
        PELLUCID_TRY(function, lifted(false));
      }
      // Without such marks this reading is not a new one.
      if (!reading.believes_finally && !forget_finally(function) && reading.with_ends) continue;
      const ir::Function values = without_blocks(function);
      // After the last reading the function is not needed any more.
      body = structure::recover(reading.with_ends ? function : std::move(function), tree_,
                                text_.bodies, *wanted_.places, joins_copies, named(reading.name));
      trace_outcome(body);
      if (body.ok()) return finished(*body, values);
      tree_.restore();
    }
    return body;
  }

  // Returns the body as a loop over a state, for any control flow.
  Result<ast::ListId> as_loop(object::CodeId code, const Error& reason, Faults& faults) {
    try {
      PELLUCID_TRY(const ir::Function function,
                   to_ir_of_slots(text_.graphs, module_, code, faults));
      if (!text_.shared.fits(function)) return kTooLong;
      PELLUCID_TRY(const ast::ListId body,
                   fallback::unstructured(function, tree_, text_.bodies, text_.scopes.bound_names(),
                                          reason.message, static_cast<uint32_t>(reason.offset)));
      return expressible(
          code, text_.scopes.finish_body(body, function, {.keeps_order = wanted_.keeps_order}));
    } catch (const InternalError& bug) {
      return Error{ErrorCode::Internal, 0, bug.what()};
    }
  }

  // Writes the comprehensions in the code as functions, which a loop over a state can call.
  void make_comprehensions_functions(const Error& reason) {
    // Those directly inside, and those nested in these: outer ones first.
    std::vector<object::CodeId> order{wanted_.code};
    for (size_t i = 0; i < order.size(); ++i) {
      for (const object::ConstId id : module_[order[i]].consts) {
        const object::Const& constant = module_[id];
        if (constant.kind != object::ConstKind::Code) continue;
        const std::string_view name = module_.text(module_[constant.code].name);
        if (structure::is_comprehension_name(name)) order.push_back(constant.code);
      }
    }
    for (size_t i = order.size(); --i > 0;) {
      ast::ListId& body = text_.bodies[order[i].index()];
      if (ast::is_unstructured(tree_, body)) continue;
      Faults faults;
      const auto loop = as_loop(order[i], reason, faults);
      if (loop.ok()) body = *loop;
    }
  }

  Result<ir::Function> first_lifted() {
    const std::unique_ptr<Lifted> known = std::move(text_.lifted[wanted_.code.index()]);
    if (known == nullptr) return lifted(true);
    faults_ = std::move(known->faults);
    return std::move(known->function);
  }

  Result<ir::Function> lifted(bool keep_ends) {
    return to_ir(text_.graphs, module_, wanted_.code, keep_ends, faults_, *wanted_.facts);
  }

  Result<ast::ListId> finished(ast::ListId body, const ir::Function& function) {
    return expressible(wanted_.code,
                       text_.scopes.finish_body(body, function,
                                                {.mentions_unused = wanted_.facts->empty(),
                                                 .keeps_order = wanted_.keeps_order}));
  }

  // Returns the body, or the reason why no text can spell it.
  Result<ast::ListId> expressible(object::CodeId code, ast::ListId body) {
    // A body that is read where it is used is checked there; that of a module is not, whatever its
    // name.
    const std::string_view name = module_.text(module_[code].name);
    const bool is_function = (module_[code].flags & object::kOptimized) != 0;
    const bool is_hidden = is_function && name.starts_with('<');
    if (is_hidden || is_read_by_shape(module_, code)) return body;
    const ast::NodeId misfit = text_.misfits.find(body);
    if (!misfit.valid()) return body;
    const uint32_t offset = tree_.where(misfit).offset;
    return Error{
        ErrorCode::Unsupported, offset == ast::Where{}.offset ? 0 : offset,
        std::string("a definition or a part of one within a ") + ast::name_of(tree_.kind(misfit))};
  }

  // Adds the attempt to the trace, and returns the trace.
  structure::Trace* named(const char* attempt) {
    if (text_.trace != nullptr) text_.trace->text += std::string("attempt: ") + attempt + '\n';
    return text_.trace;
  }

  void trace_outcome(const Result<ast::ListId>& body) {
    if (text_.trace == nullptr) return;
    text_.trace->text += body.ok() ? "  succeeds\n"
                                   : "  fails: " + body.error().message + " at byte " +
                                         std::to_string(body.error().offset) + '\n';
  }

  void trace(const char* attempt, const Result<ast::ListId>& body) {
    named(attempt);
    trace_outcome(body);
  }

  Text text_;
  ast::Tree& tree_;
  object::Module& module_;
  const Wanted& wanted_;
  Faults faults_;
};

}  // namespace

bool is_read_by_shape(const object::Module& module, object::CodeId code) {
  const std::string_view name = module.text(module[code].name);
  return name.starts_with("<generic parameters of ") || name == "__annotate__";
}

Attempted attempt(const Text& text, const Wanted& wanted) { return Attempts(text, wanted).run(); }

}  // namespace pellucid::driver
