// SPDX-License-Identifier: Apache-2.0
#include "verify/assumptions/assumed.h"

namespace pellucid::verify {

using bytecode::Op;

Assumed::Assumed(Values& values, const object::Facts& facts, int64_t most)
    : any_(!facts.empty()), most_(most), lifetimes_(values, facts.owned) {
  const auto number = [&](const std::vector<std::string>& names, Names& into) {
    for (const std::string& name : names) into.insert(values.name(name).value);
  };
  number(facts.steady, steady_);
  number(facts.apart, apart_);
  number(facts.reads, reads_);
  number(facts.graphs, graphs_);
  number(facts.objects, givers_);
  number(facts.makers, makers_);
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
  found_.clear();
  todo_.assign(1, value);
  closure(state, todo_, found_, [&](Value one) { outputs_.erase(one.value); });
}

std::optional<Value> Assumed::item(Values& values, Value outputs, int64_t index) {
  if (!is_outputs(outputs) || index < 0 || index > most_) return std::nullopt;
  const auto [it, is_new] = items_.try_emplace({outputs.value, index}, Value());
  if (is_new) {
    it->second = values.fresh(Kind::Unknown, values.name("an output"));
    lifetimes_.keeps(outputs, it->second);
  }
  return it->second;
}

}  // namespace pellucid::verify
