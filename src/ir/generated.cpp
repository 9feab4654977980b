// SPDX-License-Identifier: Apache-2.0
#include "ir/generated.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ir/temporaries.h"
#include "ir/threads.h"
#include "ir/write_backs.h"
#include "object/known.h"

namespace pellucid::ir {

namespace {

using object::Facts;

class Generated {
 public:
  Generated(object::Module& module, const Facts& facts, Function& function)
      : module_(module), facts_(facts), f_(function) {}

  void run() {
    f_.is_generated = true;
    drop_calls_of_nothing();
    pass_arguments();
    rotate();
    drop_constant_parameters(f_);
    promote();
    mark_steady();
    drop_write_backs(module_, [this](ValueId id) { return is_call_of(id, facts_.makers); }, f_);
    for (Block& block : f_.blocks) hoist_constants(block);
    drop_arguments();
    if (thread_branches(module_, rules(), f_)) {
      promote();
      mark_steady();
      count_uses(f_);
    }
    for (size_t b = 0; b < f_.blocks.size(); ++b) {
      move_apart(f_.blocks[b]);
      take_outputs(BlockId(b));
    }
    count_uses(f_);
  }

 private:
  ThreadRules rules() const {
    return {names_, [this](ValueId id) { return is_call_of(id, facts_.objects); },
            [this](ValueId id) { return is_call_of(id, facts_.apart); },
            [this](ValueId id) {
              const bool is_own =
                  is_op(f_[id], Op::StoreFast, Op::DeleteFast) && names_.count(f_[id].symbol()) > 0;
              return is_own || may_be_passed(id);
            }};
  }

  // Drops the calls of a function that only returns None, made for a NULL below it.
  void drop_calls_of_nothing() {
    const auto is_call = [&](ValueId id) {
      if (!is_op(f_[id], Op::Call) || f_.operands(id).size() != 1) return false;
      const ValueId callee = f_.operands(id)[0];
      if (!is_op(f_[callee], Op::LoadConst)) return false;
      const object::Const& constant = module_[f_[callee].constant()];
      return constant.kind == object::ConstKind::Opaque &&
             constant.integer == static_cast<int64_t>(object::Known::ReturnsNone);
    };
    count_uses(f_);
    for (Block& block : f_.blocks) {
      std::set<ValueId> gone;
      for (const ValueId item : block.items) {
        if (!is_op(f_[item], Op::Pop) || !is_call(f_.operands(item)[0])) continue;
        const ValueId call = f_.operands(item)[0];
        const ValueId callee = f_.operands(call)[0];
        if (f_[call].uses > 1) continue;
        gone.insert({item, call});
        if (f_[callee].uses == 1) gone.insert(callee);
      }
      std::erase_if(block.items, [&](ValueId item) { return gone.count(item) > 0; });
    }
  }

  // Before: f(*(a, b), **{}). After: f(a, b).
  void pass_arguments() {
    count_uses(f_);
    for (Block& block : f_.blocks) {
      std::set<ValueId> gone;
      for (const ValueId item : block.items) {
        if (!is_op(f_[item], Op::CallEx) || f_.operands(item).size() != 3) continue;
        const std::vector<ValueId> given(f_.operands(item).begin(), f_.operands(item).end());
        const auto is_own = [&](ValueId id, Op op) {
          return is_op(f_[id], op) && f_[id].uses == 1;
        };
        const bool is_plain = is_own(given[1], Op::BuildTuple) && is_own(given[2], Op::BuildMap);
        if (!is_plain || !f_.operands(given[2]).empty()) continue;
        gone.insert({given[1], given[2]});
        std::vector<ValueId> operands{given[0]};
        const auto arguments = f_.operands(given[1]);
        operands.insert(operands.end(), arguments.begin(), arguments.end());
        Value& call = f_[item];
        call.op = Op::Call;
        call.a = static_cast<uint32_t>(operands.size() - 1);
        call.first = static_cast<uint32_t>(f_.operand_pool.size());
        call.count = static_cast<uint32_t>(operands.size());
        f_.operand_pool.insert(f_.operand_pool.end(), operands.begin(), operands.end());
      }
      std::erase_if(block.items, [&](ValueId item) { return gone.count(item) > 0; });
    }
  }

