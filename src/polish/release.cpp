// SPDX-License-Identifier: Apache-2.0
#include "polish/release.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ast/nodes.h"
#include "polish/lists.h"

namespace pellucid::polish {

using ast::Category;
using ast::FieldType;
using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

class Release {
 public:
  Release(ast::Tree& tree, object::CodeId code, const object::Facts& facts)
      : tree_(tree), facts_(facts) {
    const object::Code& known = tree.module()[code];
    const auto arguments = static_cast<ptrdiff_t>(known.argcount + known.kwonlyargcount);
    kept_.insert(known.varnames.begin(), known.varnames.begin() + arguments);
    locals_.insert(known.varnames.begin(), known.varnames.end());
    for (const auto* names : {&known.cellvars, &known.freevars}) {
      others_.insert(names->begin(), names->end());
    }
    for (const Symbol name : others_) locals_.erase(name), kept_.erase(name);
  }

  void run(Statements& body) {
    std::vector<Symbol> temporaries;
    std::set<Symbol> known;
    for (const NodeId node : all_nodes(tree_, body)) {
      for (const NodeId target : targets_of(node)) {
        if (!tree_.is(target, Kind::Name)) continue;
        const Symbol name = tree_.as<ast::Name>(target).id;
        if (locals_.count(name) || others_.count(name)) continue;
        if (known.insert(name).second) temporaries.push_back(name);
      }
    }
    locals_.insert(known.begin(), known.end());
    find_kept(body);
    std::erase_if(temporaries, [&](Symbol name) { return kept_.count(name) > 0; });
    open_up(body, {temporaries.begin(), temporaries.end()});
    for (const NodeId item : body) {
      // The names that open_up() introduced are deleted like the others.
      for (const NodeId target : targets_of(item)) {
        if (!tree_.is(target, Kind::Name)) continue;
        const Symbol name = tree_.as<ast::Name>(target).id;
        if (opened_.count(name)) temporaries.push_back(name);
      }
    }
    look_at(body);
    for (const Symbol name : temporaries) {
      if (!captured_.count(name)) release(body, name);
    }
    insert_later(body);
  }

 private:
  // A list in which the name is to be deleted, and whether anything is executed after it.
  struct Todo {
    Place place;  // no owner: the body itself
    bool tail = false;
    bool defined = false;  // the name is bound on entry

    bool is_body() const { return !place.owner.valid(); }
  };

  std::vector<NodeId> targets_of(NodeId node) const {
    std::vector<NodeId> found;
    if (tree_.is(node, Kind::Assign)) {
      const auto items = tree_.items(tree_.as<ast::Assign>(node).targets);
      found.assign(items.begin(), items.end());
    } else if (tree_.is(node, Kind::NamedExpr)) {
      found.push_back(tree_.as<ast::NamedExpr>(node).target);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      if (!tree_.is(found[i], Kind::Tuple)) continue;
      const auto items = tree_.items(tree_.as<ast::Tuple>(found[i]).elts);
      const Statements inner(items.begin(), items.end());
      found.insert(found.end(), inner.begin(), inner.end());
    }
    return found;
  }

  // Finds the names that are bound once, to a value that an argument keeps alive: deleting such a
  // name frees nothing.
  void find_kept(const Statements& body) {
    std::map<Symbol, size_t> bound;
    std::vector<std::pair<Symbol, NodeId>> values;
    const auto bind = [&](NodeId target) {
      if (!tree_.is(target, Kind::Name)) return;
      const Symbol name = tree_.as<ast::Name>(target).id;
      ++bound[name];
      kept_.erase(name);
    };
    for (const NodeId node : all_nodes(tree_, body)) {
      const std::vector<NodeId> targets = targets_of(node);
      for (const NodeId target : targets) bind(target);
      if (tree_.is(node, Kind::Delete)) {
        for (const NodeId target : tree_.items(tree_.as<ast::Delete>(node).targets)) bind(target);
      } else if (tree_.is(node, Kind::For)) {
        const NodeId target = tree_.as<ast::For>(node).target;
        for (const NodeId part : all_nodes(tree_, Statements{target})) bind(part);
      }
      if (!tree_.is(node, Kind::Assign) || targets.size() != 1) continue;
      if (!tree_.is(targets[0], Kind::Name)) continue;
      values.emplace_back(tree_.as<ast::Name>(targets[0]).id, tree_.as<ast::Assign>(node).value);
    }
    for (const auto& [name, value] : values) {
      if (bound[name] != 1 || !locals_.count(name)) continue;
      const std::string attribute = owned(value);
      if (attribute.empty()) continue;
      kept_.insert(name);
      owned_[name] = attribute;
    }
  }

