// SPDX-License-Identifier: Apache-2.0
// Functions and classes.
#include <algorithm>

#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

ast::arguments Compiler::arguments_of(NodeId node) const {
  return node.valid() ? tree_.as<ast::arguments>(node) : ast::arguments();
}

object::Code Compiler::header_of(const ast::arguments& args) {
  object::Code header;
  const auto add = [&](NodeId arg) {
    header.varnames.push_back(mangled(tree_.as<ast::arg>(arg).arg));
  };
  for (ListId names : {args.posonlyargs, args.args, args.kwonlyargs}) {
    for (NodeId arg : tree_.items(names)) add(arg);
  }
  header.posonlyargcount = static_cast<uint32_t>(tree_.items(args.posonlyargs).size());
  header.argcount = header.posonlyargcount + static_cast<uint32_t>(tree_.items(args.args).size());
  header.kwonlyargcount = static_cast<uint32_t>(tree_.items(args.kwonlyargs).size());
  if (args.vararg.valid()) {
    add(args.vararg);
    header.flags |= object::kVarArgs;
  }
  if (args.kwarg.valid()) {
    add(args.kwarg);
    header.flags |= object::kVarKeywords;
  }
  return header;
}

uint32_t Compiler::function_defaults(const ast::arguments& args) {
  uint32_t flags = 0;
  const auto defaults = tree_.items(args.defaults);
  if (!defaults.empty()) {
    expressions(defaults);
    emit().op(Op::BuildTuple, static_cast<uint32_t>(defaults.size()));
    flags |= bytecode::kDefaults;
  }
  std::vector<ConstId> names;
  const auto keyword_only = tree_.items(args.kwonlyargs);
  const auto keyword_defaults = tree_.items(args.kw_defaults);
  for (size_t i = 0; i < keyword_defaults.size(); ++i) {
    if (!keyword_defaults[i].valid()) continue;
    expression(keyword_defaults[i]);
    const Symbol name = mangled(tree_.as<ast::arg>(keyword_only[i]).arg);
    names.push_back(string_constant(out_.module.text(name)));
  }
  if (!names.empty()) {
    load(tuple_constant(names));
    emit().op(Op::BuildConstKeyMap, static_cast<uint32_t>(names.size()));
    flags |= bytecode::kKwDefaults;
  }
  return flags;
}

void Compiler::make_function(CodeId code, uint32_t flags) {
  const std::vector<Symbol> free = out_.module[code].freevars;
  if (!free.empty()) {
    for (Symbol name : free) load_closure(name);
    emit().op(Op::BuildTuple, static_cast<uint32_t>(free.size()));
    flags |= bytecode::kClosure;
  }
  object::Const constant;
  constant.kind = object::ConstKind::Code;
  constant.code = code;
  load(out_.module.add(std::move(constant)));
  if (!features_.qualname_in_code) {
    const object::Code& made = out_.module[code];
    // The function of a class body has no qualified name.
    const bool is_function = (made.flags & object::kOptimized) != 0;
    load_text(is_function ? qualnames_[code.index()] : std::string(out_.module.text(made.name)));
  }
  if (!features_.sets_function_attributes)
    return emit().op(Op::MakeFunction, flags, features_.qualname_in_code ? 0 : 1);
  emit().op(Op::MakeFunction, 0);
  for (const uint32_t flag : {bytecode::kClosure, bytecode::kAnnotations, bytecode::kAnnotate,
                              bytecode::kKwDefaults, bytecode::kDefaults}) {
    if (flags & flag) emit().op(Op::SetFunctionAttribute, flag);
  }
}

void Compiler::lambda(NodeId node) {
  const auto lambda = tree_.as<ast::Lambda>(node);
  const auto args = arguments_of(lambda.args);
  const uint32_t flags = function_defaults(args);
  const CodeId code = compile_unit(symbols_.scope_of(node), text("<lambda>"), header_of(args), [&] {
    expression(lambda.body);
    emit().give_back();
  });
  make_function(code, flags);
}

CodeId Compiler::function_code(NodeId node) {
  const auto def = tree_.as<ast::FunctionDef>(node);
  const auto args = arguments_of(def.args);
  return compile_unit(symbols_.scope_of(node), def.name, header_of(args), [&] {
    const uint32_t nesting = nesting_;
    nesting_ = 0;
    body_with_docstring(def.body, true);
    nesting_ = nesting;
  });
}

void Compiler::function(NodeId node) {
  const auto def = tree_.as<ast::FunctionDef>(node);
  const auto args = arguments_of(def.args);
  const auto decorators = tree_.items(def.decorator_list);
  expressions(decorators);
  uint32_t flags = function_defaults(args);
  if (!tree_.items(def.type_params).empty()) {
    generic_function(node, flags);
  } else {
    flags |= function_annotations(node);
    make_function(function_code(node), flags);
  }
  for (size_t i = 0; i < decorators.size(); ++i) call(1);
  name(def.name, Use::Store);
}

CodeId Compiler::class_code(NodeId node) {
  const auto def = tree_.as<ast::ClassDef>(node);
  const ScopeId scope = symbols_.scope_of(node);
  return compile_unit(scope, def.name, object::Code(), [&] {
    load_name("__name__");
    store_name("__module__");
    load_text(unit().qualname);
    store_name("__qualname__");
    if (features_.classes_list_attributes) {
      load_number(0);
      store_name("__firstlineno__");
    }
    if (!tree_.items(def.type_params).empty()) {
      load_name(".type_params");
      store_name("__type_params__");
    }
    if (symbols_[scope].needs_class_dictionary) {
      emit().op(Op::LoadLocals);
      emit().op(Op::StoreDeref, text("__classdict__").value);
    }
    make_conditional_set();
    body_with_docstring(def.body, false);
    lazy_annotations();
    if (features_.classes_list_attributes) {
      std::vector<ConstId> names;
      for (const std::string& name : unit().attributes) names.push_back(string_constant(name));
      load(tuple_constant(names));
      store_name("__static_attributes__");
    }
    if (symbols_[scope].needs_class_dictionary) {
      load_closure(text("__classdict__"));
      store_name("__classdictcell__");
    }
    if (!symbols_[scope].needs_class_cell) return;
    load_closure(text("__class__"));
    emit().op(Op::Copy, 1);
    store_name("__classcell__");
    emit().give_back();
  });
}

void Compiler::class_definition(NodeId node) {
  const auto def = tree_.as<ast::ClassDef>(node);
  const auto decorators = tree_.items(def.decorator_list);
  expressions(decorators);
  if (!tree_.items(def.type_params).empty()) {
    generic_class(node);
  } else {
    emit().op(Op::LoadBuildClass);
    make_function(class_code(node), 0);
    load_text(out_.module.text(def.name));
    class_arguments(def, {});
  }
  for (size_t i = 0; i < decorators.size(); ++i) call(1);
  name(def.name, Use::Store);
}

// Completes the call of __build_class__, with two arguments already on the stack: the body and the
// name.
void Compiler::class_arguments(const ast::ClassDef& def, const std::vector<Symbol>& injected) {
  arguments(tree_.items(def.bases), tree_.items(def.keywords), injected, 2);
}

}  // namespace pellucid::verify::lower
