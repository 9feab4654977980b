// SPDX-License-Identifier: Apache-2.0
// Comprehensions: functions, and from 3.12 on, except generator expressions, inlined loops that
// save the variables of the enclosing function on the stack (PEP 709).
#include <algorithm>

#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

namespace {

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

}  // namespace

// Pushes the iterable. 3.14 does not turn the list of an `async for` into a tuple.
void Compiler::iterator_of(const ast::comprehension& part) {
  if (part.is_async && features_.folds_late) {
    expression(part.iter);
  } else {
    iterated(part.iter);
  }
  iterator_of_iterable(part);
}

void Compiler::iterator_of_iterable(const ast::comprehension& part) {
  if (part.is_async) return emit().op(Op::GetAiter);
  get_iterator();
}

void Compiler::comprehension(NodeId node) {
  Comprehension parts;
  parts.node = node;
  const size_t last = ast::fields_of(tree_.kind(node)).size() - 1;
  parts.generators = tree_.items(ListId(tree_.slot(node, last)));
  parts.element = NodeId(tree_.slot(node, 0));
  if (tree_.is(node, Kind::DictComp)) parts.value = NodeId(tree_.slot(node, 1));
  const ScopeId inner = symbols_.scope_of(node);
  if (symbols_[inner].is_inlined) return inlined_comprehension(node, parts);

  object::Code header;
  header.argcount = 1;
  header.varnames.push_back(text(".0"));
  const CodeId code = compile_unit(inner, text(function_of(tree_.kind(node))), header, [&] {
    comprehension_body(parts);
    if (tree_.is(node, Kind::GeneratorExp)) load_none();
    emit().give_back();
  });
  make_function(code, 0);
  const auto first = tree_.as<ast::comprehension>(parts.generators[0]);
  // Since 3.15 the function makes the iterator itself.
  features_.comprehensions_iterate ? expression(first.iter) : iterator_of(first);
  call(1);
  if (symbols_[inner].is_coroutine && !tree_.is(node, Kind::GeneratorExp)) await(0);
}

void Compiler::comprehension_body(Comprehension& parts) {
  switch (tree_.kind(parts.node)) {
    case Kind::ListComp:
      emit().op(Op::BuildList, 0);
      break;
    case Kind::SetComp:
      emit().op(Op::BuildSet, 0);
      break;
    case Kind::DictComp:
      emit().op(Op::BuildMap, 0);
      break;
    default:  // NOLINT: a generator fills nothing
      break;
  }
  parts.container = emit().depth();
  if (parts.first_on_stack) {
    emit().op(Op::Swap, 2);
    --parts.container;
  }
  generator(parts, 0);
}

void Compiler::element(Comprehension& parts) {
  const bool is_spread = tree_.is(parts.element, Kind::Starred);
  expression(is_spread ? tree_.as<ast::Starred>(parts.element).value : parts.element);
  const auto container = [&] { return emit().depth() - parts.container; };
  switch (tree_.kind(parts.node)) {
    case Kind::ListComp:
      return emit().op(is_spread ? Op::ListExtend : Op::ListAppend, container());
    case Kind::SetComp:
      return emit().op(is_spread ? Op::SetUpdate : Op::SetAdd, container());
    case Kind::DictComp:
      if (!parts.value.valid()) return emit().op(Op::DictUpdate, container());
      expression(parts.value);
      return emit().op(Op::MapAdd, container() - 1);
    default:  // NOLINT: a generator
      return is_spread ? yield_each() : yield_element();
  }
}

void Compiler::yield_element() {
  if (scope().is_coroutine) emit().op(Op::Intrinsic1, bytecode::kAsyncGenWrap);
  emit().op(Op::YieldValue);
  emit().op(Op::Pop);
}

void Compiler::yield_each() {
  const Label start = emit().label();
  const Label end = emit().label();
  get_iterator();
  emit().place(start);
  emit().for_iter(end, iterator_slots());
  yield_element();
  emit().jump(start);
  emit().place(end);
}

