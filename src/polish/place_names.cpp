// SPDX-License-Identifier: Apache-2.0
// `global a, b` and `nonlocal a, b` leave no instruction. They are read at the start of a function.
// There may be no line for them between the header and the first statement: then each name stands
// before the statement that first has it, where there is a line. Otherwise names stand in the order
// in which the body has them, one a line where there are as many lines as names, as in most code.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/first_mentions.h"
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
    const size_t docstring = docstring_of(tree_, body) != nullptr ? 1 : 0;
    size_t end = docstring;
    while (end < body.size() && is_declaration(body[end])) ++end;
    if (end == docstring || end >= body.size()) return;
    const int32_t line = first_line(body[end]);
    if (line <= 0 || header <= 0) return;
    Statements declarations(body.begin() + static_cast<std::ptrdiff_t>(docstring),
                            body.begin() + static_cast<std::ptrdiff_t>(end));
    int32_t room = line - header - 1 - lines_of_docstring(body);
    if (room <= 0) move(body, end, declarations);
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
  bool is_declaration(NodeId statement) const {
    return tree_.is(statement, Kind::Global) || tree_.is(statement, Kind::Nonlocal);
  }

  int32_t lines_of_docstring(const Statements& body) const {
    const object::Const* text = docstring_of(tree_, body);
    if (text == nullptr) return 0;
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

  // Moves each name to the innermost place before its first mention that has a line; a declaration
  // stays in the list if one of its names has no such place.
  void move(Statements& body, size_t from, Statements& declarations) {
    std::vector<Symbol> names;
    for (const NodeId each : declarations) {
      for (const NodeId name : names_of(each)) names.push_back(tree_.as<ast::Name>(name).id);
    }
    const FirstMentions mentions(tree_, body, from, names);
    std::map<size_t, NodeId> made;  // by the position that they come before
    Statements stay;
    for (const NodeId each : declarations) {
      if (!place(each, mentions, made)) stay.push_back(each);
    }
    declarations = stay;
    insert(body, mentions.positions(), made);
  }

  // Adds a declaration for each place that a name of this one gets. Returns false if one of them
  // has none.
  bool place(NodeId declaration, const FirstMentions& mentions, std::map<size_t, NodeId>& made) {
    const auto positions = mentions.positions();
    // By position: the innermost place there or further out. No line is left after a declaration.
    std::vector<std::optional<size_t>> innermost(positions.size());
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i].has_free_line() && !made.contains(i)) {
        innermost[i] = i;
      } else if (positions[i].outer) {
        innermost[i] = innermost[*positions[i].outer];
      }
    }
    std::map<size_t, Statements> names_at;
    for (const NodeId name : names_of(declaration)) {
      const auto mention = mentions.of(tree_.as<ast::Name>(name).id);
      const auto at = mention ? innermost[*mention] : std::nullopt;
      if (!at) return false;
      names_at[*at].push_back(name);
    }
    for (const auto& [at, names] : names_at) made.emplace(at, declaration_like(declaration, names));
    return true;
  }

  // Inserts each declaration before its position, all those of one list at once.
  void insert(Statements& body, std::span<const Position> positions,
              const std::map<size_t, NodeId>& made) {
    using List = std::pair<NodeId, size_t>;
    std::map<List, std::vector<std::pair<size_t, NodeId>>> by_list;  // by index, as positions are
    for (const auto& [at, declaration] : made) {
      const Position& position = positions[at];
      by_list[{position.place.owner, position.place.field}].emplace_back(position.index,
                                                                         declaration);
    }
    for (const auto& [list, added] : by_list) {
      const Place place{list.first, list.second};
      const Statements old = place.owner.valid() ? items_at(tree_, place) : body;
      Statements items;
      items.reserve(old.size() + added.size());
      auto next = added.begin();
      for (size_t i = 0; i < old.size(); ++i) {
        if (next != added.end() && next->first == i) items.push_back((next++)->second);
        items.push_back(old[i]);
      }
      if (place.owner.valid()) {
        tree_.set_slot(place.owner, place.field, tree_.list(items).value);
      } else {
        body = items;
      }
    }
  }

  ast::Tree& tree_;
};

}  // namespace

void place_names(ast::Tree& tree, Statements& body, const Starts& starts) {
  Declarations(tree).run(body, starts.first_line());
}

}  // namespace pellucid::polish
