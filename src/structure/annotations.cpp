// Annotated assignments of modules and classes.
//
// Up to 3.13, and under `from __future__ import annotations`, `x: int = 1` stores the value, then
// `__annotations__['x'] = int`. In 3.14 a function `__annotate__` makes the dict on demand; whether
// a conditional annotation was reached is noted in the set `__conditional_annotations__`.
#include <string>

#include "structure/blocks.h"
#include "structure/expressions.h"
#include "structure/names.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using object::CodeId;
using object::Const;
using object::ConstKind;

namespace {

bool is_name(const ast::Tree& tree, NodeId node, std::string_view name) {
  return tree.is(node, Kind::Name) && tree.text(tree.as<ast::Name>(node).id) == name;
}

// The name and the annotation of `dict['name'] = annotation`.
bool annotation_store(const ast::Tree& tree, NodeId statement, std::string_view dict, Symbol& name,
                      NodeId& annotation) {
  if (!tree.is(statement, Kind::Assign)) return false;
  const auto assign = tree.as<ast::Assign>(statement);
  const auto targets = tree.items(assign.targets);
  if (targets.size() != 1 || !tree.is(targets[0], Kind::Subscript)) return false;
  const auto target = tree.as<ast::Subscript>(targets[0]);
  const Const* key = constant_of(tree, target.slice);
  if (!key || key->kind != ConstKind::Str || !is_identifier(tree.text(key->text))) return false;
  if (!is_name(tree, target.value, dict)) return false;
  name = key->text;
  annotation = assign.value;
  return true;
}

// Calls rewrite(statements) for the body and for each list of statements in its compound ones.
template <typename Rewrite>
void rewrite_blocks(ast::Tree& tree, std::vector<NodeId>& body, Rewrite rewrite) {
  struct Block {
    NodeId owner;
    size_t field;
  };
  std::vector<Block> todo;
  const auto enter = [&](const std::vector<NodeId>& items) {
    for (const NodeId statement : items) {
      for_each_block(tree, statement,
                     [&](size_t field, ListId) { todo.push_back({statement, field}); });
    }
  };
  rewrite(body);
  enter(body);
  while (!todo.empty()) {
    const Block block = todo.back();
    todo.pop_back();
    const auto list = tree.items(ListId(tree.slot(block.owner, block.field)));
    std::vector<NodeId> items(list.begin(), list.end());
    const std::vector<NodeId> before = items;
    rewrite(items);
    if (items != before) tree.set_slot(block.owner, block.field, tree.list(items).value);
    enter(items);
  }
}

// The value of `name = value`, if that is the statement at the end; else invalid.
NodeId take_assigned(const ast::Tree& tree, std::vector<NodeId>& out, Symbol name) {
  if (out.empty() || !tree.is(out.back(), Kind::Assign)) return NodeId();
  const auto assign = tree.as<ast::Assign>(out.back());
  const auto targets = tree.items(assign.targets);
  if (targets.size() != 1 || !tree.is(targets[0], Kind::Name) ||
      tree.as<ast::Name>(targets[0]).id != name) {
    return NodeId();
  }
  out.pop_back();
  return assign.value;
}

NodeId annotated(ast::Tree& tree, Symbol name, NodeId annotation, NodeId value, ast::Where at) {
  return tree.add(ast::AnnAssign{tree.add(ast::Name{name}, at), annotation, value, 1}, at);
}

// One entry of the dict that `__annotate__` makes.
struct Entry {
  Symbol name;
  NodeId annotation;
  int64_t index = -1;  // in `__conditional_annotations__`; -1: unconditional
};

// The index of `index in __conditional_annotations__`; -1: another test.
int64_t condition_index(const ast::Tree& tree, NodeId test) {
  if (!tree.is(test, Kind::Compare)) return -1;
  const auto compare = tree.as<ast::Compare>(test);
  const auto right = tree.items(compare.comparators);
  const Const* left = constant_of(tree, compare.left);
  const bool fits = left && left->kind == ConstKind::Int && right.size() == 1 &&
                    is_name(tree, right[0], "__conditional_annotations__");
  return fits ? left->integer : -1;
}

// Notes `temporary = value`; false: the statement is of another form.
bool bind_temporary(const ast::Tree& tree, NodeId statement,
                    std::unordered_map<Symbol, NodeId>& temporaries) {
  const auto assign = tree.as<ast::Assign>(statement);
  const auto targets = tree.items(assign.targets);
  if (targets.size() != 1 || !tree.is(targets[0], Kind::Name)) return false;
  temporaries[tree.as<ast::Name>(targets[0]).id] = assign.value;
  return true;
}

// Reads the body of `__annotate__`: a check of the format, a dict, stores to it, its return.
bool read_annotate(const ast::Tree& tree, ListId body, std::vector<Entry>& entries) {
  std::string dict;
  // What was evaluated in front of its use.
  std::unordered_map<Symbol, NodeId> temporaries;
  const auto resolve = [&](NodeId node) {
    if (!tree.is(node, Kind::Name)) return node;
    const auto it = temporaries.find(tree.as<ast::Name>(node).id);
    return it == temporaries.end() ? node : it->second;
  };
  std::vector<NodeId> todo(tree.items(body).rbegin(), tree.items(body).rend());
  while (!todo.empty()) {
    const NodeId statement = todo.back();
    todo.pop_back();
    Entry entry;
    if (tree.is(statement, Kind::If)) {
      const auto branch = tree.as<ast::If>(statement);
      const auto then = tree.items(branch.body);
      const auto otherwise = tree.items(branch.orelse);
      const int64_t index = condition_index(tree, resolve(branch.test));
      if (index < 0) {
        // The check of the format; the rest may be its else.
        for (const auto& list : {then, otherwise}) {
          if (!list.empty() && !tree.is(list[0], Kind::Raise)) {
            todo.insert(todo.end(), list.rbegin(), list.rend());
          }
        }
        continue;
      }
      for (const NodeId inner : then) {
        if (tree.is(inner, Kind::Assign) && bind_temporary(tree, inner, temporaries)) continue;
        if (!annotation_store(tree, inner, dict, entry.name, entry.annotation)) return false;
      }
      if (!otherwise.empty() || !entry.name.valid()) return false;
      entry.annotation = resolve(entry.annotation);
      entry.index = index;
      entries.push_back(entry);
    } else if (annotation_store(tree, statement, dict, entry.name, entry.annotation)) {
      entry.annotation = resolve(entry.annotation);
      entries.push_back(entry);
    } else if (tree.is(statement, Kind::Assign)) {
      const auto assign = tree.as<ast::Assign>(statement);
      if (!bind_temporary(tree, statement, temporaries)) return false;
      if (dict.empty() && tree.is(assign.value, Kind::Dict)) {
        dict = tree.text(tree.as<ast::Name>(tree.items(assign.targets)[0]).id);
      }
    } else if (!tree.is(statement, Kind::Return) && !tree.is(statement, Kind::Global)) {
      return false;
    }
  }
  return true;
}

// The index of `__conditional_annotations__.add(index)`; -1: another statement.
int64_t reached_index(const ast::Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::Expr)) return -1;
  const NodeId value = tree.as<ast::Expr>(statement).value;
  if (!tree.is(value, Kind::Call)) return -1;
  const auto call = tree.as<ast::Call>(value);
  const auto args = tree.items(call.args);
  if (args.size() != 1 || !tree.is(call.func, Kind::Attribute) ||
      !is_name(tree, tree.as<ast::Attribute>(call.func).value, "__conditional_annotations__")) {
    return -1;
  }
  const Const* index = constant_of(tree, args[0]);
  return index && index->kind == ConstKind::Int ? index->integer : -1;
}

