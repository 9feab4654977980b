// At the end of a loop's body `if c: a` and `if not c: continue` with `a` behind it mean the same,
// as do `except E: pass` with an `else` and `except E: continue` with the rest behind it; at the
// end of a function the same with `return`. Of these readings the structure has the first. A row of
// such statements would be nested as deep as it is long, which nobody writes, and of which Python
// takes a hundred levels.
#include <algorithm>
#include <string_view>

#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

// From how many on a nest is a row: of statements behind which more follows, of any.
constexpr size_t kRow = 8;
constexpr size_t kDeepest = 60;
constexpr auto kNot = static_cast<uint32_t>(ast::UnaryOperator::Not);

// How control leaves a list: by falling off its end, which this jump says as well.
enum class End : uint8_t { Other, Continue, Return };

struct List {
  Place place;  // no owner: the body itself
  End end = End::Other;
};

bool leaves(const ast::Tree& tree, ListId body) {
  const auto items = tree.items(body);
  if (items.empty()) return false;
  const Kind kind = tree.kind(items.back());
  return kind == Kind::Continue || kind == Kind::Break || kind == Kind::Return ||
         kind == Kind::Raise;
}

bool is_try(const ast::Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::Try)) return false;
  const auto attempt = tree.as<ast::Try>(statement);
  return !tree.items(attempt.handlers).empty() && tree.items(attempt.finalbody).empty();
}

// Two `try` that hold each other's `else` at the end of a loop are a row. Leaving a clause that
// binds a name by a jump compiles to other code than falling off its end.
bool is_jump_alike(const ast::Tree& tree, NodeId statement) {
  if (!is_try(tree, statement)) return false;
  const auto handlers = tree.items(tree.as<ast::Try>(statement).handlers);
  return std::all_of(handlers.begin(), handlers.end(), [&](NodeId handler) {
    const auto clause = tree.as<ast::ExceptHandler>(handler);
    return leaves(tree, clause.body) || !clause.name.valid();
  });
}

// The rest of the body, which a statement at its end holds; invalid or empty: there is none.
ListId rest_in(const ast::Tree& tree, NodeId statement) {
  if (is_try(tree, statement)) return tree.as<ast::Try>(statement).orelse;
  if (!tree.is(statement, Kind::If)) return {};
  const auto branch = tree.as<ast::If>(statement);
  return tree.items(branch.orelse).empty() ? branch.body : ListId();
}

bool is_row(const ast::Tree& tree, NodeId statement, bool is_of_loop) {
  size_t with_more = 0;
  for (size_t length = 1; length < kDeepest; ++length) {
    const auto rest = tree.items(rest_in(tree, statement));
    if (rest.empty()) return false;
    if (is_of_loop && is_jump_alike(tree, statement) && is_jump_alike(tree, rest.back())) {
      return true;
    }
    with_more += rest.size() > 1 || is_try(tree, statement) ? 1 : 0;
    if (with_more >= kRow) return true;
    is_of_loop = false;
    statement = rest.back();
  }
  return true;
}

NodeId jump(ast::Tree& tree, End end, ast::Where at) {
  return end == End::Continue ? tree.add(ast::Continue{}, at) : tree.add(ast::Return{}, at);
}

void end_by_jump(ast::Tree& tree, NodeId handler, End end) {
  auto clause = tree.as<ast::ExceptHandler>(handler);
  if (leaves(tree, clause.body)) return;
  const auto list = tree.items(clause.body);
  Statements body(list.begin(), list.end());
  const ast::Where at = tree.where(body.empty() ? handler : body.back());
  if (!body.empty() && tree.is(body.back(), Kind::Pass)) body.pop_back();
  body.push_back(jump(tree, end, at));
  clause.body = tree.list(body);
  tree.set(handler, clause);
}

// `not test`, pushed through so many levels of `and` and `or`.
NodeId opposite(ast::Tree& tree, NodeId test, size_t levels = 4) {
  if (tree.is(test, Kind::UnaryOp)) {
    const auto negation = tree.as<ast::UnaryOp>(test);
    if (negation.op == kNot) return negation.operand;
  }
  if (tree.is(test, Kind::BoolOp) && levels > 0) {
    auto both = tree.as<ast::BoolOp>(test);
    if (both.is_tested_again) return tree.add(ast::UnaryOp{kNot, test}, tree.where(test));
    const bool is_and = both.op == static_cast<uint32_t>(ast::BoolOperator::And);
    both.op = static_cast<uint32_t>(is_and ? ast::BoolOperator::Or : ast::BoolOperator::And);
    const auto list = tree.items(both.values);
    Statements values(list.begin(), list.end());
    for (NodeId& value : values) value = opposite(tree, value, levels - 1);
    both.values = tree.list(values);
    return tree.add(both, tree.where(test));
  }
  return tree.add(ast::UnaryOp{kNot, test}, tree.where(test));
}

