// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/scopes.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ast/nodes.h"
#include "ast/walk.h"
#include "structure/scopes/blocks.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/names.h"
#include "structure/scopes/static_attributes.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using bytecode::Op;
using object::Code;
using object::CodeId;
using object::Const;
using object::ConstKind;

namespace {

using Statements = std::vector<NodeId>;

bool is_const(const ast::Tree& tree, NodeId node, ConstKind kind) {
  const Const* constant = constant_of(tree, node);
  return constant && constant->kind == kind;
}

// Drops what the compiler puts before a class body, in this order, each part optional.
void strip_class_prologue(const ast::Tree& tree, Statements& body) {
  size_t at = 0;
  const auto skip = [&](std::string_view name, auto fits) {
    if (at >= body.size()) return false;
    const NodeId value = assigned_to(tree, body[at], name);
    if (!value.valid() || !fits(value)) return false;
    ++at;
    return true;
  };
  if (!skip("__module__", [&](NodeId v) { return is_name(tree, v, "__name__"); })) return;
  skip("__qualname__", [&](NodeId v) { return is_const(tree, v, ConstKind::Str); });
  skip("__firstlineno__", [&](NodeId v) { return is_const(tree, v, ConstKind::Int); });
  skip("__type_params__", [&](NodeId v) { return is_name(tree, v, ".type_params"); });
  skip("__classdict__", [&](NodeId v) { return tree.is(v, Kind::Call); });
  skip("__conditional_annotations__", [&](NodeId v) { return tree.is(v, Kind::Set); });
  body.erase(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(at));
}

// Returns true if inspect.cleandoc, which the compiler of 3.13+ applies to docstrings, would keep
// `text`.
bool is_clean(std::string_view text) {
  if (text.find('\t') != text.npos || text.starts_with(' ')) return false;
  size_t margin = text.npos;
  for (size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at)) {
    ++at;
    const size_t word = text.find_first_not_of(' ', at);
    if (word == text.npos) break;
    if (text[word] != '\n') margin = std::min(margin, word - at);
  }
  return margin == text.npos || margin == 0;
}

// Replaces a leading `__doc__ = "..."` by a docstring. `cleans`: compilers clean docstrings; an
// explicit store they keep.
void fold_docstring_store(ast::Tree& tree, Statements& body, bool cleans) {
  if (body.empty()) return;
  const NodeId value = assigned_to(tree, body[0], "__doc__");
  if (!is_const(tree, value, ConstKind::Str)) return;
  if (cleans && !is_clean(tree.text(constant_of(tree, value)->text))) return;
  body[0] = tree.add(ast::Expr{value}, tree.where(body[0]));
}

// Returns the docstring of a function: its first constant. Without a flag for it, that constant is
// None if there is no docstring.
NodeId function_docstring(ast::Tree& tree, const ir::Function& function) {
  const Code& code = tree.module()[function.code];
  const bool lacks_flag =
      function.habits.flags_docstrings && (code.flags & object::kHasDocstring) == 0;
  if (code.consts.empty() || lacks_flag) return NodeId();
  if (tree.module()[code.consts[0]].kind != ConstKind::Str) return NodeId();
  return tree.add(ast::Expr{tree.add(ast::Constant{code.consts[0]})});
}

// Returns the first constant of a lazy value (of a type parameter or alias), which the compiler
// takes for a docstring, if it has to be written as one. A string that no expression reads was an
// operand that the compiler folded. If dead code is mentioned, the constant of that would come
// first.
NodeId unread_docstring(ast::Tree& tree, const ir::Function& function, ListId body,
                        bool mentions_dead) {
  if (tree.text(tree.module()[function.code].name).starts_with("<")) return NodeId();
  const NodeId docstring = function_docstring(tree, function);
  if (!docstring.valid() || mentions_dead) return docstring;
  const Symbol text = constant_of(tree, tree.as<ast::Expr>(docstring).value)->text;
  bool is_read = false;
  ast::walk(tree, tree.items(body), [&](NodeId node) {
    is_read =
        is_read || (is_const(tree, node, ConstKind::Str) && constant_of(tree, node)->text == text);
    return !is_read;
  });
  return is_read ? NodeId() : docstring;
}

NodeId names_statement(ast::Tree& tree, const std::vector<Symbol>& names, bool is_global) {
  Statements nodes;
  for (const Symbol name : names) nodes.push_back(tree.add(ast::Name{name}));
  const ListId list = tree.list(nodes);
  return is_global ? tree.add(ast::Global{list}) : tree.add(ast::Nonlocal{list});
}

