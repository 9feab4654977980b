#include "verify/assumed.h"

#include "verify/state.h"

namespace pellucid::verify {

namespace {

using bytecode::Op;

// `values` and all that the containers among them hold; those that `found` has already, and what
// is in them, are passed by.
template <typename F>
void closure(const State& state, std::vector<Value>& values, Marks& found, F visit) {
  while (!values.empty()) {
    const Value value = values.back();
    values.pop_back();
    if (!found.insert(value.value)) continue;
    visit(value);
    const Container* container = state.container(value);
    if (container == nullptr) continue;
    values.insert(values.end(), container->items.begin(), container->items.end());
  }
}

// What a frame refers to itself.
void add_roots(const Values& values, const Half& half, std::vector<Value>& roots) {
  roots.insert(roots.end(), half.stack.begin(), half.stack.end());
  half.locals.for_each([&](Value value) {
    // Of the thousand locals of a large function most are unbound at any time.
    if (!values.is(value, Kind::Null)) roots.push_back(value);
  });
  roots.insert(roots.end(), half.exceptions.begin(), half.exceptions.end());
  for (Value& value : roots) {
    if (values.is(value, Kind::Method)) value = Value(values[value].x);
  }
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
bool Assumed::is_owned(uint32_t value, const Marks& held) const {
  for (auto it = owners_.find(value); it != owners_.end(); it = owners_.find(it->second.value)) {
    if (held.has(it->second.value)) return true;
  }
  return false;
}

void Assumed::shown(const State& state, Value value) {
  if (outputs_.empty()) return;
  found_.clear();
  roots_.assign(1, value);
  closure(state, roots_, found_, [&](Value one) { outputs_.erase(one.value); });
}

std::optional<Value> Assumed::item(Values& values, Value outputs, int64_t index) {
  if (!is_outputs(outputs) || index < 0 || index > most_) return std::nullopt;
  const auto [it, is_new] = items_.try_emplace({outputs.value, index}, Value());
  if (is_new) it->second = values.fresh(Kind::Unknown, values.name("an output"));
  return it->second;
}

Value Assumed::outlives(const Values& values, const State& state, Value callee) {
  found_.clear();
  add_roots(values, state[Side::A], roots_);
  closure(state, roots_, found_, [](Value) {});
  for (const auto& [key, item] : items_) {
    if (found_.has(key.first)) found_.insert(item.value);
  }
  for (auto it = objects_.find(callee.value); it != objects_.end();
       it = objects_.find(it->second.value)) {
    if (!found_.insert(it->second.value)) break;
  }
  seen_.clear();
  add_roots(values, state[Side::B], roots_);
  Value longer;
  closure(state, roots_, seen_, [&](Value one) {
    const Kind kind = values[one].kind;
    const bool is_object = kind == Kind::Unknown || kind == Kind::Maybe;
    if (is_object && !found_.has(one.value) && !is_owned(one.value, found_)) longer = one;
  });
  return longer;
}

}  // namespace pellucid::verify
