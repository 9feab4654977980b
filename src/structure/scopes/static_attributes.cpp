// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/static_attributes.h"

#include <string_view>
#include <unordered_set>
#include <vector>

#include "ast/nodes.h"
#include "ast/walk.h"
#include "object/identifiers.h"
#include "structure/scopes/dead_code.h"

namespace pellucid::structure {
namespace {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

class StaticAttributes {
 public:
  explicit StaticAttributes(ast::Tree& tree) : tree_(tree), self_(tree.intern("self")) {}

  // Reads the statements of the class and of the functions in it.
  void read(std::span<const NodeId> body) {
    if (!keeps_any(body)) return;
    missing_.insert(kept_.begin(), kept_.end());
    ast::walk(tree_, body, /*in_function=*/false, [&](NodeId node, bool& in_function) {
      // An assignment in a nested class is an attribute of that class. Most classes assign all of
      // them in their first method.
      if (missing_.empty() || tree_.is(node, Kind::ClassDef)) return false;
      if (tree_.is(node, Kind::FunctionDef)) note_function(node);
      if (in_function) note_stores(node);
      in_function = in_function || tree_.is(node, Kind::FunctionDef);
      return true;
    });
  }

  void say_what_is_missing(bool is_self_bound_outside) {
    const NodeId function = method_.valid() || is_self_bound_outside ? method_ : first_;
    std::vector<NodeId> targets;
    for (const Symbol name : kept_) {
      if (!missing_.contains(name)) continue;
      targets.push_back(tree_.add(ast::Attribute{tree_.add(ast::Name{self_}), name}));
    }
    if (!function.valid() || targets.empty()) return;
    const NodeId assign = tree_.add(ast::Assign{tree_.list(targets), none_node(tree_, {})});
    auto def = tree_.as<ast::FunctionDef>(function);
    const auto items = tree_.items(def.body);
    std::vector<NodeId> body(items.begin(), items.end());
    const bool has_docstring =
        !body.empty() && tree_.is(body[0], Kind::Expr) &&
        is_constant(tree_, tree_.as<ast::Expr>(body[0]).value, object::ConstKind::Str);
    body.insert(body.begin() + (has_docstring ? 1 : 0), dead_statement(tree_, {{assign}}));
    def.body = tree_.list(body);
    tree_.set(function, def);
  }

 private:
  // Returns true if the compiler wrote names of attributes: not before 3.13, and not for a class
  // that assigns none.
  bool keeps_any(std::span<const NodeId> body) {
    ast::walk(tree_, body, [&](NodeId node) {
      note_kept(node);
      return !tree_.is(node, Kind::ClassDef) && !tree_.is(node, Kind::FunctionDef) &&
             ast::category_of(tree_.kind(node)) != ast::Category::Expr;
    });
    return !kept_.empty();
  }

  void note_function(NodeId id) {
    if (!first_.valid()) first_ = id;
    if (method_.valid()) return;
    const auto args = tree_.as<ast::arguments>(tree_.as<ast::FunctionDef>(id).args);
    for (const ListId list : {args.posonlyargs, args.args, args.kwonlyargs}) {
      for (const NodeId arg : tree_.items(list)) {
        if (tree_.as<ast::arg>(arg).arg == self_) method_ = id;
      }
    }
  }

  // Records `__static_attributes__ = (...)`, which the compiler wrote.
  void note_kept(NodeId id) {
    const NodeId value = assigned_to(tree_, id, "__static_attributes__");
    const object::Const* names = value.valid() ? constant_of(tree_, value) : nullptr;
    if (!names || names->kind != object::ConstKind::Tuple) return;
    kept_.clear();
    for (const object::ConstId item : names->items) {
      const object::Const& name = tree_.module()[item];
      if (name.kind == object::ConstKind::Str && object::is_identifier(tree_.text(name.text))) {
        kept_.push_back(name.text);
      }
    }
  }

  void note_stores(NodeId id) {
    switch (tree_.kind(id)) {
      case Kind::Assign:
        for (const NodeId target : tree_.items(tree_.as<ast::Assign>(id).targets)) store(target);
        break;
      case Kind::AnnAssign:
        if (tree_.as<ast::AnnAssign>(id).value.valid()) store(tree_.as<ast::AnnAssign>(id).target);
        break;
      case Kind::For:
        store(tree_.as<ast::For>(id).target);
        break;
      case Kind::comprehension:
        store(tree_.as<ast::comprehension>(id).target);
        break;
      case Kind::withitem:
        store(tree_.as<ast::withitem>(id).optional_vars);
        break;
      default:
        break;
    }
  }

  void store(NodeId target) {
    std::vector<NodeId> todo{target};
    while (!todo.empty()) {
      const NodeId id = todo.back();
      todo.pop_back();
      if (!id.valid()) continue;
      if (tree_.is(id, Kind::Attribute)) {
        const auto attribute = tree_.as<ast::Attribute>(id);
        if (is_name(tree_, attribute.value, self_)) note_assigned(attribute.attr);
      } else if (tree_.is(id, Kind::Starred)) {
        todo.push_back(tree_.as<ast::Starred>(id).value);
      } else if (tree_.is(id, Kind::Tuple) || tree_.is(id, Kind::List)) {
        const auto items = tree_.items(ListId(tree_.slot(id, 0)));
        todo.insert(todo.end(), items.begin(), items.end());
      }
    }
  }

  // In methods, private names of a class still have their mangled form.
  void note_assigned(Symbol name) {
    missing_.erase(name);
    const std::string_view text = tree_.text(name);
    const size_t own = text.find("__", 1);
    if (!text.starts_with('_') || own == text.npos) return;
    const Symbol as_written = tree_.module().strings.find(text.substr(own));
    if (as_written.valid()) missing_.erase(as_written);
  }

  ast::Tree& tree_;
  Symbol self_;
  NodeId first_, method_;  // functions
  std::vector<Symbol> kept_;
  std::unordered_set<Symbol> missing_;  // of these, those that nothing assigns
};

}  // namespace

void keep_static_attributes(ast::Tree& tree, std::span<const NodeId> body,
                            bool is_self_bound_outside) {
  StaticAttributes attributes(tree);
  attributes.read(body);
  attributes.say_what_is_missing(is_self_bound_outside);
}

}  // namespace pellucid::structure
