// SPDX-License-Identifier: Apache-2.0
#include "pickle/text.h"

#include <bit>
#include <charconv>
#include <cstdio>

#include "object/repr.h"
#include "object/utf8.h"

namespace pellucid::pickle {

namespace {

constexpr int kDeepestText = 8;      // containers in each other, in one text
constexpr size_t kLongestText = 60;  // characters of one string
constexpr size_t kLongestBytes = 16;
constexpr size_t kMostItems = 64;  // of one container

std::string float_text(int64_t bits) {
  const auto value = std::bit_cast<double>(bits);
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  const std::string made(text);
  return made.find_first_of(".en") == std::string::npos ? made + ".0" : made;
}

// Returns the digits of two's complement, least significant byte first.
std::string big_text(std::string_view bytes) {
  std::string made = "0x";
  char digits[3];
  const size_t shown = std::min<size_t>(bytes.size(), 40);
  for (size_t i = 0; i < shown; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[bytes.size() - 1 - i]);
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte));
    made += digits;
  }
  return shown < bytes.size() ? made + "..." : made;
}

std::string quoted(std::string_view text, bool is_bytes) {
  const size_t most = is_bytes ? kLongestBytes : kLongestText;
  std::string made;
  if (is_bytes) {
    made = "b" + object::repr_of_text(object::utf8_of_latin1(text.substr(0, most)));
  } else {
    made = object::repr_of_text(object::front_of(text, most));
  }
  return text.size() > most ? made + "... (" + std::to_string(text.size()) + " bytes)" : made;
}

class ValueWriter {
 public:
  ValueWriter(const Graph& graph, size_t most) : graph_(graph), most_(most) {}

  std::string run(ValueId id) {
    write(id, kDeepestText);
    return std::move(out_);
  }

 private:
  void write(ValueId id, int depth) {
    if (!id.valid()) return add("?");
    if (depth == 0 || out_.size() > most_) return add("...");
    const Value& value = graph_[id];
    switch (value.kind) {
      case Kind::None:
        return add("None");
      case Kind::False:
        return add("False");
      case Kind::True:
        return add("True");
      case Kind::Int:
        return add(std::to_string(value.number));
      case Kind::BigInt:
        return add(big_text(graph_.text(id)));
      case Kind::Float:
        return add(float_text(value.number));
      case Kind::Str:
        return add(quoted(graph_.text(id), false));
      case Kind::Bytes:
        return add(quoted(graph_.text(id), true));
      case Kind::ByteArray:
        return add("bytearray(" + quoted(graph_.text(id), true) + ")");
      case Kind::Tuple:
        return tuple(id, depth);
      case Kind::List:
        return list("[", id, "]", depth);
      case Kind::Dict:
        return dict(id, depth);
      case Kind::Set:
        return list("{", id, "}", depth);
      case Kind::FrozenSet:
        return list("frozenset({", id, "})", depth);
      case Kind::Global:
        return global(id, depth);
      case Kind::Call:
        return call(id, depth);
      case Kind::Persistent:
        return list("persistent_load(", id, ")", depth);
      case Kind::Extension:
        return add("extension " + std::to_string(value.number));
      case Kind::Buffer:
        return add("buffer " + std::to_string(value.number));
      case Kind::Array:
        return add("array");
      case Kind::State:
      case Kind::Appended:
      case Kind::Stored:
      case Kind::Added:
        return list("", id, "", depth);
    }
  }

  void add(std::string_view text) { out_ += text; }

  void list(std::string_view open, ValueId id, std::string_view close, int depth) {
    add(open);
    const std::vector<ValueId> items = graph_.items(id, kMostItems + 1);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) add(", ");
      if (i == kMostItems || out_.size() > most_) {
        add("...");
        break;
      }
      write(items[i], depth - 1);
    }
    add(close);
  }

  void tuple(ValueId id, int depth) {
    const bool is_one = graph_.items(id, 2).size() == 1;
    list("(", id, is_one ? ",)" : ")", depth);
  }

  void dict(ValueId id, int depth) {
    add("{");
    const std::vector<ValueId> items = graph_.items(id, 2 * kMostItems);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (i > 0) add(", ");
      if (out_.size() > most_) {
        add("...");
        break;
      }
      write(items[i], depth - 1);
      add(": ");
      write(items[i + 1], depth - 1);
    }
    add("}");
  }

  // A name as it is in the pickle: visible characters only.
  void name(ValueId id, int depth) {
    if (id.valid() && graph_[id].kind == Kind::Str) {
      return add(object::on_one_line(object::front_of(graph_.text(id), kLongestText)));
    }
    add("<");
    write(id, depth - 1);
    add(">");
  }

  void global(ValueId id, int depth) {
    name(graph_.item(id, 0), depth);
    add(".");
    name(graph_.item(id, 1), depth);
  }

  // Returns the name of the code object that these arguments make; empty if they make none.
  std::string code_name(ValueId arguments) const {
    constexpr size_t kLeast = 14;
    constexpr size_t kMost = 24;
    if (graph_[arguments].kind != Kind::Tuple) return {};
    const std::vector<ValueId> items = graph_.items(arguments, kMost + 1);
    if (items.size() < kLeast || items.size() > kMost) return {};
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      if (graph_[*item].kind != Kind::Str) continue;
      return object::on_one_line(object::front_of(graph_.text(*item), kLongestText));
    }
    return {};
  }

  void call(ValueId id, int depth) {
    const Value& value = graph_[id];
    write(graph_.item(id, 0), depth - 1);
    if (value.form == Form::New || value.form == Form::NewEx) add(".__new__");
    const ValueId arguments = graph_.item(id, 1);
    if (const std::string code = code_name(arguments); !code.empty()) {
      add("(<code " + code + ">");
    } else if (graph_[arguments].kind == Kind::Tuple) {
      list("(", arguments, "", depth);
    } else {
      add("(*");
      write(arguments, depth - 1);
    }
    if (value.form == Form::NewEx) {
      add(", **");
      write(graph_.item(id, 2), depth - 1);
    }
    add(")");
  }

  const Graph& graph_;
  size_t most_;
  std::string out_;
};