// Unconditional annotations leave no trace in a class body: each goes to the next assignment of its
// name, or stands alone, so that the order of all is kept.
void place_unconditional(ast::Tree& tree, std::vector<NodeId>& body,
                         const std::vector<Entry>& entries) {
  size_t next = 0;
  std::vector<NodeId> out;
  const bool has_docstring = !body.empty() && tree.is(body[0], Kind::Expr) &&
                             constant_of(tree, tree.as<ast::Expr>(body[0]).value);
  size_t at = 0;
  if (has_docstring) out.push_back(body[at++]);
  const auto place_until = [&](size_t end) {
    for (; next < end; ++next) {
      if (entries[next].index < 0) {
        out.push_back(annotated(tree, entries[next].name, entries[next].annotation, NodeId(), {}));
      }
    }
  };
  for (; at < body.size(); ++at) {
    const NodeId statement = body[at];
    bool is_placed = false;
    if (next < entries.size() && tree.is(statement, Kind::Assign)) {
      const auto assign = tree.as<ast::Assign>(statement);
      const auto targets = tree.items(assign.targets);
      if (targets.size() == 1 && tree.is(targets[0], Kind::Name)) {
        const Symbol name = tree.as<ast::Name>(targets[0]).id;
        for (size_t k = next; k < entries.size() && entries[k].index < 0; ++k) {
          if (entries[k].name != name) continue;
          place_until(k);
          out.push_back(
              annotated(tree, name, entries[k].annotation, assign.value, tree.where(statement)));
          next = k + 1;
          is_placed = true;
          break;
        }
      }
    }
    if (is_placed) continue;
    // A conditional annotation within this statement: what comes before it in the dict comes first.
    std::vector<NodeId> one = {statement};
    size_t last = next;
    rewrite_blocks(tree, one, [&](std::vector<NodeId>& items) {
      for (const NodeId item : items) {
        const int64_t index = reached_index(tree, item);
        for (size_t k = next; index >= 0 && k < entries.size(); ++k) {
          if (entries[k].index == index) last = std::max(last, k + 1);
        }
      }
    });
    if (last > next) {
      place_until(last);
      next = last;
    }
    out.push_back(statement);
  }
  place_until(entries.size());
  body = std::move(out);
}

}  // namespace

