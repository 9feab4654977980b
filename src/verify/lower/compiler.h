// SPDX-License-Identifier: Apache-2.0
// The compiler: lowers one statement or expression at a time, as CPython's compile.c does.
//
// A Unit is a code object under construction. Units nest as the code objects do. A finally body is
// compiled once for each exit, as CPython does, but the functions in it only once.
//
// Private to verify/lower. The files: names, expressions, leaning, calls, displays,
// conditions, strings, comprehensions, statements, assignments, loops, leave (unwinding), try,
// with, match, functions, classes, type_parameters, annotations, templates.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/lower/emitter.h"
#include "verify/lower/features.h"
#include "verify/lower/lower.h"
#include "verify/lower/spelling.h"
#include "verify/lower/symbols.h"

namespace pellucid::verify::lower {

using ast::Kind;
using ast::ListId;
using ast::Tree;
using object::CodeId;
using object::ConstId;

// Thrown for a construct that is not supported; caught at the end of its code object.
struct NotLowered {
  std::string what;
};

// A statement, or part of one, that a jump out of it has to unwind. Innermost last in
// Unit::enclosing.
struct Enclosing {
  enum Kind : uint8_t {
    kWhile,
    kFor,
    kAsyncFor,  // before 3.11 its body is not protected; its iterator is on the stack
    kTryFinally,
    kFinallyEnd,  // the exceptional copy of a finally body
    kTryExcept,
    kHandler,  // an `except` clause; its name, if any, is unbound on exit
    kWith,
    kAsyncWith,
    kValue,        // a value to pop
    kStarHandler,  // of `except*`
  };
  Kind kind;
  Label start;  // of a loop
  Label end;    // of a loop
  ListId finalbody;
  Symbol name;  // of a handler
  bool named = false;
};

struct Unit {
  explicit Unit(const Features& features) : emit(features) {}

  ScopeId scope;
  CodeId code;
  Emitter emit;
  std::vector<Enclosing> enclosing;
  std::vector<ScopeId> inlined;                   // comprehensions being compiled, innermost last
  std::vector<Symbol> extra_locals, extra_cells;  // of inlined comprehensions
  std::vector<Symbol> shared;        // names that some comprehensions read and others bind (3.12)
  std::set<std::string> attributes;  // attributes that methods set on `self` (3.13)
  std::string qualname;
  Symbol first_argument;
  bool first_is_docstring = false;  // the first constant, if it is a text
  // Annotated variables of a module or class, for its `__annotate__` (3.14). `index` identifies a
  // conditional one; -1 if the annotation is always reached.
  struct Annotated {
    NodeId node;
    int64_t index;
  };
  std::vector<Annotated> annotated;
  int64_t next_index = 0;
  uint32_t conditional = 0;       // enclosing statements whose bodies may not run
  std::vector<Symbol> late_free;  // free variables added after all others
};

class Compiler {
 public:
  Compiler(const Tree& tree, Lowered& out, Symbols& symbols);
  void run(NodeId root);

 private:
  // -- units ----------------------------------------------------------------------------------
  // Compiles the code object of a scope: `header` has its arguments, `body` emits its code. `owner`
  // is the part of its qualified name between the enclosing scope's and its own name.
  CodeId compile_unit(ScopeId scope, Symbol name, object::Code header,
                      const std::function<void()>& body, const std::string& owner = {});
  void describe(const Unit& unit);
  std::string qualname_of(ScopeId scope, Symbol name, const std::string& owner) const;
  [[noreturn]] void give_up(const std::string& what) const { throw NotLowered{what}; }

  Emitter& emit() { return units_.back()->emit; }
  Unit& unit() { return *units_.back(); }
  const Scope& scope() const { return symbols_[units_.back()->scope]; }
  // Returns true if constants are folded here: up to 3.9 ast_opt.c does not fold within the value
  // of a walrus.
  bool folds() const { return features_.folds_within_walrus || walruses_ == 0; }

  // -- constants and small steps -----------------------------------------------------------------
  Symbol text(std::string_view text) { return out_.module.strings.intern(text); }
  ConstId add(object::ConstKind kind);
  ConstId string_constant(std::string_view text);
  ConstId tuple_constant(const std::vector<ConstId>& items);
  void load(ConstId id);
  void load_none() { load(none_); }
  void load_text(std::string_view text) { load(string_constant(text)); }
  void load_number(int64_t value);
  void call(uint32_t arguments) { emit().op(Op::Call, arguments, 1); }
  void await(uint32_t kind);
  // Returns the constant that CPython folds an expression to before it compiles it.
  std::optional<ConstId> constant_of(NodeId node);
  std::optional<bool> truth_of(NodeId node);

