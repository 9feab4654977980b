// SPDX-License-Identifier: Apache-2.0
// Calls.
#include <algorithm>

#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

namespace {

constexpr size_t kMostOnStack = 30;

}  // namespace

// Returns true if the callee is loaded by LOAD_METHOD.
bool Compiler::is_method_call(const ast::Call& call) const {
  const auto keywords = tree_.items(call.keywords);
  return tree_.is(call.func, Kind::Attribute) && !are_large(tree_.items(call.args), keywords, 0) &&
         (keywords.empty() || features_.methods_with_keywords);
}

// Returns true if the arguments are passed in a tuple and a dictionary (CALL_FUNCTION_EX).
bool Compiler::are_large(std::span<const NodeId> args, std::span<const NodeId> keywords,
                         size_t injected) const {
  const bool starred = std::any_of(args.begin(), args.end(),
                                   [&](NodeId arg) { return tree_.is(arg, Kind::Starred); }) ||
                       std::any_of(keywords.begin(), keywords.end(), [&](NodeId keyword) {
                         return !tree_.as<ast::keyword>(keyword).arg.valid();
                       });
  // So many positional arguments become a tuple, and the keyword arguments a dictionary.
  return starred ||
         (features_.limits_stack && args.size() + injected + 2 * keywords.size() > kMostOnStack);
}

// Lowers `super().x` and `super(C, self).x`, one instruction since 3.12 if `super` is the builtin;
// returns false for other attributes.
bool Compiler::super_attribute(NodeId value, Symbol attr, Op load) {
  if (!features_.super_attributes || !tree_.is(value, Kind::Call)) return false;
  const auto call = tree_.as<ast::Call>(value);
  if (!tree_.is(call.func, Kind::Name) ||
      tree_.text(tree_.as<ast::Name>(call.func).id) != "super") {
    return false;
  }
  const Symbol super = text("super");
  const Entry* here = scope().find(super);
  if (here == nullptr || here->binding != Binding::GlobalImplicit || !scope().is_function()) {
    return false;
  }
  if (tree_.text(attr) == "__class__") return false;
  // A module that uses the name `super` may rebind it.
  if (symbols_[ScopeId(0u)].find(super) != nullptr) return false;
  const auto args = tree_.items(call.args);
  if (!tree_.items(call.keywords).empty()) return false;
  if (args.size() == 2) {
    if (tree_.is(args[0], Kind::Starred) || tree_.is(args[1], Kind::Starred)) return false;
    expression(call.func);
    expression(args[0]);
    expression(args[1]);
    emit().op(Op::LoadSuper, 1);
  } else {
    const Entry* cell = scope().find(text("__class__"));
    const bool is_plain = args.empty() && unit().first_argument.valid() && cell != nullptr &&
                          cell->binding == Binding::Free;
    const object::Code& code = out_.module[unit().code];
    if (!is_plain || code.argcount == 0) return false;
    expression(call.func);
    emit().op(Op::LoadDeref, text("__class__").value);
    const Entry* self = scope().find(unit().first_argument);
    const bool is_cell = self != nullptr && self->binding == Binding::Cell;
    emit().op(is_cell ? Op::LoadDeref : Op::LoadFast, unit().first_argument.value);
    emit().op(Op::LoadSuper, 0);
  }
  emit().op(load, mangled(attr).value);
  return true;
}

void Compiler::arguments(std::span<const NodeId> args, std::span<const NodeId> keywords,
                         const std::vector<Symbol>& injected, uint32_t pushed) {
  if (are_large(args, keywords, injected.size())) {
    return starred_arguments(args, keywords, injected, pushed);
  }
  plain_arguments(args, keywords, injected, pushed, 1);
}

// `slots`: the number of stack slots of the callee.
void Compiler::plain_arguments(std::span<const NodeId> args, std::span<const NodeId> keywords,
                               const std::vector<Symbol>& injected, uint32_t pushed,
                               uint32_t slots) {
  for (NodeId arg : args) expression(arg);
  for (Symbol name : injected) this->name(name, Use::Load);
  const auto positional = pushed + static_cast<uint32_t>(args.size() + injected.size());
  if (keywords.empty()) return emit().op(Op::Call, positional, slots);
  std::vector<ConstId> names;
  for (NodeId keyword : keywords) {
    const auto part = tree_.as<ast::keyword>(keyword);
    expression(part.value);
    names.push_back(string_constant(out_.module.text(part.arg)));
  }
  load(tuple_constant(names));
  emit().op(Op::CallKw, positional + static_cast<uint32_t>(keywords.size()), slots);
}

