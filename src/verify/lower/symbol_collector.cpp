// SPDX-License-Identifier: Apache-2.0
// The first of two passes that build the symbol table: collects the uses of names in each scope.
#include <algorithm>
#include <string>
#include <utility>

#include "ast/walk.h"
#include "verify/lower/features.h"
#include "verify/lower/future_flags.h"
#include "verify/lower/scope_table.h"
#include "verify/lower/symbols.h"

namespace pellucid::verify::lower {

using ast::Category;
using ast::FieldType;
using ast::Kind;
using ast::ListId;
using ast::Tree;

namespace {

// Returns the arguments of a node; none if it is absent.
ast::arguments arguments_of(const Tree& tree, NodeId node) {
  return node.valid() ? tree.as<ast::arguments>(node) : ast::arguments();
}

}  // namespace

// Walks the tree once and records the uses of each name in each scope.
class Collector {
 public:
  Collector(Symbols& symbols, const Tree& tree)
      : symbols_(symbols),
        scopes_(symbols),
        tree_(tree),
        features_(features_of(symbols.module_.version)),
        future_(future_flags_of(tree.module())),
        super_(tree.module().strings.find("super")) {}

  void run(NodeId root) {
    // Most code objects have one, and since 3.14 most functions one more for their annotations.
    symbols_.scopes_.reserve(tree_.module().codes.size() * (features_.lazy_annotations ? 2 : 1));
    const ScopeId module = scopes_.open(ScopeKind::Module, ScopeId(), root, Role::Body);
    const auto body = tree_.items(tree_.as<ast::Module>(root).body);
    for (NodeId statement : body) note_future(statement);
    list(tree_.as<ast::Module>(root).body, module);
    std::reverse(todo_.begin(), todo_.end());
    while (!todo_.empty()) {
      const Todo next = todo_.back();
      todo_.pop_back();
      // In source order, in which 3.12+ saves the variables of inlined comprehensions.
      const auto before = static_cast<ptrdiff_t>(todo_.size());
      visit(next);
      std::reverse(todo_.begin() + before, todo_.end());
    }
  }

 private:
  static constexpr size_t kNowhere = ~size_t{0};

  struct Todo {
    NodeId node;
    ScopeId scope;
    bool stores;
    bool is_conditional;  // in a statement that may not reach it
    bool is_entered;      // a comprehension whose outermost iterable has been visited
  };

  // Defers a part of the visited node, unless it is absent or names nothing. A name is visited at
  // once if no part before it is deferred. Every second node is one.
  void push(NodeId node, ScopeId scope, bool stores = false) {
    const Kind kind = node.valid() ? tree_.kind(node) : Kind::Constant;
    if (kind == Kind::Constant) return;
    const Todo todo{node, scope, stores, is_conditional_, false};
    if (kind == Kind::Name && todo_.size() == parts_) {
      name(tree_.as<ast::Name>(node).id, todo);
    } else {
      todo_.push_back(todo);
    }
  }
  void list(ListId items, ScopeId scope, bool stores = false) {
    for (NodeId item : tree_.items(items)) push(item, scope, stores);
  }

  void note_future(NodeId statement) {
    if (!tree_.is(statement, Kind::ImportFrom)) return;
    const auto import = tree_.as<ast::ImportFrom>(statement);
    if (!import.module.valid() || tree_.text(import.module) != "__future__") return;
    for (NodeId alias : tree_.items(import.names)) {
      const std::string_view name = tree_.text(tree_.as<ast::alias>(alias).name);
      if (name == "annotations") {
        symbols_.future_annotations_ = true;
        symbols_.future_flags_ |= future_.annotations;
      }
      if (name == "barry_as_FLUFL") {
        symbols_.future_flags_ |= future_.barry;
      }
    }
  }