// Returns the names that the statements of a module declare `global` themselves, and those that a
// walrus in one of its comprehensions binds, which has the same effect: without those of
// unreachable code.
std::unordered_set<Symbol> declared_in(const ast::Tree& tree, const Statements& body) {
  struct Place {
    bool in_function = false, in_comprehension = false;
  };
  std::unordered_set<Symbol> names;
  ast::walk(tree, body, Place(), [&](NodeId id, Place& place) {
    const Kind kind = tree.kind(id);
    if (kind == Kind::Global) {
      for (const NodeId name : tree.items(tree.as<ast::Global>(id).names)) {
        names.insert(tree.as<ast::Name>(name).id);
      }
    } else if (kind == Kind::NamedExpr && place.in_comprehension && !place.in_function) {
      names.insert(tree.as<ast::Name>(tree.as<ast::NamedExpr>(id).target).id);
    } else if (kind == Kind::FunctionDef || kind == Kind::Lambda || kind == Kind::ClassDef) {
      place.in_function = true;
    } else if (kind == Kind::ListComp || kind == Kind::SetComp || kind == Kind::DictComp ||
               kind == Kind::GeneratorExp) {
      place.in_comprehension = true;
    }
    // No expression of a function declares anything here.
    return !place.in_function || ast::category_of(kind) != ast::Category::Expr;
  });
  return names;
}

// Returns the names that statements mention themselves, outside of nested functions and
// comprehensions.
std::unordered_set<Symbol> mentioned_in(const ast::Tree& tree, const Statements& statements) {
  std::unordered_set<Symbol> names;
  ast::walk(tree, statements, [&](NodeId id) {
    const Kind kind = tree.kind(id);
    if (kind == Kind::Name) names.insert(tree.as<ast::Name>(id).id);
    const bool has_scope = kind == Kind::FunctionDef || kind == Kind::Lambda ||
                           kind == Kind::ClassDef || kind == Kind::ListComp ||
                           kind == Kind::SetComp || kind == Kind::DictComp ||
                           kind == Kind::GeneratorExp;
    return !has_scope;
  });
  return names;
}

// Returns the names that 3.12 found in an earlier inlined comprehension. It looks up a name that an
// inlined comprehension reads as the enclosing scope would, and finds the variable of an earlier
// one with the same name, unless the scope mentions the name itself. If the name is read as a
// global all the same, dead code mentioned it.
std::vector<Symbol> lent_names(const ast::Tree& tree, const ir::Function& function,
                               const Statements& statements) {
  const Code& code = tree.module()[function.code];
  std::unordered_set<Symbol> lent(code.cellvars.begin(), code.cellvars.end());
  // In a body that is no function, only cells are found that way.
  if ((code.flags & object::kOptimized) != 0) {
    lent.insert(code.varnames.begin(), code.varnames.end());
  }
  std::unordered_map<Symbol, uint32_t> bound, read;  // offset of the first
  if (lent.empty()) return {};
  for (const ir::Value& value : function.values) {
    if (value.kind != ir::ValueKind::Instr) continue;
    const bool binds = value.op == bytecode::Op::LoadFastAndClear;
    const bool reads = value.op == bytecode::Op::LoadName ||
                       (value.op == bytecode::Op::LoadGlobal && value.b == 0);
    if ((!binds && !reads) || !lent.contains(value.symbol())) continue;
    const auto first = (binds ? bound : read).try_emplace(value.symbol(), value.offset).first;
    first->second = std::min(first->second, value.offset);
  }
  std::vector<Symbol> names;
  for (const auto& [name, offset] : read) {
    const auto place = bound.find(name);
    if (place != bound.end() && place->second < offset) names.push_back(name);
  }
  if (names.empty()) return names;
  std::sort(names.begin(), names.end());
  const std::unordered_set<Symbol> mentioned = mentioned_in(tree, statements);
  std::erase_if(names, [&](Symbol name) { return mentioned.contains(name); });
  return names;
}

// Returns the code objects that the body loads.
std::unordered_set<CodeId> loaded_codes(const object::Module& module,
                                        const ir::Function& function) {
  std::unordered_set<CodeId> found;
  for (const ir::Value& value : function.values) {
    if (!is_op(value, bytecode::Op::LoadConst)) continue;
    const object::Const& constant = module[value.constant()];
    if (constant.kind == object::ConstKind::Code) found.insert(constant.code);
  }
  return found;
}

