// SPDX-License-Identifier: Apache-2.0
#include "structure/statements/inlined_names.h"

#include <array>

#include "ast/walk.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

bool is_inlined(Kind kind) {
  return kind == Kind::ListComp || kind == Kind::SetComp || kind == Kind::DictComp;
}

// Walks the scope of one comprehension in the order of CPython's symbol table.
class Reader {
 public:
  Reader(const ast::Tree& tree, InlinedNames::Names& names) : tree_(tree), names_(names) {}

  void run(NodeId comprehension) {
    const bool is_dict = tree_.is(comprehension, Kind::DictComp);
    std::vector<NodeId> order;
    bool is_first = true;
    for (const NodeId id : tree_.items(generators_of(comprehension))) {
      const auto generator = tree_.as<ast::comprehension>(id);
      targets_.insert(generator.target);
      order.push_back(generator.target);
      // The outermost iterable is evaluated outside.
      if (!is_first) order.push_back(generator.iter);
      is_first = false;
      const auto ifs = tree_.items(generator.ifs);
      order.insert(order.end(), ifs.begin(), ifs.end());
    }
    const NodeId value = is_dict ? tree_.as<ast::DictComp>(comprehension).value : NodeId();
    if (value.valid()) order.push_back(value);
    order.push_back(NodeId(tree_.slot(comprehension, 0)));
    todo_.assign(order.rbegin(), order.rend());
    while (!todo_.empty()) {
      const NodeId node = todo_.back();
      todo_.pop_back();
      visit(node);
    }
  }

  std::vector<NodeId> inside;  // the inlined comprehensions in it

 private:
  ListId generators_of(NodeId comprehension) const {
    return tree_.is(comprehension, Kind::DictComp)
               ? tree_.as<ast::DictComp>(comprehension).generators
               : ListId(tree_.slot(comprehension, 1));
  }

  void visit(NodeId node) {
    const Kind kind = tree_.kind(node);
    if (kind == Kind::Lambda || kind == Kind::GeneratorExp) hand_over(node);
    const bool is_target = targets_.contains(node);
    if (kind == Kind::Name) return mention(tree_.as<ast::Name>(node).id, is_target);
    if (is_inlined(kind) || kind == Kind::GeneratorExp) {
      if (is_inlined(kind)) inside.push_back(node);
      const NodeId first = tree_.items(generators_of(node))[0];
      todo_.push_back(tree_.as<ast::comprehension>(first).iter);
      return;
    }
    if (kind == Kind::NamedExpr) {
      const Symbol name = tree_.as<ast::Name>(tree_.as<ast::NamedExpr>(node).target).id;
      mention(name, false);
      names_.assigned.insert(name);
    }
    const bool holds_targets =
        is_target && (kind == Kind::Tuple || kind == Kind::List || kind == Kind::Starred);
    const auto fields = ast::fields_of(kind);
    const size_t end = kind == Kind::Lambda ? 1 : fields.size();  // its arguments' defaults
    for (size_t i = end; i-- > 0;) {
      if (fields[i].type == ast::FieldType::Node) {
        push(NodeId(tree_.slot(node, i)), holds_targets);
      } else if (fields[i].type == ast::FieldType::List) {
        const auto items = tree_.items(ListId(tree_.slot(node, i)));
        for (size_t j = items.size(); j-- > 0;) push(items[j], holds_targets);
      }
    }
  }

  void hand_over(NodeId function) {
    ast::walk(tree_, std::array<NodeId, 1>{function}, [&](NodeId node) {
      if (tree_.is(node, Kind::Name)) names_.handed.insert(tree_.as<ast::Name>(node).id);
      return true;
    });
  }

  void push(NodeId node, bool is_target) {
    if (!node.valid()) return;
    if (is_target) targets_.insert(node);
    todo_.push_back(node);
  }

  void mention(Symbol name, bool is_bound) {
    if (names_.direct.insert(name).second) names_.all.push_back(name);
    if (is_bound) names_.bound.insert(name);
  }

  const ast::Tree& tree_;
  InlinedNames::Names& names_;
  std::vector<NodeId> todo_;
  std::unordered_set<NodeId> targets_;
};

}  // namespace

const InlinedNames::Names& InlinedNames::of(NodeId comprehension) {
  const auto known = known_.find(comprehension);
  if (known != known_.end()) return known->second;
  return known_[comprehension] = read(comprehension);
}

InlinedNames::Names InlinedNames::read(NodeId comprehension) {
  Names names;
  Reader reader(tree_, names);
  reader.run(comprehension);
  std::unordered_set<Symbol> known = names.direct;
  for (const NodeId inner : reader.inside) {
    const Names& lifted = of(inner);
    names.handed.insert(lifted.handed.begin(), lifted.handed.end());
    names.assigned.insert(lifted.assigned.begin(), lifted.assigned.end());
    for (const Symbol name : lifted.all) {
      if (!known.insert(name).second) continue;
      names.all.push_back(name);
      if (lifted.bound.contains(name)) names.bound.insert(name);
    }
  }
  return names;
}

}  // namespace pellucid::structure
