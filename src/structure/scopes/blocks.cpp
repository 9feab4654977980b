// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/blocks.h"

#include <algorithm>
#include <string>

#include "ast/nodes.h"
#include "object/identifiers.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using object::CodeId;
using object::Const;
using object::ConstId;
using object::ConstKind;

namespace {

class Normaliser {
 public:
  Normaliser(ast::Tree& tree, const flow::Folds& folds,
             std::unordered_map<CodeId, ConstId>& opaques)
      : tree_(tree), folds_(folds), opaques_(opaques) {}

  void run(ListId body) {
    push_all(body);
    while (!todo_.empty()) {
      const Task task = todo_.back();
      todo_.pop_back();
      put_in_order(task);
      enter(task);
    }
  }

 private:
  struct Task {
    NodeId node;
    bool is_subscript = false;  // in a Subscript's brackets, or an element of that tuple
  };

  void push_all(ListId list, bool is_subscript = false) {
    for (const NodeId item : tree_.items(list)) {
      if (item.valid()) todo_.push_back({item, is_subscript});
    }
  }

  void put_in_order(const Task& task) {
    const Kind kind = tree_.kind(task.node);
    if (kind == Kind::Slice && !task.is_subscript) {
      make_call(task.node);
    } else if (kind == Kind::Assign) {
      keep_unpacked(task.node);
    } else if (kind == Kind::Constant) {
      const ConstKind what = constant_of(tree_, task.node)->kind;
      if (what != ConstKind::Code && what != ConstKind::Slice && what != ConstKind::Tuple) return;
      const Const constant = *constant_of(tree_, task.node);
      if (constant.kind == ConstKind::Code) {
        tree_.set(task.node, ast::Constant{named(constant.code)});
      } else if (constant.kind == ConstKind::Slice && task.is_subscript && is_display(constant)) {
        write_slice(task.node, constant);
      } else if (constant.kind == ConstKind::Tuple && task.is_subscript && has_slice(constant) &&
                 is_display(constant)) {
        std::vector<NodeId> elements;
        for (const ConstId item : constant.items)
          elements.push_back(tree_.add(ast::Constant{item}));
        tree_.set(task.node, ast::Tuple{tree_.list(elements)});
      }
    }
  }

  void enter(const Task& task) {
    const Kind kind = tree_.kind(task.node);
    // The bodies of definitions were put in order before.
    const bool is_code =
        kind == Kind::FunctionDef || kind == Kind::ClassDef || kind == Kind::Lambda;
    for (const ast::ChildField field : ast::child_fields_of(kind)) {
      const uint32_t slot = tree_.slot(task.node, field.slot);
      if (slot == NodeId::kInvalid) continue;
      if (is_code && field.suite == ast::Suite::Body) continue;
      if (field.is_list) {
        push_all(ListId(slot), kind == Kind::Tuple && task.is_subscript);
      } else {
        constexpr uint8_t kSlice = 1;
        todo_.push_back({NodeId(slot), kind == Kind::Subscript && field.slot == kSlice});
      }
    }
  }

  bool has_slice(const Const& tuple) const {
    for (const ConstId item : tuple.items) {
      if (tree_.module()[item].kind == ConstKind::Slice) return true;
    }
    return false;
  }

  // Returns true if the compiler makes the constant again from this display in brackets. A constant
  // that it does not make is written by its name, if it has one.
  bool is_display(const Const& constant) const {
    if (!constant.text.valid()) return true;
    const object::Module& module = tree_.module();
    return std::all_of(constant.items.begin(), constant.items.end(), [&](ConstId id) {
      const Const& item = module[id];
      if (constant.kind == ConstKind::Slice) return ast::is_one_literal(module, item);
      if (item.kind == ConstKind::Slice) return is_display(item);
      return item.kind != ConstKind::Tuple || !item.text.valid();
    });
  }

  void make_call(NodeId node) {
    const auto slice = tree_.as<ast::Slice>(node);
    const ast::Where at = tree_.where(node);
    const auto bound = [&](NodeId part) { return part.valid() ? part : none_node(tree_, at); };
    std::vector<NodeId> args = {bound(slice.lower), bound(slice.upper)};
    if (slice.step.valid()) args.push_back(slice.step);
    tree_.set(node, ast::Call{name_node(tree_, "slice", at), tree_.list(args), {}});
  }

