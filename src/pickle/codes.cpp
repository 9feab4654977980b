// SPDX-License-Identifier: Apache-2.0
#include "pickle/codes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "object/utf8.h"
#include "pickle/constructor.h"
#include "pickle/fold.h"
#include "pickle/functions.h"
#include "pickle/marshal.h"
#include "pickle/names.h"

namespace pellucid::pickle {

namespace {

constexpr size_t kLeastBytes = 40;  // no code object is shorter
constexpr size_t kMostNames = 300;  // of a code object, for what surrounds it
constexpr size_t kLongestName = 200;
// The limit for all code objects of a pickle together: they may share everything.
constexpr size_t kMinOutput = size_t{1} << 20;
constexpr size_t kOutputPerByte = 64;

bool begins_like_code(std::string_view bytes) {
  if (bytes.size() < kLeastBytes) return false;
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  if ((byte(0) & 0x7f) == 'c') return true;
  return bytes[2] == '\r' && bytes[3] == '\n' && (byte(16) & 0x7f) == 'c';
}

// Base 64 of something that begins with the type byte of a code object.
bool begins_like_base64(std::string_view text) {
  return text.size() >= kLeastBytes && (text.starts_with("4w") || text.starts_with("Yw"));
}

class CodeFinder {
 public:
  CodeFinder(Graph& graph, const StandIns& stand_ins) : graph_(graph), stand_ins_(stand_ins) {
    for (const Effect& effect : graph.effects) {
      if (effect.kind == Effect::Kind::Call) offsets_.emplace(effect.value.value, effect.offset);
    }
  }

  std::vector<FoundCode> run() {
    find_constructors();
    find_bytes();
    find_nested();
    const Functions functions = functions_of(graph_, is_code_);
    for (const Function& function : functions.list) {
      const uint32_t id = resolved(function.code).value;
      described_.emplace(id, &function);
      ++functions_of_[id];
    }
    std::vector<FoundCode> found;
    for (const auto& [id, parts] : in_order()) {
      const auto described = described_.find(id);
      const Function* const function = described == described_.end() ? nullptr : described->second;
      if (nested_.contains(id) && function == nullptr) {
        FoundCode nested;
        nested.value = ValueId(id);
        nested.offset = offset_of(ValueId(id));
        nested.is_nested = true;
        found.push_back(std::move(nested));
        continue;
      }
      found.push_back(parts.is_too_old ? too_old(ValueId(id), parts)
                                       : constructed(ValueId(id), parts));
      complete(functions, function, names_of(parts), found.back());
    }
    for (auto& [id, code] : bytes_) {
      code.is_claimed = claimed_.contains(id);
      const auto described = described_.find(id);
      complete(functions, described == described_.end() ? nullptr : described->second, {}, code);
      found.push_back(std::move(code));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const FoundCode& a, const FoundCode& b) { return a.offset < b.offset; });
    return found;
  }

 private:
  void find_constructors() {
    const size_t count = graph_.values.size();
    for (size_t i = 0; i < count; ++i) {
      if (graph_.values[i].kind != Kind::Call) continue;
      const auto parts = code_of_call(graph_, ValueId(i));
      if (!parts) continue;
      codes_.emplace(static_cast<uint32_t>(i), *parts);
      is_code_.insert(static_cast<uint32_t>(i));
    }
  }

  // Finds marshalled code: in bytes and texts, and in what calls make of them.
  void find_bytes() {
    const size_t count = graph_.values.size();
    for (size_t i = 0; i < count; ++i) {
      const ValueId id(i);
      const Kind kind = graph_[id].kind;
      if (kind == Kind::Bytes || kind == Kind::ByteArray) {
        add_bytes(id, graph_.text(id), place_of(id));
      } else if (kind == Kind::Str && begins_like_base64(graph_.text(id))) {
        add_bytes(id, base64_decoded(graph_.text(id)), place_of(id));
      } else if (kind == Kind::Call) {
        look_at_call(id);
      }
    }
  }
  void look_at_call(ValueId call) {
    const ValueId made = folded(graph_, call);
    if (graph_[made].kind == Kind::Bytes) {
      add_bytes(made, graph_.text(made), offset_of(call));
      loads_.emplace(call.value, made);
      return;
    }
    // marshal.loads(bytes)
    const ValueId arguments = graph_.item(call, 1);
    const ValueId first =
        graph_[arguments].kind == Kind::Tuple ? graph_.item(arguments, 0) : ValueId();
    if (!first.valid() || !bytes_of_.contains(resolved(first).value)) return;
    is_code_.insert(call.value);
    loads_.emplace(call.value, resolved(first));
    if (path_of(graph_, graph_.item(call, 0)) == "marshal.loads") {
      claimed_.insert(resolved(first).value);
    }
  }
  void add_bytes(ValueId id, std::string_view bytes, uint64_t offset) {
    if (!begins_like_code(bytes) || bytes_of_.contains(id.value)) return;
    FoundCode code;
    code.value = id;
    code.offset = offset;
    code.bytes.assign(bytes.begin(), bytes.end());
    if (!spend(code.bytes.size())) return;
    bytes_of_.insert(id.value);
    bytes_.emplace_back(id.value, std::move(code));
  }
  uint64_t place_of(ValueId id) const {
    return graph_[id].is_own ? graph_.start : static_cast<uint64_t>(graph_[id].number);
  }
  uint64_t offset_of(ValueId call) const {
    const auto found = offsets_.find(call.value);
    return found == offsets_.end() ? graph_.start : found->second;
  }
  // Returns the bytes that a call makes or gets, or the value itself.
  ValueId resolved(ValueId code) const {
    const auto found = loads_.find(code.value);
    return found == loads_.end() ? code : found->second;
  }

