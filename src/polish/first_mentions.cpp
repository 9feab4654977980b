// SPDX-License-Identifier: Apache-2.0
#include "polish/first_mentions.h"

#include <algorithm>

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

FirstMentions::FirstMentions(const ast::Tree& tree, const Statements& body, size_t from,
                             std::span<const Symbol> names)
    : tree_(tree) {
  for (const Symbol name : names) found_.emplace(name, std::nullopt);
  missing_ = found_.size();
  int32_t before = -1;
  for (size_t i = from; i < body.size() && missing_ > 0; ++i) {
    const size_t position = positions_.size();
    positions_.push_back({{}, i, std::nullopt, before, -1});
    walk(body[i], position);
    before = last_;
  }
}

std::optional<size_t> FirstMentions::of(Symbol name) const {
  const auto found = found_.find(name);
  return found == found_.end() ? std::nullopt : found->second;
}

void FirstMentions::walk(NodeId statement, size_t position) {
  std::vector<Open> open;
  open.push_back(opened(statement, position, false));
  for (;;) {
    if (auto child = next_child(open.back())) {
      open.push_back(*child);
      continue;
    }
    const Open done = open.back();
    open.pop_back();
    if (open.empty()) {
      positions_[position].line = done.first;
      last_ = done.last;
      return;
    }
    close(done, open.back());
  }
}

FirstMentions::Open FirstMentions::opened(NodeId node, size_t position, bool is_in_lambda) {
  Open open;
  open.node = node;
  open.position = position;
  open.is_in_lambda = is_in_lambda;
  const int32_t line = tree_.where(node).line;
  if (line > 0 && !is_in_lambda) open.first = line;
  open.last = std::max(open.last, line);
  open.header = line;
  if (!is_in_lambda) note_names(node, position);
  return open;
}

// Returns the next child to walk over; none after the last one.
std::optional<FirstMentions::Open> FirstMentions::next_child(Open& open) {
  const Kind kind = tree_.kind(open.node);
  const auto fields = ast::child_fields_of(kind);
  const bool is_definition = kind == Kind::FunctionDef || kind == Kind::ClassDef;
  for (; open.field < fields.size(); ++open.field, open.item = 0) {
    const ast::ChildField field = fields[open.field];
    const bool is_body = field.suite == ast::Suite::Body;
    if (is_definition && is_body) continue;
    const bool is_in_lambda = open.is_in_lambda || (kind == Kind::Lambda && is_body);
    const uint32_t slot = tree_.slot(open.node, field.slot);
    if (!field.is_list) {
      if (!NodeId(slot).valid()) continue;
      ++open.field;
      return opened(NodeId(slot), open.position, is_in_lambda);
    }
    const auto items = tree_.items(ListId(slot));
    while (open.item < items.size() && !items[open.item].valid()) ++open.item;
    if (open.item == items.size()) continue;
    if (field.has_statements() && open.item == 0) open.before = open.header;
    const size_t index = open.item++;
    size_t position = open.position;
    if (field.has_statements()) {
      position = positions_.size();
      positions_.push_back({{open.node, field.slot}, index, open.position, open.before, -1});
    }
    Open child = opened(items[index], position, is_in_lambda);
    child.is_item = true;
    child.is_statement = field.has_statements();
    return child;
  }
  return std::nullopt;
}

void FirstMentions::close(const Open& child, Open& parent) {
  if (child.first > 0 && (parent.first < 0 || child.first < parent.first)) {
    parent.first = child.first;
  }
  parent.last = std::max(parent.last, child.last);
  // One line at least is that of `else:` or `finally:`.
  parent.header = std::max(parent.header, child.last + (child.is_item ? 1 : 0));
  if (!child.is_statement) return;
  parent.before = child.last;
  positions_[child.position].line = child.first;
}

void FirstMentions::note_names(NodeId node, size_t position) {
  const Kind kind = tree_.kind(node);
  if (kind == Kind::Attribute || kind == Kind::keyword) return;
  const auto fields = ast::fields_of(kind);
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].type != ast::FieldType::Name) continue;
    const auto found = found_.find(Symbol(tree_.slot(node, i)));
    if (found == found_.end() || found->second) continue;
    found->second = position;
    --missing_;
  }
}

}  // namespace pellucid::polish