  void visit(const Todo& todo) {
    const NodeId node = todo.node;
    const ScopeId scope = todo.scope;
    const Kind kind = tree_.kind(node);
    is_conditional_ = todo.is_conditional || may_skip_parts(kind);
    parts_ = todo_.size();
    switch (kind) {
      case Kind::Name:
        return name(tree_.as<ast::Name>(node).id, todo);
      case Kind::FunctionDef:
      case Kind::Lambda:
      case Kind::ClassDef:
      case Kind::TypeAlias:
      case Kind::ListComp:
      case Kind::SetComp:
      case Kind::DictComp:
      case Kind::GeneratorExp:
      case Kind::NamedExpr:
      case Kind::AnnAssign:
        return mixed(kind, todo);
      case Kind::Assign: {
        const auto assign = tree_.as<ast::Assign>(node);
        list(assign.targets, scope, true);
        return push(assign.value, scope);
      }
      case Kind::AugAssign: {
        const auto assign = tree_.as<ast::AugAssign>(node);
        push(assign.target, scope, true);
        return push(assign.value, scope);
      }
      // Most nodes are one of these three.
      case Kind::Expr:
        return push(tree_.as<ast::Expr>(node).value, scope);
      case Kind::Attribute:
        return push(tree_.as<ast::Attribute>(node).value, scope);
      case Kind::Call: {
        const auto call = tree_.as<ast::Call>(node);
        push(call.func, scope);
        list(call.args, scope);
        return list(call.keywords, scope);
      }
      case Kind::Delete:
        return list(tree_.as<ast::Delete>(node).targets, scope, true);
      case Kind::For: {
        const auto loop = tree_.as<ast::For>(node);
        push(loop.target, scope, true);
        push(loop.iter, scope);
        list(loop.body, scope);
        return list(loop.orelse, scope);
      }
      case Kind::withitem: {
        const auto item = tree_.as<ast::withitem>(node);
        push(item.context_expr, scope);
        return push(item.optional_vars, scope, true);
      }
      case Kind::Tuple:
        return list(tree_.as<ast::Tuple>(node).elts, scope, todo.stores);
      case Kind::List:
        return list(tree_.as<ast::List>(node).elts, scope, todo.stores);
      case Kind::Starred:
        return push(tree_.as<ast::Starred>(node).value, scope, todo.stores);
      case Kind::ExceptHandler:
        scopes_.bind(scope, tree_.as<ast::ExceptHandler>(node).name);
        return children(node, scope);
      case Kind::alias:
        return alias(node, scope);
      case Kind::Global:
        return declared(tree_.as<ast::Global>(node).names, scope, kGlobal);
      case Kind::Nonlocal:
        return declared(tree_.as<ast::Nonlocal>(node).names, scope, kNonlocal);
      case Kind::MatchStar:
        return scopes_.bind(scope, tree_.as<ast::MatchStar>(node).name);
      case Kind::MatchAs:
        scopes_.bind(scope, tree_.as<ast::MatchAs>(node).name);
        return children(node, scope);
      case Kind::MatchMapping:
        scopes_.bind(scope, tree_.as<ast::MatchMapping>(node).rest);
        return children(node, scope);
      case Kind::MatchClass: {
        const auto pattern = tree_.as<ast::MatchClass>(node);
        push(pattern.cls, scope);
        list(pattern.patterns, scope);
        return list(pattern.kwd_patterns, scope);
      }
      case Kind::Yield:
      case Kind::YieldFrom:
        scopes_[scope].is_generator = true;
        return children(node, scope);
      case Kind::Await:
        scopes_[scope].is_coroutine = true;
        return children(node, scope);
      default:  // NOLINT: the rest is what its parts are
        return children(node, scope);
    }
  }

  // Visits a node that notes names by itself before all of its parts are visited, whatever their
  // order.
  void mixed(Kind kind, const Todo& todo) {
    const NodeId node = todo.node;
    const ScopeId scope = todo.scope;
    parts_ = kNowhere;
    switch (kind) {
      case Kind::FunctionDef:
        return function(node, scope);
      case Kind::Lambda:
        return lambda(node, scope);
      case Kind::ClassDef:
        return class_definition(node, scope);
      case Kind::TypeAlias:
        return type_alias(node, scope);
      case Kind::NamedExpr:
        return named_expression(node, scope);
      case Kind::AnnAssign:
        return annotated(node, scope);
      default:  // NOLINT: a comprehension
        return todo.is_entered ? enter_comprehension(node, scope) : comprehension(node, scope);
    }
  }

  void children(NodeId node, ScopeId scope) {
    ast::for_each_child(tree_, node, [&](NodeId child) { push(child, scope); });
  }

