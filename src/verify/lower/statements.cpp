// SPDX-License-Identifier: Apache-2.0
// Statements, except those with separate files.
#include <algorithm>

#include "ast/lines.h"
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

namespace {

constexpr uint32_t kDeepest = 1500;

// Returns true if annotations in such a statement may not be reached.
bool is_conditional_block(Kind kind) {
  return kind == Kind::If || kind == Kind::While || kind == Kind::For || kind == Kind::With ||
         kind == Kind::Match || kind == Kind::Try;
}

}  // namespace

void Compiler::statements(ListId list) {
  for (NodeId node : tree_.items(list)) statement(node);
}

void Compiler::statement(NodeId node) {
  if (++nesting_ > kDeepest) give_up("statements are nested too deep");
  if (tree_.where(node).offset != 0xffffffffu) emit().at(tree_.where(node).offset);
  const bool is_conditional = is_conditional_block(tree_.kind(node));
  if (is_conditional) ++unit().conditional;
  switch (tree_.kind(node)) {
    case Kind::FunctionDef:
      function(node);
      break;
    case Kind::ClassDef:
      class_definition(node);
      break;
    case Kind::Return:
      return_statement(tree_.as<ast::Return>(node).value);
      break;
    case Kind::Delete:
      for (NodeId target : tree_.items(tree_.as<ast::Delete>(node).targets)) erase(target);
      break;
    case Kind::Assign: {
      const auto assignment = tree_.as<ast::Assign>(node);
      const auto targets = tree_.items(assignment.targets);
      if (targets.size() == 1 &&
          assign_in_parallel(targets[0], assignment.value, ast::keeps_order(tree_, assignment))) {
        break;
      }
      expression(assignment.value);
      if (features_.targets_have_lines && ast::starts_behind(tree_, assignment)) emit().next_line();
      for (size_t i = 0; i < targets.size(); ++i) {
        if (i + 1 < targets.size()) emit().op(Op::Copy, 1);
        assign(targets[i]);
      }
      break;
    }
    case Kind::TypeAlias:
      type_alias(node);
      break;
    case Kind::AugAssign:
      augmented(tree_.as<ast::AugAssign>(node));
      break;
    case Kind::AnnAssign:
      annotated(node);
      break;
    case Kind::For: {
      const auto loop = tree_.as<ast::For>(node);
      loop.is_async ? async_for_loop(loop) : for_loop(loop);
      break;
    }
    case Kind::While:
      while_loop(tree_.as<ast::While>(node));
      break;
    case Kind::If:
      if_statement(node);
      break;
    case Kind::With:
      with_statement(node, 0);
      break;
    case Kind::Match:
      match_statement(node);
      break;
    case Kind::Raise:
      raise_statement(tree_.as<ast::Raise>(node));
      break;
    case Kind::Try:
      try_statement(tree_.as<ast::Try>(node));
      break;
    case Kind::Assert:
      assert_statement(tree_.as<ast::Assert>(node));
      break;
    case Kind::Import:
      import(tree_.as<ast::Import>(node));
      break;
    case Kind::ImportFrom:
      import_from(tree_.as<ast::ImportFrom>(node));
      break;
    case Kind::Expr:
      expression_statement(tree_.as<ast::Expr>(node).value);
      break;
    case Kind::Break:
      leave_loop(false);
      break;
    case Kind::Continue:
      leave_loop(true);
      break;
    case Kind::Unstructured:
      statements(tree_.as<ast::Unstructured>(node).body);
      break;
    case Kind::Global:
    case Kind::Nonlocal:
    case Kind::Pass:
    case Kind::Comment:
      break;
    default:  // NOLINT: no statements
      give_up(std::string(ast::name_of(tree_.kind(node))) + " not supported");
  }
  if (is_conditional) --unit().conditional;
  --nesting_;
}

void Compiler::expression_statement(NodeId value) {
  if (tree_.is(value, Kind::Constant)) return;
  expression(value);
  emit().drop();
}

