// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/names.h"

#include <algorithm>
#include <string>

#include "ast/nodes.h"
#include "object/known.h"

namespace pellucid::structure {

using ast::Kind;
using ast::NodeId;

bool is_private(std::string_view name) {
  return name.starts_with("__") && !name.ends_with("__") && name.find('.') == name.npos;
}

namespace {

// Returns true if the compiler mangles the name in a field. It takes the names of keywords, in
// calls and patterns, as they are. It mangles the names of modules, and of their members, whose
// written form is a constant too.
bool is_mangled_field(Kind kind, const ast::FieldInfo& field, bool in_import) {
  if (field.type != ast::FieldType::Name) return false;
  if (kind == Kind::alias) return in_import || std::string_view(field.name) == "asname";
  return kind != Kind::keyword && kind != Kind::Comment;
}

// Returns what class `class_name` puts before a name that it mangles; empty if it mangles none.
std::string prefix_of(std::string_view class_name) {
  const size_t letters = class_name.find_first_not_of('_');
  return letters == class_name.npos ? "" : "_" + std::string(class_name.substr(letters));
}

}  // namespace

bool MangledNames::may_be_of(const StringPool& strings, std::string_view class_name) {
  for (; seen_ < strings.size(); ++seen_) {
    const std::string_view name = strings.view(Symbol(seen_));
    // The name of the class comes first, without the underscores at its start.
    if (!name.starts_with('_') || name.starts_with("__")) continue;
    if (name.find("__", 1) != name.npos) names_.push_back(name);
  }
  const std::string prefix = prefix_of(class_name);
  return !prefix.empty() && std::any_of(names_.begin(), names_.end(), [&](std::string_view name) {
    return name.starts_with(prefix) && is_private(name.substr(prefix.size()));
  });
}

void demangle(ast::Tree& tree, std::string_view class_name, ast::ListId body,
              const std::unordered_set<Symbol>& as_written) {
  const std::string prefix = prefix_of(class_name);
  if (prefix.empty()) return;
  struct Todo {
    NodeId node;
    bool in_import;
  };
  std::vector<Todo> todo;
  for (const NodeId statement : tree.items(body)) todo.push_back({statement, false});
  while (!todo.empty()) {
    const auto [node, in_import] = todo.back();
    todo.pop_back();
    const Kind kind = tree.kind(node);
    const auto fields = ast::fields_of(kind);
    for (size_t i = 0; i < fields.size(); ++i) {
      const uint32_t slot = tree.slot(node, i);
      if (slot == Symbol::kInvalid) continue;
      if (is_mangled_field(kind, fields[i], in_import)) {
        const std::string_view name = tree.text(Symbol(slot));
        if (name.starts_with(prefix) && is_private(name.substr(prefix.size())) &&
            !as_written.contains(Symbol(slot))) {
          const std::string short_name(name.substr(prefix.size()));
          tree.set_slot(node, i, tree.intern(short_name).value);
        }
      } else if (fields[i].type == ast::FieldType::Node) {
        todo.push_back({NodeId(slot), false});
      } else if (fields[i].type == ast::FieldType::List) {
        if (kind == Kind::ClassDef && fields[i].suite == ast::Suite::Body) continue;
        if (kind == Kind::MatchClass && fields[i].name == std::string_view("kwd_attrs")) continue;
        for (const NodeId item : tree.items(ast::ListId(slot))) {
          if (item.valid()) todo.push_back({item, kind == Kind::Import});
        }
      }
    }
  }
}

std::unordered_set<Symbol> mangled_as_written(const object::Module& module, object::CodeId code) {
  // The list is a constant of the class. Another tuple there, such as that of `__slots__`, may have
  // the mangled form of a name that is private in the list.
  std::unordered_set<Symbol> mangled;
  std::unordered_set<std::string_view> others;
  for (const object::ConstId id : module[code].consts) {
    if (module[id].kind != object::ConstKind::Tuple) continue;
    for (const object::ConstId item : module[id].items) {
      if (module[item].kind != object::ConstKind::Str) continue;
      const std::string_view name = module.text(module[item].text);
      if (name.starts_with('_') && name.find("__", 1) != name.npos) {
        mangled.insert(module[item].text);
      } else {
        others.insert(name);
      }
    }
  }
  std::erase_if(mangled, [&](Symbol name) {
    const std::string_view text = module.text(name);
    return others.contains(text.substr(text.find("__", 1)));
  });
  return mangled;
}

bool has_future_annotations(const object::Module& module, object::CodeId code) {
  return (module[code].flags & object::kFutureAnnotations) != 0;
}

object::ConstId builtin_iter(ast::Tree& tree) {
  const object::Module& module = tree.module();
  constexpr auto known = static_cast<int64_t>(object::Known::Iter);
  for (size_t i = 0; i < module.consts.size(); ++i) {
    const object::Const& value = module.consts[i];
    if (value.kind == object::ConstKind::Opaque && value.integer == known) {
      return object::ConstId(i);
    }
  }
  std::string name = "iter";
  for (uint32_t n = 1; module.strings.find(name).valid(); ++n) name = "iter_" + std::to_string(n);
  object::Const made;
  made.kind = object::ConstKind::Opaque;
  made.integer = known;
  made.text = tree.intern(name);
  return tree.module().add(made);
}

NodeId annotation_of_string(ast::Tree& tree, NodeId node) {
  const object::Const* constant = constant_of(tree, node);
  if (!constant || constant->kind != object::ConstKind::Str) return node;
  return tree.add(ast::Name{constant->text}, tree.where(node));
}

Symbol unstructured_parameter(ast::Tree& tree, Symbol name) {
  const std::string text(tree.text(name));
  return text.starts_with('.') ? tree.intern("implicit_" + text.substr(1)) : name;
}

}  // namespace pellucid::structure