  // -- names -----------------------------------------------------------------------------------
  enum class Use : uint8_t { Load, Store, Delete };
  bool is_bound_first(const Scope& scope, Symbol name) const;
  void name(Symbol id, Use use);
  void load_name(std::string_view name) { this->name(text(name), Use::Load); }
  void store_name(std::string_view name) { this->name(text(name), Use::Store); }
  Symbol mangled(Symbol id) { return symbols_.mangle(id, units_.back()->scope); }
  void load_closure(Symbol name);

  // -- expressions -----------------------------------------------------------------------------
  void expression(NodeId node);
  void constant(ConstId value);
  void expression_in(NodeId node);
  void expressions(std::span<const NodeId> nodes);
  void expression_or_none(NodeId node);
  void unary(const ast::UnaryOp& node);
  void slice(const ast::Slice& node);
  std::optional<ConstId> constant_slice(const ast::Slice& node);
  bool is_literal(ast::NodeId node) const;
  void yield(NodeId value);
  void boolean(const ast::BoolOp& node);
  void conditional(const ast::IfExp& node);
  void comparison(NodeId node);
  void compare(uint32_t op);
  void jump_if(NodeId test, bool when, Label to);
  void chain_jump_if(NodeId test, bool when, Label to);
  // Compiles the iterable of `for x in ...` or `x in ...`, where a list becomes a tuple.
  void iterated(NodeId node, bool is_searched = false);
  void iterator_of(const ast::comprehension& part);
  void iterator_of_iterable(const ast::comprehension& part);

  enum class Display : uint8_t { Tuple, List, Set };
  void sequence(Display display, std::span<const NodeId> elements, uint32_t pushed = 0);
  void drop_equal(std::vector<ConstId>& items) const;
  void unpacked_38(Display display, std::span<const NodeId> elements);
  void dictionary(const ast::Dict& node);
  void dictionary_part(std::span<const NodeId> keys, std::span<const NodeId> values);
  void dictionary_38(std::span<const NodeId> keys, std::span<const NodeId> values);
  void joined_string(const ast::JoinedStr& node);
  void join_pieces(size_t count, const std::function<void(size_t)>& write);
  bool percent_format(const ast::BinOp& node);
  void format_specification(NodeId node);
  void formatted_value(const ast::FormattedValue& node);
  uint32_t conversion_of(uint32_t letter) const;
  void template_string(const ast::TemplateStr& node);
  void interpolation(const ast::Interpolation& node);

  // An operation on the first operand of an operator, attribute, subscript or call.
  struct Applied {
    enum How : uint8_t { kNode, kMethod, kMethodCall };
    NodeId node;
    How how;
  };
  void leaning(NodeId node);
  NodeId first_part(NodeId node, std::vector<Applied>& rest);
  void apply(const Applied& next);

  bool is_method_call(const ast::Call& call) const;
  bool super_attribute(NodeId value, Symbol attr, Op load);
  bool are_large(std::span<const NodeId> args, std::span<const NodeId> keywords,
                 size_t injected) const;
  // Calls the callee below `pushed` arguments with further ones: `args`, the values of the
  // `injected` names, then `keywords`.
  void arguments(std::span<const NodeId> args, std::span<const NodeId> keywords,
                 const std::vector<Symbol>& injected = {}, uint32_t pushed = 0);
  void plain_arguments(std::span<const NodeId> args, std::span<const NodeId> keywords,
                       const std::vector<Symbol>& injected, uint32_t pushed, uint32_t slots);
  void starred_arguments(std::span<const NodeId> args, std::span<const NodeId> keywords,
                         const std::vector<Symbol>& injected, uint32_t pushed);
  void arguments_38(std::span<const NodeId> args, std::span<const NodeId> keywords,
                    uint32_t pushed);
  void keyword_part(std::span<const NodeId> keywords);

  struct Comprehension {
    NodeId node;
    std::span<const NodeId> generators;
    NodeId element, value;        // `value`: dictionaries only
    uint32_t container = 0;       // stack depth of the container being filled
    bool first_on_stack = false;  // the outermost iterable or iterator; otherwise an argument
  };
  void comprehension(NodeId node);
  void comprehension_body(Comprehension& parts);
  void generator(Comprehension& parts, size_t index);
  void yield_element();
  void yield_each();
  void element(Comprehension& parts);
  void inlined_comprehension(NodeId node, Comprehension& parts);

