// SPDX-License-Identifier: Apache-2.0
#include "ast/fitting.h"

#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <unordered_set>
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

constexpr size_t kKinds = 0
#define FIELD(type, name)
#define NODE(kind, category, fields) +1
#include "ast/nodes.def"
#undef NODE
#undef FIELD
    ;

// Returns, by kind, a bit for each field that is a name.
std::array<uint8_t, kKinds> name_fields() {
  std::array<uint8_t, kKinds> bits{};
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const auto fields = fields_of(static_cast<Kind>(kind));
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].type == FieldType::Name)
        bits[kind] = static_cast<uint8_t>(bits[kind] | 1u << i);
    }
  }
  return bits;
}

class Fitting {
 public:
  explicit Fitting(Tree& tree) : tree_(tree) {}

  void run(NodeId top) {
    walk(tree_, {&top, 1}, Kind::Module, [&](NodeId node, Kind& parent) {
      note_annotations(node);
      note_targets(node);
      const Kind kind = tree_.kind(node);
      for (unsigned left = name_fields_[static_cast<size_t>(kind)]; left != 0; left &= left - 1) {
        const auto i = static_cast<size_t>(std::countr_zero(left));
        const Symbol name(tree_.slot(node, i));
        std::optional<Place> place = place_of(kind, fields_of(kind)[i].name, parent);
        if (!targets_.empty() && targets_.contains(node)) place = Place::Target;
        if (name.valid() && place && !stays(node, name, *place)) fit(node, i, name, *place);
      }
      // The single member `*` is not a name.
      const bool is_star = kind == Kind::ImportFrom && takes_all(node);
      parent = kind;
      return !is_star;
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

  bool takes_all(NodeId node) const {
    const auto names = tree_.items(tree_.as<ImportFrom>(node).names);
    if (names.size() != 1) return false;
    const auto only = tree_.as<alias>(names[0]);
    return !only.asname.valid() && tree_.text(only.name) == "*";
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
  const std::array<uint8_t, kKinds> name_fields_ = name_fields();
  std::unordered_set<NodeId> annotations_;
  std::unordered_set<NodeId> targets_;
  std::array<std::vector<uint8_t>, 5> stays_;  // by place and name: 1 yes, 2 no
};

}  // namespace

void fit_names(Tree& tree, NodeId top) { Fitting(tree).run(top); }

}  // namespace pellucid::ast
