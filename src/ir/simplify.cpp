// SPDX-License-Identifier: Apache-2.0
#include "ir/simplify.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace pellucid::ir {
namespace {

struct Fresh {
  std::vector<ValueId> elements;
  bool is_tuple = false;
};

struct Heap {
  std::unordered_map<ValueId, Fresh> known;       // containers that have not escaped
  std::unordered_map<ValueId, ValueId> replaced;  // values that are replaced on this path
};

class Simplifier {
 public:
  Simplifier(const object::Module& module, Function& function) : module_(module), f_(function) {}

  void run(bool known_to_be_generated) {
    if (!known_to_be_generated && !is_program_generated()) return;
    count_ways();
    // A read item is used where its list was: look again.
    do {
      find_eligible();
    } while (read_shared());
    std::vector<std::pair<BlockId, Heap>> todo;
    std::vector<uint8_t> seen(f_.blocks.size(), 0);
    for (size_t i = 0; i < f_.blocks.size(); ++i) {
      if (ways_[i].size() != 1 || entries_.count(BlockId(i))) todo.push_back({BlockId(i), {}});
    }
    while (!todo.empty()) {
      auto [block, state] = std::move(todo.back());
      todo.pop_back();
      if (seen[block.index()]++) continue;
      walk(block, state);
      for (const Edge& edge : f_.blocks[block.index()].next) {
        if (edge.to.valid() && ways_[edge.to.index()].size() == 1 && !entries_.count(edge.to)) {
          todo.push_back({edge.to, state});
        }
      }
    }
    drop_unused();
  }

 private:
  bool is_program_generated() const {
    const bool may_be = std::any_of(f_.values.begin(), f_.values.end(), [](const Value& value) {
      return is_op(value, Op::DeleteSubscr) || (is_op(value, Op::ListExtend) && value.a > 1);
    });
    if (!may_be) return false;
    // Lists that were written: those that an inlined comprehension (3.12+) fills, and those with a
    // name (`del (a := [])[i]`).
    std::unordered_set<ValueId> written;
    for (const Value& value : f_.values) {
      const bool is_filled = is_op(value, Op::ListAppend) && value.a > 1;
      if (is_filled || stores_name(value)) written.insert(f_.operands(value)[0]);
    }
    return std::any_of(f_.blocks.begin(), f_.blocks.end(), [&](const Block& block) {
      return std::any_of(block.items.begin(), block.items.end(), [&](ValueId id) {
        const Value& value = f_[id];
        if (is_op(value, Op::ListExtend) && value.a > 1) return true;
        // `del [a, b][i]` may be written, but a list that is used again is a local then; `f(*[a,
        // b])` is written now and then.
        if (!is_op(value, Op::DeleteSubscr)) return false;
        const ValueId list = f_.operands(value)[0];
        return is_op(f_[list], Op::BuildList) && f_[list].uses > 1 && !written.contains(list);
      });
    });
  }

  void count_ways() {
    ways_.assign(f_.blocks.size(), {});
    for (size_t i = 0; i < f_.blocks.size(); ++i) {
      for (const Edge& edge : f_.blocks[i].next) {
        if (edge.to.valid()) ways_[edge.to.index()].push_back(BlockId(i));
      }
    }
    for (const flow::Handler& handler : f_.handlers) entries_.insert(handler.entry);
  }

  // Finds the containers with a use that a join or a handler separates from where they are made.
  void find_eligible() {
    shared_.clear();
    std::unordered_map<ValueId, BlockId> home;
    for (size_t i = 0; i < f_.blocks.size(); ++i) {
      for (const ValueId id : f_.blocks[i].items) home[id] = BlockId(i);
    }
    const auto use = [&](ValueId id, BlockId at) {
      const auto made = home.find(id);
      if (made == home.end() || shared_.count(id)) return;
      for (size_t steps = 0; at != made->second; ++steps) {
        if (ways_[at.index()].size() != 1 || entries_.count(at) || steps > f_.blocks.size()) {
          shared_.insert(id);
          return;
        }
        at = ways_[at.index()][0];
      }
    };
    for (size_t i = 0; i < f_.blocks.size(); ++i) {
      const Block& block = f_.blocks[i];
      for (const ValueId item : block.items) {
        for (const ValueId operand : f_.operands(item)) use(operand, BlockId(i));
      }
      for (const ValueId operand : block.operands) use(operand, BlockId(i));
      for (const Edge& edge : block.next) {
        for (const ValueId arg : edge.args) use(arg, BlockId(i));
      }
    }
  }