void Compiler::keyword_part(std::span<const NodeId> keywords) {
  const auto count = static_cast<uint32_t>(keywords.size());
  const bool big = features_.limits_stack && keywords.size() * 2 > kMostOnStack;
  const auto key_of = [&](NodeId keyword) {
    return string_constant(out_.module.text(tree_.as<ast::keyword>(keyword).arg));
  };
  if (count > 1 && !big) {
    std::vector<ConstId> names;
    for (NodeId keyword : keywords) {
      expression(tree_.as<ast::keyword>(keyword).value);
      names.push_back(key_of(keyword));
    }
    load(tuple_constant(names));
    return emit().op(Op::BuildConstKeyMap, count);
  }
  if (big) emit().op(Op::BuildMap, 0);
  for (NodeId keyword : keywords) {
    load(key_of(keyword));
    expression(tree_.as<ast::keyword>(keyword).value);
    if (big) emit().op(Op::MapAdd, 1);
  }
  if (!big) emit().op(Op::BuildMap, count);
}

void Compiler::starred_arguments(std::span<const NodeId> args, std::span<const NodeId> keywords,
                                 const std::vector<Symbol>& injected, uint32_t pushed) {
  if (!features_.extends_containers) return arguments_38(args, keywords, pushed);
  if (pushed == 0 && args.size() == 1 && tree_.is(args[0], Kind::Starred)) {
    expression(tree_.as<ast::Starred>(args[0]).value);
  } else if (injected.empty()) {
    sequence(Display::Tuple, args, pushed);
  } else {
    emit().op(Op::BuildList, pushed);
    for (NodeId arg : args) {
      const bool is_starred = tree_.is(arg, Kind::Starred);
      expression(is_starred ? tree_.as<ast::Starred>(arg).value : arg);
      emit().op(is_starred ? Op::ListExtend : Op::ListAppend, 1);
    }
    for (Symbol name : injected) {
      this->name(name, Use::Load);
      emit().op(Op::ListAppend, 1);
    }
    emit().op(Op::ListToTuple);
  }
  if (keywords.empty()) return emit().op(Op::CallEx, 0, 1);
  bool have = false;
  size_t pending = 0;
  const auto flush = [&](size_t end) {
    keyword_part(keywords.subspan(end - pending, pending));
    if (have) emit().op(Op::DictMerge, 1);
    have = true;
    pending = 0;
  };
  for (size_t i = 0; i < keywords.size(); ++i) {
    const auto part = tree_.as<ast::keyword>(keywords[i]);
    if (part.arg.valid()) {
      ++pending;
      continue;
    }
    if (pending > 0) flush(i);
    if (!have) emit().op(Op::BuildMap, 0);
    have = true;
    expression(part.value);
    emit().op(Op::DictMerge, 1);
  }
  if (pending > 0) flush(keywords.size());
  emit().op(Op::CallEx, 1, 1);
}

// Makes a call with unpacked arguments, which 3.8 unpacks all at once.
void Compiler::arguments_38(std::span<const NodeId> args, std::span<const NodeId> keywords,
                            uint32_t pushed) {
  uint32_t parts = 0;
  uint32_t pending = pushed;
  const auto tuple = [&] {
    if (pending == 0) return;
    emit().op(Op::BuildTuple, pending);
    ++parts;
    pending = 0;
  };
  for (NodeId arg : args) {
    if (tree_.is(arg, Kind::Starred)) {
      tuple();
      expression(tree_.as<ast::Starred>(arg).value);
      ++parts;
    } else {
      expression(arg);
      ++pending;
    }
  }
  tuple();
  if (parts > 1) emit().op(Op::BuildTupleUnpackWithCall, parts);
  if (parts == 0) emit().op(Op::BuildTuple, 0);
  if (keywords.empty()) return emit().op(Op::CallEx, 0, 1);
  parts = 0;
  size_t first = 0;
  for (size_t i = 0; i <= keywords.size(); ++i) {
    const bool unpacks = i < keywords.size() && !tree_.as<ast::keyword>(keywords[i]).arg.valid();
    if (i < keywords.size() && !unpacks) continue;
    if (i > first) {
      keyword_part(keywords.subspan(first, i - first));
      ++parts;
    }
    if (unpacks) {
      expression(tree_.as<ast::keyword>(keywords[i]).value);
      ++parts;
    }
    first = i + 1;
  }
  if (parts > 1) emit().op(Op::BuildMapUnpackWithCall, parts);
  emit().op(Op::CallEx, 1, 1);
}

}  // namespace pellucid::verify::lower