// Leaves nothing but the jump in a statement that held the rest of the body.
void skip_rest(ast::Tree& tree, NodeId statement, End end) {
  if (tree.is(statement, Kind::If)) {
    auto branch = tree.as<ast::If>(statement);
    branch.test = opposite(tree, branch.test);
    branch.body = tree.list({jump(tree, end, tree.where(statement))});
    return tree.set(statement, branch);
  }
  auto attempt = tree.as<ast::Try>(statement);
  const auto clauses = tree.items(attempt.handlers);
  for (const NodeId handler : Statements(clauses.begin(), clauses.end())) {
    end_by_jump(tree, handler, end);
  }
  attempt.orelse = {};
  tree.set(statement, attempt);
}

// A `try` that more than a statement depends on: in a loop the round ends where it fails.
bool is_guard(const ast::Tree& tree, NodeId statement) {
  if (!is_try(tree, statement) || tree.items(rest_in(tree, statement)).size() < 2) return false;
  const auto handlers = tree.items(tree.as<ast::Try>(statement).handlers);
  return std::none_of(handlers.begin(), handlers.end(), [&](NodeId handler) {
    return tree.as<ast::ExceptHandler>(handler).name.valid();
  });
}

void flatten(ast::Tree& tree, Statements& items, const List& here) {
  if (here.end == End::Other || items.empty()) return;
  const Kind owner = here.place.owner.valid() ? tree.kind(here.place.owner) : Kind::Module;
  const bool is_of_loop = owner == Kind::For || owner == Kind::While;
  bool in_row = false;
  for (;;) {
    const NodeId statement = items.back();
    const auto list = tree.items(rest_in(tree, statement));
    const Statements rest(list.begin(), list.end());
    if (rest.empty()) return;
    in_row = in_row || is_row(tree, statement, is_of_loop);
    if (!in_row && !(is_of_loop && is_guard(tree, statement))) return;
    // The last `if` of a row holds what it is about.
    const bool is_last = tree.items(rest_in(tree, rest.back())).empty();
    if (is_last && tree.is(statement, Kind::If)) return;
    skip_rest(tree, statement, here.end);
    items.insert(items.end(), rest.begin(), rest.end());
  }
}

// The lists in a statement, whose own end is as `end` says.
void add_lists(const ast::Tree& tree, NodeId statement, End end, std::vector<List>& lists) {
  const Kind kind = tree.kind(statement);
  const auto fields = ast::fields_of(kind);
  const bool has_else =
      kind == Kind::Try && !tree.items(tree.as<ast::Try>(statement).orelse).empty();
  for (size_t field = 0; field < fields.size(); ++field) {
    if (fields[field].type != ast::FieldType::List) continue;
    const std::string_view name = fields[field].name;
    if (name == "handlers" || name == "cases") {
      for (const NodeId part : tree.items(ListId(tree.slot(statement, field)))) {
        add_lists(tree, part, end, lists);
      }
      continue;
    }
    if (name != "body" && name != "orelse" && name != "finalbody") continue;
    const bool is_loop = kind == Kind::For || kind == Kind::While;
    End inside = end;
    if (is_loop && name == "body") inside = End::Continue;
    if (name == "finalbody" || (has_else && name == "body")) inside = End::Other;
    lists.push_back({{statement, field}, inside});
  }
}

bool holds_lists(Kind kind) {
  return kind == Kind::If || kind == Kind::For || kind == Kind::While || kind == Kind::With ||
         kind == Kind::Try || kind == Kind::Match;
}

}  // namespace

void flatten_rows(ast::Tree& tree, Statements& body, bool is_function) {
  std::vector<List> todo{{Place{}, is_function ? End::Return : End::Other}};
  while (!todo.empty()) {
    const List here = todo.back();
    todo.pop_back();
    const bool is_body = !here.place.owner.valid();
    Statements items = is_body ? body : items_at(tree, here.place);
    const size_t before = items.size();
    flatten(tree, items, here);
    for (size_t i = 0; i < items.size(); ++i) {
      if (!holds_lists(tree.kind(items[i]))) continue;
      add_lists(tree, items[i], i + 1 == items.size() ? here.end : End::Other, todo);
    }
    if (items.size() == before) continue;
    if (is_body) {
      body = items;
    } else {
      tree.set_slot(here.place.owner, here.place.field, tree.list(items).value);
    }
  }
}

}  // namespace pellucid::polish