  // Returns the attribute by which an argument keeps the value alive, with "[]" after it for an
  // item; empty if none does.
  std::string owned(NodeId value) const {
    if (tree_.is(value, Kind::Name)) {
      const auto found = owned_.find(tree_.as<ast::Name>(value).id);
      return found == owned_.end() ? "" : found->second;
    }
    std::string name;
    NodeId base;
    if (tree_.is(value, Kind::Attribute)) {
      const auto node = tree_.as<ast::Attribute>(value);
      name = tree_.module().text(node.attr);
      base = node.value;
      const bool is_argument =
          tree_.is(base, Kind::Name) && kept_.count(tree_.as<ast::Name>(base).id) > 0;
      if (!is_argument && owned(base).empty()) return "";
    } else if (tree_.is(value, Kind::Subscript)) {
      name = owned(tree_.as<ast::Subscript>(value).value) + "[]";
    }
    return object::Facts::has(facts_.owned, name) ? name : "";
  }

  // Splits a last statement in which a name could not be deleted in time: `return f(t(), x)`
  // becomes `r = t()` and `return f(r, x)`, `return a if t else b` becomes an `if`.
  void open_up(Statements& body, const std::set<Symbol>& temporaries) {
    if (body.empty() || !tree_.is(body.back(), Kind::Return)) return;
    const NodeId value = tree_.as<ast::Return>(body.back()).value;
    const auto holds_one = [&](NodeId node) {
      const auto names = names_in(Statements{node});
      return std::any_of(names.begin(), names.end(),
                         [&](Symbol name) { return temporaries.count(name) > 0; });
    };
    if (!value.valid()) return;
    if (tree_.is(value, Kind::IfExp)) {
      const auto choice = tree_.as<ast::IfExp>(value);
      if (!holds_one(choice.test)) return;
      const NodeId yes = tree_.add(ast::Return{choice.body}, tree_.where(choice.body));
      const NodeId no = tree_.add(ast::Return{choice.orelse}, tree_.where(choice.orelse));
      body.back() = tree_.add(ast::If{choice.test, tree_.list({yes}), {}}, tree_.where(value));
      body.push_back(no);
      return;
    }
    if (tree_.is(value, Kind::Call) && tree_.is(tree_.as<ast::Call>(value).func, Kind::Name)) {
      const Statements before = opened(value, holds_one, kDeepest);
      body.insert(body.end() - 1, before.begin(), before.end());
    }
  }

  // The number of nested calls that are split.
  static constexpr int kDeepest = 16;

  // Returns statements that compute the arguments of a call, up to the last one that holds a
  // temporary: `f(g(t))` becomes `r = g(t)` and `f(r)`.
  template <typename F>
  Statements opened(NodeId value, F holds_one, int depth) {
    Statements made;
    auto call = tree_.as<ast::Call>(value);
    Statements arguments(tree_.items(call.args).begin(), tree_.items(call.args).end());
    const auto is_computed = [&](NodeId part) { return !is_steady(part) && !is_quiet(part); };
    // The container of an item usually stays alive until the end anyway.
    const auto is_item = [&](NodeId argument) {
      return tree_.is(argument, Kind::Subscript) &&
             tree_.is(tree_.as<ast::Subscript>(argument).slice, Kind::Constant);
    };
    // Everything computed up to the last such argument is taken out, so that the order of
    // evaluation stays.
    size_t end = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (tree_.is(arguments[i], Kind::Starred)) break;
      const bool may_go = is_computed(arguments[i]) && !is_item(arguments[i]);
      if (may_go && holds_one(arguments[i])) end = i + 1;
    }
    const auto open = [&](NodeId part) {
      if (tree_.is(part, Kind::Call) && depth > 0) {
        const Statements inside = opened(part, holds_one, depth - 1);
        made.insert(made.end(), inside.begin(), inside.end());
      }
      const Symbol name = fresh_name();
      const ast::Where at = tree_.where(part);
      made.push_back(
          tree_.add(ast::Assign{tree_.list({tree_.add(ast::Name{name}, at)}), part}, at));
      return tree_.add(ast::Name{name}, at);
    };
    if (end > 0 && is_computed(call.func)) call.func = open(call.func);
    for (size_t i = 0; i < end; ++i) {
      if (is_computed(arguments[i])) arguments[i] = open(arguments[i]);
    }
    call.args = tree_.list(arguments);
    tree_.set(value, call);
    return made;
  }

  // Returns true if it is a name, or an attribute of one, that may be loaded at any time
  // (Facts::steady).
  bool is_steady(NodeId node) const {
    std::string attributes;
    while (tree_.is(node, Kind::Attribute)) {
      const auto attribute = tree_.as<ast::Attribute>(node);
      attributes.insert(0, '.' + std::string(tree_.module().text(attribute.attr)));
      node = attribute.value;
    }
    if (!tree_.is(node, Kind::Name)) return false;
    const std::string name(tree_.module().text(tree_.as<ast::Name>(node).id));
    return object::Facts::has(facts_.steady, name + attributes);
  }

