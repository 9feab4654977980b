// SPDX-License-Identifier: Apache-2.0
#include "ast/tree.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace pellucid::ast {

namespace {

constexpr Suite suite_named(std::string_view name) {
  constexpr std::string_view kNames[] = {"", "body", "orelse", "finalbody", "handlers", "cases"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  return found == std::end(kNames) ? Suite::None : static_cast<Suite>(found - std::begin(kNames));
}

// One array of fields for each kind; the terminator avoids empty arrays for kinds without fields.
#define FIELD(type, name) {FieldType::type, #name, suite_named(#name)},
#define NODE(kind, category, fields) \
  constexpr FieldInfo k##kind##Fields[] = {fields{FieldType::Node, nullptr, Suite::None}};
#include "ast/nodes.def"
#undef NODE
#undef FIELD

constexpr KindInfo info_of(const char* name, Category category, std::span<const FieldInfo> fields) {
  KindInfo info{name, category, fields, {}, 0, 0};
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].type == FieldType::Name) {
      info.name_fields = static_cast<uint8_t>(info.name_fields | 1u << i);
    }
    const bool is_list = fields[i].type == FieldType::List;
    if (!is_list && fields[i].type != FieldType::Node) continue;
    info.children[info.child_count++] = {static_cast<uint8_t>(i), is_list, fields[i].suite};
  }
  return info;
}

}  // namespace

#define FIELD(type, name)
#define NODE(kind, category, fields) \
  info_of(#kind, Category::category, \
          std::span<const FieldInfo>(k##kind##Fields, std::size(k##kind##Fields) - 1)),
constinit const KindInfo kKindInfos[] = {
#include "ast/nodes.def"
};
#undef NODE
#undef FIELD

void Tree::restore() {
  // The first change of each holds the original value: it is undone last.
  for (size_t i = old_records_.size(); i-- > 0;) {
    records_[old_records_[i].first.index()] = old_records_[i].second;
  }
  for (size_t i = old_spans_.size(); i-- > 0;) {
    spans_[old_spans_[i].first.index()] = old_spans_[i].second;
  }
  old_records_.clear();
  old_spans_.clear();
}

namespace {

struct Pair {
  NodeId a;
  NodeId b;
};

// Compares one slot of two nodes of one kind; appends children to `later`.
bool same_slot(const Tree& tree, FieldType type, uint32_t a, uint32_t b, std::vector<Pair>& later) {
  switch (type) {
    case FieldType::Node:
      later.push_back({NodeId(a), NodeId(b)});
      return true;
    case FieldType::List: {
      const auto x = tree.items(ListId(a));
      const auto y = tree.items(ListId(b));
      if (x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i) later.push_back({x[i], y[i]});
      return true;
    }
    case FieldType::Value: {
      const ConstId x(a);
      const ConstId y(b);
      if (x == y) return true;
      return x.valid() && y.valid() && object::same_constant(tree.module(), x, tree.module(), y);
    }
    case FieldType::Numbers: {
      const auto x = tree.numbers(NumbersId(a));
      const auto y = tree.numbers(NumbersId(b));
      return std::equal(x.begin(), x.end(), y.begin(), y.end());
    }
    case FieldType::Name:
    case FieldType::Number:
      return a == b;
  }
  return false;
}

}  // namespace

bool same(const Tree& tree, NodeId a, NodeId b) {
  std::vector<Pair> work{{a, b}};
  while (!work.empty()) {
    const Pair pair = work.back();
    work.pop_back();
    if (pair.a == pair.b) continue;
    if (!pair.a.valid() || !pair.b.valid()) return false;
    const Kind kind = tree.kind(pair.a);
    if (kind != tree.kind(pair.b)) return false;
    const auto fields = fields_of(kind);
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!same_slot(tree, fields[i].type, tree.slot(pair.a, i), tree.slot(pair.b, i), work)) {
        return false;
      }
    }
  }
  return true;
}

ListId clone(Tree& tree, ListId list) {
  std::vector<NodeId> work;  // copies that still have the original's children
  const auto copy_all = [&](ListId from) {
    std::vector<NodeId> items(tree.items(from).begin(), tree.items(from).end());
    for (NodeId& item : items) {
      if (!item.valid()) continue;
      item = tree.copy(item);
      work.push_back(item);
    }
    return tree.list(items);
  };
  const ListId result = copy_all(list);
  while (!work.empty()) {
    const NodeId node = work.back();
    work.pop_back();
    const auto fields = fields_of(tree.kind(node));
    for (size_t i = 0; i < fields.size(); ++i) {
      const uint32_t slot = tree.slot(node, i);
      if (slot == NodeId::kInvalid) continue;
      if (fields[i].type == FieldType::Node) {
        const NodeId child = tree.copy(NodeId(slot));
        tree.set_slot(node, i, child.value);
        work.push_back(child);
      } else if (fields[i].type == FieldType::List) {
        tree.set_slot(node, i, copy_all(ListId(slot)).value);
      }
    }
  }
  return result;
}

}  // namespace pellucid::ast
