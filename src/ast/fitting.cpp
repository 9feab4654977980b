// SPDX-License-Identifier: Apache-2.0
#include "ast/fitting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ast/walk.h"
#include "object/fitting_names.h"
#include "object/identifiers.h"

namespace pellucid::ast {

namespace {

using object::Place;

// Returns the place of a name field; nothing if it is the text of a comment.
std::optional<Place> place_of(Kind kind, const char* field, Kind parent) {
  switch (kind) {
    case Kind::Comment:
    case Kind::Unstructured:
      return std::nullopt;
    case Kind::Attribute:
      return Place::Attribute;
    case Kind::ImportFrom:
      return Place::Module;
    case Kind::alias:
      if (std::string_view(field) == "asname") return Place::Variable;
      return parent == Kind::Import ? Place::Module : Place::Variable;
    default:
      return Place::Variable;
  }
}

// Returns true for the names of `from a import *`.
bool is_star(const Tree& tree, ListId aliases) {
  const auto names = tree.items(aliases);
  if (names.size() != 1) return false;
  const auto only = tree.as<alias>(names[0]);
  return !only.asname.valid() && tree.text(only.name) == "*";
}

// Returns, by node, 1 for `top` and all nodes below it. Most children are made before their
// parents: one pass from the last node to the first finds nearly all.
std::vector<uint8_t> reached_from(const Tree& tree, NodeId top) {
  std::vector<uint8_t> reached(tree.size());
  reached[top.index()] = 1;
  std::vector<NodeId> todo;
  for (size_t i = tree.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (NodeId node(i);;) {
      for_each_child(tree, node, [&](NodeId child) {
        if (std::exchange(reached[child.index()], 1) == 0 && child.index() > i)
          todo.push_back(child);
      });
      if (todo.empty()) break;
      node = todo.back();
      todo.pop_back();
    }
  }
  return reached;
}

// Finds out whether there may be anything to replace, which is rare.
class FitsAsItIs {
 public:
  explicit FitsAsItIs(const Tree& tree) : tree_(tree), known_(tree.module().strings.size()) {}

  // Returns true if every name below `top` can be everywhere, or is one of an import that can be
  // there.
  bool all(NodeId top) {
    // Of all nodes, also of those that are no part of the text.
    std::vector<size_t> odd;
    const auto records = tree_.records();
    for (size_t i = 0; i < records.size(); ++i) {
      if (!fits(records[i])) odd.push_back(i);
    }
    if (odd.empty()) return true;
    const std::vector<uint8_t> reached = reached_from(tree_, top);
    return std::none_of(odd.begin(), odd.end(), [&](size_t i) { return reached[i] != 0; });
  }

 private:
  bool fits(const Tree::Record& record) {
    const Kind kind = record.kind;
    if (kind == Kind::Name) return is_usual(Symbol(record.slots[0]));
    const unsigned names = name_fields_of(kind);
    if (names == 0 && kind != Kind::Import) return true;
    switch (kind) {
      case Kind::Comment:
      case Kind::Unstructured:
      case Kind::alias:  // with their import
        return true;
      case Kind::Import:
        return have_places(Tree::as<Import>(record).names, Place::Module);
      case Kind::ImportFrom: {
        const auto from = Tree::as<ImportFrom>(record);
        const std::string_view name =
            from.module.valid() ? tree_.text(from.module) : std::string_view();
        return (name.empty() ? from.level > 0 : object::may_stand(name, Place::Module)) &&
               have_places(from.names, Place::Variable);
      }
      default:
        break;
    }
    for (unsigned left = names; left != 0; left &= left - 1) {
      const auto field = static_cast<size_t>(std::countr_zero(left));
      if (!is_usual(Symbol(record.slots[field]))) return false;
    }
    return true;
  }

  bool have_places(ListId aliases, Place place) {
    const auto items = tree_.items(aliases);
    if (place == Place::Variable && is_star(tree_, aliases)) return true;
    return std::all_of(items.begin(), items.end(), [&](NodeId item) {
      const auto each = tree_.as<alias>(item);
      const bool is_plain = place == Place::Variable
                                ? is_usual(each.name)
                                : object::may_stand(tree_.text(each.name), place);
      return is_plain && is_usual(each.asname);
    });
  }

  // Returns true if a text can have the name in all places. Only for ASCII: whether others can be
  // in an annotation takes a look at it.
  bool is_usual(Symbol name) {
    if (!name.valid()) return true;
    uint8_t& answer = part_of(known_, name);
    if (answer == 0) answer = find_usual(name) ? 1 : 2;
    return answer == 1;
  }