  // Replaces a call of a function that returns its arguments in another order by that tuple.
  void rotate() {
    for (Block& block : f_.blocks) {
      std::set<ValueId> gone;
      for (const ValueId item : block.items) {
        if (!is_op(f_[item], Op::CallEx) || f_.operands(item).size() != 2) continue;
        const ValueId callee = f_.operands(item)[0], given = f_.operands(item)[1];
        if (!is_op(f_[callee], Op::LoadConst) || !is_op(f_[given], Op::BuildTuple)) continue;
        const object::Const& constant = module_[f_[callee].constant()];
        std::vector<ValueId> values(f_.operands(given).begin(), f_.operands(given).end());
        if (constant.kind != object::ConstKind::Opaque || values.empty() ||
            object::rotated(constant.integer) != values.size()) {
          continue;
        }
        for (const ValueId operand : {callee, given}) {
          if (f_[operand].uses == 1) gone.insert(operand);
        }
        std::reverse(values.begin(), values.end() - 1);
        Value& made = f_[item];
        made.op = Op::BuildTuple;
        made.a = made.count = static_cast<uint32_t>(values.size());
        made.first = static_cast<uint32_t>(f_.operand_pool.size());
        f_.operand_pool.insert(f_.operand_pool.end(), values.begin(), values.end());
      }
      std::erase_if(block.items, [&](ValueId item) { return gone.count(item) > 0; });
    }
    count_uses(f_);
  }

  void promote() {
    const object::Code& code = module_[f_.code];
    std::unordered_set<Symbol>& names = names_;
    names.clear();
    for (const std::string& name : facts_.temporaries) {
      const Symbol symbol = module_.strings.find(name);
      if (symbol.valid()) names.insert(symbol);
    }
    const size_t arguments = object::parameter_count(code);
    for (size_t i = 0; i < arguments && i < code.varnames.size(); ++i) {
      names.erase(code.varnames[i]);
    }
    for (const auto* cells : {&code.cellvars, &code.freevars}) {
      for (const Symbol name : *cells) names.erase(name);
    }
    promote_temporaries(f_, names);
    // An argument that is never stored is the same wherever it is loaded.
    for (size_t i = 0; i < arguments && i < code.varnames.size(); ++i) {
      kept_.insert(code.varnames[i]);
    }
    for (const auto* cells : {&code.cellvars, &code.freevars}) {
      for (const Symbol name : *cells) kept_.erase(name);
    }
    for (const Value& value : f_.values) {
      if (is_op(value, Op::StoreFast, Op::DeleteFast, Op::LoadFastAndClear)) {
        kept_.erase(value.symbol());
      }
    }
  }

  // Returns "name", "name.attribute" and so on, if the value is a load of these.
  std::optional<std::string> dotted(ValueId id) const {
    std::string attributes;
    while (is_op(f_[id], Op::LoadAttr, Op::LoadMethod)) {
      attributes.insert(0, '.' + std::string(module_.text(f_[id].symbol())));
      id = f_.operands(id)[0];
    }
    if (!is_op(f_[id], Op::LoadGlobal)) return std::nullopt;
    return std::string(module_.text(f_[id].symbol())) + attributes;
  }

  void mark_steady() {
    for (size_t v = 0; v < f_.values.size(); ++v) mark_steady(ValueId(v));
  }

  // Marks a value that may be loaded anywhere. Operands have smaller numbers than their users.
  void mark_steady(ValueId id) {
    if (is_op(f_[id], Op::LoadFast)) {
      f_[id].steady = kept_.count(f_[id].symbol()) > 0;
      return;
    }
    const auto name = dotted(id);
    if (!name || !Facts::has(facts_.steady, *name)) return;
    const bool is_attribute = !is_op(f_[id], Op::LoadGlobal);
    f_[id].steady = !is_attribute || f_[f_.operands(id)[0]].steady;
  }

  // Drops the loads of arguments that are only dropped: a function that continues after a call is
  // given its result, and may have no use for it.
  void drop_arguments() {
    const auto is_argument = [&](ValueId id) {
      return is_op(f_[id], Op::LoadFast) && f_[id].steady;
    };
    for (Block& block : f_.blocks) {
      std::erase_if(block.items, [&](ValueId item) {
        return is_op(f_[item], Op::Pop) && is_argument(f_.operands(item)[0]);
      });
    }
    count_uses(f_);
    for (Block& block : f_.blocks) {
      std::erase_if(block.items,
                    [&](ValueId item) { return is_argument(item) && f_[item].uses == 0; });
    }
  }

  bool is_call_of(ValueId id, const std::vector<std::string>& names) const {
    if (!is_op(f_[id], Op::Call, Op::CallEx, Op::CallKw)) return false;
    const ValueId callee = f_.operands(id)[0];
    const auto name = dotted(callee);
    return name && f_[callee].steady && Facts::has(names, *name);
  }

  bool may_be_passed(ValueId id) const {
    if (f_[id].steady || is_call_of(id, facts_.reads)) return true;
    switch (f_[id].kind == ValueKind::Instr ? f_[id].op : Op::Call) {
      case Op::LoadConst:
      case Op::LoadFast:
      case Op::LoadClosure:
      case Op::LoadGlobal:
      case Op::LoadDeref:
      case Op::LoadAttr:
      case Op::Subscr:
      case Op::BuildSlice:
      case Op::BuildList:
      case Op::BuildTuple:
        return true;
      default:
        return false;
    }
  }