// Returns true if an inlined comprehension of the body binds the name.
bool is_hidden_in(const ir::Function& function, Symbol name) {
  return std::any_of(function.values.begin(), function.values.end(), [&](const ir::Value& value) {
    return is_op(value, bytecode::Op::LoadFastAndClear) && value.symbol() == name;
  });
}

// Returns what binds names in their order: `x = y = None`, or, hidden from the body, a
// comprehension.
NodeId binding_of_all(ast::Tree& tree, const std::vector<Symbol>& names, bool is_hidden) {
  Statements parts;
  for (const Symbol name : names) {
    parts.push_back(is_hidden ? empty_generator(tree, name) : tree.add(ast::Name{name}));
  }
  if (!is_hidden) return tree.add(ast::Assign{tree.list(parts), none_node(tree, {})});
  return tree.add(ast::Expr{tree.add(ast::ListComp{none_node(tree, {}), tree.list(parts)})});
}

// Puts bindings of all locals before dead code, in the order of their slots.
void keep_order(ast::Tree& tree, const ir::Function& function, Statements& dead) {
  const object::Code& code = tree.module()[function.code];
  const size_t first = parameter_count(code);
  if (!function.habits.places_dead_names || code.varnames.size() < first + 2) return;
  Statements bindings;
  std::vector<Symbol> names;
  bool is_hidden = false;
  const auto bind = [&] {
    if (!names.empty()) bindings.push_back(binding_of_all(tree, names, is_hidden));
    names.clear();
  };
  for (size_t i = first; i < code.varnames.size(); ++i) {
    const bool hides = is_hidden_in(function, code.varnames[i]);
    if (hides != is_hidden) bind();
    is_hidden = hides;
    names.push_back(code.varnames[i]);
  }
  bind();
  dead.insert(dead.begin(), bindings.begin(), bindings.end());
}

bool sees_class(const object::Module& module, CodeId code) {
  const auto& free = module[code].freevars;
  return std::any_of(free.begin(), free.end(),
                     [&](Symbol name) { return module.text(name) == "__classdict__"; });
}

// Returns what a table has for a code object; most have nothing.
template <typename Item>
std::span<const Item> entries(const std::unordered_map<CodeId, std::vector<Item>>& table,
                              CodeId code) {
  const auto found = table.find(code);
  return found == table.end() ? std::span<const Item>() : std::span<const Item>(found->second);
}

}  // namespace

Scopes::Scopes(ast::Tree& tree)
    : tree_(tree), bound_names_(tree.module()), parent_(tree.module().codes.size()) {
  const object::Module& module = tree.module();
  for (size_t i = 0; i < module.codes.size(); ++i) {
    for (const object::ConstId id : module.codes[i].consts) {
      if (module[id].kind == ConstKind::Code) parent_[module[id].code.index()] = CodeId(i);
    }
  }
}

bool Scopes::is_in_lazy(CodeId code) const {
  if (lazy_.empty()) return false;
  while (code.valid() && !lazy_.contains(code)) code = parent_[code.index()];
  return code.valid();
}

ScopeKind Scopes::scope_of(CodeId id) const {
  const Code& code = tree_.module()[id];
  const std::string_view name = tree_.text(code.name);
  if ((code.flags & object::kOptimized) == 0) {
    return parent_[id.index()].valid() ? ScopeKind::Class : ScopeKind::Module;
  }
  if (name == "<lambda>" || lazy_.contains(id)) return ScopeKind::Lambda;
  if (is_comprehension_name(name)) return ScopeKind::Comprehension;
  if (name.starts_with("<generic parameters of ")) return ScopeKind::TypeParameters;
  return ScopeKind::Function;
}

// Returns true if `name`, read in `code`, would be the variable of an enclosing function.
bool Scopes::is_bound_outside(CodeId code, Symbol name) const {
  for (CodeId at = parent_[code.index()]; at.valid(); at = parent_[at.index()]) {
    const Code& outer = tree_.module()[at];
    if ((outer.flags & object::kOptimized) == 0) continue;
    const auto hidden = hidden_.find(at);
    if (hidden != hidden_.end() &&
        std::find(hidden->second.begin(), hidden->second.end(), name) != hidden->second.end()) {
      const auto end = outer.varnames.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(
                                                    outer.varnames.size(), parameter_count(outer)));
      if (std::find(outer.varnames.begin(), end, name) == end) continue;
    }
    for (const auto* names : {&outer.varnames, &outer.cellvars}) {
      if (std::find(names->begin(), names->end(), name) != names->end()) return true;
    }
  }
  return false;
}