  void name(Symbol id, const Todo& todo) {
    if (scopes_[todo.scope].is_unevaluated) return;
    const bool iterates = todo.stores && scopes_[todo.scope].kind == ScopeKind::Comprehension;
    scopes_.note(todo.scope, id, iterates ? kBound | kIterated : todo.stores ? kBound : kUsed);
    if (iterates) symbols_.keep_apart(todo.scope, id);
    const Scope& scope = scopes_[todo.scope];
    if (todo.stores || !scope.is_function() || id != super_) return;
    scopes_.note(todo.scope, scopes_.symbol("__class__"), kUsed);
  }

  void declared(ListId names, ScopeId scope, Use use) {
    for (NodeId name : tree_.items(names)) {
      const Symbol id = tree_.as<ast::Name>(name).id;
      const Entry* known = scopes_[scope].find(symbols_.mangle(id, scope));
      if (known != nullptr && (known->use & (kBound | kUsed | kAnnotated)) != 0) {
        symbols_.refuse(scope, "a name is used before it is declared global or nonlocal");
      }
      scopes_.note(scope, id, use);
      // A name that any scope declares global is stored as a global at module level too.
      if (use == kGlobal) scopes_.note_global(symbols_.mangle(id, scope));
    }
  }

  void alias(NodeId node, ScopeId scope) {
    const auto alias = tree_.as<ast::alias>(node);
    const auto bind = [&](Symbol name) { scopes_.note(scope, name, kBound | kImported); };
    if (alias.asname.valid()) return bind(alias.asname);
    const std::string_view dotted = tree_.text(alias.name);
    if (dotted == "*") return;
    bind(scopes_.symbol(dotted.substr(0, dotted.find('.'))));
  }

  void annotated(NodeId node, ScopeId scope) {
    const auto assign = tree_.as<ast::AnnAssign>(node);
    if (assign.simple && tree_.is(assign.target, Kind::Name)) {
      scopes_.note(scope, tree_.as<ast::Name>(assign.target).id, kBound | kAnnotated);
    } else if (assign.value.valid() || !tree_.is(assign.target, Kind::Name)) {  // not `(name): int`
      push(assign.target, scope, true);
    }
    if (!features_.lazy_annotations) {
      annotation(assign.annotation, scope);
    } else {
      lazy_annotation(assign.annotation, scope);
    }
    push(assign.value, scope);
  }

  void annotation(NodeId node, ScopeId scope) {
    if (!symbols_.future_annotations_) push(node, scope);
  }

  // Collects a variable's annotation. 3.14 compiles those of a module or class into one function.
  // It reads from a set which ones were reached: for all of a module, and for the conditional ones
  // of a class.
  void lazy_annotation(NodeId node, ScopeId scope) {
    const ScopeKind kind = scopes_[scope].kind;
    const bool is_function = scopes_[scope].is_function();
    const bool asks = kind == ScopeKind::Module || (kind == ScopeKind::Class && is_conditional_);
    if (asks && !scopes_[scope].needs_conditional_set) {
      scopes_[scope].needs_conditional_set = true;
      scopes_.note(scope, scopes_.symbol("__conditional_annotations__"), kUsed);
    }
    if (symbols_.future_annotations_) return;
    const Role role = is_function ? Role::LocalAnnotations : Role::Annotations;
    ScopeId inner = scopes_.find(scopes_[scope].node, role);
    if (!inner.valid()) {
      inner = scopes_.open_annotations(scopes_[scope].node, role, scope, kind == ScopeKind::Class);
      scopes_[inner].is_unevaluated = is_function;
    }
    push(node, inner);
  }

  // Binds the target in the function (or module) that encloses all comprehensions.
  void named_expression(NodeId node, ScopeId scope) {
    const auto named = tree_.as<ast::NamedExpr>(node);
    push(named.value, scope);
    const Symbol target = tree_.as<ast::Name>(named.target).id;
    ScopeId owner = scope;
    while (scopes_[owner].kind == ScopeKind::Comprehension) owner = scopes_[owner].parent;
    if (owner == scope) return scopes_.bind(scope, target);
    const Scope& outer = scopes_[owner];
    const Entry* known = outer.find(symbols_.mangle(target, owner));
    // At module level such a name is treated as declared global.
    const bool is_global =
        outer.kind == ScopeKind::Module || (known != nullptr && (known->use & kGlobal));
    scopes_.note(owner, target, is_global ? kGlobal : kBound);
    if (is_global) scopes_.note_global(symbols_.mangle(target, owner));
    for (ScopeId inner = scope; inner != owner; inner = scopes_[inner].parent) {
      scopes_.note(inner, target, kBound | (is_global ? kGlobal : kNonlocal));
      symbols_.keep_apart(inner, target);
    }
  }