std::string_view word_of(Effect::Kind kind) {
  switch (kind) {
    case Effect::Kind::Import:
      return "import";
    case Effect::Kind::Call:
      return "call";
    case Effect::Kind::State:
      return "state";
    case Effect::Kind::Append:
      return "append";
    case Effect::Kind::Store:
      return "store";
    case Effect::Kind::Add:
      return "add";
    case Effect::Kind::Persistent:
      return "persistent id";
    case Effect::Kind::Extension:
      return "extension";
    case Effect::Kind::Buffer:
      return "buffer";
  }
  return "";
}

// Decides what a call means.
void judge_call(const Graph& graph, const Effect& effect, Act& act) {
  const ValueId function = graph.item(effect.value, 0);
  act.name = path_of(graph, function);
  if (!act.name.empty()) {
    const Meaning meaning = meaning_of(act.name);
    act.danger = meaning.danger;
    act.why = meaning.words;
  } else if (graph[function].kind == Kind::Call || graph[function].kind == Kind::Global) {
    act.danger = Danger::Runs;
    act.why = "calls what an earlier call returned";
  }
}

}  // namespace

std::string hex_text(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string repr(const Graph& graph, ValueId id, size_t most) {
  return ValueWriter(graph, most).run(id);
}

Act act_of(const Graph& graph, const Effect& effect) {
  Act act;
  act.offset = effect.offset;
  act.kind = word_of(effect.kind);
  const std::string value = repr(graph, effect.value);
  switch (effect.kind) {
    case Effect::Kind::Import: {
      act.name = path_of(graph, effect.value);
      act.text = "imports " + value;
      if (act.name.empty()) {
        act.danger = Danger::Runs;
        act.why = "imports a name that an earlier call returned";
        break;
      }
      const Meaning meaning = meaning_of(act.name);
      act.danger = meaning.danger;
      act.why = meaning.words;
      break;
    }
    case Effect::Kind::Call:
      judge_call(graph, effect, act);
      act.text = "calls " + value;
      break;
    case Effect::Kind::State: {
      const bool is_module_level = graph[effect.value].kind == Kind::Global;
      act.text = "sets the state of " + value + " to " + repr(graph, effect.detail);
      act.danger = is_module_level ? Danger::Runs : Danger::None;
      act.why =
          is_module_level ? "changes an imported object" : "calls __setstate__ if there is one";
      break;
    }
    case Effect::Kind::Append:
      act.text = "appends " + repr(graph, effect.detail) + " to " + value;
      break;
    case Effect::Kind::Store:
      act.text = "stores " + repr(graph, effect.detail) + " in " + value;
      break;
    case Effect::Kind::Add:
      act.text = "adds " + repr(graph, effect.detail) + " to " + value;
      break;
    case Effect::Kind::Persistent:
      act.text = "asks the program for " + value;
      break;
    case Effect::Kind::Extension:
      act.text = "looks up " + value + " in the registry of copyreg";
      break;
    case Effect::Kind::Buffer:
      act.text = "takes " + value + " from the program";
      break;
  }
  return act;
}

namespace {

constexpr size_t kLineOfDump = 400;

std::string line_of(const Graph& graph, ValueId id) {
  const Kind kind = graph[id].kind;
  if (graph.is_text(id) || kind <= Kind::Float) return repr(graph, id, kLineOfDump);
  std::string_view word;
  switch (kind) {
#define WORD(name, text) \
  case Kind::name:       \
    word = text;         \
    break;
    WORD(Tuple, "tuple")
    WORD(List, "list")
    WORD(Dict, "dict")
    WORD(Set, "set")
    WORD(FrozenSet, "frozenset")
    WORD(Global, "global")
    WORD(Call, "call")
    WORD(Persistent, "persistent")
    WORD(State, "state")
    WORD(Appended, "appended")
    WORD(Stored, "stored")
    WORD(Added, "added")
#undef WORD
    default:
      return repr(graph, id, kLineOfDump);
  }
  std::string line(word);
  if (kind == Kind::Call) {
    constexpr std::string_view kForms[] = {"", " new", " new with keywords", " instance"};
    line += kForms[static_cast<size_t>(graph[id].form)];
  }
  for (const ValueId item : graph.items(id)) line += " v" + std::to_string(item.value);
  return line;
}

}  // namespace

std::string dump(const Graph& graph) {
  std::string out = "pickle at byte " + hex_text(graph.start) + " to " + hex_text(graph.end) +
                    ", protocol " + std::to_string(graph.protocol) + '\n';
  for (size_t i = 0; i < graph.values.size(); ++i) {
    out += "  v" + std::to_string(i) + " = " + line_of(graph, ValueId(i)) + '\n';
  }
  if (graph.result.valid()) out += "  result " + repr(graph, graph.result, kLineOfDump) + '\n';
  for (const Effect& effect : graph.effects) {
    const Act act = act_of(graph, effect);
    out += "  at byte " + hex_text(act.offset) + ": " + act.text;
    if (act.danger == Danger::Runs) out += " (" + act.why + ')';
    out += '\n';
  }
  for (const std::string& note : graph.notes) out += "  note: " + note + '\n';
  if (graph.has_failed) {
    out +=
        "  fails at byte " + hex_text(graph.failure.offset) + ": " + graph.failure.message + '\n';
  }
  return out;
}

}  // namespace pellucid::pickle