ListId Scopes::finish_body(ListId body, const ir::Function& function, const Wish& wish) {
  ScopeKind scope = scope_of(function.code);
  // An unstructured body is no expression: it becomes a function with its own declarations.
  const bool becomes_function = (scope == ScopeKind::Lambda || scope == ScopeKind::Comprehension) &&
                                is_unstructured(tree_, body);
  if (becomes_function) scope = ScopeKind::Function;
  Symbols symbols = symbols_of(tree_.module(), function, scope, name_uses_);
  // A loop over a state has values of its own.
  if (symbols.may_need_order || is_unstructured(tree_, body)) {
    normalise(tree_, body, function.folds, opaques_);
  }

  const bool is_expression = scope == ScopeKind::Lambda || scope == ScopeKind::Comprehension;
  const bool can_declare = !is_expression && scope != ScopeKind::TypeParameters;
  if (can_declare) {  // most reads of globals need no declaration
    std::erase_if(symbols.global_reads,
                  [&](Symbol name) { return !is_bound_outside(function.code, name); });
  }
  sort_by_text(tree_.module(), symbols.global_reads);
  if (!can_declare) {
    for (const Symbol name : entries(undeclared_stores_, function.code)) {
      symbols.declare_global(name);
    }
    // If names are looked up in a class first, only declared ones are looked up as globals.
    if (sees_class(tree_.module(), function.code)) {
      for (const Symbol name : symbols.global_reads) symbols.declare_global(name);
    }
  }

  // `global` for names that an enclosing function binds, and for those of scopes that cannot
  // declare.
  const std::span<const Symbol> inherited = entries(undeclared_, function.code);
  symbols.global_reads.insert(symbols.global_reads.end(), inherited.begin(), inherited.end());
  for (const Symbol name : symbols.global_reads) {
    if (is_bound_outside(function.code, name)) symbols.declare_global(name);
  }
  if (!can_declare) {
    const CodeId parent = parent_[function.code.index()];
    if (parent.valid()) {
      auto& names = undeclared_[parent];
      names.insert(names.end(), symbols.global_reads.begin(), symbols.global_reads.end());
      auto& stores = undeclared_stores_[parent];
      stores.insert(stores.end(), symbols.globals.begin(), symbols.globals.end());
      for (const Symbol name : symbols.nonlocals) {
        undeclared_nonlocals_[parent].emplace_back(function.code, name);
      }
    }
    if (!is_expression) {
      // The names that only dead code captures or reads, for the reader of the parameters.
      const Statements dead =
          wish.mentions_unused ? dead_code(tree_, function.code, symbols, false) : Statements();
      if (dead.empty()) return body;
      Statements with_dead(tree_.items(body).begin(), tree_.items(body).end());
      with_dead.push_back(dead_statement(tree_, dead));
      return tree_.list(with_dead);
    }
    const bool can_bind = !lazy_.contains(function.code);
    Statements dead =
        wish.mentions_unused ? dead_code(tree_, function.code, symbols, can_bind) : Statements();
    if (!can_bind && wish.mentions_unused) {
      for (const Symbol name : symbols.unbound_locals) {
        if (!is_hidden_in(function, name)) dead.push_back(binding_of(tree_, name));
      }
    }
    const NodeId text = unread_docstring(tree_, function, body, !dead.empty());
    if (dead.empty() && !text.valid()) return body;
    Statements with_dead(tree_.items(body).begin(), tree_.items(body).end());
    if (text.valid()) with_dead.insert(with_dead.begin(), text);
    if (!dead.empty()) with_dead.push_back(dead_statement(tree_, dead));
    return tree_.list(with_dead);
  }
  if (scope != ScopeKind::Module) {
    for (const Symbol name : entries(undeclared_stores_, function.code)) {
      symbols.declare_global(name);
    }
    const auto& free = tree_.module()[function.code].freevars;
    const auto undeclared = entries(undeclared_nonlocals_, function.code);
    std::unordered_set<CodeId> loaded;
    if (!undeclared.empty()) loaded = loaded_codes(tree_.module(), function);
    for (const auto& [inner, name] : undeclared) {
      // It is bound by a comprehension in this body. The compiler keeps the constant of one in dead
      // code.
      if (!loaded.contains(inner)) continue;
      std::erase(symbols.unbound_locals, name);
      std::erase(symbols.unbound_cells, name);
      if (std::find(free.begin(), free.end(), name) != free.end()) symbols.declare_nonlocal(name);
    }
  }

  Statements statements(tree_.items(body).begin(), tree_.items(body).end());
  Statements front;
  if (scope == ScopeKind::Class) {
    strip_class_prologue(tree_, statements);
    if (function.habits.lists_attributes) {
      const bool is_bound = is_bound_outside(function.code, tree_.intern("self"));
      keep_static_attributes(tree_, statements, is_bound);
    }
  }
  if (scope == ScopeKind::Function) {
    const NodeId docstring = becomes_function ? NodeId() : function_docstring(tree_, function);
    if (docstring.valid()) front.push_back(docstring);
  } else {
    strip_tail_returns(tree_, statements, scope == ScopeKind::Class);
    std::vector<LazyAnnotation> annotations;
    if (function.habits.delays_annotations) annotations = take_lazy_annotations(tree_, statements);
    fold_docstring_store(tree_, statements, function.habits.cleans_docstrings);
    place_lazy_annotations(tree_, statements, annotations);
  }
  // A name that a function around a class binds is looked up by name only if the class binds it
  // too.
  for (const Symbol name : symbols.looked_up) {
    const auto& declared = symbols.globals;
    if (std::find(declared.begin(), declared.end(), name) != declared.end()) continue;
    if (is_bound_outside(function.code, name)) symbols.unbound_locals.push_back(name);
  }
  if (!wish.mentions_unused) {
    symbols.unused_free.clear();
    symbols.passed_on.clear();
    symbols.unused_cells.clear();
    symbols.late_cells.clear();
    symbols.unbound_cells.clear();
  }
  Statements dead = dead_code(tree_, function.code, symbols);
  if (wish.keeps_order && scope == ScopeKind::Function) keep_order(tree_, function, dead);
  if (function.habits.lends_names && wish.mentions_unused && scope != ScopeKind::Class) {
    for (const Symbol name : lent_names(tree_, function, statements)) {
      dead.push_back(tree_.add(ast::Expr{tree_.add(ast::Name{name})}));
    }
  }
  if (symbols.sets_up_annotations && !fold_annotations(tree_, statements, function.code)) {
    // Only dead code has an annotation, but SETUP_ANNOTATIONS must come back.
    dead.push_back(dead_annotation(tree_, 1));
  } else if (symbols.keeps_reached_set &&
             !has_annotation(tree_, statements, scope == ScopeKind::Class)) {
    // The same for the set of 3.14, if no annotation that is left needs it.
    dead.push_back(dead_annotation(tree_, 0));
  }
  if (scope != ScopeKind::Function && !statements.empty() && tree_.is(statements[0], Kind::Expr) &&
      is_const(tree_, tree_.as<ast::Expr>(statements[0]).value, ConstKind::Str)) {
    front.push_back(statements[0]);
    statements.erase(statements.begin());
  }
  size_t first = 0;
  while (first < statements.size() && is_future_import(tree_, statements[first])) {
    front.push_back(statements[first++]);
  }
  // A declaration in a function or class makes the name explicitly global in the module too.
  if (scope == ScopeKind::Module && !symbols.globals.empty()) {
    const std::unordered_set<Symbol> declared = declared_in(tree_, statements);
    std::erase_if(symbols.globals, [&](Symbol name) { return declared.contains(name); });
  }
  if (!symbols.globals.empty()) front.push_back(names_statement(tree_, symbols.globals, true));
  if (!symbols.nonlocals.empty()) front.push_back(names_statement(tree_, symbols.nonlocals, false));
  if (!dead.empty()) front.push_back(dead_statement(tree_, dead));
  // Most functions have nothing to restore.
  const auto before = tree_.items(body);
  if (front.empty() && symbols.late_cells.empty() && !statements.empty() &&
      std::equal(statements.begin(), statements.end(), before.begin(), before.end())) {
    return body;
  }
  front.insert(front.end(), statements.begin() + static_cast<std::ptrdiff_t>(first),
               statements.end());
  if (!symbols.late_cells.empty()) {
    Symbols late;
    late.unused_cells = std::move(symbols.late_cells);
    front.push_back(dead_statement(tree_, dead_code(tree_, function.code, late)));
  }
  if (front.empty() && scope != ScopeKind::Module) front.push_back(tree_.add(ast::Pass{}));
  return tree_.list(front);
}

}  // namespace pellucid::structure
