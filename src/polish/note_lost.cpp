// SPDX-License-Identifier: Apache-2.0
// What the columns show that no tree has: the annotation between a local and its value, and the
// expression that was folded to a constant, which no literal of that value is as wide as. Where
// another way to write the same may be as wide, nothing is said.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;
using object::ConstKind;

namespace {

int32_t digits_of(uint64_t number, uint64_t base) {
  int32_t count = 1;
  while (number >= base) {
    number /= base;
    ++count;
  }
  return count;
}

// Returns true if digits take this width, alone or in groups.
bool takes(int32_t digits, int32_t wide, std::initializer_list<int32_t> groups) {
  return wide == digits || std::any_of(groups.begin(), groups.end(), [&](int32_t group) {
           return wide == digits + (digits - 1) / group;
         });
}

// Returns true if a literal of the number may be as wide. Binary digits have any number of zeros
// before them, others as many as are usual.
bool has_literal(uint64_t number, int32_t wide) {
  // The columns of a number may include a `+` before it.
  const int32_t decimal = digits_of(number, 10);
  if (takes(decimal, wide, {3, 4}) || wide == decimal + width_of("+")) return true;
  const int32_t after_prefix = wide - width_of("0x");
  const auto fits = [&](uint64_t base, std::initializer_list<int32_t> padded,
                        std::initializer_list<int32_t> groups) {
    const int32_t least = digits_of(number, base);
    return takes(least, after_prefix, groups) ||
           std::any_of(padded.begin(), padded.end(),
                       [&](int32_t digits) { return digits >= least && digits == after_prefix; });
  };
  return fits(16, {2, 4, 6, 8, 12, 16, 32}, {4}) || fits(8, {2, 3, 4, 5, 6, 7}, {}) ||
         after_prefix >= digits_of(number, 2);
}

// Returns the fewest columns that a literal of a text takes, where each character that needs one is
// an escape, and those that may be one are not. An f-string without fields has no quotes in its
// place.
int32_t least_of_text(std::string_view text, bool is_bytes) {
  size_t count = is_bytes ? width_of("b''") : 0;
  for (const char c : text) {
    const bool is_escaped = c == '\n' || c == '\r' || c == '\0';
    const bool is_wide = is_bytes && static_cast<unsigned char>(c) >= 0x80;
    count += is_wide ? width_of("\\x80") : is_escaped ? width_of("\\n") : 1;
  }
  return static_cast<int32_t>(std::min<size_t>(count, object::kNoColumn));
}

int32_t least_of_float(double value) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::scientific)
          .ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  return width_of(text.substr(0, std::max<size_t>(text.find('e'), 2)));
}

// Returns true if no literal of a constant is as wide.
bool is_no_literal(const object::Module& module, const object::Const& value, int32_t wide) {
  switch (value.kind) {
    case ConstKind::True:
      return wide != width_of("True");
    case ConstKind::False:
      return wide != width_of("False");
    case ConstKind::Int: {
      const bool is_negative = value.integer < 0;
      const auto number = static_cast<uint64_t>(value.integer);
      return !has_literal(is_negative ? 0 - number : number, is_negative ? wide - 1 : wide);
    }
    case ConstKind::BigInt:
      // A decimal digit has less than four bits.
      return wide < width_of(module.text(value.text));
    case ConstKind::Float:
      return std::isfinite(value.real) && wide < least_of_float(value.real);
    case ConstKind::Str:
    case ConstKind::Bytes:
      return wide < least_of_text(module.text(value.text), value.kind == ConstKind::Bytes);
    default:
      return false;
  }
}

class Finder {
 public:
  Finder(ast::Tree& tree, bool is_function, const Starts& starts)
      : tree_(tree), is_function_(is_function), starts_(starts) {}

  void run(Statements& body) {
    std::vector<Assigned> assigned;
    for_each_suite(tree_, body, is_function_, [&](const Statements& items, const List&) {
      for (const NodeId item : items) {
        find_expressions(item);
        if (tree_.is(item, Kind::Assign)) note_assigned(item, assigned);
        if (tree_.is(item, Kind::Expr) && is_annotation(item)) {
          tree_.note({item, ast::Lost::Annotation});
        }
      }
    });
    std::stable_sort(
        assigned.begin(), assigned.end(),
        [](const Assigned& one, const Assigned& other) { return one.line < other.line; });
    for (size_t i = 0; i < assigned.size(); ++i) {
      if (assigned[i].gap >= kLeastGap && !is_aligned(i, assigned)) {
        tree_.note({assigned[i].statement, ast::Lost::Annotation});
      }
    }
  }

 private:
  // The least of `: int = ` that is more than brackets around the value.
  static constexpr int32_t kLeastGap = width_of(": T = ");
  // Up to 3.11, the compiler drops these words, which are true.
  static constexpr int32_t kDebugGap = width_of(" = __debug__ and ");

  struct Assigned {
    NodeId statement;
    int32_t line;
    int32_t value;  // the column where it starts
    int32_t gap;    // between the target and the value
  };

  // --- annotations