  Symbol fresh_name() {
    for (size_t number = 1;; ++number) {
      const std::string text = "result_" + std::to_string(number);
      if (tree_.module().strings.find(text).valid()) continue;
      const Symbol name = tree_.intern(text);
      opened_.insert(name);
      locals_.insert(name);
      return name;
    }
  }

  bool holds(const Statements& nodes, Symbol name) const {
    const auto all = all_nodes(tree_, nodes);
    return std::any_of(all.begin(), all.end(),
                       [&](NodeId node) { return is_name(tree_, node, name); });
  }

  bool holds(NodeId node, Symbol name) const { return holds(Statements{node}, name); }

  std::vector<Symbol> names_in(const Statements& nodes) const {
    std::vector<Symbol> found;
    for (const NodeId node : all_nodes(tree_, nodes)) {
      if (tree_.is(node, Kind::Name)) found.push_back(tree_.as<ast::Name>(node).id);
    }
    return found;
  }

  // Indexes the body. It may have thousands of statements and of names, each in a few of them, so
  // it is read once; it stays as it is until every name is handled.
  void look_at(const Statements& body) {
    for (size_t i = 0; i < body.size(); ++i) {
      for (const Symbol name : names_in(Statements{body[i]})) {
        std::vector<size_t>& uses = uses_[name];
        if (uses.empty() || uses.back() != i) uses.push_back(i);
      }
      if (tree_.is(body[i], Kind::If)) branches_.push_back(i);
    }
    // A name that a nested function or a hidden scope uses must not be deleted.
    for (const NodeId node : all_nodes(tree_, body)) {
      const bool is_scope = tree_.is(node, Kind::Lambda) || tree_.is(node, Kind::ListComp) ||
                            tree_.is(node, Kind::SetComp) || tree_.is(node, Kind::DictComp) ||
                            tree_.is(node, Kind::GeneratorExp) ||
                            tree_.is(node, Kind::FunctionDef) || tree_.is(node, Kind::ClassDef) ||
                            tree_.is(node, Kind::Unstructured);
      if (!is_scope) continue;
      for (const Symbol name : names_in(Statements{node})) captured_.insert(name);
    }
  }

  // Returns true if the statement executes nothing that takes time or memory or has an effect.
  bool is_quiet(NodeId statement) const {
    for (const NodeId node : all_nodes(tree_, Statements{statement})) {
      switch (tree_.kind(node)) {
        case Kind::Return:
        case Kind::Assign:
        case Kind::Delete:
        case Kind::Pass:
        case Kind::Comment:
        case Kind::Tuple:
        case Kind::List:
        case Kind::Constant:
          break;
        case Kind::Name:
          if (!locals_.count(tree_.as<ast::Name>(node).id)) return false;
          break;
        default:
          return false;
      }
    }
    return true;
  }

  static bool ends(const ast::Tree& tree, const Statements& items) {
    return !items.empty() &&
           (tree.is(items.back(), Kind::Return) || tree.is(items.back(), Kind::Raise));
  }

  // Returns true if items[from...] or the code after them is not quiet.
  bool falls_through(const Statements& items, size_t from, bool tail) const {
    const auto rest = items.begin() + static_cast<ptrdiff_t>(from);
    if (std::any_of(rest, items.end(), [&](NodeId item) { return !is_quiet(item); })) return true;
    return tail && !(from < items.size() && ends(tree_, items));
  }

  void insert(Statements& items, size_t at, Symbol name, const Todo& here) {
    NodeId made;
    if (here.is_body()) {
      made = later_[at];
    } else if (at < items.size() && made_.count(items[at])) {
      made = items[at];
    }
    const NodeId target = tree_.add(ast::Name{name});
    if (made.valid()) {
      auto both = tree_.as<ast::Delete>(made);
      both.targets = tree_.append(both.targets, target);
      tree_.set(made, both);
      return;
    }
    made = tree_.add(ast::Delete{tree_.list({target})});
    if (here.is_body()) {
      later_[at] = made;
      return;
    }
    made_.insert(made);
    items.insert(items.begin() + static_cast<ptrdiff_t>(at), made);
  }

  void insert_later(Statements& body) const {
    Statements all;
    for (size_t i = 0; i <= body.size(); ++i) {
      if (const auto it = later_.find(i); it != later_.end()) all.push_back(it->second);
      if (i < body.size()) all.push_back(body[i]);
    }
    body = std::move(all);
  }