  void move_apart(Block& block) {
    std::vector<ValueId> items;
    for (const ValueId item : block.items) {
      size_t at = items.size();
      // The result of a call is dropped right after the call, which has moved.
      const bool drops = is_op(f_[item], Op::Pop) && is_call_of(f_.operands(item)[0], facts_.apart);
      if (drops) {
        at = static_cast<size_t>(std::find(items.begin(), items.end(), f_.operands(item)[0]) -
                                 items.begin());
        at = at < items.size() ? at + 1 : at;
      } else if (is_call_of(item, facts_.apart)) {
        const auto operands = f_.operands(item);
        const auto needs = [&](ValueId id) {
          return !f_[id].steady &&
                 std::find(operands.begin(), operands.end(), id) != operands.end();
        };
        while (at > 0 && may_be_passed(items[at - 1]) && !needs(items[at - 1])) --at;
        // The names that it loads move with it.
        const auto names = f_.operands(operands[0]);
        const auto is_name = [&](ValueId id) {
          return f_[id].steady && (id == operands[0] || (!names.empty() && id == names[0]));
        };
        const auto rest = items.begin() + static_cast<ptrdiff_t>(at);
        std::stable_partition(rest, items.end(), is_name);
        while (at < items.size() && is_name(items[at])) ++at;
      }
      items.insert(items.begin() + static_cast<ptrdiff_t>(at), item);
    }
    block.items = std::move(items);
  }

  // Moves a constant in a temporary, with its store, to the front of the block, unless something
  // before names the local.
  void hoist_constants(Block& block) {
    if (block.handler.valid()) return;
    std::vector<ValueId>& items = block.items;
    size_t front = 0;
    std::unordered_set<uint32_t> named;  // locals that were named before
    for (size_t i = 0; i < items.size(); ++i) {
      const Value& value = f_[items[i]];
      if (value.kind != ValueKind::Instr) continue;
      if (bytecode::operand_of(value.op) != bytecode::Operand::Local) continue;
      const bool is_new = named.insert(value.a).second;
      if (!is_new || value.op != Op::StoreFast || !names_.count(value.symbol())) continue;
      const ValueId constant = f_.operands(value)[0];
      const auto made =
          std::find(items.begin(), items.begin() + static_cast<ptrdiff_t>(i), constant);
      if (!is_op(f_[constant], Op::LoadConst) || f_[constant].uses != 1) continue;
      if (made == items.begin() + static_cast<ptrdiff_t>(i)) continue;
      const ValueId store = items[i];
      items.erase(items.begin() + static_cast<ptrdiff_t>(i));
      items.erase(made);
      items.insert(items.begin() + static_cast<ptrdiff_t>(front), {constant, store});
      front += 2;
    }
  }

  std::optional<int64_t> index_of(ValueId item) const {
    const ValueId key = f_.operands(item)[1];
    if (!is_op(f_[key], Op::LoadConst)) return std::nullopt;
    const object::Const& constant = module_[f_[key].constant()];
    if (constant.kind != object::ConstKind::Int || constant.integer < 0) return std::nullopt;
    return constant.integer;
  }

  void take_outputs(BlockId id) {
    const std::vector<ValueId> before = f_.blocks[id.index()].items;
    for (const ValueId call : before) {
      if (!is_call_of(call, facts_.graphs)) continue;
      std::vector<ValueId> loads;
      std::map<int64_t, ValueId> wanted;
      std::map<ValueId, ValueId> again;  // an item that is taken a second time -> the first
      for (const ValueId item : f_.blocks[id.index()].items) {
        if (!is_op(f_[item], Op::Subscr) || f_.operands(item)[0] != call) continue;
        const auto index = index_of(item);
        if (!index) continue;
        const auto [first, is_new] = wanted.try_emplace(*index, item);
        if (is_new) {
          loads.push_back(item);
        } else {
          again[item] = first->second;
        }
      }
      if (loads.empty()) continue;
      replace(f_.blocks[id.index()], again);
      const size_t taken = loads.size() + again.size();
      const auto count = static_cast<int64_t>(wanted.size());
      const bool is_all = f_[call].uses == taken && wanted.rbegin()->first == count - 1;
      gather(f_.blocks[id.index()], call, loads);
      if (is_all && count > 1 && count < 1000)
        unpack(id, call, loads, static_cast<uint32_t>(count));
    }
  }

