// SPDX-License-Identifier: Apache-2.0
// Inlined comprehensions (3.12+), and the elements of those that are functions.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ast/nodes.h"
#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/unfoldable.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

NodeId comprehension_of(ast::Tree& tree, Op container, NodeId elt,
                        const std::vector<NodeId>& generators, ast::Where at) {
  const ast::ListId list = tree.list(generators);
  if (container == Op::BuildList) return tree.add(ast::ListComp{elt, list}, at);
  if (container == Op::BuildSet) return tree.add(ast::SetComp{elt, list}, at);
  if (tree.is(elt, ast::Kind::Starred)) {
    return tree.add(ast::DictComp{tree.as<ast::Starred>(elt).value, NodeId(), list}, at);
  }
  const bool is_tuple = tree.is(elt, ast::Kind::Tuple);
  if (!is_tuple || tree.items(tree.as<ast::Tuple>(elt).elts).size() != 2) {
    throw NotStructured("a dict comprehension without a pair", at.offset);
  }
  const ast::Tuple pair = tree.as<ast::Tuple>(elt);
  const std::vector<NodeId> both(tree.items(pair.elts).begin(), tree.items(pair.elts).end());
  return tree.add(ast::DictComp{both[0], both[1], list}, at);
}

// Reads the loops of a comprehension, from the outermost to the innermost.
class LoopReader {
 public:
  LoopReader(FunctionContext& context, NodeId iterable, ast::Where at)
      : c_(context), at_(at), inner_(context), iter_(iterable) {}

  // Returns the comprehension.
  NodeId read(const Region& region) {
    for (const ComprehensionStep& step : region.steps) read_loop(step);
    if (region.steps.empty() || !fits_ || inner_.hard_pending() > 0) {
      throw NotStructured("a comprehension of unknown form", at_.offset);
    }
    NodeId elt = elt_;
    if (!is_reached()) {
      tests_.push_back(constant_node(c_.tree, object::ConstKind::False, at_));
      elt = none_node(c_.tree, at_);
      if (region.container == Op::BuildMap) {
        elt = c_.tree.add(ast::Tuple{c_.tree.list({elt, none_node(c_.tree, at_)})}, at_);
      }
    }
    close();
    return comprehension_of(c_.tree, region.container, elt, generators_, at_);
  }

  // Returns true if there is an element. Else a test known to be false was removed, and the element
  // with it.
  bool is_reached() const { return elt_.valid(); }

 private:
  void read_loop(const ComprehensionStep& step) {
    const ir::Block loop = c_.graph[step.header];
    if (target_.valid()) {
      close();
      iter_ = inner_.take(loop.operands[0]);
    }
    const ValueId item = c_.graph.resolve(loop.operands[1]);
    is_async_ = c_.graph[item].b == 1 ? 1 : 0;
    c_.targets[item] = {};
    inner_.begin_body(item);
    bool has_target = false;
    for (const BlockId id : step.blocks) {
      const ir::Block& block = c_.graph[id];
      inner_.run(block.items);
      if (!has_target) {
        has_target = true;
        target_ = c_.targets[item];
        if (!target_.valid()) throw NotStructured("a comprehension without a target", at_.offset);
      }
      if (block.exit == ExitKind::Branch) {
        read_test(step, block);
      } else {
        fits_ = fits_ && take_statements();
      }
    }
  }

  void read_test(const ComprehensionStep& step, const ir::Block& block) {
    const NodeId test = inner_.take(block.operands[0]);
    fits_ = fits_ && take_statements();
    if (block.next[0].to == block.next[1].to && block.next[0].to != step.header) {
      tests_.push_back(or_true(c_.tree, block.jump == 0 ? test : negated(c_.tree, test)));
      return;
    }
    const bool continues = block.next[0].to != step.header || block.next[1].to == step.header;
    tests_.push_back(continues ? test : negated(c_.tree, test));
  }