  // Replaces the items of a list by its elements, if it is used after a join but only items are
  // read. Returns true if there was such an item.
  bool read_shared() {
    std::unordered_map<ValueId, ValueId> read;  // an item -> the element
    std::unordered_map<ValueId, bool> only_read;
    for (const ValueId id : shared_) {
      only_read[id] = is_op(f_[id], Op::BuildList, Op::BuildTuple);
    }
    const auto use = [&](ValueId id) {
      const auto it = only_read.find(id);
      if (it != only_read.end()) it->second = false;
    };
    for (const Block& block : f_.blocks) {
      for (const ValueId item : block.items) {
        const auto operands = f_.operands(item);
        if (is_op(f_[item], Op::Pop)) continue;
        if (is_op(f_[item], Op::Subscr)) {
          const auto index = integer(operands[1]);
          const auto count = static_cast<int64_t>(f_[operands[0]].count);
          if (index && *index >= -count && *index < count) continue;
        }
        for (const ValueId operand : operands) use(operand);
      }
      for (const ValueId operand : block.operands) use(operand);
      for (const Edge& edge : block.next) {
        for (const ValueId arg : edge.args) use(arg);
      }
    }
    for (Block& block : f_.blocks) {
      std::erase_if(block.items, [&](ValueId item) {
        if (!is_op(f_[item], Op::Subscr, Op::Pop)) return false;
        const auto operands = f_.operands(item);
        const auto it = only_read.find(operands[0]);
        if (it == only_read.end() || !it->second) return false;
        if (is_op(f_[item], Op::Subscr)) {
          const auto elements = f_.operands(operands[0]);
          int64_t index = *integer(operands[1]);
          if (index < 0) index += static_cast<int64_t>(elements.size());
          read[item] = elements[static_cast<size_t>(index)];
        }
        return true;
      });
    }
    if (read.empty()) return false;
    const auto put = [&](ValueId& id) {
      for (auto it = read.find(id); it != read.end(); it = read.find(id)) id = it->second;
    };
    for (ValueId& operand : f_.operand_pool) put(operand);
    for (Block& block : f_.blocks) {
      for (ValueId& operand : block.operands) put(operand);
      for (Edge& edge : block.next) {
        for (ValueId& arg : edge.args) put(arg);
      }
    }
    return true;
  }

  ValueId resolve(const Heap& state, ValueId id) const {
    for (auto it = state.replaced.find(id); it != state.replaced.end();
         it = state.replaced.find(id)) {
      id = it->second;
    }
    return id;
  }

  std::optional<int64_t> integer(ValueId id) const {
    if (!is_op(f_[id], Op::LoadConst)) return std::nullopt;
    const object::Const& constant = module_[f_[id].constant()];
    if (constant.kind != object::ConstKind::Int) return std::nullopt;
    return constant.integer;
  }

  // Returns the bounds of a slice without a step that is a constant or built of constants.
  std::optional<std::array<object::ConstId, 2>> slice_parts(const Heap& state, ValueId key) const {
    if (is_op(f_[key], Op::LoadConst)) {
      const object::Const& slice = module_[f_[key].constant()];
      if (slice.kind != object::ConstKind::Slice ||
          module_[slice.items[2]].kind != object::ConstKind::None) {
        return std::nullopt;
      }
      return std::array{slice.items[0], slice.items[1]};
    }
    if (!is_op(f_[key], Op::BuildSlice) || f_[key].a != 2) return std::nullopt;
    const ValueId start = resolve(state, f_.operands(key)[0]);
    const ValueId stop = resolve(state, f_.operands(key)[1]);
    if (!is_op(f_[start], Op::LoadConst) || !is_op(f_[stop], Op::LoadConst)) return std::nullopt;
    return std::array{f_[start].constant(), f_[stop].constant()};
  }

  struct Range {
    size_t begin;
    size_t end;
  };

  // Returns the elements that an index or a slice with constant bounds selects.
  std::optional<Range> select(const Heap& state, ValueId key, size_t size) const {
    const auto count = static_cast<int64_t>(size);
    if (const auto index = integer(key)) {
      const int64_t at = *index < 0 ? *index + count : *index;
      if (at < 0 || at >= count) return std::nullopt;
      return Range{static_cast<size_t>(at), static_cast<size_t>(at) + 1};
    }
    const auto parts = slice_parts(state, key);
    if (!parts) return std::nullopt;
    const auto bound = [&](size_t i, int64_t otherwise) -> std::optional<int64_t> {
      const object::Const& part = module_[(*parts)[i]];
      if (part.kind == object::ConstKind::None) return otherwise;
      if (part.kind != object::ConstKind::Int) return std::nullopt;
      return std::clamp<int64_t>(part.integer < 0 ? part.integer + count : part.integer, 0, count);
    };
    const auto begin = bound(0, 0), end = bound(1, count);
    if (!begin || !end) return std::nullopt;
    return Range{static_cast<size_t>(*begin), static_cast<size_t>(std::max(*begin, *end))};
  }

