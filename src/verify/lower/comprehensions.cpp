// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/comprehensions.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "verify/lower/assignments.h"
#include "verify/lower/calls.h"
#include "verify/lower/conditions.h"
#include "verify/lower/displays.h"
#include "verify/lower/expressions.h"
#include "verify/lower/functions.h"
#include "verify/lower/loops.h"

namespace pellucid::verify::lower {

namespace {

struct Comprehension {
  NodeId node;
  std::span<const NodeId> generators;
  NodeId element, value;        // `value`: dictionaries only
  uint32_t container = 0;       // stack depth of the container being filled
  bool first_on_stack = false;  // the outermost iterable or iterator; otherwise an argument
};

// Returns the name of the function of a comprehension.
const char* function_of(Kind kind) {
  switch (kind) {
    case Kind::ListComp:
      return "<listcomp>";
    case Kind::SetComp:
      return "<setcomp>";
    case Kind::DictComp:
      return "<dictcomp>";
    default:  // NOLINT: the fourth
      return "<genexpr>";
  }
}

// Replaces the iterable on the stack by its iterator.
void iterator_of_iterable(Unit& unit, const ast::comprehension& part) {
  if (part.is_async) return unit.emit.op(Op::GetAiter);
  get_iterator(unit);
}

// Pushes the iterator. 3.14 does not turn the list of an `async for` into a tuple.
void iterator_of(Unit& unit, const ast::comprehension& part) {
  if (part.is_async && unit.features.folds_late) {
    expression(unit, part.iter);
  } else {
    iterated(unit, part.iter);
  }
  iterator_of_iterable(unit, part);
}

void yield_element(Unit& unit) {
  yield_value(unit);
  unit.emit.op(Op::Pop);
}

// Yields each item of the iterable on the stack.
void yield_each(Unit& unit) {
  const Label start = unit.emit.label();
  const Label end = unit.emit.label();
  get_iterator(unit);
  unit.emit.place(start);
  unit.emit.for_iter(end, unit.features.iterator_slots());
  yield_element(unit);
  unit.emit.jump(start);
  unit.emit.place(end);
}

// Adds an element to the container, or yields it.
void element(Unit& unit, Comprehension& parts) {
  const bool is_spread = unit.tree.is(parts.element, Kind::Starred);
  expression(unit, is_spread ? unit.tree.as<ast::Starred>(parts.element).value : parts.element);
  const auto container = [&] { return unit.emit.here().depth - parts.container; };
  switch (unit.tree.kind(parts.node)) {
    case Kind::ListComp:
      return unit.emit.op(is_spread ? Op::ListExtend : Op::ListAppend, container());
    case Kind::SetComp:
      return unit.emit.op(is_spread ? Op::SetUpdate : Op::SetAdd, container());
    case Kind::DictComp:
      if (!parts.value.valid()) return unit.emit.op(Op::DictUpdate, container());
      expression(unit, parts.value);
      return unit.emit.op(Op::MapAdd, container() - 1);
    default:  // NOLINT: a generator
      return is_spread ? yield_each(unit) : yield_element(unit);
  }
}

// Lowers the loop at `index`, and in it the inner ones.
void generator(Unit& unit, Comprehension& parts, size_t index) {
  const auto part = unit.tree.as<ast::comprehension>(parts.generators[index]);
  const Label start = unit.emit.label();
  const Label again = unit.emit.label();
  const Label end = unit.emit.label();
  bool loops = true, assigned = false;
  if (index == 0) {
    if (!parts.first_on_stack) unit.emit.op(Op::LoadFast, unit.symbol(".0").value);
    if (unit.features.comprehensions_iterate) iterator_of_iterable(unit, part);
    if (unit.features.comprehensions_iterate && unit.tree.is(parts.node, Kind::GeneratorExp)) {
      unit.emit.op(Op::StartGenerator);
    }
  } else {
    // `for y in [f(x)]` is an assignment since 3.9.
    std::span<const NodeId> only;
    if (unit.tree.is(part.iter, Kind::List) || unit.tree.is(part.iter, Kind::Tuple)) {
      only = unit.tree.items(ListId(unit.tree.slot(part.iter, 0)));
    }
    if (unit.features.one_item_loops_assign && !part.is_async && only.size() == 1 &&
        !unit.tree.is(only[0], Kind::Starred)) {
      loops = false;
      assigned = assign_in_parallel(unit, part.target, only[0], {});
      if (!assigned) expression(unit, only[0]);
    } else {
      iterator_of(unit, part);
    }
  }
  const Label exhausted = unit.emit.label();
  if (loops) {
    unit.emit.place(start);
    if (part.is_async) {
      next_of_async(unit, exhausted);
    } else {
      unit.emit.for_iter(end, unit.features.iterator_slots());
    }
  }
  if (!assigned) assign(unit, part.target);
  for (NodeId condition : unit.tree.items(part.ifs)) jump_if(unit, condition, false, again);
  if (index + 1 < parts.generators.size()) {
    generator(unit, parts, index + 1);
  } else {
    element(unit, parts);
  }
  unit.emit.place(again);
  if (!loops) return;
  unit.emit.jump(start);
  if (part.is_async) {
    place_exhausted(unit, exhausted);
  } else {
    unit.emit.place(end);
  }
}

void comprehension_body(Unit& unit, Comprehension& parts) {
  switch (unit.tree.kind(parts.node)) {
    case Kind::ListComp:
      unit.emit.op(Op::BuildList, 0);
      break;
    case Kind::SetComp:
      unit.emit.op(Op::BuildSet, 0);
      break;
    case Kind::DictComp:
      unit.emit.op(Op::BuildMap, 0);
      break;
    default:  // NOLINT: a generator fills nothing
      break;
  }
  parts.container = unit.emit.here().depth;
  if (parts.first_on_stack) {
    unit.emit.op(Op::Swap, 2);
    --parts.container;
  }
  generator(unit, parts, 0);
}

void inlined_comprehension(Unit& unit, NodeId node, Comprehension& parts) {
  const auto first = unit.tree.as<ast::comprehension>(parts.generators[0]);
  // Since 3.15 the iterator is made after the variables are saved.
  unit.features.comprehensions_iterate ? expression(unit, first.iter) : iterator_of(unit, first);
  const ScopeId inner = unit.symbols.scope_of(node);
  std::vector<Symbol> saved;
  const auto keep = [&](Symbol name, Binding binding) {
    if (std::find(saved.begin(), saved.end(), name) != saved.end()) return;
    saved.push_back(name);
    const bool is_cell = binding == Binding::Cell;
    (is_cell ? unit.extra_cells : unit.extra_locals).push_back(name);
    unit.emit.op(Op::LoadFastAndClear, name.value);
    if (is_cell) unit.emit.op(Op::MakeCell, name.value);
  };
  // Up to 3.13 a class body saves all names of its comprehension.
  if (unit.features.classes_keep_all_names && unit.scope.kind == ScopeKind::Class &&
      unit.inlined.empty()) {
    keep(unit.symbol(".0"), Binding::Local);
    const auto binding_of = [&](Symbol name) {
      const Entry* own = unit.symbols[inner].find(name);
      if (own != nullptr) return own->binding;
      for (const Kept& one : unit.symbols[inner].inlining().kept) {
        if (one.name == name) return unit.symbols[one.scope].find(name)->binding;
      }
      return Binding::GlobalImplicit;
    };
    const auto keep_known = [&](Symbol name) {
      if (name != unit.symbol("__class__")) keep(name, binding_of(name));
    };
    for (Symbol name : unit.symbols[inner].inlining().order) keep_known(name);
    for (const Entry& entry : unit.symbols[inner].entries) keep_known(entry.name);
  }
  for (const Kept& one : unit.symbols[inner].inlining().kept) {
    Binding binding = unit.symbols[one.scope].find(one.name)->binding;
    for (ScopeId p = one.scope; p != inner; p = unit.symbols[p].parent) {
      // The cell of the scope that lends the name.
      const Entry* lent = unit.symbols[unit.symbols[p].parent].find(one.name);
      if (lent != nullptr && (lent->use & kLent) && lent->cell) binding = Binding::Cell;
    }
    keep(one.name, binding);
  }
  const auto count = static_cast<uint32_t>(saved.size());
  const auto restore = [&] {
    unit.emit.op(Op::Swap, count + 1);
    for (size_t i = saved.size(); i-- > 0;) unit.emit.op(Op::StoreFast, saved[i].value, 1);
  };
  const Label failed = unit.emit.label();
  const Label end = unit.emit.label();
  if (count > 0) {
    unit.emit.op(Op::Swap, count + 1);
    unit.emit.protect(failed, false);
  }
  unit.inlined.push_back(inner);
  parts.first_on_stack = true;
  comprehension_body(unit, parts);
  unit.inlined.pop_back();
  if (count == 0) return;
  unit.emit.unprotect();
  unit.emit.jump(end);
  unit.emit.place_handler(failed);
  unit.emit.op(Op::Swap, 2);
  unit.emit.op(Op::Pop);
  restore();
  unit.emit.reraise(false);
  unit.emit.place(end);
  restore();
}

}  // namespace

void comprehension(Unit& unit, NodeId node) {
  Comprehension parts;
  parts.node = node;
  const size_t last = ast::fields_of(unit.tree.kind(node)).size() - 1;
  parts.generators = unit.tree.items(ListId(unit.tree.slot(node, last)));
  parts.element = NodeId(unit.tree.slot(node, 0));
  if (unit.tree.is(node, Kind::DictComp)) parts.value = NodeId(unit.tree.slot(node, 1));
  const ScopeId inner = unit.symbols.scope_of(node);
  if (unit.symbols[inner].is_inlined) return inlined_comprehension(unit, node, parts);

  object::Code header;
  header.argcount = 1;
  header.varnames.push_back(unit.symbol(".0"));
  const auto body = [&](Unit& own) {
    comprehension_body(own, parts);
    if (own.tree.is(node, Kind::GeneratorExp)) load_none(own);
    own.emit.give_back();
  };
  const Symbol name = unit.symbol(function_of(unit.tree.kind(node)));
  make_function(unit, compile_unit(unit, inner, name, std::move(header), body), 0);
  const auto first = unit.tree.as<ast::comprehension>(parts.generators[0]);
  // Since 3.15 the function makes the iterator itself.
  unit.features.comprehensions_iterate ? expression(unit, first.iter) : iterator_of(unit, first);
  call(unit, 1);
  if (unit.symbols[inner].is_coroutine && !unit.tree.is(node, Kind::GeneratorExp)) await(unit, 0);
}

}  // namespace pellucid::verify::lower
