// The rules that nodes.def does not say: which children may be absent and of what category they
// are.
#include <string_view>

#include "ast/misfits.h"
#include "ast/tree.h"

namespace pellucid::ast {

namespace {

using Names = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view name, Names names) {
  for (std::string_view each : names) {
    if (name == each) return true;
  }
  return false;
}

// ASDL's `?`. An absent `args` of a FunctionDef or Lambda means no parameters.
bool may_be_absent(Kind kind, std::string_view field) {
  switch (kind) {
    case Kind::FunctionDef:
      return is_one_of(field, {"args", "returns"});
    case Kind::Lambda:
      return field == "args";
    case Kind::Return:
    case Kind::AnnAssign:
    case Kind::Yield:
      return field == "value";
    case Kind::Raise:
      return true;
    case Kind::Assert:
      return field == "msg";
    case Kind::ImportFrom:
      return field == "module";
    case Kind::FormattedValue:
    case Kind::Interpolation:
      return field == "format_spec";
    case Kind::Slice:
      return true;
    case Kind::ExceptHandler:
      return is_one_of(field, {"type", "name"});
    case Kind::arguments:
      return is_one_of(field, {"vararg", "kwarg"});
    case Kind::arg:
      return field == "annotation";
    case Kind::keyword:
      return field == "arg";
    case Kind::alias:
      return field == "asname";
    case Kind::withitem:
      return field == "optional_vars";
    case Kind::match_case:
      return field == "guard";
    case Kind::MatchMapping:
      return field == "rest";
    case Kind::MatchStar:
      return field == "name";
    case Kind::MatchAs:
      return true;
    case Kind::TypeVar:
    case Kind::ParamSpec:
    case Kind::TypeVarTuple:
      return is_one_of(field, {"bound", "default_value"});
    default:
      return false;
  }
}

bool items_may_be_absent(Kind kind, std::string_view field) {
  return (kind == Kind::Dict && field == "keys") ||
         (kind == Kind::arguments && field == "kw_defaults");
}

// Whether a node of kind `child` may stand in `field` of a node of kind `parent`.
bool fits(Kind parent, const FieldInfo& field, Kind child) {
  const std::string_view name = field.name;
  const bool is_list = field.type == FieldType::List;
  const Category category = category_of(child);
  if (is_list && is_one_of(name, {"body", "orelse", "finalbody"})) {
    return category == Category::Stmt;
  }
  if (name == "handlers") return child == Kind::ExceptHandler;
  if (name == "keywords") return child == Kind::keyword;
  if (name == "generators") return child == Kind::comprehension;
  if (name == "cases") return child == Kind::match_case;
  if (name == "items") return child == Kind::withitem;
  if (name == "type_params") return category == Category::TypeParam;
  if (name == "kwd_attrs") return child == Kind::Name;
  if (is_one_of(name, {"pattern", "patterns", "kwd_patterns"})) {
    return category == Category::Pattern;
  }
  if (name == "names") {
    const bool scope = parent == Kind::Global || parent == Kind::Nonlocal;
    return child == (scope ? Kind::Name : Kind::alias);
  }
  if (parent == Kind::arguments && name != "defaults" && name != "kw_defaults") {
    return child == Kind::arg;
  }
  if (name == "args" && !is_list) return child == Kind::arguments;
  return category == Category::Expr;
}

uint32_t operator_count(Kind kind) {
  switch (kind) {
    case Kind::BoolOp:
      return 2;
    case Kind::UnaryOp:
      return 4;
    default:
      return 13;
  }
}

// What holds between the fields of one node.
void check_counts(const Tree& tree, NodeId id) {
  switch (tree.kind(id)) {
    case Kind::Dict: {
      const auto node = tree.as<Dict>(id);
      PELLUCID_CHECK(tree.items(node.keys).size() == tree.items(node.values).size());
      break;
    }
    case Kind::Compare: {
      const auto node = tree.as<Compare>(id);
      const auto ops = tree.numbers(node.ops);
      PELLUCID_CHECK(!ops.empty() && ops.size() == tree.items(node.comparators).size());
      for (uint32_t op : ops) PELLUCID_CHECK(op <= static_cast<uint32_t>(CmpOperator::NotIn));
      break;
    }
    case Kind::BoolOp:
      PELLUCID_CHECK(tree.items(tree.as<BoolOp>(id).values).size() >= 2);
      break;
    case Kind::arguments: {
      const auto node = tree.as<arguments>(id);
      PELLUCID_CHECK(tree.items(node.kw_defaults).size() == tree.items(node.kwonlyargs).size());
      PELLUCID_CHECK(tree.items(node.defaults).size() <=
                     tree.items(node.posonlyargs).size() + tree.items(node.args).size());
      break;
    }
    case Kind::MatchClass: {
      const auto node = tree.as<MatchClass>(id);
      PELLUCID_CHECK(tree.items(node.kwd_attrs).size() == tree.items(node.kwd_patterns).size());
      break;
    }
    case Kind::MatchMapping: {
      const auto node = tree.as<MatchMapping>(id);
      PELLUCID_CHECK(tree.items(node.keys).size() == tree.items(node.patterns).size());
      break;
    }
    default:
      break;
  }
}

class Checker {
 public:
  explicit Checker(const Tree& tree) : tree_(tree), seen_(tree.size()) {}