  bool find_usual(Symbol name) const {
    const std::string_view text = tree_.text(name);
    const bool is_ascii =
        std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
    return is_ascii && object::may_stand(text, Place::Variable);
  }

  const Tree& tree_;
  std::vector<uint8_t> known_;  // by name: 1 yes, 2 no
};

class Fitting {
 public:
  explicit Fitting(Tree& tree) : tree_(tree) {}

  void run(NodeId top) {
    walk(tree_, {&top, 1}, Kind::Module, [&](NodeId node, Kind& parent) {
      note_annotations(node);
      note_targets(node);
      const Kind kind = tree_.kind(node);
      for (unsigned left = name_fields_of(kind); left != 0; left &= left - 1) {
        const auto i = static_cast<size_t>(std::countr_zero(left));
        const Symbol name(tree_.slot(node, i));
        std::optional<Place> place = place_of(kind, fields_of(kind)[i].name, parent);
        if (!targets_.empty() && targets_.contains(node)) place = Place::Target;
        if (name.valid() && place && !stays(node, name, *place)) fit(node, i, name, *place);
      }
      // The single member `*` is not a name.
      const bool takes_all =
          kind == Kind::ImportFrom && is_star(tree_, tree_.as<ImportFrom>(node).names);
      parent = kind;
      return !takes_all;
    });
  }

 private:
  // Records annotations that are names: `from __future__ import annotations` makes them strings,
  // which are names in the tree.
  void note_annotations(NodeId node) {
    NodeId annotation;
    switch (tree_.kind(node)) {
      case Kind::FunctionDef:
        annotation = tree_.as<FunctionDef>(node).returns;
        break;
      case Kind::AnnAssign:
        annotation = tree_.as<AnnAssign>(node).annotation;
        break;
      case Kind::arg:
        annotation = tree_.as<arg>(node).annotation;
        break;
      default:
        return;
    }
    if (tree_.is(annotation, Kind::Name)) annotations_.insert(annotation);
  }

  void note_targets(NodeId node) {
    switch (tree_.kind(node)) {
      case Kind::Assign:
        for (const NodeId item : tree_.items(tree_.as<Assign>(node).targets)) note_target(item);
        return;
      case Kind::Delete:
        for (const NodeId item : tree_.items(tree_.as<Delete>(node).targets)) note_target(item);
        return;
      case Kind::AugAssign:
        return note_target(tree_.as<AugAssign>(node).target);
      case Kind::AnnAssign:
        return note_target(tree_.as<AnnAssign>(node).target);
      case Kind::For:
        return note_target(tree_.as<For>(node).target);
      case Kind::comprehension:
        return note_target(tree_.as<comprehension>(node).target);
      case Kind::withitem:
        return note_target(tree_.as<withitem>(node).optional_vars);
      default:
        return;
    }
  }

  // Records attributes in targets whose names a text may only read.
  void note_target(NodeId target) {
    if (!target.valid()) return;
    walk(tree_, {&target, 1}, [&](NodeId node) {
      const Kind kind = tree_.kind(node);
      if (kind == Kind::Attribute) {
        const std::string_view name = tree_.text(tree_.as<Attribute>(node).attr);
        if (!object::may_stand(name, Place::Target)) targets_.insert(node);
      }
      return kind == Kind::Tuple || kind == Kind::List || kind == Kind::Starred;
    });
  }

  bool stays(NodeId node, Symbol name, Place place) {
    const std::string_view text = tree_.text(name);
    if (tree_.is(node, Kind::ImportFrom) && text.empty()) {
      return tree_.as<ImportFrom>(node).level > 0;
    }
    if (!annotations_.empty() && annotations_.contains(node))
      return object::is_one_expression(text);
    // Cached, since many nodes share a name and each name has few places.
    std::vector<uint8_t>& known = stays_[static_cast<size_t>(place)];
    if (known.size() <= name.index()) known.resize(tree_.module().strings.size() + 1);
    uint8_t& answer = known[name.index()];
    if (answer == 0) answer = object::may_stand(text, place) ? 1 : 2;
    return answer == 1;
  }

  void fit(NodeId node, size_t field, Symbol name, Place place) {
    tree_.set_slot(node, field, object::fit_name(tree_.module(), name, place).value);
  }

  Tree& tree_;
  std::unordered_set<NodeId> annotations_;
  std::unordered_set<NodeId> targets_;
  std::array<std::vector<uint8_t>, 5> stays_;  // by place and name: 1 yes, 2 no
};

}  // namespace

void fit_names(Tree& tree, NodeId top) {
  if (!FitsAsItIs(tree).all(top)) Fitting(tree).run(top);
}

}  // namespace pellucid::ast
