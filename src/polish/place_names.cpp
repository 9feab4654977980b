// SPDX-License-Identifier: Apache-2.0
// `global a, b` and `nonlocal a, b` leave no instruction. They are read at the start of a function.
// There may be no line for them between the header and the first statement: then each name stands
// before the statement that first has it, where there is a line. Otherwise names stand in the order
// in which the body has them, one a line where there are as many lines as names, as in most code.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ast/nodes.h"
#include "polish/lists.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

class Declarations {
 public:
  explicit Declarations(ast::Tree& tree) : tree_(tree) {}

  void run(Statements& body, int32_t header) {
    const size_t docstring = has_docstring(body) ? 1 : 0;
    size_t end = docstring;
    while (end < body.size() && is_declaration(body[end])) ++end;
    if (end == docstring || end >= body.size()) return;
    const int32_t line = first_line(body[end]);
    if (line <= 0 || header <= 0) return;
    Statements declarations;
    int32_t room = line - header - 1 - lines_of_docstring(body);
    for (size_t i = docstring; i < end; ++i) {
      if (room > 0 || !move(body, end, body[i])) declarations.push_back(body[i]);
    }
    // There is an empty line before a definition.
    const bool is_definition =
        tree_.is(body[end], Kind::FunctionDef) || tree_.is(body[end], Kind::ClassDef);
    if (is_definition && room > 1) --room;
    sort_names(declarations,
               Statements(body.begin() + static_cast<std::ptrdiff_t>(end), body.end()), room);
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(docstring),
               body.begin() + static_cast<std::ptrdiff_t>(end));
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(docstring), declarations.begin(),
                declarations.end());
  }

 private:
  // A place between two statements.
  struct Gap {
    Place place;  // no owner: the body itself
    size_t index = 0;
  };

  bool is_declaration(NodeId statement) const {
    return tree_.is(statement, Kind::Global) || tree_.is(statement, Kind::Nonlocal);
  }

  bool has_docstring(const Statements& body) const {
    if (body.empty() || !tree_.is(body[0], Kind::Expr)) return false;
    const object::Const* text = ast::constant_of(tree_, tree_.as<ast::Expr>(body[0]).value);
    return text != nullptr && text->kind == object::ConstKind::Str;
  }

  int32_t lines_of_docstring(const Statements& body) const {
    if (!has_docstring(body)) return 0;
    const object::Const* text = ast::constant_of(tree_, tree_.as<ast::Expr>(body[0]).value);
    const std::string_view written = tree_.text(text->text);
    return 1 + static_cast<int32_t>(std::count(written.begin(), written.end(), '\n'));
  }

  // Returns the first line of what a statement holds; -1: it is not known.
  int32_t first_line(NodeId statement) const {
    int32_t least = -1;
    for (const NodeId node : own_nodes(tree_, {statement})) {
      const int32_t line = tree_.where(node).line;
      if (line > 0 && (least < 0 || line < least)) least = line;
    }
    return least;
  }

  int32_t last_line(NodeId statement) const {
    int32_t most = -1;
    for (const NodeId node : all_nodes(tree_, {statement})) {
      most = std::max(most, tree_.where(node).line);
    }
    return most;
  }

  bool has_name(NodeId statement, Symbol name) const {
    for (const NodeId node : own_nodes(tree_, {statement})) {
      const Kind kind = tree_.kind(node);
      if (kind == Kind::Attribute || kind == Kind::keyword) continue;
      const auto fields = ast::fields_of(kind);
      for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].type == ast::FieldType::Name && Symbol(tree_.slot(node, i)) == name) {
          return true;
        }
      }
    }
    return false;
  }

  // Returns the index of the first statement of a list that has the name; its size: none has.
  size_t first_with(const Statements& items, size_t from, Symbol name) const {
    while (from < items.size() && !has_name(items[from], name)) ++from;
    return from;
  }

  // Returns the innermost place before the first mention of a name that has a line; none if there
  // is no such place.
  std::optional<Gap> place_for(const Statements& body, size_t from, Symbol name) const {
    std::optional<Gap> found;
    Statements items = body;
    Place here;
    for (;;) {
      const size_t at = first_with(items, from, name);
      if (at == items.size()) return found;
      const bool is_body = !here.owner.valid();
      const bool is_first = is_body ? at == from : at == 0;
      // The line of a header is that of its last instruction, at most that of the body.
      const int32_t before =
          is_first ? (is_body ? -1 : header_line(here)) : last_line(items[at - 1]);
      const int32_t line = first_line(items[at]);
      if (before > 0 && line >= before + 2) found = Gap{here, at};
      const std::optional<Place> inner = list_with(items[at], name);
      if (!inner) return found;
      here = *inner;
      items = items_at(tree_, here);
      from = 0;
    }
  }

  std::vector<Place> lists_in(NodeId statement) const {
    const Statements only{statement};
    Outline outline(tree_, only);
    std::vector<Place> places;
    for (const Listed& each : outline.lists()) places.push_back(each.place);
    return places;
  }

  // Returns the list of a statement that has the first mention of a name; none if it is in none.
  std::optional<Place> list_with(NodeId statement, Symbol name) const {
    for (const Place place : lists_in(statement)) {
      const Statements items = items_at(tree_, place);
      if (first_with(items, 0, name) == items.size()) continue;
      return mentions_outside(statement, name) ? std::nullopt : std::optional(place);
    }
    return std::nullopt;
  }

  // Returns true if a statement has a name outside of the lists in it, as in its test.
  bool mentions_outside(NodeId statement, Symbol name) const {
    std::vector<NodeId> inside;
    for (const Place place : lists_in(statement)) {
      for (const NodeId item : items_at(tree_, place)) inside.push_back(item);
    }
    std::sort(inside.begin(), inside.end());
    std::vector<NodeId> todo{statement};
    while (!todo.empty()) {
      const NodeId node = todo.back();
      todo.pop_back();
      if (node != statement && std::binary_search(inside.begin(), inside.end(), node)) continue;
      if (tree_.is(node, Kind::Name) && tree_.as<ast::Name>(node).id == name) return true;
      if (tree_.is(node, Kind::ExceptHandler) && tree_.as<ast::ExceptHandler>(node).name == name) {
        return true;
      }
      if (tree_.is(node, Kind::MatchAs) && tree_.as<ast::MatchAs>(node).name == name) return true;
      for (const ast::ChildField field : ast::child_fields_of(tree_.kind(node))) {
        const uint32_t slot = tree_.slot(node, field.slot);
        if (!field.is_list) {
          if (NodeId(slot).valid()) todo.push_back(NodeId(slot));
          continue;
        }
        for (const NodeId item : tree_.items(ListId(slot))) {
          if (item.valid()) todo.push_back(item);
        }
      }
    }
    return false;
  }

  // Returns the last line of what stands before a list in its statement.
  int32_t header_line(Place place) const {
    int32_t most = tree_.where(place.owner).line;
    const auto fields = ast::fields_of(tree_.kind(place.owner));
    for (size_t i = 0; i < place.field; ++i) {
      if (fields[i].type == ast::FieldType::Node && NodeId(tree_.slot(place.owner, i)).valid()) {
        most = std::max(most, last_line(NodeId(tree_.slot(place.owner, i))));
      } else if (fields[i].type == ast::FieldType::List) {
        // One line at least is that of `else:` or `finally:`.
        for (const NodeId item : tree_.items(ListId(tree_.slot(place.owner, i)))) {
          if (item.valid()) most = std::max(most, last_line(item) + 1);
        }
      }
    }
    return most;
  }

  Statements names_of(NodeId declaration) const {
    const auto list = tree_.items(ListId(tree_.slot(declaration, 0)));
    return {list.begin(), list.end()};
  }

  NodeId declaration_like(NodeId other, const Statements& names) {
    const ListId list = tree_.list(names);
    return tree_.is(other, Kind::Global) ? tree_.add(ast::Global{list})
                                         : tree_.add(ast::Nonlocal{list});
  }

  // Sorts names by where the statements first have them, and splits declarations to fill the room.
  void sort_names(Statements& declarations, const Statements& rest, int32_t room) {
    size_t count = 0;
    for (const NodeId each : declarations) count += names_of(each).size();
    if (count < 2) return;
    std::unordered_map<Symbol, size_t> first;
    for (const NodeId node : own_nodes(tree_, rest)) {
      if (tree_.is(node, Kind::Name)) first.emplace(tree_.as<ast::Name>(node).id, first.size());
    }
    Statements made;
    for (const NodeId each : declarations) {
      Statements names = names_of(each);
      const auto place = [&](NodeId name) {
        const auto found = first.find(tree_.as<ast::Name>(name).id);
        return found == first.end() ? first.size() : found->second;
      };
      std::stable_sort(names.begin(), names.end(),
                       [&](NodeId one, NodeId other) { return place(one) < place(other); });
      if (room != static_cast<int32_t>(count)) {
        made.push_back(declaration_like(each, names));
      } else {
        for (const NodeId name : names) made.push_back(declaration_like(each, {name}));
      }
    }
    declarations = made;
  }

  // Moves each name of a declaration to its place. Returns false if one of them has none.
  bool move(Statements& body, size_t from, NodeId declaration) {
    const Statements names = names_of(declaration);
    std::vector<std::pair<Gap, Statements>> moved;
    for (const NodeId name : names) {
      const auto gap = place_for(body, from, tree_.as<ast::Name>(name).id);
      if (!gap) return false;
      const auto same = std::find_if(moved.begin(), moved.end(), [&](const auto& each) {
        return each.first.place.owner == gap->place.owner &&
               each.first.place.field == gap->place.field && each.first.index == gap->index;
      });
      if (same == moved.end()) {
        moved.push_back({*gap, {name}});
      } else {
        same->second.push_back(name);
      }
    }
    // From the last place on, so that the others stay where they are.
    std::sort(moved.begin(), moved.end(), [](const auto& one, const auto& other) {
      return one.first.index > other.first.index;
    });
    for (const auto& [gap, each] : moved) {
      const NodeId made = declaration_like(declaration, each);
      Statements items = gap.place.owner.valid() ? items_at(tree_, gap.place) : body;
      items.insert(items.begin() + static_cast<std::ptrdiff_t>(gap.index), made);
      if (gap.place.owner.valid()) {
        tree_.set_slot(gap.place.owner, gap.place.field, tree_.list(items).value);
      } else {
        body = items;
      }
    }
    return true;
  }

  ast::Tree& tree_;
};

}  // namespace

void place_names(ast::Tree& tree, Statements& body, const Starts& starts) {
  Declarations(tree).run(body, starts.first_line());
}

}  // namespace pellucid::polish
