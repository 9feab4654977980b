// SPDX-License-Identifier: Apache-2.0
// `import` and `from ... import`: instructions that load a module and bind its parts.
#include <algorithm>

#include "ast/nodes.h"
#include "structure/graph/items.h"
#include "structure/scopes/names.h"
#include "structure/statements/run.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Returns the level of an import. For a constant that is no level it is more than a text can have.
uint32_t level_of(const object::Const& constant) {
  const bool fits = constant.kind == object::ConstKind::Int && constant.integer >= 0 &&
                    constant.integer <= UINT32_MAX;
  return fits ? static_cast<uint32_t>(constant.integer) : UINT32_MAX;
}

// Returns true if `name` is the mangled form, in some class, of the private name `written`.
bool is_mangled(std::string_view name, std::string_view written) {
  return is_private(written) && name.size() > written.size() + 1 && name[0] == '_' &&
         name.ends_with(written);
}

// Returns true if generated code uses the result of `import a` in an expression, and not under a
// name.
bool is_used_as_it_is(const Run& r, Items items, size_t i) {
  const Graph& g = r.graph;
  const ValueId id = items[i];
  const auto is_constant = [&](const ir::Value& value, auto&& holds) {
    return is_op(value, Op::LoadConst) && holds(r.tree.module()[value.constant()]);
  };
  const ValueId names = r.operand(id, 1);
  const auto names_none = [](const object::Const& c) {
    return c.kind == object::ConstKind::None ||
           (c.kind == object::ConstKind::Tuple && c.items.empty());
  };
  const bool takes_none = is_constant(g[names], names_none) ||
                          (is_op(g[names], Op::BuildTuple) && r.operands(names).empty());
  const bool is_absolute =
      is_constant(g[r.operand(id, 0)], [](const auto& c) { return level_of(c) == 0; });
  const bool is_part = r.tree.text(g[id].symbol()).find('.') != std::string_view::npos;
  if (!g.f.is_generated || !takes_none || !is_absolute || is_part) return false;
  for (const ValueId user : items.subspan(i + 1)) {
    const auto used = r.operands(user);
    if (std::find(used.begin(), used.end(), id) == used.end()) continue;
    return !stores_name(g[user]) && g[user].op != Op::ImportFrom && g[user].op != Op::ImportStar;
  }
  return false;
}

}  // namespace

bool read_import(Run& r, Items items, size_t i) {
  Graph& g = r.graph;
  const ValueId id = items[i];
  const ir::Value value = g[id];
  if (value.op == Op::ImportName) {
    if (is_used_as_it_is(r, items, i)) {
      // Only generated code uses a module without a name.
      Symbol& name = r.context.kept_as[id];
      if (!name.valid()) name = r.context.fresh_name("module");
      r.context.kept_in[id] = r.context.here;
      const NodeId alias = r.tree.add(ast::alias{value.symbol(), name}, r.where(id));
      const uint32_t is_lazy = value.b;
      append(r, r.tree.add(ast::Import{r.tree.list({alias}), is_lazy}, r.where(id)));
      r.context.materialized[id] = name;
      return true;
    }
    r.forms().imports[id] = {};
    for (const ValueId operand : r.operands(id)) r.stack.drop(g.resolve(operand));
    return true;
  }
  if (value.op == Op::ImportFrom) return true;  // the store completes it
  const ValueId module = r.operand(id, 0);
  const ir::Value& source = g[module];
  if (source.op != Op::ImportName) return false;
  const uint32_t level = level_of(r.tree.module()[g[r.operand(module, 0)].constant()]);
  const NodeId star = r.tree.add(ast::alias{r.tree.intern("*"), {}}, r.where(id));
  const ast::ImportFrom made{source.symbol(), r.tree.list({star}), level, source.b};
  append(r, r.tree.add(made, r.where(module)));
  return true;
}

bool stored_import(Run& r, ValueId id, Symbol stored) {
  Graph& g = r.graph;
  const ir::Value value = g[id];
  if (value.op != Op::ImportName && value.op != Op::ImportFrom) return false;
  // From the member up to the module: `import a.b as c` takes b from a, `from a import b` b from a.
  ValueId module = id;
  while (g[module].op == Op::ImportFrom) module = r.operand(module, 0);
  const ir::Value& source = g[module];
  if (source.op != Op::ImportName) return false;
  const object::Module& objects = r.tree.module();
  const auto constant = [&](size_t o) -> const object::Const& {
    return objects[g[r.operand(module, o)].constant()];
  };
  const object::Const& members = constant(1);
  const ast::Where at = r.where(module);
  if (members.kind != object::ConstKind::Tuple) {
    const std::string_view full = objects.text(source.symbol());
    const std::string_view head = full.substr(0, full.find('.'));
    const bool plain = value.op == Op::ImportName &&
                       (head == objects.text(stored) || is_mangled(objects.text(stored), head));
    const NodeId alias = r.tree.add(ast::alias{source.symbol(), plain ? Symbol() : stored}, at);
    r.stack.protect(stored);
    append(r, r.tree.add(ast::Import{r.tree.list({alias}), source.b}, at));
    return true;
  }
  std::vector<NodeId>& aliases = r.forms().imports[module];
  Symbol member = value.symbol();
  const Symbol asname = member == stored ? Symbol() : stored;
  // The constant has the name as it was written.
  if (aliases.size() < members.items.size()) {
    const object::Const& written = objects[members.items[aliases.size()]];
    if (written.kind == object::ConstKind::Str &&
        is_mangled(objects.text(member), objects.text(written.text))) {
      member = written.text;
    }
  }
  aliases.push_back(r.tree.add(ast::alias{member, asname}, at));
  if (aliases.size() == members.items.size()) {
    const uint32_t level = level_of(constant(0));
    const ast::ImportFrom made{source.symbol(), r.tree.list(aliases), level, source.b};
    append(r, r.tree.add(made, at));
  }
  return true;
}

}  // namespace pellucid::structure
