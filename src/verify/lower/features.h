// SPDX-License-Identifier: Apache-2.0
// The differences between CPython's compilers that `lower` follows. From here on no version is
// tested: each difference has a name, and features_of() lists its versions.
//
// The names describe the newer compilers, except the last group, which describes older ones.
#pragma once

#include <cstdint>

#include "object/code.h"

namespace pellucid::verify::lower {

struct Features {
  // -- 3.9 --------------------------------------------------------------------------------------
  bool unbinds_after_handling;  // `except E as name` ends the handling before `name` is unbound
  bool asserts_by_opcode;       // LOAD_ASSERTION_ERROR; before: the global of that name
  bool extends_containers;      // `[*a, b]` extends a list; before: BUILD_LIST_UNPACK of all parts
  bool one_item_loops_assign;   // `for y in [f(x)]` in a comprehension is an assignment
  bool deep_brackets;           // 3.8 allows fewer nested ones (parser.c: MAXSTACK)
  bool body_before_finally;     // 3.8 compiles the `finally` first
  bool moved_future_flags;      // the bits of `from __future__`; some releases of 3.8 have them too

  // -- 3.10 -------------------------------------------------------------------------------------
  bool limits_stack;          // large displays and calls are built in parts (kMostOnStack)
  bool annotations_in_tuple;  // those of a function; before: a dict of constant keys
  bool repeats_loop_test;     // loop inversion: the test of a `while` is repeated at its end
  bool folds_within_walrus;   // constants are folded in the value of a walrus
  bool loads_empty_tuple;     // the one of `f(**a)` is a constant

  // -- 3.11 -------------------------------------------------------------------------------------
  bool exceptions_are_one_value;   // on the stack; before: type, value and traceback
  bool joins_long_strings;         // ''.join() of the pieces of a large f-string
  bool patterns_have_lines;        // each its line in the text
  bool swaps;                      // SWAP and COPY; before: ROT_TWO, ROT_THREE, ROT_N, DUP_TOP
  bool matches_are_none_or_value;  // MATCH_KEYS, MATCH_CLASS; before: a value and a truth
  bool methods_with_keywords;      // LOAD_METHOD for calls with keywords, too
  bool callees_have_two_slots;     // CALL takes a NULL or a first argument beside the callee
  bool tests_none_by_opcode;       // POP_JUMP_IF_NONE
  bool modules_have_no_methods;    // no LOAD_METHOD on a name that the module imports
  bool qualname_in_code;           // before: an operand of MAKE_FUNCTION
  bool says_why_it_awaits;         // GET_AWAITABLE has an operand
  bool formats_percent;            // 'text %s' % (x,) is an f-string
  bool assigns_in_parallel;        // two or three values, straight from the stack
  bool awaiting_spreads;           // from a comprehension to the enclosing one
  bool else_before_handlers;       // of a `try`
  bool reorders_stores;  // of a run of stores on one line (flowgraph.c: apply_static_swaps)

  // -- 3.12 -------------------------------------------------------------------------------------
  bool targets_have_lines;      // a store is on the line of its target
  bool returns_to_outer_line;   // after a nested pattern
  bool super_attributes;        // LOAD_SUPER_ATTR
  bool wraps_stop_iteration;    // generators do, by a handler around them
  bool class_dictionary_first;  // a free variable of a class: LOAD_LOCALS, LOAD_FROM_DICT_OR_DEREF
  bool slice_instructions;      // BINARY_SLICE, STORE_SLICE
  bool inlines_comprehensions;  // PEP 709

  // -- 3.13 -------------------------------------------------------------------------------------
  bool drops_overwritten_stores;   // the first of two consecutive stores to one local
  bool converts_apart;             // CONVERT_VALUE; before: a flag of FORMAT_VALUE
  bool loads_empty_string;         // an empty f-string is a constant
  bool module_asks_inlined;        // names resolve by an inlined comprehension first
  bool type_parameters_mangle;     // private names in a class's type parameters
  bool sets_function_attributes;   // SET_FUNCTION_ATTRIBUTE; before: flags of MAKE_FUNCTION
  bool classes_list_attributes;    // __static_attributes__ and __firstlineno__
  bool trims_docstrings;           // of their indentation
  bool dropped_values_have_lines;  // the POP_TOP of an expression statement

  // -- 3.14 -------------------------------------------------------------------------------------
  bool maps_have_pairs;               // BUILD_MAP; before: also BUILD_CONST_KEY_MAP
  bool passes_no_keywords;            // CALL_FUNCTION_EX without keyword arguments takes a NULL
  bool exits_have_self;               // `with` keeps __exit__ and its manager on the stack
  bool lazy_annotations;              // PEP 649: annotations, and what is deferred like them
  bool flags_docstrings_and_methods;  // CO_HAS_DOCSTRING, CO_METHOD
  bool folds_late;                    // in the flow graph; before: in the syntax tree
  bool constant_slices;               // of literals
  bool signs_imaginary_zeros;         // `case 0-0j`; before: the zero loses its sign

