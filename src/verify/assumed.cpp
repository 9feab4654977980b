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
  for (const std::string& name : facts.owned) {
    const bool is_of_items = name.ends_with("[]");
    const std::string attribute = name.substr(0, name.size() - (is_of_items ? 2 : 0));
    (is_of_items ? owned_items_ : owned_).insert(values.name(attribute).value);
  }
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

void Assumed::loaded(Value attribute, Value object, Name name) {
  objects_[attribute.value] = object;
  if (owned_.count(name.value)) owners_[attribute.value] = object;
  if (owned_items_.count(name.value)) keepers_.insert(attribute.value);
}

void Assumed::taken(Value item, Value container) {
  if (keepers_.count(container.value)) owners_[item.value] = container;
}

// Owners are older than what they own, so this comes to an end.
bool Assumed::is_owned(uint32_t value, const std::unordered_set<uint32_t>& held) const {
  for (auto it = owners_.find(value); it != owners_.end(); it = owners_.find(it->second.value)) {
    if (held.count(it->second.value)) return true;
  }
  return false;
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
    if (is_object && !in_a.count(one) && !is_owned(one, in_a)) return Value(one);
  }
  return {};
}

}  // namespace pellucid::verify