  void release(Statements& body, Symbol name) {
    std::vector<Todo> todo{{Place{}, false, false}};
    while (!todo.empty()) {
      const Todo next = todo.back();
      todo.pop_back();
      if (next.is_body()) {
        in_list(body, uses_[name], branches_, name, next, todo);
        continue;
      }
      Statements items = items_at(tree_, next.place);
      const size_t before = items.size();
      std::vector<size_t> uses, branches;
      for (size_t i = 0; i < items.size(); ++i) {
        if (holds(items[i], name)) uses.push_back(i);
        if (tree_.is(items[i], Kind::If)) branches.push_back(i);
      }
      in_list(items, uses, branches, name, next, todo);
      if (items.size() != before) {
        tree_.set_slot(next.place.owner, next.place.field, tree_.list(items).value);
      }
    }
  }

  // `uses` are the items that mention the name, `branches` the items that are an `if`.
  void in_list(Statements& items, const std::vector<size_t>& uses,
               const std::vector<size_t>& branches, Symbol name, const Todo& here,
               std::vector<Todo>& todo) {
    if (uses.empty()) {
      if (here.defined && falls_through(items, 0, here.tail)) insert(items, 0, name, here);
      return;
    }
    const size_t last = uses.back();
    const bool earlier = here.defined || uses.size() > 1;
    // An arm that leaves the function does not reach the last use.
    for (const size_t i : branches) {
      if (i >= last) break;
      const bool defined =
          here.defined || uses.front() < i || holds(tree_.as<ast::If>(items[i]).test, name);
      const auto branch = ast::fields_of(Kind::If);
      for (size_t field = 0; defined && field < branch.size(); ++field) {
        if (branch[field].type != FieldType::List) continue;
        const Place arm{items[i], field};
        if (ends(tree_, items_at(tree_, arm))) todo.push_back({arm, false, true});
      }
    }
    const NodeId statement = items[last];
    const bool goes = falls_through(items, last + 1, here.tail);
    const auto fields = ast::fields_of(tree_.kind(statement));
    if (tree_.is(statement, Kind::If)) {
      const auto branch = tree_.as<ast::If>(statement);
      const bool defined = earlier || holds(branch.test, name);
      for (size_t field = 0; field < fields.size(); ++field) {
        if (fields[field].type != FieldType::List) continue;
        const Place arm{statement, field};
        const Statements inside = items_at(tree_, arm);
        const bool is_empty = inside.empty();
        if (!is_empty && (defined || holds(inside, name))) todo.push_back({arm, goes, defined});
        if (!is_empty || !defined || !goes) continue;
        if (ends(tree_, items_at(tree_, {statement, field - 1}))) {
          insert(items, last + 1, name, here);
        } else {
          todo.push_back({arm, true, true});
        }
      }
      return;
    }
    // Are all uses in one list of a compound statement?
    const Statements only{statement};
    Outline outline(tree_, only);
    for (const Listed& each : outline.lists()) {
      const Place place = each.place;
      // A list that runs once, after the statements before it.
      const bool once = (tree_.is(statement, Kind::Try) || tree_.is(statement, Kind::With)) &&
                        fields[place.field].suite == ast::Suite::Body;
      if (place.owner != statement || (earlier && !once)) continue;
      const Statements inside = items_at(tree_, place);
      if (!holds(inside, name)) continue;
      size_t count = 0;
      for (const NodeId node : all_nodes(tree_, Statements{statement})) {
        count += is_name(tree_, node, name) ? 1 : 0;
      }
      for (const NodeId node : all_nodes(tree_, inside)) {
        count -= is_name(tree_, node, name) ? 1 : 0;
      }
      if (count == 0) {
        todo.push_back({place, true, false});
        return;
      }
    }
    if (goes && !ends(tree_, Statements{statement})) insert(items, last + 1, name, here);
  }

  ast::Tree& tree_;
  const object::Facts& facts_;
  std::set<Symbol> kept_;  // arguments that are not rebound, and names of what they keep alive
  std::map<Symbol, std::string> owned_;  // those names, with the attribute
  std::set<Symbol> locals_;
  std::set<Symbol> others_;
  std::set<NodeId> made_;
  std::set<Symbol> opened_;
  // Of the body itself: the uses of each name, the places of each `if`, the statements to insert.
  std::unordered_map<Symbol, std::vector<size_t>> uses_;
  std::vector<size_t> branches_;
  std::set<Symbol> captured_;
  std::map<size_t, NodeId> later_;
};

}  // namespace

ListId release_temporaries(ast::Tree& tree, ListId body, object::CodeId code,
                           const object::Facts& facts) {
  Statements statements(tree.items(body).begin(), tree.items(body).end());
  Release(tree, code, facts).run(statements);
  return tree.list(statements);
}

}  // namespace pellucid::polish
