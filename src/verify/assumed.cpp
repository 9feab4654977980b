#include "verify/assumed.h"

#include "verify/state.h"

namespace pellucid::verify {

namespace {

using bytecode::Op;

// What a frame refers to: `values` and all that the containers among them hold.
std::unordered_set<uint32_t> closure(const State& state, std::vector<Value> todo) {
  std::unordered_set<uint32_t> found;
  while (!todo.empty()) {
    const Value value = todo.back();
    todo.pop_back();
    if (!found.insert(value.value).second) continue;
    const Container* container = state.container(value);
    if (container == nullptr) continue;
    todo.insert(todo.end(), container->items.begin(), container->items.end());
  }
  return found;
}

std::unordered_set<uint32_t> held(const Values& values, const State& state, Side side) {
  const Half& half = state[side];
  std::vector<Value> roots = half.stack;
  half.locals.for_each([&](Value value) { roots.push_back(value); });
  roots.insert(roots.end(), half.exceptions.begin(), half.exceptions.end());
  for (Value& value : roots) {
    if (values.is(value, Kind::Method)) value = Value(values[value].x);
  }
  return closure(state, std::move(roots));
}

}  // namespace

Assumed::Assumed(Values& values, const object::Facts& facts, int64_t most)
    : any_(!facts.empty()), most_(most) {
  const auto number = [&](const std::vector<std::string>& names, Names& into) {
    for (const std::string& name : names) into.insert(values.name(name).value);
  };
  number(facts.steady, steady_);
  number(facts.apart, apart_);
  number(facts.reads, reads_);
  number(facts.graphs, graphs_);
  number(facts.objects, givers_);
}

std::optional<Value> Assumed::global(Values& values, Name name) const {
  if (!steady_.count(name.value)) return std::nullopt;
  return values.special(Op::LoadGlobal, name.value);
}

std::optional<Value> Assumed::attribute(Values& values, Value base, Name name) const {
  const Node node = values[base];
  if (node.kind != Kind::Special || node.x != static_cast<uint32_t>(Op::LoadGlobal)) {
    return std::nullopt;
  }
  std::string dotted(values.text(Name(node.y)));
  dotted += '.';
  dotted += values.text(name);
  return global(values, values.name(dotted));
}

bool Assumed::is_one(const Values& values, Value callee, const Names& names) {
  const Node& node = values[callee];
  return node.kind == Kind::Special && node.x == static_cast<uint32_t>(Op::LoadGlobal) &&
         names.count(node.y) > 0;
}

void Assumed::shown(const State& state, Value value) {
  if (outputs_.empty()) return;
  for (const uint32_t one : closure(state, {value})) outputs_.erase(one);
}

std::optional<Value> Assumed::item(Values& values, Value outputs, int64_t index) {
  if (!is_outputs(outputs) || index < 0 || index > most_) return std::nullopt;
  const auto [it, is_new] = items_.try_emplace({outputs.value, index}, Value());
  if (is_new) it->second = values.fresh(Kind::Unknown, values.name("an output"));
  return it->second;
}

Value Assumed::outlives(const Values& values, const State& state, Value callee) const {
  std::unordered_set<uint32_t> in_a = held(values, state, Side::A);
  for (const auto& [key, item] : items_) {
    if (in_a.count(key.first)) in_a.insert(item.value);
  }
  for (auto it = objects_.find(callee.value); it != objects_.end();
       it = objects_.find(it->second.value)) {
    if (!in_a.insert(it->second.value).second) break;
  }
  for (const uint32_t one : held(values, state, Side::B)) {
    const Kind kind = values[Value(one)].kind;
    const bool is_object = kind == Kind::Unknown || kind == Kind::Maybe;
    if (is_object && !in_a.count(one)) return Value(one);
  }
  return {};
}

}  // namespace pellucid::verify
