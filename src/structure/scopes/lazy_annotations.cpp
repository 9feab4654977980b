// SPDX-License-Identifier: Apache-2.0
// Annotated assignments of modules and classes in 3.14: a function `__annotate__` makes the dict of
// annotations on demand.
//
// An annotation that may not be reached has an index: when it is reached, the index is added to the
// set `__conditional_annotations__`, which `__annotate__` tests. All annotations of a module are of
// this kind. Those at the top of a class body leave no trace there except their places in the dict;
// those in dead code have an index that is never added. Each copy of a `finally` body has separate
// indices and entries in the dict.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ast/nodes.h"
#include "structure/scopes/annotation_parts.h"
#include "structure/scopes/dead_code.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using object::Const;
using object::ConstKind;

namespace {

constexpr std::string_view kSet = "__conditional_annotations__";

// Returns the index of `index in __conditional_annotations__`; -1 for another test.
int64_t condition_index(const ast::Tree& tree, NodeId test) {
  if (!tree.is(test, Kind::Compare)) return -1;
  const auto compare = tree.as<ast::Compare>(test);
  const auto right = tree.items(compare.comparators);
  const Const* left = constant_of(tree, compare.left);
  const bool fits =
      left && left->kind == ConstKind::Int && right.size() == 1 && is_name(tree, right[0], kSet);
  return fits ? left->integer : -1;
}

// Returns the index of `__conditional_annotations__.add(index)`; -1 for another statement.
int64_t reached_index(const ast::Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::Expr)) return -1;
  const NodeId value = tree.as<ast::Expr>(statement).value;
  if (!tree.is(value, Kind::Call)) return -1;
  const auto call = tree.as<ast::Call>(value);
  const auto args = tree.items(call.args);
  if (args.size() != 1 || !tree.is(call.func, Kind::Attribute) ||
      !is_name(tree, tree.as<ast::Attribute>(call.func).value, kSet)) {
    return -1;
  }
  const Const* index = constant_of(tree, args[0]);
  return index && index->kind == ConstKind::Int ? index->integer : -1;
}

// Reads the body of `__annotate__`: a check of the format, a dict, stores to it, its return.
class Reader {
 public:
  explicit Reader(ast::Tree& tree) : tree_(tree) {}

  // Returns false if the function is not the compiler's.
  bool read(ListId body) {
    const std::vector<NodeId> mentions = mentions_without_binding(tree_, body);
    if (!read_statements(body)) return false;
    if (!annotations.empty()) {
      LazyAnnotation& first = annotations.front();
      first.annotation = with_mentions(tree_, first.annotation, mentions);
    }
    return true;
  }

  std::vector<LazyAnnotation> annotations;

 private:
  bool read_statements(ListId body) {
    std::vector<NodeId> todo(tree_.items(body).rbegin(), tree_.items(body).rend());
    while (!todo.empty()) {
      const NodeId statement = todo.back();
      todo.pop_back();
      if (tree_.is(statement, Kind::If)) {
        if (!branch(tree_.as<ast::If>(statement), todo)) return false;
      } else if (tree_.is(statement, Kind::Assign)) {
        if (!store(statement, -1) && !bind(statement)) return false;
      } else if (!tree_.is(statement, Kind::Return) && !tree_.is(statement, Kind::Global)) {
        return false;
      }
    }
    return has_check_ && !dict_.empty();
  }

  bool branch(const ast::If& branch, std::vector<NodeId>& todo) {
    if (is_constant(tree_, branch.test, ConstKind::False)) return true;
    const auto then = tree_.items(branch.body);
    const auto otherwise = tree_.items(branch.orelse);
    const int64_t index = condition_index(tree_, resolve(branch.test));
    if (index < 0) {
      // The check of the format comes first; the rest may be its `else`.
      if (has_check_) return false;
      for (const auto& list : {then, otherwise}) {
        if (!list.empty() && tree_.is(list[0], Kind::Raise)) {
          has_check_ = true;
        } else {
          todo.insert(todo.end(), list.rbegin(), list.rend());
        }
      }
      return has_check_;
    }
    bool has_store = false;
    for (const NodeId inner : then) {
      if (!tree_.is(inner, Kind::Assign)) return false;
      if (store(inner, index)) {
        has_store = true;
      } else if (!bind(inner)) {
        return false;
      }
    }
    return has_store && otherwise.empty();
  }

  bool store(NodeId statement, int64_t index) {
    LazyAnnotation entry;
    if (!annotation_store(tree_, statement, dict_, entry.name, entry.annotation)) return false;
    entry.annotation = resolve(entry.annotation);
    entry.index = index;
    annotations.push_back(entry);
    return true;
  }

  // Records `temporary = value`, which was evaluated before its use. Returns false for another
  // statement.
  bool bind(NodeId statement) {
    const NodeId target = only_target(tree_, statement);
    if (!target.valid() || !tree_.is(target, Kind::Name)) return false;
    const Symbol name = tree_.as<ast::Name>(target).id;
    const NodeId value = tree_.as<ast::Assign>(statement).value;
    temporaries_[name] = value;
    if (dict_.empty() && tree_.is(value, Kind::Dict)) dict_ = tree_.text(name);
    return true;
  }