  void run(NodeId root) {
    visit(root);
    while (!work_.empty()) {
      const NodeId id = work_.back();
      work_.pop_back();
      const Kind kind = tree_.kind(id);
      const auto fields = fields_of(kind);
      for (size_t i = 0; i < fields.size(); ++i)
        check_field(id, kind, fields[i], tree_.slot(id, i));
      check_counts(tree_, id);
    }
  }

 private:
  void visit(NodeId id) {
    PELLUCID_CHECK(id.index() < tree_.size());
    PELLUCID_CHECK(!seen_[id.index()]);
    seen_[id.index()] = true;
    work_.push_back(id);
  }

  void check_field(NodeId id, Kind kind, const FieldInfo& field, uint32_t slot) {
    const bool absent = slot == NodeId::kInvalid;
    switch (field.type) {
      case FieldType::Node:
        PELLUCID_CHECK(!absent || may_be_absent(kind, field.name));
        if (!absent) child(kind, field, NodeId(slot));
        break;
      case FieldType::List:
        for (NodeId item : tree_.items(ListId(slot))) {
          PELLUCID_CHECK(item.valid() || items_may_be_absent(kind, field.name));
          if (item.valid()) child(kind, field, item);
        }
        break;
      case FieldType::Name:
        PELLUCID_CHECK(absent ? may_be_absent(kind, field.name)
                              : slot < tree_.module().strings.size());
        break;
      case FieldType::Value:
        PELLUCID_CHECK(slot < tree_.module().consts.size());
        break;
      case FieldType::Number:
        PELLUCID_CHECK(std::string_view(field.name) != "op" ||
                       slot < operator_count(tree_.kind(id)));
        break;
      case FieldType::Numbers:
        break;
    }
  }

  void child(Kind parent, const FieldInfo& field, NodeId id) {
    visit(id);
    PELLUCID_CHECK(fits(parent, field, tree_.kind(id)));
  }

  const Tree& tree_;
  std::vector<bool> seen_;
  std::vector<NodeId> work_;
};

}  // namespace

void check(const Tree& tree, NodeId root) { Checker(tree).run(root); }

NodeId Misfits::find(ListId body) {
  std::vector<NodeId> work;
  std::vector<NodeId> seen;
  known_.resize(tree_.size());
  const auto visit = [&](NodeId id) {
    if (known_[id.index()]) return;
    known_[id.index()] = true;
    seen.push_back(id);
    work.push_back(id);
  };
  for (const NodeId id : tree_.items(body)) visit(id);
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    if (has_its_parts(id, visit)) continue;
    for (const NodeId again : seen) known_[again.index()] = false;
    return id;
  }
  return {};
}

template <typename Visit>
bool Misfits::has_its_parts(NodeId id, const Visit& visit) {
  const Kind kind = tree_.kind(id);
  const auto fields = fields_of(kind);
  for (size_t i = 0; i < fields.size(); ++i) {
    const uint32_t slot = tree_.slot(id, i);
    const bool is_list = fields[i].type == FieldType::List;
    if (!is_list && fields[i].type != FieldType::Node) continue;
    const NodeId only[] = {NodeId(slot)};
    for (const NodeId child : is_list ? tree_.items(ListId(slot)) : std::span<const NodeId>(only)) {
      if (!may_hold(kind, i, child)) return false;
      if (child.valid()) visit(child);
    }
  }
  return true;
}

bool Misfits::may_hold(Kind parent, size_t field, NodeId child) {
  // Behind the kinds: none at all.
  const size_t column = child.valid() ? static_cast<size_t>(tree_.kind(child)) : kKinds;
  uint8_t& answer =
      answers_[(static_cast<size_t>(parent) * kFields + field) * (kKinds + 1) + column];
  if (answer == 0) {
    const FieldInfo& info = fields_of(parent)[field];
    const bool may = child.valid()                  ? fits(parent, info, tree_.kind(child))
                     : info.type == FieldType::List ? items_may_be_absent(parent, info.name)
                                                    : may_be_absent(parent, info.name);
    answer = may ? 1 : 2;
  }
  return answer == 1;
}

}  // namespace pellucid::ast