void Compiler::generator(Comprehension& parts, size_t index) {
  const auto part = tree_.as<ast::comprehension>(parts.generators[index]);
  const Label start = emit().label();
  const Label again = emit().label();
  const Label end = emit().label();
  bool loops = true, assigned = false;
  if (index == 0) {
    if (!parts.first_on_stack) emit().op(Op::LoadFast, text(".0").value);
    if (features_.comprehensions_iterate) iterator_of_iterable(part);
    if (features_.comprehensions_iterate && tree_.is(parts.node, Kind::GeneratorExp))
      emit().op(Op::StartGenerator);
  } else {
    // `for y in [f(x)]` is an assignment since 3.9.
    std::span<const NodeId> only;
    if (tree_.is(part.iter, Kind::List)) only = tree_.items(tree_.as<ast::List>(part.iter).elts);
    if (tree_.is(part.iter, Kind::Tuple)) only = tree_.items(tree_.as<ast::Tuple>(part.iter).elts);
    if (features_.one_item_loops_assign && !part.is_async && only.size() == 1 &&
        !tree_.is(only[0], Kind::Starred)) {
      loops = false;
      assigned = assign_in_parallel(part.target, only[0], false);
      if (!assigned) expression(only[0]);
    } else {
      iterator_of(part);
    }
  }
  const Label failed = emit().label();
  if (loops) {
    emit().place(start);
    if (part.is_async) {
      emit().protect(failed, false);
      emit().op(Op::GetAnext);
      load_none();
      emit().op(Op::YieldFrom);
      emit().unprotect();
    } else {
      emit().for_iter(end, iterator_slots());
    }
  }
  if (!assigned) assign(part.target);
  for (NodeId condition : tree_.items(part.ifs)) jump_if(condition, false, again);
  if (index + 1 < parts.generators.size()) {
    generator(parts, index + 1);
  } else {
    element(parts);
  }
  emit().place(again);
  if (!loops) return;
  emit().jump(start);
  if (part.is_async) {
    emit().place_handler(failed);
    emit().op(Op::EndAsyncFor, features_.exceptions_are_one_value ? 2 : 7);
  } else {
    emit().place(end);
  }
}

void Compiler::inlined_comprehension(NodeId node, Comprehension& parts) {
  const auto first = tree_.as<ast::comprehension>(parts.generators[0]);
  // Since 3.15 the iterator is made after the variables are saved.
  features_.comprehensions_iterate ? expression(first.iter) : iterator_of(first);
  const ScopeId inner = symbols_.scope_of(node);
  std::vector<Symbol> saved;
  const auto keep = [&](Symbol name, Binding binding) {
    if (std::find(saved.begin(), saved.end(), name) != saved.end()) return;
    saved.push_back(name);
    const bool is_cell = binding == Binding::Cell;
    (is_cell ? unit().extra_cells : unit().extra_locals).push_back(name);
    emit().op(Op::LoadFastAndClear, name.value);
    if (is_cell) emit().op(Op::MakeCell, name.value);
  };
  // Up to 3.13 a class body saves all names of its comprehension.
  if (features_.classes_keep_all_names && scope().kind == ScopeKind::Class &&
      unit().inlined.empty()) {
    keep(text(".0"), Binding::Local);
    const auto binding_of = [&](Symbol name) {
      const Entry* own = symbols_[inner].find(name);
      if (own != nullptr) return own->binding;
      for (const Kept& one : symbols_[inner].kept) {
        if (one.name == name) return symbols_[one.scope].find(name)->binding;
      }
      return Binding::GlobalImplicit;
    };
    const auto keep_known = [&](Symbol name) {
      if (name != text("__class__")) keep(name, binding_of(name));
    };
    for (Symbol name : symbols_[inner].order) keep_known(name);
    for (const Entry& entry : symbols_[inner].entries) keep_known(entry.name);
  }
  for (const Kept& one : symbols_[inner].kept) {
    Binding binding = symbols_[one.scope].find(one.name)->binding;
    for (ScopeId p = one.scope; p != inner; p = symbols_[p].parent) {
      // The cell of the scope that lends the name.
      const Entry* lent = symbols_[symbols_[p].parent].find(one.name);
      if (lent != nullptr && (lent->use & kLent) && lent->cell) binding = Binding::Cell;
    }
    keep(one.name, binding);
  }
  const auto count = static_cast<uint32_t>(saved.size());
  const auto restore = [&] {
    emit().op(Op::Swap, count + 1);
    for (size_t i = saved.size(); i-- > 0;) emit().op(Op::StoreFast, saved[i].value, 1);
  };
  const Label failed = emit().label();
  const Label end = emit().label();
  if (count > 0) {
    emit().op(Op::Swap, count + 1);
    emit().protect(failed, false);
  }
  unit().inlined.push_back(inner);
  parts.first_on_stack = true;
  comprehension_body(parts);
  unit().inlined.pop_back();
  if (count == 0) return;
  emit().unprotect();
  emit().jump(end);
  emit().place_handler(failed);
  emit().op(Op::Swap, 2);
  emit().op(Op::Pop);
  restore();
  emit().reraise(false);
  emit().place(end);
  restore();
}

}  // namespace pellucid::verify::lower