  // Moves loads of items to right after the call that makes their container.
  void gather(Block& block, ValueId call, const std::vector<ValueId>& loads) {
    const auto call_at = std::find(block.items.begin(), block.items.end(), call);
    std::set<ValueId> moved(loads.begin(), loads.end());
    std::vector<ValueId> together;
    for (const ValueId load : loads) {
      // An index is loaded once, before its first use; what else is before the call may use it.
      const ValueId index = f_.operands(load)[1];
      const auto index_at = std::find(block.items.begin(), block.items.end(), index);
      const bool is_shared = index_at < call_at && f_[index].uses > 1;
      const bool is_here = index_at != block.items.end();
      if (is_here && !is_shared && moved.insert(index).second) together.push_back(index);
      together.push_back(load);
    }
    std::vector<ValueId> items;
    for (const ValueId item : block.items) {
      if (!moved.count(item)) items.push_back(item);
      if (item == call) items.insert(items.end(), together.begin(), together.end());
    }
    block.items = std::move(items);
  }

  ValueId add(Op op, uint32_t a, std::vector<ValueId> operands, ValueId at) {
    Value value;
    value.op = op;
    value.a = a;
    value.offset = f_[at].offset;
    value.line = f_[at].line;
    value.first = static_cast<uint32_t>(f_.operand_pool.size());
    value.count = static_cast<uint32_t>(operands.size());
    f_.operand_pool.insert(f_.operand_pool.end(), operands.begin(), operands.end());
    f_.values.push_back(value);
    return ValueId(f_.values.size() - 1);
  }

  ValueId constant(object::Const value, ValueId at) {
    return add(Op::LoadConst, module_.add(std::move(value)).value, {}, at);
  }

  // r[0], r[1]  ->  a, b = r[:2]: the result itself is not kept.
  void unpack(BlockId id, ValueId call, const std::vector<ValueId>& loads, uint32_t count) {
    object::Const none, number;
    none.kind = object::ConstKind::None;
    number.kind = object::ConstKind::Int;
    number.integer = count;
    std::vector<ValueId> made;
    if (f_.folds.slices) {
      object::Const slice;
      slice.kind = object::ConstKind::Slice;
      slice.items = {module_.add(none), module_.add(number), module_.add(none)};
      made = {constant(slice, call)};
    } else {
      made = {constant(none, call), constant(number, call)};
      made.push_back(add(Op::BuildSlice, 2, {made[0], made[1]}, call));
    }
    made.push_back(add(Op::Subscr, 0, {call, made.back()}, call));
    made.push_back(add(Op::UnpackSequence, count, {made.back()}, call));
    std::vector<ValueId> elements;
    for (uint32_t i = 0; i < count; ++i) {
      elements.push_back(add(Op::UnpackSequence, i, {made.back()}, call));
      f_[elements[i]].kind = ValueKind::Element;
    }
    std::map<ValueId, ValueId> replaced;
    for (const ValueId load : loads) {
      replaced[load] = elements[static_cast<size_t>(*index_of(load))];
    }
    std::vector<ValueId>& items = f_.blocks[id.index()].items;
    replace(f_.blocks[id.index()], replaced);
    const auto place = std::find(items.begin(), items.end(), call) + 1;
    items.insert(place, made.begin(), made.end());
  }

  // Replaces values of a block by others, in all uses.
  void replace(Block& home, const std::map<ValueId, ValueId>& replaced) {
    if (replaced.empty()) return;
    std::erase_if(home.items, [&](ValueId item) { return replaced.count(item) > 0; });
    const auto put = [&](ValueId& operand) {
      const auto found = replaced.find(operand);
      if (found != replaced.end()) operand = found->second;
    };
    for (ValueId& operand : f_.operand_pool) put(operand);
    for (Block& block : f_.blocks) {
      for (ValueId& operand : block.operands) put(operand);
      for (Edge& edge : block.next) {
        for (ValueId& arg : edge.args) put(arg);
      }
    }
  }

  object::Module& module_;
  const Facts& facts_;
  Function& f_;
  std::unordered_set<Symbol> kept_;   // arguments
  std::unordered_set<Symbol> names_;  // temporaries
};

}  // namespace

void settle_generated(object::Module& module, const Facts& facts, Function& function) {
  Generated(module, facts, function).run();
}

void mark_displays(Function& f) {
  count_uses(f);
  for (const Block& block : f.blocks) {
    std::set<ValueId> here;
    for (const ValueId item : block.items) {
      for (const ValueId operand : f.operands(item)) here.insert(operand);
    }
    here.insert(block.operands.begin(), block.operands.end());
    for (const ValueId item : block.items) {
      Value& value = f[item];
      const bool is_display = is_op(value, Op::BuildList, Op::BuildTuple);
      if (!is_display || value.uses != 1 || !here.count(item)) continue;
      const auto operands = f.operands(item);
      value.steady = std::all_of(operands.begin(), operands.end(), [&](ValueId id) {
        return f[id].steady || is_op(f[id], Op::LoadConst);
      });
    }
  }
}

}  // namespace pellucid::ir