  // Takes the statements that were read: generators, or the element. Returns false if there are
  // others.
  bool take_statements() {
    for (const NodeId statement : inner_.take_list()) {
      if (is_reached()) return false;
      if (c_.tree.is(statement, ast::Kind::Assign)) {
        // Compilers make an assignment of `for x in [v]`.
        const ast::Assign assign = c_.tree.as<ast::Assign>(statement);
        if (c_.tree.items(assign.targets).size() != 1) return false;
        close();
        target_ = c_.tree.items(assign.targets)[0];
        iter_ = c_.tree.add(ast::List{c_.tree.list({assign.value})}, at_);
        is_async_ = 0;
      } else if (c_.tree.is(statement, ast::Kind::Expr)) {
        const ast::Expr element = c_.tree.as<ast::Expr>(statement);
        if (!c_.tree.is(element.value, ast::Kind::Yield)) return false;
        elt_ = c_.tree.as<ast::Yield>(element.value).value;
      } else {
        return false;
      }
    }
    return true;
  }

  // Adds the generator that is open to the others.
  void close() {
    generators_.push_back(
        c_.tree.add(ast::comprehension{target_, iter_, c_.tree.list(tests_), is_async_}, at_));
    tests_.clear();
  }

  FunctionContext& c_;
  const ast::Where at_;
  Statements inner_;
  bool fits_ = true;  // there were no other statements so far
  std::vector<NodeId> generators_;
  NodeId elt_;
  // The parts of the generator that is open.
  NodeId target_, iter_;
  uint32_t is_async_ = 0;
  std::vector<NodeId> tests_;
};

// Returns true if a comprehension reads a name as a global. If it hides the name all the same, a
// walrus in it assigns the global.
bool is_read_as_global(const Graph& graph, const Region& region, Symbol name) {
  std::vector<ValueId> todo;
  for (const ComprehensionStep& step : region.steps) {
    for (const BlockId block : step.blocks) {
      const auto& items = graph[block].items;
      todo.insert(todo.end(), items.begin(), items.end());
    }
  }
  while (!todo.empty()) {
    const ir::Value& value = graph[todo.back()];
    todo.pop_back();
    if (is_op(value, Op::LoadGlobal) && value.symbol() == name) return true;
    if (value.kind != ValueKind::Region) continue;
    for (const Part& part : graph.regions[value.a].parts) {
      todo.insert(todo.end(), part.items.begin(), part.items.end());
    }
  }
  return false;
}

// The names that only dead code used: those that the comprehension binds and captures, and those
// bound in a comprehension in it that are also its own. If the element is reached they are
// mentioned beside it, else in its place and in further generators.
class DeadNames {
 public:
  DeadNames(FunctionContext& context, const Region& region, NodeId comprehension, bool is_reached)
      : c_(context),
        region_(region),
        comprehension_(comprehension),
        is_reached_(is_reached),
        names_(context.inlined_names.of(comprehension)),
        cells_(region.cells.begin(), region.cells.end()) {}

  void mention() {
    mention_captured();
    mention_lifted();
    const bool in_class = std::any_of(region_.hidden.begin(), region_.hidden.end(),
                                      [&](Symbol name) { return c_.tree.text(name) == ".0"; });
    in_class ? mention_hidden_in_class() : mention_hidden();
    write();
  }

 private:
  void mention_captured() {
    for (const Symbol cell : region_.cells) {
      if (!is_reached_ || !names_.handed.contains(cell)) {
        mentions_.push_back(capture(c_.tree, cell));
      }
    }
  }

  void mention_lifted() {
    const std::unordered_set<Symbol> hidden(region_.hidden.begin(), region_.hidden.end());
    for (const Symbol name : names_.all) {
      const bool is_lifted = names_.bound.contains(name) && !names_.direct.contains(name);
      if (is_lifted && !hidden.contains(name)) mentions_.push_back(c_.name(name));
    }
  }

  // In a class, bound and mentioned names are treated alike.
  void mention_hidden_in_class() {
    for (const Symbol name : region_.hidden) {
      if (is_bound(name) || c_.tree.text(name) == ".0") continue;
      const bool is_said =
          names_.handed.contains(name) ||
          std::find(names_.all.begin(), names_.all.end(), name) != names_.all.end();
      if (!is_said) mentions_.push_back(c_.name(name));
    }
  }