  void parameters(const ast::arguments& args, ScopeId inner) {
    for (ListId names : {args.posonlyargs, args.args, args.kwonlyargs}) {
      for (NodeId arg : tree_.items(names)) {
        scopes_.note(inner, tree_.as<ast::arg>(arg).arg, kParameter);
      }
    }
    for (NodeId arg : {args.vararg, args.kwarg}) {
      if (arg.valid()) scopes_.note(inner, tree_.as<ast::arg>(arg).arg, kParameter);
    }
  }

  void defaults(const ast::arguments& args, ScopeId scope) {
    list(args.defaults, scope);
    list(args.kw_defaults, scope);
  }

  void function(NodeId node, ScopeId scope) {
    const auto def = tree_.as<ast::FunctionDef>(node);
    const auto args = arguments_of(tree_, def.args);
    scopes_.bind(scope, def.name);
    list(def.decorator_list, scope);
    defaults(args, scope);
    ScopeId outer = scope;
    if (!tree_.items(def.type_params).empty()) {
      outer = type_parameters(node, scope, def.type_params);
      // Compilers (3.12+) always add the first of them, and use it for whichever comes first.
      const auto keywords = tree_.items(args.kw_defaults);
      const bool has_keywords =
          std::any_of(keywords.begin(), keywords.end(), [](NodeId item) { return item.valid(); });
      if (!tree_.items(args.defaults).empty() || has_keywords) {
        scopes_.note(outer, scopes_.symbol(".defaults"), kParameter);
      }
      if (has_keywords) scopes_.note(outer, scopes_.symbol(".kwdefaults"), kParameter);
    }
    ScopeId annotations = outer;
    if (features_.lazy_annotations) {
      // The scope exists and sees the class even if there are no annotations.
      const bool in_class =
          scopes_[scope].kind == ScopeKind::Class && !symbols_.future_annotations_;
      annotations = scopes_.open_annotations(node, Role::Annotations, outer, in_class);
    }
    for (ListId names : {args.posonlyargs, args.args, args.kwonlyargs}) {
      for (NodeId arg : tree_.items(names)) {
        annotation(tree_.as<ast::arg>(arg).annotation, annotations);
      }
    }
    for (NodeId arg : {args.vararg, args.kwarg}) {
      if (arg.valid()) annotation(tree_.as<ast::arg>(arg).annotation, annotations);
    }
    annotation(def.returns, annotations);
    is_conditional_ = false;
    const ScopeId inner = scopes_.open(ScopeKind::Function, outer, node, Role::Body);
    scopes_[inner].is_coroutine = def.is_async != 0;
    parameters(args, inner);
    list(def.body, inner);
  }

  void lambda(NodeId node, ScopeId scope) {
    const auto lambda = tree_.as<ast::Lambda>(node);
    const auto args = arguments_of(tree_, lambda.args);
    defaults(args, scope);
    const ScopeId inner = scopes_.open(ScopeKind::Lambda, scope, node, Role::Body);
    parameters(args, inner);
    push(lambda.body, inner);
  }

  void class_definition(NodeId node, ScopeId scope) {
    const auto def = tree_.as<ast::ClassDef>(node);
    scopes_.bind(scope, def.name);
    list(def.decorator_list, scope);
    ScopeId outer = scope;
    const bool is_generic = !tree_.items(def.type_params).empty();
    if (is_generic) {
      outer = type_parameters(node, scope, def.type_params, def.name);
      scopes_.note(outer, scopes_.symbol(".type_params"), kBound | kUsed);
      scopes_.note(outer, scopes_.symbol(".generic_base"), kBound | kUsed);
    }
    list(def.bases, outer);
    for (NodeId keyword : tree_.items(def.keywords)) {
      push(tree_.as<ast::keyword>(keyword).value, outer);
    }
    const ScopeId inner = scopes_.open(ScopeKind::Class, outer, node, Role::Body);
    is_conditional_ = false;
    scopes_[inner].class_name = def.name;
    if (is_generic) {
      scopes_.note(inner, scopes_.symbol(".type_params"), kUsed);
      scopes_.note(inner, scopes_.symbol("__type_params__"), kBound);
    }
    list(def.body, inner);
  }