  // Finds the code objects in the constants of others: they come with those.
  void find_nested() {
    std::unordered_set<uint32_t> seen;
    std::vector<ValueId> todo;
    for (const auto& [id, parts] : codes_) {
      if (parts.is_too_old) continue;
      todo.push_back(parts.consts);
      if (graph_[parts.consts].kind == Kind::Tuple) bytecode_.insert(parts.bytecode.value);
    }
    while (!todo.empty()) {
      const ValueId id = todo.back();
      todo.pop_back();
      if (!seen.insert(id.value).second) continue;
      if (codes_.contains(id.value)) nested_.insert(id.value);
      const Kind kind = graph_[id].kind;
      if (kind != Kind::Tuple && kind != Kind::FrozenSet && kind != Kind::List) continue;
      for (const ValueId item : graph_.items(id)) todo.push_back(item);
    }
    // The instructions of a code object are no code objects, whatever they begin like.
    std::erase_if(bytes_, [&](const auto& each) { return bytecode_.contains(each.first); });
  }

  std::vector<std::pair<uint32_t, CodeParts>> in_order() const {
    std::vector<std::pair<uint32_t, CodeParts>> list(codes_.begin(), codes_.end());
    std::sort(list.begin(), list.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return list;
  }

  bool spend(size_t size) {
    spent_ += size;
    return spent_ <= limit();
  }
  size_t limit() const { return kMinOutput + kOutputPerByte * graph_.input.size(); }

  FoundCode too_old(ValueId id, const CodeParts& parts) const {
    FoundCode code;
    code.value = id;
    code.layout = Layout::Until310;
    code.offset = offset_of(id);
    code.name = object::front_of(graph_.text(parts.name), kLongestName);
    code.refusal = "code of CPython 3.7 or older";
    return code;
  }

  FoundCode constructed(ValueId id, const CodeParts& parts) {
    FoundCode code;
    code.value = id;
    code.offset = offset_of(id);
    code.layout = parts.is_since_311 ? Layout::Since311 : Layout::Until310;
    const ValueId name = parts.qualname.valid() ? parts.qualname : parts.name;
    code.name = object::front_of(graph_.text(name), kLongestName);
    const size_t left = limit() > spent_ ? limit() - spent_ : 0;
    Result<std::vector<uint8_t>> made = marshalled(graph_, codes_, id, left, stand_ins_);
    if (made.ok()) {
      code.bytes = std::move(*made);
      spend(code.bytes.size());
    } else {
      code.refusal = made.error().message;
    }
    return code;
  }

  VariableNames names_of(const CodeParts& parts) const {
    VariableNames names;
    if (parts.is_too_old) return names;
    const auto texts = [&](ValueId tuple) {
      std::vector<std::string> list;
      for (const ValueId id : graph_.items(tuple, kMostNames)) {
        list.emplace_back(object::front_of(graph_.text(id), kLongestName));
      }
      return list;
    };
    names.positional = texts(parts.varnames);
    const auto count = static_cast<size_t>(std::max(parts.numbers[0], 0));
    if (names.positional.size() > count) names.positional.resize(count);
    names.free = texts(parts.freevars);
    return names;
  }

  void complete(const Functions& functions, const Function* function, const VariableNames& names,
                FoundCode& code) const {
    if (function == nullptr) return;
    const std::string name = name_of(graph_, *function);
    if (!name.empty()) code.name = name;
    code.about = about(graph_, functions, *function, names);
    const size_t count = functions_of_.at(resolved(function->code).value);
    if (count > 1) {
      code.about.push_back("the first of " + std::to_string(count) + " functions with this code");
    }
  }

  Graph& graph_;
  const StandIns& stand_ins_;
  std::unordered_map<uint32_t, uint64_t> offsets_;
  CodeCalls codes_;
  std::unordered_set<uint32_t> is_code_;
  std::unordered_set<uint32_t> bytes_of_;
  std::vector<std::pair<uint32_t, FoundCode>> bytes_;
  std::unordered_map<uint32_t, ValueId> loads_;
  std::unordered_set<uint32_t> nested_, bytecode_, claimed_;
  std::unordered_map<uint32_t, const Function*> described_;  // the first of each code object
  std::unordered_map<uint32_t, size_t> functions_of_;
  size_t spent_ = 0;
};

}  // namespace

std::vector<FoundCode> codes_of(Graph& graph, const StandIns& stand_ins) {
  return CodeFinder(graph, stand_ins).run();
}

}  // namespace pellucid::pickle
