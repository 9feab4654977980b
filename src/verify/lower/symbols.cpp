// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/symbols.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "verify/lower/features.h"

namespace pellucid::verify::lower {

// With so few names a scope is searched from its first to its last.
constexpr size_t kFew = 8;

const Entry* Scope::find(Symbol name) const {
  if (index_ != nullptr) {
    const auto it = index_->find(name);
    return it == index_->end() ? nullptr : &entries[it->second];
  }
  for (const Entry& one : entries) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

Entry& Scope::entry(Symbol name) {
  if (Entry* const known = find(name)) return *known;
  const auto place = static_cast<uint32_t>(entries.size());
  if (place == 0) entries.reserve(kFew / 2);
  entries.push_back({name, 0, Binding::GlobalImplicit, false});
  if (index_ != nullptr) {
    index_->emplace(name, place);
  } else if (entries.size() > kFew) {
    index_ = std::make_unique<Index>();
    for (uint32_t i = 0; i <= place; ++i) index_->emplace(entries[i].name, i);
  }
  return entries.back();
}

const Inlining& Scope::inlining() const {
  static const Inlining none;
  return inlining_ == nullptr ? none : *inlining_;
}

// Resolves each name of each scope. Outer scopes come before inner ones.
class Resolver {
 public:
  explicit Resolver(Symbols& symbols)
      : symbols_(symbols),
        scopes_(symbols.scopes_),
        features_(features_of(symbols.module_.version)),
        is_lazy_(features_.lazy_annotations) {}

  void run() {
    class_ = symbols_.module_.strings.intern("__class__");
    class_dictionary_ = symbols_.module_.strings.intern("__classdict__");
    conditional_set_ = symbols_.module_.strings.intern("__conditional_annotations__");
    spread_coroutines();
    lift_out_of_inlined();
    for (uint32_t i = 0; i < scopes_.size(); ++i) {
      // Passing names on may add entries to scopes already visited.
      for (uint32_t j = 0; j < scopes_[i].entries.size(); ++j) resolve(ScopeId(i), j);
    }
    for (Scope& scope : scopes_) {
      for (Entry& entry : scope.entries) {
        if (entry.binding == Binding::Local && entry.cell) entry.binding = Binding::Cell;
      }
    }
  }

 private:
  Scope& at(ScopeId id) { return scopes_[id.index()]; }

  // Makes a comprehension a coroutine if a nested one is.
  void spread_coroutines() {
    if (!features_.awaiting_spreads) return;
    for (size_t i = scopes_.size(); i-- > 0;) {
      const Scope& scope = scopes_[i];
      if (scope.kind != ScopeKind::Comprehension || scope.is_generator_expression) continue;
      if (scope.is_coroutine && at(scope.parent).kind == ScopeKind::Comprehension) {
        at(scope.parent).is_coroutine = true;
      }
    }
  }

  // Adds the names that an inlined comprehension uses but does not bind to its parent, unless that
  // is a class, whose names it does not see. An inlined comprehension in another one has its
  // variables saved by that one too.
  void lift_out_of_inlined() {
    const auto is_inlined = [](const Scope& scope) { return scope.is_inlined; };
    if (std::none_of(scopes_.begin(), scopes_.end(), is_inlined)) return;
    std::vector<std::vector<ScopeId>> inside(scopes_.size());
    for (size_t i = 0; i < scopes_.size(); ++i) {
      if (!scopes_[i].is_inlined) continue;
      inside[scopes_[i].parent.index()].push_back(ScopeId(i));
      for (const Entry& entry : scopes_[i].entries) {
        // Includes walruses that bind a global, not those that bind a variable of the function.
        if ((entry.use & kBound) && !(entry.use & kNonlocal)) {
          scopes_[i].edit_inlining().kept.push_back({entry.name, ScopeId(i)});
        }
      }
    }
    for (size_t i = scopes_.size(); i-- > 0;) {
      if (scopes_[i].kind == ScopeKind::Class) continue;
      if (scopes_[i].is_inlined) order_names(ScopeId(i), inside[i]);
      if (inside[i].empty()) continue;
      Inlining& around = scopes_[i].edit_inlining();
      around.inlined_inside = inside[i];
      for (ScopeId inner : inside[i]) {
        const Inlining& nested = at(inner).inlining();
        around.bound_inside.insert(nested.bound_inside.begin(), nested.bound_inside.end());
        for (const Kept& one : nested.kept) {
          around.bound_inside.insert(one.name);
          const auto is_it = [&](const Kept& other) { return other.name == one.name; };
          std::vector<Kept>& own = around.kept;
          if (!scopes_[i].is_inlined || scopes_[i].find(one.name) != nullptr ||
              std::any_of(own.begin(), own.end(), is_it)) {
            continue;
          }
          own.push_back(one);
        }
        const std::vector<Entry> entries = at(inner).entries;
        for (const Entry& entry : entries) {
          if (at(inner).binds(entry.name)) continue;
          const bool is_new = scopes_[i].find(entry.name) == nullptr;
          add(ScopeId(i), entry.name, is_new ? kUsed | kLifted : kUsed);
        }
      }
    }
  }

  // Orders the scope's own names first, then those of nested comprehensions.
  void order_names(ScopeId id, const std::vector<ScopeId>& inside) {
    std::vector<Symbol>& order = at(id).edit_inlining().order;
    std::unordered_set<Symbol> known;
    for (const Entry& entry : at(id).entries) {
      if (known.insert(entry.name).second) order.push_back(entry.name);
    }
    for (ScopeId inner : inside) {
      for (Symbol name : at(inner).inlining().order) {
        if (known.insert(name).second) order.push_back(name);
      }
    }
  }

  Entry& add(ScopeId scope, Symbol name, uint16_t use) {
    Entry& entry = at(scope).entry(name);
    entry.use |= use;
    return entry;
  }

  void resolve(ScopeId id, uint32_t which) {
    const Scope& scope = at(id);
    const Entry entry = scope.entries[which];
    if (entry.use & kGlobal) return set(id, which, Binding::GlobalExplicit);
    if (scope.binds(entry.name)) return set(id, which, Binding::Local);
    if (entry.use == kHandedOn) return set(id, which, Binding::Free);
    // An inlined comprehension is part of its parent.
    if (scope.is_inlined && at(scope.parent).kind != ScopeKind::Class) {
      if (is_bound_outside(id, entry.name) && lends(id, entry.name)) lend(id, entry.name);
      return;
    }
    if (scope.in_class) {
      // Names that the class binds are looked up there at run time.
      ScopeId p = scope.parent;
      while (at(p).kind == ScopeKind::Annotation) p = at(p).parent;
      const Entry* known = at(p).kind == ScopeKind::Class ? at(p).find(entry.name) : nullptr;
      if (known != nullptr && (known->use & kGlobal)) {
        return set(id, which, Binding::GlobalExplicit);
      }
      if (at(p).kind == ScopeKind::Class && at(p).binds(entry.name)) {
        return set(id, which, Binding::GlobalImplicit);
      }
    }
    for (ScopeId p = scope.parent; p.valid(); p = at(p).parent) {
      const Scope& outer = at(p);
      if (outer.kind == ScopeKind::Module) break;
      if (outer.kind == ScopeKind::Class) {
        // A nested class that keeps such a set captures the outer one's too (3.14).
        if (entry.name == class_) {
          at(p).needs_class_cell = true;
        } else if (entry.name == class_dictionary_) {
          at(p).needs_class_dictionary = true;
        } else if (entry.name == conditional_set_ && is_lazy_) {
          at(p).needs_conditional_set = true;
        } else {
          continue;
        }
        capture(id, which, p);
        return;
      }
      const Entry* known = outer.find(entry.name);
      if (known == nullptr) continue;
      if (known->use & kGlobal) break;
      if (!outer.binds(entry.name)) continue;
      capture(id, which, p);
      return;
    }
    set(id, which, Binding::GlobalImplicit);
  }

  void set(ScopeId id, uint32_t which, Binding binding) { at(id).entries[which].binding = binding; }

  // Returns true if an enclosing function binds the name.
  bool is_bound_outside(ScopeId id, Symbol name) {
    for (ScopeId p = at(id).parent; p.valid(); p = at(p).parent) {
      if (!at(p).is_function()) continue;
      const Entry* known = at(p).find(name);
      if (known != nullptr && (known->use & kGlobal)) return false;
      if (at(p).binds(name)) return true;
    }
    return false;
  }

  // Returns true if the compiler confuses a free variable with that of an inlined comprehension in
  // the scope: the scope itself does not use the name, and the first comprehension in it that has
  // the name binds it.
  bool lends(ScopeId id, Symbol name) {
    const Scope& scope = at(id);
    if (!scope.is_function() || !scope.inlining().bound_inside.contains(name)) return false;
    const Entry* own = scope.find(name);
    if (own != nullptr && !(own->use & kLifted) && (own->use & ~(kHandedOn | kLent))) return false;
    for (const ScopeId inner : scope.inlining().inlined_inside) {
      const std::vector<Kept>& kept = at(inner).inlining().kept;
      if (std::any_of(kept.begin(), kept.end(), [&](const Kept& one) { return one.name == name; }))
        return true;
      const std::vector<Symbol>& order = at(inner).inlining().order;
      if (std::find(order.begin(), order.end(), name) != order.end()) return false;
      if (is_handed_on(inner, name)) return false;
    }
    return false;
  }

  // Returns true if a function in the comprehension takes the name from outside.
  bool is_handed_on(ScopeId comprehension, Symbol name) {
    if (users_.empty()) {
      for (size_t i = 0; i < scopes_.size(); ++i) {
        for (const Entry& entry : scopes_[i].entries) {
          if (!scopes_[i].binds(entry.name) && !(entry.use & kGlobal) && entry.use != kHandedOn) {
            users_[entry.name].push_back(ScopeId(i));
          }
        }
      }
    }
    for (ScopeId p : users_[name]) {
      while (p.valid() && p != comprehension &&
             (at(p).kind == ScopeKind::Class || !at(p).binds(name))) {
        p = at(p).parent;
      }
      if (p == comprehension) return true;
    }
    return false;
  }

  Entry& lend(ScopeId id, Symbol name) {
    Entry& entry = add(id, name, kLent);
    entry.binding = Binding::Local;
    return entry;
  }

  // Captures the name `which` of scope `id` from scope `owner`, unless a scope between them lends
  // it.
  void capture(ScopeId id, uint32_t which, ScopeId owner) {
    const Symbol name = at(id).entries[which].name;
    for (ScopeId p = id; p != owner; p = at(p).parent) {
      if (!lends(p, name)) continue;
      lend(p, name);
      if (p == id) return;
      owner = p;
      break;
    }
    set(id, which, Binding::Free);
    for (ScopeId p = at(id).parent; p != owner; p = at(p).parent) {
      Entry& passing = add(p, name, kHandedOn);
      // An annotation scope itself keeps seeing the name in its class.
      const bool is_resolved = at(p).in_class && (passing.use & kUsed);
      if (!at(p).binds(name) && !is_resolved) passing.binding = Binding::Free;
    }
    if (at(owner).kind == ScopeKind::Class) return;
    at(owner).find(name)->cell = true;
    // A cell of an inlined comprehension is a cell of its parent, whose local of that name becomes
    // a cell too.
    for (ScopeId host = owner; at(host).is_inlined;) {
      host = at(host).parent;
      if (at(host).kind == ScopeKind::Class) own_names(host, name);
      if (!at(host).is_function()) return;
      if (Entry* own = at(host).find(name)) own->cell = true;
    }
  }

  // Refuses a scope if the name is one of a class's own. A class binds and reads names implicitly,
  // such as `__module__`. If an inlined comprehension in it has a cell of such a name, compilers
  // use that cell.
  void own_names(ScopeId scope, Symbol name) {
    const std::string_view text = symbols_.module_.text(name);
    if (!text.starts_with("__") || !text.ends_with("__")) return;
    symbols_.refuse(scope, "a comprehension in a class has a cell of one of the class's own names");
  }

  Symbols& symbols_;
  std::vector<Scope>& scopes_;
  Symbol class_, class_dictionary_, conditional_set_;
  const Features features_;
  bool is_lazy_;
  std::unordered_map<Symbol, std::vector<ScopeId>> users_;  // scopes that do not bind it
};

Symbols::Symbols(const ast::Tree& tree, object::Module& module, NodeId root) : module_(module) {
  collect(tree, root);
  Resolver(*this).run();
}

void Symbols::refuse(ScopeId scope, const char* rule) {
  for (ScopeId id = scope; id.valid(); id = scopes_[id.index()].parent) {
    Scope& here = scopes_[id.index()];
    if (here.broken == nullptr) here.broken = rule;
    if (here.kind != ScopeKind::Comprehension) return;
  }
}

void Symbols::keep_apart(ScopeId comprehension, Symbol name) {
  const Entry* entry = scopes_[comprehension.index()].find(mangle(name, comprehension));
  const uint16_t use = entry == nullptr ? 0 : entry->use;
  if ((use & kIterated) != 0 && (use & (kGlobal | kNonlocal)) != 0) {
    refuse(comprehension, "a comprehension assigns to the variable of a loop");
  }
}

bool may_skip_parts(ast::Kind statement) {
  using ast::Kind;
  return statement == Kind::If || statement == Kind::While || statement == Kind::For ||
         statement == Kind::With || statement == Kind::Match || statement == Kind::Try;
}

ScopeId Symbols::scope_of(NodeId node, Role role) const {
  const auto it = by_node_.find(key_of(node, role));
  PELLUCID_CHECK(it != by_node_.end());
  return it->second;
}

Symbol Symbols::mangled(Symbol name, ScopeId scope) const {
  const std::string_view text = module_.text(name);
  const Symbol class_name = scopes_[scope.index()].class_name;
  if (const ScopeId only = scopes_[scope.index()].mangling; only.valid()) {
    const std::vector<Symbol>& names = scopes_[only.index()].type_parameters;
    if (!std::binary_search(names.begin(), names.end(), name)) return name;
  }
  if (text.ends_with("__") || text.find('.') != std::string_view::npos) {
    return name;
  }
  std::string_view owner = module_.text(class_name);
  owner.remove_prefix(std::min(owner.find_first_not_of('_'), owner.size()));
  if (owner.empty()) return name;
  return module_.strings.intern('_' + std::string(owner) + std::string(text));
}

}  // namespace pellucid::verify::lower