// Returns the truth of a constant test; CPython compiles no code for the other branch.
std::optional<bool> Compiler::truth_of(NodeId node) {
  if (!tree_.is(node, Kind::Constant)) return std::nullopt;
  const object::Const& value = out_.module[tree_.as<ast::Constant>(node).value];
  switch (value.kind) {
    case object::ConstKind::None:
    case object::ConstKind::False:
      return false;
    case object::ConstKind::True:
    case object::ConstKind::Ellipsis:
      return true;
    case object::ConstKind::Int:
      return value.integer != 0;
    case object::ConstKind::Str:
    case object::ConstKind::Bytes:
      return !out_.module.text(value.text).empty();
    default:  // NOLINT: known at run time only
      return std::nullopt;
  }
}

// Lowers a chain of `elif` by a loop, not by recursion.
void Compiler::if_statement(NodeId node) {
  const Label end = emit().label();
  while (true) {
    const auto choice = tree_.as<ast::If>(node);
    const auto truth = truth_of(choice.test);
    const auto otherwise = tree_.items(choice.orelse);
    const Label next = emit().label();
    if (!truth) jump_if(choice.test, false, next);
    if (truth == false) emit().jump(next);
    statements(choice.body);
    emit().jump(end);
    emit().place(next);
    if (otherwise.size() != 1 || !tree_.is(otherwise[0], Kind::If)) {
      statements(choice.orelse);
      break;
    }
    node = otherwise[0];
  }
  emit().place(end);
}

void Compiler::return_statement(NodeId value) {
  const bool keeps = value.valid() && !constant_of(value);
  const Emitter::Place before = emit().here();
  if (keeps) expression(value);
  unwind_to(0, keeps);
  if (!keeps) {
    if (value.valid()) {
      load(*constant_of(value));
    } else {
      load_none();
    }
  }
  emit().give_back();
  emit().back_to(before);
}

void Compiler::raise_statement(const ast::Raise& node) {
  uint32_t values = 0;
  for (NodeId value : {node.exc, node.cause}) {
    if (!value.valid()) continue;
    expression(value);
    ++values;
  }
  emit().raise(values);
}

void Compiler::assert_statement(const ast::Assert& node) {
  const Label end = emit().label();
  jump_if(node.test, true, end);
  if (features_.asserts_by_opcode) {
    emit().op(Op::LoadAssertionError);
  } else {
    emit().op(Op::LoadGlobal, text("AssertionError").value);
  }
  if (node.msg.valid()) {
    expression(node.msg);
    call(1);
  }
  emit().raise(1);
  emit().place(end);
}

// Returns the laziness of an import. Where 3.15 does not allow `lazy import`, the lazy imports
// filter does not apply either: in functions and classes, in `try` statements with their handlers,
// and for `import *`.
uint32_t Compiler::laziness(bool is_lazy, bool is_star) {
  if (!features_.lazy_imports) return 0;
  const auto& around = unit().enclosing;
  const bool is_eager = is_star || scope().kind != ScopeKind::Module ||
                        std::any_of(around.begin(), around.end(), [](const Enclosing& one) {
                          switch (one.kind) {
                            case Enclosing::kTryExcept:
                            case Enclosing::kTryFinally:
                            case Enclosing::kFinallyEnd:
                            case Enclosing::kHandler:
                            case Enclosing::kStarHandler:
                              return true;
                            case Enclosing::kWhile:
                            case Enclosing::kFor:
                            case Enclosing::kAsyncFor:
                            case Enclosing::kWith:
                            case Enclosing::kAsyncWith:
                            case Enclosing::kValue:
                              return false;
                          }
                          return false;
                        });
  if (is_lazy && is_eager) give_up("a lazy import where there is none");
  return is_lazy ? 1 : is_eager ? 2 : 0;
}

void Compiler::import(const ast::Import& node) {
  for (NodeId part : tree_.items(node.names)) {
    const auto alias = tree_.as<ast::alias>(part);
    const std::string dotted(tree_.text(alias.name));
    load_number(0);
    load_none();
    emit().op(Op::ImportName, mangled(alias.name).value, laziness(node.is_lazy != 0, false));
    const size_t dot = dotted.find('.');
    if (!alias.asname.valid()) {
      store_name(dotted.substr(0, dot));
      continue;
    }
    for (size_t at = dot; at != std::string::npos;) {
      const size_t next = dotted.find('.', at + 1);
      emit().op(Op::ImportFrom, text(dotted.substr(at + 1, next - at - 1)).value);
      emit().op(Op::Swap, 2);
      emit().op(Op::Pop);
      at = next;
    }
    name(alias.asname, Use::Store);
  }
}