bool fold_annotations(ast::Tree& tree, std::vector<NodeId>& body, CodeId code) {
  const bool are_strings = has_future_annotations(tree.module(), code);
  bool has_any = false;
  rewrite_blocks(tree, body, [&](std::vector<NodeId>& items) {
    std::vector<NodeId> out;
    for (const NodeId statement : items) {
      Symbol name;
      NodeId annotation;
      if (!annotation_store(tree, statement, "__annotations__", name, annotation)) {
        out.push_back(statement);
        continue;
      }
      has_any = true;
      if (are_strings) annotation = annotation_of_string(tree, annotation);
      // `x = value` right in front belongs to it: the value is stored first.
      const NodeId value = take_assigned(tree, out, name);
      out.push_back(annotated(tree, name, annotation, value, tree.where(statement)));
    }
    items = std::move(out);
  });
  return has_any;
}

void fold_annotate_function(ast::Tree& tree, std::vector<NodeId>& body) {
  std::vector<Entry> entries;
  size_t found = body.size();
  for (size_t i = 0; i < body.size(); ++i) {
    if (!tree.is(body[i], Kind::FunctionDef)) continue;
    const auto def = tree.as<ast::FunctionDef>(body[i]);
    const std::string_view name = tree.text(def.name);
    if (name != "__annotate__" && name != "__annotate_func__") continue;
    if (!read_annotate(tree, def.body, entries)) return;
    found = i;
    break;
  }
  if (found == body.size()) return;
  body.erase(body.begin() + static_cast<std::ptrdiff_t>(found));
  place_unconditional(tree, body, entries);
  std::unordered_map<int64_t, Entry> by_index;
  for (const Entry& entry : entries) {
    if (entry.index >= 0) by_index.emplace(entry.index, entry);
  }
  rewrite_blocks(tree, body, [&](std::vector<NodeId>& items) {
    std::vector<NodeId> out;
    for (const NodeId statement : items) {
      if (tree.is(statement, Kind::Assign)) {
        const auto assign = tree.as<ast::Assign>(statement);
        const auto targets = tree.items(assign.targets);
        if (targets.size() == 1 && is_name(tree, targets[0], "__conditional_annotations__"))
          continue;
      }
      const auto it = by_index.find(reached_index(tree, statement));
      if (it == by_index.end()) {
        out.push_back(statement);
        continue;
      }
      const Entry& entry = it->second;
      const NodeId value = take_assigned(tree, out, entry.name);
      out.push_back(annotated(tree, entry.name, entry.annotation, value, tree.where(statement)));
    }
    items = std::move(out);
  });
}

}  // namespace pellucid::structure