  Fresh* known(Heap& state, ValueId id) const {
    const auto it = state.known.find(id);
    return it == state.known.end() ? nullptr : &it->second;
  }

  ValueId build(const Fresh& fresh, const Value& at) {
    Value value;
    value.op = fresh.is_tuple ? Op::BuildTuple : Op::BuildList;
    value.a = static_cast<uint32_t>(fresh.elements.size());
    value.offset = at.offset;
    value.line = at.line;
    value.first = static_cast<uint32_t>(f_.operand_pool.size());
    value.count = value.a;
    f_.operand_pool.insert(f_.operand_pool.end(), fresh.elements.begin(), fresh.elements.end());
    f_.values.push_back(value);
    return ValueId(f_.values.size() - 1);
  }

  // Returns the value itself; the containers in it are built here, innermost first.
  ValueId escape(Heap& state, ValueId id, std::vector<ValueId>& items) {
    std::vector<ValueId> todo{resolve(state, id)};
    while (!todo.empty()) {
      const ValueId top = resolve(state, todo.back());
      Fresh* fresh = known(state, top);
      if (!fresh) {
        todo.pop_back();
        continue;
      }
      bool ready = true;
      for (ValueId& element : fresh->elements) element = resolve(state, element);
      // The first one is built first, as a display in source text would.
      for (size_t i = fresh->elements.size(); i-- > 0;) {
        if (!known(state, fresh->elements[i])) continue;
        todo.push_back(fresh->elements[i]);
        ready = false;
      }
      if (!ready) continue;
      const ValueId made = build(*fresh, f_[top]);
      items.push_back(made);
      state.known.erase(top);
      state.replaced[top] = made;
      todo.pop_back();
    }
    return resolve(state, id);
  }

  void walk(BlockId id, Heap& state) {
    const std::vector<ValueId> before = std::move(f_.blocks[id.index()].items);
    std::vector<ValueId> items;
    for (const ValueId item : before) {
      if (!step(state, item)) keep(state, item, items);
    }
    Block& block = f_.blocks[id.index()];
    for (ValueId& operand : block.operands) {
      if (f_[operand].kind != ValueKind::Item) operand = escape(state, operand, items);
    }
    for (Edge& edge : block.next) {
      for (ValueId& arg : edge.args) arg = escape(state, arg, items);
    }
    block.items = std::move(items);
  }

  void keep(Heap& state, ValueId item, std::vector<ValueId>& items) {
    const Value value = f_[item];
    const size_t before = items.size();
    for (uint32_t i = 0; i < value.count; ++i) {
      const ValueId operand = f_.operand_pool[value.first + i];
      const ValueId escaped = escape(state, operand, items);
      f_.operand_pool[value.first + i] = escaped;
    }
    // The parts of a function are built before the function in which they are set.
    if (is_op(value, Op::SetFunctionAttribute)) {
      const auto built = items.begin() + static_cast<ptrdiff_t>(before);
      std::rotate(first_of_function(f_.operands(value)[1], items, before), built, items.end());
    }
    items.push_back(item);
  }

  // Returns where before `end` the function is made, if only its parts were set since.
  std::vector<ValueId>::iterator first_of_function(ValueId function, std::vector<ValueId>& items,
                                                   size_t end) {
    size_t at = end;
    while (at > 0 && items[at - 1] == function) {
      --at;
      if (!is_op(f_[function], Op::SetFunctionAttribute)) break;
      function = f_.operands(function)[1];
    }
    return items.begin() + static_cast<ptrdiff_t>(at);
  }