  NodeId resolve(NodeId node) const {
    if (!tree_.is(node, Kind::Name)) return node;
    const auto it = temporaries_.find(tree_.as<ast::Name>(node).id);
    return it == temporaries_.end() ? node : it->second;
  }

  ast::Tree& tree_;
  std::string dict_;
  std::unordered_map<Symbol, NodeId> temporaries_;
  bool has_check_ = false;
};

// Returns the indices that are added in the list and in the blocks of its statements.
std::unordered_set<int64_t> reached_in(ast::Tree& tree, std::vector<NodeId> body) {
  std::unordered_set<int64_t> reached;
  rewrite_blocks(tree, body, [&](const std::vector<NodeId>& items) {
    for (const NodeId item : items) reached.insert(reached_index(tree, item));
  });
  return reached;
}

// Returns the entries without those of copies of `finally` bodies: of each body, one copy is left.
std::vector<LazyAnnotation> without_copies(ast::Tree& tree, std::vector<NodeId> body,
                                           std::vector<LazyAnnotation> entries) {
  std::unordered_set<int64_t> in_finally;
  rewrite_blocks(tree, body, [&](const std::vector<NodeId>& items) {
    for (const NodeId item : items) {
      if (!tree.is(item, Kind::Try)) continue;
      const auto list = tree.items(tree.as<ast::Try>(item).finalbody);
      in_finally.merge(reached_in(tree, {list.begin(), list.end()}));
    }
  });
  std::unordered_map<Symbol, std::vector<NodeId>> kept;  // the annotations of a name
  for (const LazyAnnotation& entry : entries) {
    if (entry.index >= 0 && in_finally.contains(entry.index)) {
      kept[entry.name].push_back(entry.annotation);
    }
  }
  if (kept.empty()) return entries;
  const std::unordered_set<int64_t> reached = reached_in(tree, body);
  std::erase_if(entries, [&](const LazyAnnotation& entry) {
    if (entry.index < 0 || reached.contains(entry.index)) return false;
    const auto same = kept.find(entry.name);
    return same != kept.end() &&
           std::any_of(same->second.begin(), same->second.end(),
                       [&](NodeId each) { return ast::same(tree, each, entry.annotation); });
  });
  return entries;
}

// Places every annotation, in the order of the dict.
class Placer {
 public:
  Placer(ast::Tree& tree, std::vector<NodeId>& body, const std::vector<LazyAnnotation>& entries)
      : tree_(tree), body_(body), entries_(entries), leads_(entries.size()) {
    const std::unordered_set<int64_t> reached = reached_in(tree_, body_);
    for (size_t i = 0; i < entries.size(); ++i) {
      is_reached_.push_back(entries[i].index >= 0 && reached.contains(entries[i].index));
      if (entries[i].index >= 0) position_.emplace(entries[i].index, i);
      // Dead annotations right before a reached one may be within the same statement.
      size_t first = i;
      while (is_reached_[i] && first > 0 && is_dead(first - 1)) --first;
      leads_[i] = i - first;
      has_place_.push_back(false);
      for (size_t k = first; k < i; ++k) has_place_[k] = true;
    }
  }

  void run() {
    place_at_top();
    rewrite_blocks(tree_, body_, [&](std::vector<NodeId>& items) {
      std::vector<NodeId> out;
      for (const NodeId statement : items) {
        const auto it = position_.find(reached_index(tree_, statement));
        if (it == position_.end()) {
          out.push_back(statement);
          continue;
        }
        const LazyAnnotation& entry = entries_[it->second];
        const NodeId value = take_assigned(tree_, out, entry.name);
        for (size_t k = it->second - leads_[it->second]; k < it->second; ++k)
          out.push_back(dead(entries_[k]));
        out.push_back(
            annotated(tree_, entry.name, entry.annotation, value, tree_.where(statement)));
      }
      items = std::move(out);
    });
  }

 private:
  bool is_dead(size_t i) const { return entries_[i].index >= 0 && !is_reached_[i]; }

  NodeId dead(const LazyAnnotation& entry) {
    Const no;
    no.kind = ConstKind::False;
    const NodeId test = tree_.add(ast::Constant{tree_.module().add(no)});
    const NodeId one = annotated(tree_, entry.name, entry.annotation, NodeId(), {});
    return tree_.add(ast::If{test, tree_.list({one}), {}});
  }

  // Places the annotations that leave no trace, up to `end`.
  void place_until(size_t end, std::vector<NodeId>& out) {
    for (; next_ < end; ++next_) {
      const LazyAnnotation& entry = entries_[next_];
      if (entry.index < 0) {
        out.push_back(annotated(tree_, entry.name, entry.annotation, NodeId(), {}));
      } else if (is_dead(next_) && !has_place_[next_]) {
        out.push_back(dead(entry));
      }
    }
  }