  // -- 3.15 -------------------------------------------------------------------------------------
  bool lazy_imports;              // PEP 810
  bool annotate_has_owner;        // the qualified name of `__annotate__` contains its function's
  bool positional_only_first;     // among the annotations
  bool iterators_have_two_slots;  // on the stack
  bool comprehensions_unpack;     // PEP 798
  bool comprehensions_iterate;    // their code makes the first iterator; before: the caller

  // -- Removed in newer compilers ---------------------------------------------------------------
  bool no_free_flag;             // up to 3.10: CO_NOFREE
  bool threads_tests;            // up to 3.11: past a second test of one operand
  bool threads_on_lines;         // 3.10, 3.11: only if both are on one line
  bool null_before_callee;       // 3.11, 3.12; since then above it
  bool mixes_inlined_names;      // 3.12: inlined comprehensions of one scope share variables
  bool shallow_expressions;      // 3.12: half the nesting of other versions (symtable.c)
  bool text_after_nested_field;  // 3.12: an empty text at the end of a format specification
  bool classes_keep_all_names;   // up to 3.13: all names in an inlined comprehension

  // Returns the number of slots of an iterator.
  constexpr uint32_t iterator_slots() const { return iterators_have_two_slots ? 2 : 1; }
  // Returns the number of slots of a callee.
  constexpr uint32_t callee_slots() const { return callees_have_two_slots ? 2 : 1; }
  // Returns the number of slots of a handled exception.
  constexpr uint32_t exception_slots() const { return exceptions_are_one_value ? 1 : 3; }
  // Returns the number of slots of a `with`'s __exit__.
  constexpr uint32_t exit_slots() const { return exits_have_self ? 2 : 1; }
  // Returns the number of slots from these to the top while it handles an exception.
  constexpr uint32_t exit_depth() const {
    return exit_slots() + (exceptions_are_one_value ? 3 : 6);
  }
};

constexpr Features features_of(object::Version version) {
  const int minor = version.minor;
  Features f{};
  f.unbinds_after_handling = f.asserts_by_opcode = f.extends_containers = minor >= 9;
  f.one_item_loops_assign = f.deep_brackets = f.moved_future_flags = minor >= 9;
  f.body_before_finally = minor >= 9;

  f.limits_stack = f.annotations_in_tuple = minor >= 10;
  f.repeats_loop_test = minor >= 10 && minor <= 13;
  f.folds_within_walrus = f.loads_empty_tuple = minor >= 10;

  f.exceptions_are_one_value = f.joins_long_strings = f.patterns_have_lines = minor >= 11;
  f.swaps = f.matches_are_none_or_value = f.methods_with_keywords = minor >= 11;
  f.callees_have_two_slots = f.tests_none_by_opcode = f.modules_have_no_methods = minor >= 11;
  f.qualname_in_code = f.says_why_it_awaits = f.formats_percent = minor >= 11;
  f.assigns_in_parallel = f.awaiting_spreads = f.reorders_stores = minor >= 11;
  f.else_before_handlers = minor >= 11;

  f.targets_have_lines = f.returns_to_outer_line = f.super_attributes = minor >= 12;
  f.wraps_stop_iteration = f.class_dictionary_first = minor >= 12;
  f.slice_instructions = f.inlines_comprehensions = minor >= 12;

  f.drops_overwritten_stores = f.converts_apart = f.loads_empty_string = minor >= 13;
  f.module_asks_inlined = f.type_parameters_mangle = f.sets_function_attributes = minor >= 13;
  f.classes_list_attributes = f.trims_docstrings = f.dropped_values_have_lines = minor >= 13;

  f.exits_have_self = f.lazy_annotations = f.flags_docstrings_and_methods = minor >= 14;
  f.maps_have_pairs = f.passes_no_keywords = minor >= 14;
  f.folds_late = f.constant_slices = f.signs_imaginary_zeros = minor >= 14;

  f.lazy_imports = f.annotate_has_owner = f.positional_only_first = minor >= 15;
  f.iterators_have_two_slots = f.comprehensions_unpack = f.comprehensions_iterate = minor >= 15;

  f.no_free_flag = minor <= 10;
  f.threads_tests = minor <= 11;
  f.threads_on_lines = minor == 10 || minor == 11;
  f.null_before_callee = minor == 11 || minor == 12;
  f.mixes_inlined_names = minor <= 12;
  f.shallow_expressions = f.text_after_nested_field = minor == 12;
  f.classes_keep_all_names = minor <= 13;
  return f;
}

}  // namespace pellucid::verify::lower
