// SPDX-License-Identifier: Apache-2.0
// polish: where the statements of one body first have a name, and what lines are free before that.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ast/tree.h"
#include "polish/lists.h"

namespace pellucid::polish {

// A statement in its list.
struct Position {
  Place place;  // no owner: the body itself
  size_t index = 0;
  std::optional<size_t> outer;  // the position of the statement that has the list
  int32_t before = -1;          // the last line of what stands before it; -1: not known
  int32_t line = -1;            // its first line; -1: not known

  bool has_free_line() const { return before > 0 && line >= before + 2; }
};

// One walk over the statements of a body, from `from` on, finds the first mention of each name.
class FirstMentions {
 public:
  FirstMentions(const ast::Tree& tree, const Statements& body, size_t from,
                std::span<const Symbol> names);

  // Every statement that was walked over, outer ones before those in them.
  std::span<const Position> positions() const { return positions_; }

  // Returns the position of the innermost statement that has the first mention of a name; none if
  // there is no mention.
  std::optional<size_t> of(Symbol name) const;

 private:
  // A node whose children are walked over.
  struct Open {
    ast::NodeId node;
    size_t position = 0;  // of the statement that it is in
    bool is_in_lambda = false;
    bool is_item = false;       // of a list
    bool is_statement = false;  // an item of a list of statements
    size_t field = 0;           // the next child
    size_t item = 0;
    int32_t first = -1;   // lines
    int32_t last = -1;    // with the bodies of lambdas
    int32_t header = -1;  // the last line of what was walked over, as it is before another list
    int32_t before = -1;  // the last line before the next statement of the list
  };

  void walk(ast::NodeId statement, size_t position);
  Open opened(ast::NodeId node, size_t position, bool is_in_lambda);
  std::optional<Open> next_child(Open& open);
  void close(const Open& child, Open& parent);
  void note_names(ast::NodeId node, size_t position);

  const ast::Tree& tree_;
  std::vector<Position> positions_;
  std::unordered_map<Symbol, std::optional<size_t>> found_;
  size_t missing_ = 0;  // names without a mention so far
  int32_t last_ = -1;   // the last line of the statement that was walked over
};

}  // namespace pellucid::polish