void Compiler::import_from(const ast::ImportFrom& node) {
  std::vector<ConstId> names;
  for (NodeId part : tree_.items(node.names)) {
    names.push_back(string_constant(tree_.text(tree_.as<ast::alias>(part).name)));
  }
  load_number(node.level);
  load(tuple_constant(names));
  const auto names_all = [&](NodeId part) {
    return tree_.text(tree_.as<ast::alias>(part).name) == "*";
  };
  const auto parts = tree_.items(node.names);
  const bool is_star = std::any_of(parts.begin(), parts.end(), names_all);
  emit().op(Op::ImportName, node.module.valid() ? mangled(node.module).value : text("").value,
            laziness(node.is_lazy != 0, is_star));
  for (NodeId part : tree_.items(node.names)) {
    const auto alias = tree_.as<ast::alias>(part);
    if (tree_.text(alias.name) == "*") return emit().op(Op::ImportStar);
    emit().op(Op::ImportFrom, mangled(alias.name).value);
    name(alias.asname.valid() ? alias.asname : alias.name, Use::Store);
  }
  emit().op(Op::Pop);
}

void Compiler::body_with_docstring(ListId body, bool is_function) {
  const auto list = tree_.items(body);
  const bool is_eager = !features_.lazy_annotations || symbols_.has_future_annotations();
  if (!is_function && is_eager && has_annotations(body)) emit().op(Op::SetupAnnotations);
  size_t first = 0;
  if (!list.empty() && tree_.is(list[0], Kind::Expr)) {
    const NodeId value = tree_.as<ast::Expr>(list[0]).value;
    if (tree_.is(value, Kind::Constant)) {
      const ConstId text = tree_.as<ast::Constant>(value).value;
      if (out_.module[text].kind == object::ConstKind::Str) {
        first = 1;
        if (is_function) {
          object::Code& code = out_.module.codes.edit(unit().code);
          code.consts = {text};
          if (features_.flags_docstrings_and_methods) code.flags |= object::kHasDocstring;
        } else {
          load(text);
          store_name("__doc__");
        }
      }
    }
  }
  for (size_t i = first; i < list.size(); ++i) statement(list[i]);
}

// Returns true if a module or class needs `__annotations__`: if any statement outside nested
// functions and classes has an annotation.
bool Compiler::has_annotations(ListId body) const {
  std::vector<NodeId> todo(tree_.items(body).begin(), tree_.items(body).end());
  const auto add = [&](ListId list) {
    for (NodeId item : tree_.items(list)) todo.push_back(item);
  };
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    switch (tree_.kind(node)) {
      case Kind::AnnAssign:
        return true;
      case Kind::For:
        add(tree_.as<ast::For>(node).body);
        add(tree_.as<ast::For>(node).orelse);
        break;
      case Kind::While:
        add(tree_.as<ast::While>(node).body);
        add(tree_.as<ast::While>(node).orelse);
        break;
      case Kind::If:
        add(tree_.as<ast::If>(node).body);
        add(tree_.as<ast::If>(node).orelse);
        break;
      case Kind::With:
        add(tree_.as<ast::With>(node).body);
        break;
      case Kind::Match:
        for (NodeId part : tree_.items(tree_.as<ast::Match>(node).cases)) {
          add(tree_.as<ast::match_case>(part).body);
        }
        break;
      case Kind::Try: {
        const auto attempt = tree_.as<ast::Try>(node);
        add(attempt.body);
        add(attempt.orelse);
        add(attempt.finalbody);
        for (NodeId part : tree_.items(attempt.handlers)) {
          add(tree_.as<ast::ExceptHandler>(part).body);
        }
        break;
      }
      default:  // NOLINT: holds no statements of this scope
        break;
    }
  }
  return false;
}

}  // namespace pellucid::verify::lower