  // -- statements ------------------------------------------------------------------------------
  // Returns the `b` of IMPORT_NAME for an import at this place.
  uint32_t laziness(bool is_lazy, bool is_star);
  void statements(ListId list);
  void statement(NodeId node);
  void expression_statement(NodeId value);
  void if_statement(NodeId node);
  void return_statement(NodeId value);
  void raise_statement(const ast::Raise& node);
  void assert_statement(const ast::Assert& node);
  void import(const ast::Import& node);
  void import_from(const ast::ImportFrom& node);
  void assign(NodeId target);
  // Compiles `x, y = a, b` without a tuple.
  bool assign_in_parallel(NodeId target, NodeId value, bool keeps_order);
  void assign_elements(std::span<const NodeId> targets, bool apart = false);
  void assign_each(std::span<const NodeId> targets, bool apart);
  void augmented(const ast::AugAssign& node);
  void annotated(NodeId node);
  void annotation(NodeId node);
  void lazily_annotated(NodeId node);
  // Compiles a function that evaluates annotations on request and checks the requested format
  // (3.14).
  CodeId lazy_code(ScopeId scope, Symbol name, const char* argument,
                   const std::function<void()>& body, const std::string& owner = {});
  void lazy_annotations();
  void make_conditional_set();
  void erase(NodeId target);
  void note_attribute(const ast::Attribute& target);

  void while_loop(const ast::While& node);
  void for_loop(const ast::For& node);
  void async_for_loop(const ast::For& node);
  void get_iterator();
  void drop_iterator();
  uint32_t iterator_slots() const { return features_.iterators_have_two_slots ? 2 : 1; }
  void leave_loop(bool is_continue);
  void unwind(const Enclosing& from, bool keeps_value);
  // Unwinds the enclosing statements down to `depth`.
  void unwind_to(size_t depth, bool keeps_value);

  void try_statement(const ast::Try& node);
  void try_finally(const ast::Try& node);
  void protected_body(const ast::Try& node, Label end);
  void try_except(const ast::Try& node);
  void try_star(const ast::Try& node);
  void star_clause(NodeId node);
  void clause(NodeId node, Label end);
  void unbind(Symbol name);
  void push_exception();
  void with_statement(NodeId node, size_t item);
  void with_end(bool is_async, Label end);
  void call_exit(bool is_async);

  void match_statement(NodeId node);

  void body_with_docstring(ListId body, bool is_function);
  bool has_annotations(ListId body) const;

  // -- definitions ------------------------------------------------------------------------------
  void function(NodeId node);
  void lambda(NodeId node);
  CodeId function_code(NodeId node);
  uint32_t function_defaults(const ast::arguments& args);
  // Pushes the annotations of a function; returns their MAKE_FUNCTION flag, 0 if there are none.
  uint32_t function_annotations(NodeId node);
  uint32_t annotation_pairs(const ast::arguments& args, NodeId returns,
                            std::vector<ConstId>& names);
  // Makes a function; the parts named by `flags` (defaults and the like) are on the stack.
  void make_function(CodeId code, uint32_t flags);
  // Returns the arguments of a node; none if it is absent.
  ast::arguments arguments_of(NodeId node) const;
  object::Code header_of(const ast::arguments& args);
  void class_definition(NodeId node);
  CodeId class_code(NodeId node);
  void class_arguments(const ast::ClassDef& def, const std::vector<Symbol>& injected);
  void type_parameters(ListId parameters);
  void type_alias(NodeId node);
  void generic_function(NodeId node, uint32_t flags);
  void generic_class(NodeId node);
  // Pushes the function of an annotation scope.
  void deferred(NodeId value, ScopeId scope, Symbol name);
  CodeId hidden_code(NodeId node, Symbol name, const object::Code& header,
                     const std::function<void()>& body);

  const Tree& tree_;
  Lowered& out_;
  Symbols& symbols_;
  const Features features_;
  uint32_t walruses_ = 0;  // enclosing walruses
  std::vector<Unit*> units_;
  std::unordered_map<ScopeId, CodeId> codes_;  // already compiled
  std::unordered_map<std::string, ConstId> strings_;
  std::vector<std::string> qualnames_;  // by CodeId
  Misspelt misspelt_;
  ConstId none_;
  uint32_t nesting_ = 0;

  friend class Matcher;
};

}  // namespace pellucid::verify::lower