  // Places the annotations that leave no trace and have lines before that of a statement.
  void place_before(NodeId statement, std::vector<NodeId>& out) {
    const int32_t line = tree_.where(statement).line;
    for (; next_ < entries_.size(); ++next_) {
      const LazyAnnotation& entry = entries_[next_];
      const int32_t own = tree_.where(entry.annotation).line;
      if (entry.index >= 0 || own <= 0 || own >= line) return;
      out.push_back(annotated(tree_, entry.name, entry.annotation, NodeId(), {}));
    }
  }

  // Returns the unconditional annotation that may belong to the assignment `statement`;
  // entries_.size() if none does.
  size_t annotation_of(NodeId statement) const {
    const NodeId target = only_target(tree_, statement);
    if (!target.valid() || !tree_.is(target, Kind::Name)) return entries_.size();
    const Symbol name = tree_.as<ast::Name>(target).id;
    for (size_t k = next_; k < entries_.size() && !is_reached_[k]; ++k) {
      if (entries_[k].index < 0 && entries_[k].name == name) return k;
    }
    return entries_.size();
  }

  void place_at_top() {
    std::vector<NodeId> out;
    size_t at = 0;
    const bool has_docstring = !body_.empty() && tree_.is(body_[0], Kind::Expr) &&
                               constant_of(tree_, tree_.as<ast::Expr>(body_[0]).value);
    if (has_docstring) out.push_back(body_[at++]);
    for (; at < body_.size(); ++at) {
      const NodeId statement = body_[at];
      place_before(statement, out);
      const size_t k = annotation_of(statement);
      if (k < entries_.size()) {
        place_until(k, out);
        out.push_back(annotated(tree_, entries_[k].name, entries_[k].annotation,
                                tree_.as<ast::Assign>(statement).value, tree_.where(statement)));
        next_ = k + 1;
        continue;
      }
      // The entries before an annotation within this statement are placed before it.
      size_t first = entries_.size();
      size_t last = next_;
      std::vector<NodeId> one = {statement};
      rewrite_blocks(tree_, one, [&](const std::vector<NodeId>& items) {
        for (const NodeId item : items) {
          const auto it = position_.find(reached_index(tree_, item));
          if (it == position_.end()) continue;
          first = std::min(first, it->second);
          last = std::max(last, it->second + 1);
        }
      });
      if (last > next_) {
        for (; leads_[first] > 0; --leads_[first]) has_place_[first - leads_[first]] = false;
        // The value of that annotation was stored right before.
        const NodeId stored = out.empty() ? NodeId() : out.back();
        const NodeId value = take_assigned(tree_, out, entries_[first].name);
        place_until(first, out);
        if (value.valid()) out.push_back(stored);
        next_ = last;
      }
      out.push_back(statement);
    }
    place_until(entries_.size(), out);
    body_ = std::move(out);
  }

  ast::Tree& tree_;
  std::vector<NodeId>& body_;
  const std::vector<LazyAnnotation>& entries_;
  std::unordered_map<int64_t, size_t> position_;  // in entries_, by index
  std::vector<bool> is_reached_;
  std::vector<size_t> leads_;    // how many dead annotations an entry takes along
  std::vector<bool> has_place_;  // it is one of those
  size_t next_ = 0;
};

}  // namespace

std::vector<LazyAnnotation> take_lazy_annotations(ast::Tree& tree, std::vector<NodeId>& body) {
  // A module stores an empty set first, a class among its other names.
  std::erase_if(body, [&](NodeId statement) {
    const NodeId value = assigned_to(tree, statement, kSet);
    return value.valid() && tree.is(value, Kind::Set);
  });
  for (size_t i = 0; i < body.size(); ++i) {
    if (!tree.is(body[i], Kind::FunctionDef)) continue;
    const auto def = tree.as<ast::FunctionDef>(body[i]);
    const std::string_view name = tree.text(def.name);
    if (name != "__annotate__" && name != "__annotate_func__") continue;
    Reader reader(tree);
    if (!reader.read(def.body)) continue;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
    return std::move(reader.annotations);
  }
  return {};
}

void place_lazy_annotations(ast::Tree& tree, std::vector<NodeId>& body,
                            const std::vector<LazyAnnotation>& annotations) {
  if (annotations.empty()) return;
  const std::vector<LazyAnnotation> entries = without_copies(tree, body, annotations);
  Placer(tree, body, entries).run();
}

bool has_annotation(ast::Tree& tree, std::vector<NodeId> body, bool conditional) {
  bool found = false;
  bool at_top = true;
  rewrite_blocks(tree, body, [&](const std::vector<NodeId>& items) {
    if (!at_top || !conditional) {
      found |= std::any_of(items.begin(), items.end(),
                           [&](NodeId item) { return tree.is(item, Kind::AnnAssign); });
    }
    at_top = false;
  });
  return found;
}

}  // namespace pellucid::structure