  void note_assigned(NodeId statement, std::vector<Assigned>& assigned) {
    const NodeId target = ast::only_target(tree_, statement);
    if (!target.valid()) return;
    const bool is_name = tree_.is(target, Kind::Name);
    const bool is_part = tree_.is(target, Kind::Attribute) || tree_.is(target, Kind::Subscript);
    if (!is_name && !is_part) return;
    const uint32_t unit = starts_.unit_of(target);
    const auto value = starts_.leftmost(tree_.as<ast::Assign>(statement).value);
    if (unit == Starts::kNoUnit || value.column == Starts::kUnknown) return;
    const object::SourcePlace place = starts_.places().at(unit);
    if (place.columns.width() == 0 || place.line != value.line) return;
    int32_t gap = value.column - place.columns.end;
    const bool may_be_dropped = gap == kDebugGap || gap == kDebugGap + width_of("(");
    // A module and a class keep the annotation of a name.
    if (may_be_dropped || (is_name && !is_function_)) gap = 0;
    assigned.push_back({statement, place.line, value.column, gap});
  }

  // Returns true if the value is in one column with that of a line near it, behind another target.
  // (More than one statement of a line counts as a line each.)
  static bool is_aligned(size_t at, std::span<const Assigned> assigned) {
    constexpr size_t kNeighbour = 3;  // lines
    const size_t first = at - std::min(at, kNeighbour);
    const Assigned& one = assigned[at];
    const auto near =
        assigned.subspan(first, std::min(assigned.size() - first, at - first + kNeighbour + 1));
    return std::any_of(near.begin(), near.end(), [&](const Assigned& other) {
      return other.value == one.value && other.gap != one.gap &&
             std::abs(other.line - one.line) <= static_cast<int32_t>(kNeighbour);
    });
  }

  // Returns true if what is left of `a.b: int` is a: it is dropped by an instruction that has the
  // place of the whole (3.11).
  bool is_annotation(NodeId statement) const {
    constexpr ast::Kinds kTargetParts = {Kind::Name, Kind::Attribute, Kind::Subscript, Kind::Call};
    const NodeId value = tree_.as<ast::Expr>(statement).value;
    if (!kTargetParts.has(tree_.kind(value))) return false;
    const object::Columns whole = starts_.own(statement), part = starts_.own(value);
    return part.width() > 0 && whole.begin == part.begin && whole.width() > part.width();
  }

  // --- expressions

  // Looks at the constants of a statement that an instruction of their own loads.
  void find_expressions(NodeId statement) {
    std::unordered_map<uint32_t, size_t> loaded;  // by unit: how many nodes
    std::vector<std::pair<NodeId, uint32_t>> constants;
    todo_.assign(1, statement);
    while (!todo_.empty()) {
      const NodeId node = todo_.back();
      todo_.pop_back();
      const Kind kind = tree_.kind(node);
      const uint32_t unit = starts_.unit_of(node);
      if (unit != Starts::kNoUnit && node != statement) ++loaded[unit];
      if (kind == Kind::Constant) constants.emplace_back(node, unit);
      add_parts(node, kind);
    }
    // The last part of an expression was looked at first.
    std::reverse(constants.begin(), constants.end());
    for (const auto& [node, unit] : constants) {
      if (unit == Starts::kNoUnit || loaded[unit] > 1) continue;
      const int32_t wide = starts_.places().columns(unit).width();
      const object::ConstId value = tree_.as<ast::Constant>(node).value;
      if (wide == 0 || !is_no_literal(tree_.module(), tree_.module()[value], wide)) continue;
      const bool is_returned =
          tree_.is(statement, Kind::Return) && tree_.as<ast::Return>(statement).value == node;
      if (is_returned && is_lent(unit)) continue;
      tree_.note({statement, ast::Lost::Expression, value});
    }
  }

  // Returns true if the constant of a `return` has the place of other code: what leaves a `with` or
  // a `try` before it lends it that.
  bool is_lent(uint32_t unit) const {
    const object::Places& places = starts_.places();
    for (uint32_t other = 0; other < places.size(); ++other) {
      const bool is_own = other == unit || other == unit + 1 || places.is_nop(other);
      if (!is_own && places.at(other) == places.at(unit)) return true;
    }
    return false;
  }

  // Parameters and slices have constants that are part of one; the test of an endless loop and
  // of `assert False` have no instruction; annotations may be texts of expressions; the texts of an
  // f-string have no literal.
  void add_parts(NodeId node, Kind kind) {
    if (kind == Kind::arguments || kind == Kind::Slice) return;
    const bool is_test = kind == Kind::While || kind == Kind::Assert;
    const bool is_text = kind == Kind::JoinedStr || kind == Kind::TemplateStr;
    for (const ast::ChildField& field : ast::child_fields_of(kind)) {
      if (field.has_statements() || field.has_clauses()) continue;
      const NodeId one(tree_.slot(node, field.slot));
      for (const NodeId child :
           field.is_list ? tree_.items(ast::ListId(one.value)) : std::span(&one, 1)) {
        if (!child.valid()) continue;
        if ((is_text || is_test) && tree_.is(child, Kind::Constant)) continue;
        if (!is_annotation_of(node, kind, child)) todo_.push_back(child);
      }
    }
  }

  bool is_annotation_of(NodeId node, Kind kind, NodeId child) const {
    if (kind == Kind::FunctionDef) return tree_.as<ast::FunctionDef>(node).returns == child;
    return kind == Kind::AnnAssign && tree_.as<ast::AnnAssign>(node).annotation == child;
  }

  ast::Tree& tree_;
  const bool is_function_;
  const Starts& starts_;
  std::vector<NodeId> todo_;
};

}  // namespace

void note_lost(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (starts.known()) Finder(tree, is_function, starts).run(body);
}

}  // namespace pellucid::polish