  // Replaces an unpacked constant tuple by a conditional expression. The compiler may store the
  // elements of a short tuple display one by one; this tuple was made a constant before that.
  void keep_unpacked(NodeId node) {
    if (!folds_.unpacked) return;
    auto assign = tree_.as<ast::Assign>(node);
    const auto targets = tree_.items(assign.targets);
    const Const* constant = constant_of(tree_, assign.value);
    if (targets.size() != 1 || !tree_.is(targets[0], Kind::Tuple) || !constant ||
        constant->kind != ConstKind::Tuple) {
      return;
    }
    const auto names = tree_.items(tree_.as<ast::Tuple>(targets[0]).elts);
    const bool has_star = std::any_of(names.begin(), names.end(),
                                      [&](NodeId name) { return tree_.is(name, Kind::Starred); });
    if (has_star || names.size() != constant->items.size() || names.size() > 3) return;
    const ast::Where at = tree_.where(node);
    Const yes;
    yes.kind = ConstKind::True;
    const NodeId test = tree_.add(ast::Constant{tree_.module().add(yes)}, at);
    assign.value = tree_.add(ast::IfExp{test, assign.value, none_node(tree_, at)}, at);
    tree_.set(node, assign);
  }

  void write_slice(NodeId node, const Const& slice) {
    const auto bound = [&](ConstId id) {
      return tree_.module()[id].kind == ConstKind::None
                 ? NodeId()
                 : tree_.add(ast::Constant{id}, tree_.where(node));
    };
    tree_.set(node,
              ast::Slice{bound(slice.items[0]), bound(slice.items[1]), bound(slice.items[2])});
  }

  // Returns the constant by whose name a code object is known.
  ConstId named(CodeId code) {
    const auto it = opaques_.find(code);
    if (it != opaques_.end()) return it->second;
    std::string name = "_code_" + std::to_string(code.value);
    const std::string_view own = tree_.text(tree_.module()[code].name);
    if (object::is_identifier(own)) name += "_" + std::string(own);
    Const opaque;
    opaque.kind = ConstKind::Opaque;
    opaque.text = tree_.intern(name);
    opaque.code = code;
    const ConstId id = tree_.module().add(opaque);
    opaques_.emplace(code, id);
    return id;
  }

  ast::Tree& tree_;
  const flow::Folds& folds_;
  std::unordered_map<CodeId, ConstId>& opaques_;
  std::vector<Task> todo_;
};

bool is_or_has_slice(const object::Module& module, const Const& constant) {
  if (constant.kind == ConstKind::Slice) return true;
  if (constant.kind != ConstKind::Tuple) return false;
  return std::any_of(constant.items.begin(), constant.items.end(),
                     [&](ConstId item) { return module[item].kind == ConstKind::Slice; });
}

}  // namespace

void OrderClues::note(const object::Module& module, const ir::Function& function,
                      const ir::Value& value) {
  switch (value.op) {
    case bytecode::Op::BuildSlice:
      has_found_ = true;
      break;
    case bytecode::Op::UnpackSequence: {
      const ir::Value& unpacked = function[function.operands(value)[0]];
      const bool may_be_constant =
          unpacked.kind == ir::ValueKind::Phi || is_op(unpacked, bytecode::Op::LoadConst);
      has_found_ |= function.folds.unpacked && may_be_constant;
      break;
    }
    case bytecode::Op::MakeFunction:
      for (const ir::ValueId id : function.operands(value)) {
        const ir::Value& operand = function[id];
        const bool is_code = is_op(operand, bytecode::Op::LoadConst) &&
                             module[operand.constant()].kind == ConstKind::Code;
        made_ += is_code && operand.uses == 1 ? 1 : 0;
      }
      break;
    case bytecode::Op::LoadConst: {
      const Const& constant = module[value.constant()];
      loaded_ += constant.kind == ConstKind::Code ? 1 : 0;
      has_found_ |= is_or_has_slice(module, constant);
      break;
    }
    default:
      break;
  }
}

void normalise(ast::Tree& tree, ListId body, const flow::Folds& folds,
               std::unordered_map<CodeId, ConstId>& opaques) {
  Normaliser(tree, folds, opaques).run(body);
}

}  // namespace pellucid::structure
