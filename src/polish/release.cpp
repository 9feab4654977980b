#include "polish/release.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

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
  Release(ast::Tree& tree, object::CodeId code) : tree_(tree) {
    const object::Code& known = tree.module()[code];
    locals_.insert(known.varnames.begin(), known.varnames.end());
    for (const auto* names : {&known.cellvars, &known.freevars}) {
      others_.insert(names->begin(), names->end());
    }
    for (const Symbol name : others_) locals_.erase(name);
  }

  void run(Statements& body) {
    std::vector<Symbol> temporaries;
    for (const NodeId node : all_nodes(tree_, body)) {
      for (const NodeId target : targets_of(node)) {
        if (!tree_.is(target, Kind::Name)) continue;
        const Symbol name = tree_.as<ast::Name>(target).id;
        if (locals_.count(name) || others_.count(name)) continue;
        if (std::find(temporaries.begin(), temporaries.end(), name) == temporaries.end()) {
          temporaries.push_back(name);
        }
      }
    }
    for (const Symbol name : temporaries) locals_.insert(name);
    open_up(body, temporaries);
    for (const NodeId item : body) {
      // What open_up has named is deleted like the others.
      for (const NodeId target : targets_of(item)) {
        if (!tree_.is(target, Kind::Name)) continue;
        const Symbol name = tree_.as<ast::Name>(target).id;
        if (opened_.count(name)) temporaries.push_back(name);
      }
    }
    for (const Symbol name : temporaries) {
      if (is_captured(body, name)) continue;
      release(body, name);
    }
  }

 private:
  // A list in which the name has to go, and whether something happens behind it.
  struct Todo {
    Place place;  // no owner: the body itself
    bool tail = false;
    bool defined = false;  // on entry
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

  // A last statement is opened up where a name could not go in time: `return f(t(), x)` is
  // `r = t()` and `return f(r, x)`, `return a if t else b` is an `if`.
  void open_up(Statements& body, const std::vector<Symbol>& temporaries) {
    if (body.empty() || !tree_.is(body.back(), Kind::Return)) return;
    const NodeId value = tree_.as<ast::Return>(body.back()).value;
    const auto holds_one = [&](NodeId node) {
      return std::any_of(temporaries.begin(), temporaries.end(),
                         [&](Symbol name) { return holds(node, name); });
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
    if (!tree_.is(value, Kind::Call)) return;
    auto call = tree_.as<ast::Call>(value);
    if (!tree_.is(call.func, Kind::Name)) return;
    Statements arguments(tree_.items(call.args).begin(), tree_.items(call.args).end());
    for (NodeId& argument : arguments) {
      if (tree_.is(argument, Kind::Name) || is_quiet(argument)) continue;
      // Only the first that is computed: nothing moves.
      if (!tree_.is(argument, Kind::Call) || !holds_one(argument)) return;
      const Symbol name = fresh_name();
      const ast::Where at = tree_.where(argument);
      const NodeId made =
          tree_.add(ast::Assign{tree_.list({tree_.add(ast::Name{name}, at)}), argument}, at);
      argument = tree_.add(ast::Name{name}, at);
      call.args = tree_.list(arguments);
      tree_.set(value, call);
      body.insert(body.end() - 1, made);
      return;
    }
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
    return std::any_of(all.begin(), all.end(), [&](NodeId node) {
      return tree_.is(node, Kind::Name) && tree_.as<ast::Name>(node).id == name;
    });
  }

  bool holds(NodeId node, Symbol name) const { return holds(Statements{node}, name); }

  // A name that a nested function or a hidden scope uses is not ours to delete.
  bool is_captured(const Statements& body, Symbol name) const {
    for (const NodeId node : all_nodes(tree_, body)) {
      const bool is_scope = tree_.is(node, Kind::Lambda) || tree_.is(node, Kind::ListComp) ||
                            tree_.is(node, Kind::SetComp) || tree_.is(node, Kind::DictComp) ||
                            tree_.is(node, Kind::GeneratorExp) ||
                            tree_.is(node, Kind::FunctionDef) || tree_.is(node, Kind::ClassDef) ||
                            tree_.is(node, Kind::Unstructured);
      if (is_scope && holds(node, name)) return true;
    }
    return false;
  }

  // Whether nothing runs that could take time, memory or notice.
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

  // Whether something happens in items[from...] or behind them.
  bool goes_on(const Statements& items, size_t from, bool tail) const {
    const auto rest = items.begin() + static_cast<ptrdiff_t>(from);
    if (std::any_of(rest, items.end(), [&](NodeId item) { return !is_quiet(item); })) return true;
    return tail && !(from < items.size() && ends(tree_, items));
  }

  void insert(Statements& items, size_t at, Symbol name) {
    const NodeId target = tree_.add(ast::Name{name});
    if (at < items.size() && made_.count(items[at])) {
      auto both = tree_.as<ast::Delete>(items[at]);
      both.targets = tree_.append(both.targets, target);
      tree_.set(items[at], both);
      return;
    }
    const NodeId made = tree_.add(ast::Delete{tree_.list({target})});
    made_.insert(made);
    items.insert(items.begin() + static_cast<ptrdiff_t>(at), made);
  }

  void release(Statements& body, Symbol name) {
    std::vector<Todo> todo{{Place{}, false, false}};
    while (!todo.empty()) {
      const Todo next = todo.back();
      todo.pop_back();
      const bool is_body = !next.place.owner.valid();
      Statements items = is_body ? body : items_at(tree_, next.place);
      const size_t before = items.size();
      in_list(items, name, next, todo);
      if (is_body) {
        body = items;
      } else if (items.size() != before) {
        tree_.set_slot(next.place.owner, next.place.field, tree_.list(items).value);
      }
    }
  }

  void in_list(Statements& items, Symbol name, const Todo& here, std::vector<Todo>& todo) {
    size_t last = items.size();
    bool earlier = here.defined;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!holds(items[i], name)) continue;
      if (last < items.size()) earlier = true;
      last = i;
    }
    if (last == items.size()) {
      if (here.defined && goes_on(items, 0, here.tail)) insert(items, 0, name);
      return;
    }
    // An arm that leaves the function does not come to the last use.
    for (size_t i = 0; i < last; ++i) {
      if (!tree_.is(items[i], Kind::If)) continue;
      bool defined = here.defined || holds(tree_.as<ast::If>(items[i]).test, name);
      for (size_t k = 0; k < i && !defined; ++k) defined = holds(items[k], name);
      const auto branch = ast::fields_of(Kind::If);
      for (size_t field = 0; defined && field < branch.size(); ++field) {
        if (branch[field].type != FieldType::List) continue;
        const Place arm{items[i], field};
        if (ends(tree_, items_at(tree_, arm))) todo.push_back({arm, false, true});
      }
    }
    const NodeId statement = items[last];
    const bool goes = goes_on(items, last + 1, here.tail);
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
          insert(items, last + 1, name);
        } else {
          todo.push_back({arm, true, true});
        }
      }
      return;
    }
    // All in one list within a compound statement?
    for (const Place place : nested_lists(tree_, Statements{statement})) {
      // What runs once, after what came before.
      const bool once = (tree_.is(statement, Kind::Try) || tree_.is(statement, Kind::With)) &&
                        std::string_view(fields[place.field].name) == "body";
      if (place.owner != statement || (earlier && !once)) continue;
      const Statements inside = items_at(tree_, place);
      if (!holds(inside, name)) continue;
      size_t count = 0;
      for (const NodeId node : all_nodes(tree_, Statements{statement})) {
        count += tree_.is(node, Kind::Name) && tree_.as<ast::Name>(node).id == name ? 1 : 0;
      }
      for (const NodeId node : all_nodes(tree_, inside)) {
        count -= tree_.is(node, Kind::Name) && tree_.as<ast::Name>(node).id == name ? 1 : 0;
      }
      if (count == 0) {
        todo.push_back({place, true, false});
        return;
      }
    }
    if (goes && !ends(tree_, Statements{statement})) insert(items, last + 1, name);
  }

  ast::Tree& tree_;
  std::set<Symbol> locals_;
  std::set<Symbol> others_;
  std::set<NodeId> made_;
  std::set<Symbol> opened_;
};

}  // namespace

ListId release_temporaries(ast::Tree& tree, ListId body, object::CodeId code) {
  Statements statements(tree.items(body).begin(), tree.items(body).end());
  Release(tree, code).run(statements);
  return tree.list(statements);
}

}  // namespace pellucid::polish