  void mention_hidden() {
    const std::vector<bool> comes_first = names_that_come_first();
    for (size_t i = 0; i < region_.hidden.size(); ++i) {
      const Symbol name = region_.hidden[i];
      if (is_bound(name) && !comes_first[i]) continue;
      if (names_.direct.contains(name) && is_read_as_global(c_.graph, region_, name)) {
        const NodeId target = c_.name(name);
        mentions_.push_back(c_.tree.add(ast::NamedExpr{target, none_node(c_.tree, {})}));
        continue;
      }
      const NodeId generator = empty_generator(c_.tree, name);
      if (!is_reached_) {
        generators_.push_back(generator);
      } else {
        const ast::ListId list = c_.tree.list({generator});
        mentions_.push_back(c_.tree.add(ast::ListComp{none_node(c_.tree, {}), list}));
      }
    }
  }

  // A name that only a comprehension in it binds is no cell of this one.
  bool is_bound(Symbol name) const {
    const bool is_only_inside = !is_reached_ && cells_.contains(name) &&
                                !names_.direct.contains(name) && !names_.handed.contains(name);
    return names_.assigned.contains(name) || (names_.bound.contains(name) && !is_only_inside);
  }

  // Returns, for each hidden name, whether it has to be bound here, before others, although a
  // comprehension in this one binds it: names that one binds come after all that this one binds, in
  // the order there.
  std::vector<bool> names_that_come_first() const {
    const std::vector<Symbol>& hidden = region_.hidden;
    std::vector<bool> first(hidden.size());
    if (is_reached_) return first;
    std::unordered_map<Symbol, size_t> places;
    for (size_t i = 0; i < names_.all.size(); ++i) places.emplace(names_.all[i], i);
    size_t after = names_.all.size();  // the first place in the text of the names after this one
    bool is_before_unbound = false;    // of a name that is bound here in dead code
    for (size_t i = hidden.size(); i-- > 0;) {
      const auto known = places.find(hidden[i]);
      const bool overtakes = known != places.end() && after < known->second;
      first[i] = (is_before_unbound || overtakes) && !names_.direct.contains(hidden[i]);
      if (known != places.end()) after = std::min(after, known->second);
      is_before_unbound = is_before_unbound || !is_bound(hidden[i]);
    }
    return first;
  }

  void write() {
    ast::Tree& tree = c_.tree;
    if (mentions_.empty() && generators_.empty()) return;
    if (!mentions_.empty()) {
      // The element, or the key of its pair.
      const NodeId element(tree.slot(comprehension_, 0));
      const NodeId with =
          is_reached_ ? with_mentions(tree, element, mentions_) : mentions_of(tree, mentions_);
      tree.set_slot(comprehension_, 0, with.value);
    }
    if (!generators_.empty()) {
      const size_t last = tree.is(comprehension_, ast::Kind::DictComp) ? 2 : 1;
      const auto items = tree.items(ast::ListId(tree.slot(comprehension_, last)));
      std::vector<NodeId> all(items.begin(), items.end());
      all.insert(all.end(), generators_.begin(), generators_.end());
      tree.set_slot(comprehension_, last, tree.list(all).value);
    }
    c_.inlined_names.forget(comprehension_);
  }

  FunctionContext& c_;
  const Region& region_;
  const NodeId comprehension_;
  const bool is_reached_;
  const InlinedNames::Names names_;
  const std::unordered_set<Symbol> cells_;
  std::vector<NodeId> mentions_, generators_;
};

}  // namespace

NodeId inlined_comprehension(FunctionContext& c, const Region& region, NodeId iterable,
                             ast::Where at) {
  LoopReader loops(c, iterable, at);
  const NodeId made = loops.read(region);
  DeadNames(c, region, made, loops.is_reached()).mention();
  return made;
}

void comprehension_element(Run& r, ValueId id) {
  const std::span<const NodeId> nodes = r.stack.take(r.operands(id).subspan(1));
  NodeId element =
      nodes.size() == 1 ? nodes[0] : r.tree.add(ast::Tuple{r.tree.list(nodes)}, r.where(id));
  if (is_spread(r.graph[id])) element = r.tree.add(ast::Starred{element}, r.where(id));
  const NodeId yielded = r.tree.add(ast::Yield{element}, r.where(id));
  append(r, r.tree.add(ast::Expr{yielded}, r.where(id)));
}

}  // namespace pellucid::structure
