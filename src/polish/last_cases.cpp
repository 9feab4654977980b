// SPDX-License-Identifier: Apache-2.0
// A last `case _: pass` leaves nothing but the places of its `_` and its `pass`, in two NOPs one
// after the other (3.11+). The first is in the column of the patterns, after all other cases.
#include "ast/nodes.h"
#include "polish/extents.h"
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

constexpr int32_t kNear = 3;  // lines from the last case before: a comment may be between them

// Returns the line of the `_` that a NOP holds, where the pattern of a case of this `match` would
// be; -1: it holds none.
int32_t line_of_any(const object::Places& places, uint32_t unit, int32_t column) {
  const int32_t pattern = column + width_of("    case ");
  const object::SourcePlace any = places.at(unit), body = places.at(unit + 1);
  const bool is_any = any.columns.begin == pattern && any.columns.width() == width_of("_");
  const bool is_pass = body.columns.begin > column && body.columns.width() == width_of("pass");
  return is_any && is_pass && body.line == any.line + 1 ? any.line : -1;
}

}  // namespace

void write_last_cases(ast::Tree& tree, const Statements& body, Outline& outline,
                      const Starts& starts) {
  if (!starts.known() || starts.places().nops().empty()) return;
  for_each_statement(tree, body, outline, {Kind::Match}, [&](NodeId item) {
    auto match = tree.as<ast::Match>(item);
    const auto cases = tree.items(match.cases);
    const auto end = tree.as<ast::match_case>(cases.back());
    if (!end.guard.valid() && ast::takes_everything(tree, end.pattern)) return;
    const int32_t column = starts.of(item);
    const int32_t last = last_line(tree, item);
    if (column == Starts::kUnknown || last < 0) return;
    for (const uint32_t unit : starts.places().nops()) {
      const int32_t line = line_of_any(starts.places(), unit, column);
      if (line <= last || line > last + kNear) continue;
      const NodeId any = tree.add(ast::MatchAs{}, tree.where(item));
      const ast::ListId pass = tree.list({tree.add(ast::Pass{}, tree.where(item))});
      const NodeId made = tree.add(ast::match_case{any, NodeId(), pass}, tree.where(item));
      match.cases = tree.append(match.cases, made);
      return tree.set(item, match);
    }
  });
}

}  // namespace pellucid::polish