  // Opens the scope of type parameters; `class_name` is absent for functions and aliases.
  ScopeId type_parameters(NodeId node, ScopeId scope, ListId parameters, Symbol class_name = {}) {
    const bool in_class = scopes_[scope].kind == ScopeKind::Class;
    const ScopeId outer = scopes_.open_annotations(node, Role::TypeParameters, scope, in_class);
    if (class_name.valid()) {
      scopes_[outer].class_name = class_name;
      if (features_.type_parameters_mangle) scopes_[outer].mangling = outer;
    }
    for (NodeId parameter : tree_.items(parameters)) {
      scopes_[outer].type_parameters.push_back(Symbol(tree_.slot(parameter, 0)));
    }
    std::vector<Symbol>& names = scopes_[outer].type_parameters;
    std::sort(names.begin(), names.end());
    for (NodeId parameter : tree_.items(parameters)) {
      scopes_.note(outer, Symbol(tree_.slot(parameter, 0)), kBound);
      NodeId bound;
      NodeId otherwise;
      if (tree_.is(parameter, Kind::TypeVar)) {
        bound = tree_.as<ast::TypeVar>(parameter).bound;
        otherwise = tree_.as<ast::TypeVar>(parameter).default_value;
      } else if (tree_.is(parameter, Kind::ParamSpec)) {
        otherwise = tree_.as<ast::ParamSpec>(parameter).default_value;
      } else {
        otherwise = tree_.as<ast::TypeVarTuple>(parameter).default_value;
      }
      if (bound.valid()) {
        push(bound, scopes_.open_annotations(parameter, Role::Bound, outer, in_class));
      }
      if (otherwise.valid()) {
        push(otherwise, scopes_.open_annotations(parameter, Role::Default, outer, in_class));
      }
    }
    return outer;
  }

  void type_alias(NodeId node, ScopeId scope) {
    const auto alias = tree_.as<ast::TypeAlias>(node);
    push(alias.name, scope, true);
    const bool in_class = scopes_[scope].kind == ScopeKind::Class;
    ScopeId outer = scope;
    if (!tree_.items(alias.type_params).empty()) {
      outer = type_parameters(node, scope, alias.type_params);
    }
    push(alias.value, scopes_.open_annotations(node, Role::Body, outer, in_class));
  }

  // Defers a comprehension. Its outermost iterable is evaluated in the enclosing scope, and
  // comprehensions in it come first there.
  void comprehension(NodeId node, ScopeId scope) {
    const size_t last = ast::fields_of(tree_.kind(node)).size() - 1;
    const auto first = tree_.items(ListId(tree_.slot(node, last)))[0];
    push(tree_.as<ast::comprehension>(first).iter, scope);
    todo_.push_back({node, scope, false, is_conditional_, true});
  }

  void enter_comprehension(NodeId node, ScopeId scope) {
    const auto fields = ast::fields_of(tree_.kind(node));
    const ListId generators(tree_.slot(node, fields.size() - 1));
    const auto first = tree_.items(generators)[0];
    const ScopeId inner = scopes_.open(ScopeKind::Comprehension, scope, node, Role::Body);
    Scope& made = scopes_[inner];
    made.is_generator_expression = tree_.is(node, Kind::GeneratorExp);
    made.is_generator = made.is_generator_expression;
    made.is_inlined = features_.inlines_comprehensions && !made.is_generator_expression &&
                      !scopes_[scope].in_class;
    for (NodeId generator : tree_.items(generators)) {
      const auto part = tree_.as<ast::comprehension>(generator);
      if (part.is_async) scopes_[inner].is_coroutine = true;
      push(part.target, inner, true);
      if (generator != first) push(part.iter, inner);
      list(part.ifs, inner);
    }
    // The value is visited before its key.
    for (size_t i = fields.size() - 1; i-- > 0;) push(NodeId(tree_.slot(node, i)), inner);
  }

  Symbols& symbols_;
  ScopeTable scopes_;
  const Tree& tree_;
  const Features features_;
  const FutureFlags future_;
  const Symbol super_;           // invalid: no name in the tree is `super`
  bool is_conditional_ = false;  // of the nodes being pushed
  // Where in `todo_` the parts of the visited node begin; kNowhere: it notes names by itself, too.
  size_t parts_ = kNowhere;
  std::vector<Todo> todo_;
};

void Symbols::collect(const Tree& tree, NodeId root) { Collector(*this, tree).run(root); }

}  // namespace pellucid::verify::lower