  // Applies the instruction to known containers; returns false if it does nothing to them.
  bool step(Heap& state, ValueId id) {
    const Value value = f_[id];
    if (value.kind != ValueKind::Instr) return false;
    std::vector<ValueId> o;
    for (const ValueId operand : f_.operands(value)) o.push_back(resolve(state, operand));
    switch (value.op) {
      case Op::BuildList:
      case Op::BuildTuple:
        if (shared_.count(id)) return false;
        state.known[id] = {o, value.op == Op::BuildTuple};
        return true;
      case Op::Pop:
        if (!known(state, o[0])) return false;
        return true;
      case Op::Subscr: {
        const Fresh* fresh = known(state, o[0]);
        if (!fresh) return false;
        const auto range = select(state, o[1], fresh->elements.size());
        if (!range) return false;
        if (integer(o[1])) {
          state.replaced[id] = fresh->elements[range->begin];
          return true;
        }
        if (shared_.count(id)) return false;
        const auto first = fresh->elements.begin();
        Fresh part{{first + static_cast<ptrdiff_t>(range->begin),
                    first + static_cast<ptrdiff_t>(range->end)},
                   fresh->is_tuple};
        state.known[id] = std::move(part);
        return true;
      }
      case Op::StoreSubscr: {
        Fresh* into = known(state, o[1]);
        if (!into || into->is_tuple) return false;
        const auto range = select(state, o[2], into->elements.size());
        if (!range) return false;
        const auto first = into->elements.begin() + static_cast<ptrdiff_t>(range->begin);
        if (integer(o[2])) {
          *first = o[0];
          return true;
        }
        const Fresh* from = known(state, o[0]);
        if (!from) return false;
        const std::vector<ValueId> elements = from->elements;
        into->elements.insert(into->elements.erase(first, into->elements.begin() +
                                                              static_cast<ptrdiff_t>(range->end)),
                              elements.begin(), elements.end());
        return true;
      }
      case Op::DeleteSubscr: {
        Fresh* from = known(state, o[0]);
        if (!from || from->is_tuple) return false;
        const auto range = select(state, o[1], from->elements.size());
        if (!range) return false;
        from->elements.erase(from->elements.begin() + static_cast<ptrdiff_t>(range->begin),
                             from->elements.begin() + static_cast<ptrdiff_t>(range->end));
        return true;
      }
      case Op::ListExtend: {
        Fresh* into = known(state, o[0]);
        const Fresh* from = known(state, o[1]);
        if (!into || !from) return false;
        const std::vector<ValueId> elements = from->elements;
        into->elements.insert(into->elements.end(), elements.begin(), elements.end());
        if (value.a == 1) state.replaced[id] = o[0];
        return true;
      }
      case Op::ListAppend: {
        Fresh* into = known(state, o[0]);
        if (!into) return false;
        into->elements.push_back(o[1]);
        if (value.a == 1) state.replaced[id] = o[0];
        return true;
      }
      case Op::ListToTuple: {
        const Fresh* from = known(state, o[0]);
        if (!from || shared_.count(id)) return false;
        Fresh tuple{from->elements, true};
        state.known[id] = std::move(tuple);
        return true;
      }
      case Op::UnpackSequence: {
        const Fresh* from = known(state, o[0]);
        if (!from || from->elements.size() != value.a) return false;
        for (size_t v = 0; v < f_.values.size(); ++v) {
          const Value& element = f_.values[v];
          if (element.kind == ValueKind::Element && f_.operand_pool[element.first] == id) {
            state.replaced[ValueId(v)] = from->elements[element.a];
          }
        }
        return true;
      }
      case Op::CallEx: {
        // f(*[a, b]) is f(a, b): the callee sees a tuple of the elements, never the list.
        const Fresh* arguments = known(state, o[1]);
        if (!arguments || (value.a & 1)) return false;
        std::vector<ValueId> operands{o[0]};
        operands.insert(operands.end(), arguments->elements.begin(), arguments->elements.end());
        Value& call = f_[id];
        call.op = Op::Call;
        call.a = static_cast<uint32_t>(arguments->elements.size());
        call.first = static_cast<uint32_t>(f_.operand_pool.size());
        call.count = static_cast<uint32_t>(operands.size());
        f_.operand_pool.insert(f_.operand_pool.end(), operands.begin(), operands.end());
        return false;
      }
      default:
        return false;
    }
  }

  // Drops constants and containers that only the bookkeeping used, and recounts all uses.
  void drop_unused() {
    bool changed = true;
    while (changed) {
      changed = false;
      count_uses(f_);
      for (Block& block : f_.blocks) {
        const size_t before = block.items.size();
        std::erase_if(block.items, [&](ValueId id) {
          const Value& value = f_[id];
          return value.uses == 0 && is_op(value, Op::LoadConst, Op::BuildSlice, Op::BuildList,
                                          Op::BuildTuple, Op::LoadClosure);
        });
        changed = changed || block.items.size() != before;
      }
    }
  }

  const object::Module& module_;
  Function& f_;
  std::vector<std::vector<BlockId>> ways_;
  std::unordered_set<BlockId> entries_;  // of handlers
  std::unordered_set<ValueId> shared_;   // used after a join
};

}  // namespace

void simplify(const object::Module& module, Function& function, bool is_generated) {
  Simplifier(module, function).run(is_generated);
}

}  // namespace pellucid::ir
