// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "ast/rules.h"
#include "ast/tree.h"

namespace pellucid::ast {

namespace {

uint32_t operator_count(Kind kind) {
  switch (kind) {
    case Kind::BoolOp:
      return 2;
    case Kind::UnaryOp:
      return 4;
    default:
      return 13;
  }
}

// Checks relations between the fields of one node.
void check_counts(const Tree& tree, NodeId id) {
  switch (tree.kind(id)) {
    case Kind::Dict: {
      const auto node = tree.as<Dict>(id);
      PELLUCID_CHECK(tree.items(node.keys).size() == tree.items(node.values).size());
      break;
    }
    case Kind::Compare: {
      const auto node = tree.as<Compare>(id);
      const auto ops = tree.numbers(node.ops);
      PELLUCID_CHECK(!ops.empty() && ops.size() == tree.items(node.comparators).size());
      for (uint32_t op : ops) PELLUCID_CHECK(op <= static_cast<uint32_t>(CmpOperator::NotIn));
      break;
    }
    case Kind::BoolOp:
      PELLUCID_CHECK(tree.items(tree.as<BoolOp>(id).values).size() >= 2);
      break;
    case Kind::arguments: {
      const auto node = tree.as<arguments>(id);
      PELLUCID_CHECK(tree.items(node.kw_defaults).size() == tree.items(node.kwonlyargs).size());
      PELLUCID_CHECK(tree.items(node.defaults).size() <=
                     tree.items(node.posonlyargs).size() + tree.items(node.args).size());
      break;
    }
    case Kind::MatchClass: {
      const auto node = tree.as<MatchClass>(id);
      PELLUCID_CHECK(tree.items(node.kwd_attrs).size() == tree.items(node.kwd_patterns).size());
      break;
    }
    case Kind::MatchMapping: {
      const auto node = tree.as<MatchMapping>(id);
      PELLUCID_CHECK(tree.items(node.keys).size() == tree.items(node.patterns).size());
      break;
    }
    default:
      break;
  }
}

class Checker {
 public:
  explicit Checker(const Tree& tree) : tree_(tree), seen_(tree.size()) {}

  void run(NodeId root) {
    visit(root);
    while (!work_.empty()) {
      const NodeId id = work_.back();
      work_.pop_back();
      const Kind kind = tree_.kind(id);
      const auto fields = fields_of(kind);
      for (size_t i = 0; i < fields.size(); ++i)
        check_field(id, kind, fields[i], tree_.slot(id, i));
      check_counts(tree_, id);
    }
  }

 private:
  void visit(NodeId id) {
    PELLUCID_CHECK(id.index() < tree_.size());
    PELLUCID_CHECK(!seen_[id.index()]);
    seen_[id.index()] = true;
    work_.push_back(id);
  }

  void check_field(NodeId id, Kind kind, const FieldInfo& field, uint32_t slot) {
    const bool absent = slot == NodeId::kInvalid;
    switch (field.type) {
      case FieldType::Node:
        PELLUCID_CHECK(!absent || may_be_absent(kind, field.name));
        if (!absent) child(kind, field, NodeId(slot));
        break;
      case FieldType::List:
        for (NodeId item : tree_.items(ListId(slot))) {
          PELLUCID_CHECK(item.valid() || items_may_be_absent(kind, field.name));
          if (item.valid()) child(kind, field, item);
        }
        break;
      case FieldType::Name:
        PELLUCID_CHECK(absent ? may_be_absent(kind, field.name)
                              : slot < tree_.module().strings.size());
        break;
      case FieldType::Value:
        PELLUCID_CHECK(slot < tree_.module().consts.size());
        break;
      case FieldType::Number:
        PELLUCID_CHECK(std::string_view(field.name) != "op" ||
                       slot < operator_count(tree_.kind(id)));
        break;
      case FieldType::Numbers:
        break;
    }
  }

  void child(Kind parent, const FieldInfo& field, NodeId id) {
    visit(id);
    PELLUCID_CHECK(kinds_in(parent, field).has(tree_.kind(id)));
  }

  const Tree& tree_;
  std::vector<bool> seen_;
  std::vector<NodeId> work_;
};

}  // namespace

void check(const Tree& tree, NodeId root) { Checker(tree).run(root); }

}  // namespace pellucid::ast
