// SPDX-License-Identifier: Apache-2.0
#include "pickle/marshal.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <unordered_set>

#include "pickle/fold.h"
#include "pickle/names.h"
#include "pickle/text.h"

namespace pellucid::pickle {

namespace {

constexpr int kDeepestConstant = 200;  // values in each other
constexpr uint8_t kFlagRef = 0x80;
// CPython's CO_FAST_* bits of a variable.
enum SlotBit : uint8_t { kLocal = 0x20, kCell = 0x40, kFree = 0x80 };

class CodeWriter {
 public:
  CodeWriter(Graph& graph, const CodeCalls& codes, size_t limit, const StandIns& stand_ins)
      : graph_(graph), codes_(codes), limit_(limit), stand_ins_(stand_ins) {}

  Result<std::vector<uint8_t>> run(ValueId call) {
    if (!write(call, kDeepestConstant)) return error_;
    return std::move(out_);
  }

 private:
  bool fail(std::string message, ErrorCode code = ErrorCode::Unsupported) {
    error_ = {code, 0, std::move(message)};
    return false;
  }

  void byte(uint8_t value) { out_.push_back(value); }
  void number(uint32_t value) {
    for (int i = 0; i < 4; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
  }
  void long_number(uint64_t value) {
    for (int i = 0; i < 8; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
  }
  bool counted(std::string_view text) {
    if (out_.size() + text.size() > limit_) {
      return fail("the code objects of this pickle share too much", ErrorCode::Limit);
    }
    number(static_cast<uint32_t>(text.size()));
    out_.insert(out_.end(), text.begin(), text.end());
    return true;
  }

  // Writes the type of a value that may be referred to.
  void type(char letter, ValueId id) {
    byte(static_cast<uint8_t>(letter) | kFlagRef);
    refs_.emplace(id.value, static_cast<uint32_t>(refs_.size()));
  }

  bool write(ValueId id, int depth) {
    if (depth == 0) return fail("constants that are nested too deep", ErrorCode::Limit);
    if (out_.size() > limit_) return counted(std::string_view());
    id = folded(graph_, id);
    if (const auto known = refs_.find(id.value); known != refs_.end()) {
      if (open_.contains(id.value)) return fail("a constant that holds itself");
      byte('r');
      number(known->second);
      return true;
    }
    const Value value = graph_[id];
    switch (value.kind) {
      case Kind::None:
        byte('N');
        return true;
      case Kind::False:
        byte('F');
        return true;
      case Kind::True:
        byte('T');
        return true;
      case Kind::Int:
        return integer(value.number);
      case Kind::BigInt:
        return big_integer(graph_.text(id));
      case Kind::Float:
        byte('g');
        long_number(static_cast<uint64_t>(value.number));
        return true;
      case Kind::Str:
        type('u', id);
        return counted(graph_.text(id));
      case Kind::Bytes:
        type('s', id);
        return counted(graph_.text(id));
      case Kind::Tuple:
        return items('(', id, graph_.items(id), depth);
      case Kind::List:
        return items('[', id, graph_.items(id), depth);
      case Kind::Set:
        return items('<', id, graph_.items(id), depth);
      case Kind::FrozenSet:
        return items('>', id, graph_.items(id), depth);
      case Kind::Global:
        if (path_of(graph_, id) != "builtins.Ellipsis") return unknown(id);
        byte('.');
        return true;
      case Kind::Call:
        return call(id, depth);
      default:
        return unknown(id);
    }
  }

  bool unknown(ValueId id) {
    if (const auto stand_in = stand_ins_.find(id.value); stand_in != stand_ins_.end()) {
      type('u', id);
      return counted(stand_in->second);
    }
    return fail("a constant is " + repr(graph_, id, 60) + ", which only loading can make");
  }

  bool integer(int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
      byte('i');
      number(static_cast<uint32_t>(value));
      return true;
    }
    const bool is_negative = value < 0;
    const auto magnitude =
        is_negative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(magnitude >> (8 * i) & 0xff);
    return digits(bytes, is_negative);
  }

  bool big_integer(std::string_view bytes) {
    std::string magnitude(bytes);
    const bool is_negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
    if (is_negative) {
      unsigned carry = 1;
      for (char& each : magnitude) {
        const unsigned sum = (~static_cast<unsigned char>(each) & 0xffu) + carry;
        each = static_cast<char>(sum);
        carry = sum >> 8;
      }
      if (carry != 0) magnitude += '\1';
    }
    return digits(magnitude, is_negative);
  }

  // Writes a number in base 2**15; the sign is that of the count.
  bool digits(std::string_view magnitude, bool is_negative) {
    std::vector<uint16_t> list;
    uint32_t pending = 0;
    unsigned bits = 0;
    for (const char each : magnitude) {
      pending |= static_cast<uint32_t>(static_cast<uint8_t>(each)) << bits;
      for (bits += 8; bits >= 15; bits -= 15, pending >>= 15) {
        list.push_back(static_cast<uint16_t>(pending & 0x7fff));
      }
    }
    list.push_back(static_cast<uint16_t>(pending));
    while (!list.empty() && list.back() == 0) list.pop_back();
    if (out_.size() + 2 * list.size() > limit_) return fail("too large", ErrorCode::Limit);
    byte('l');
    const auto count = static_cast<uint32_t>(list.size());
    number(is_negative ? ~count + 1 : count);
    for (const uint16_t digit : list) {
      byte(static_cast<uint8_t>(digit));
      byte(static_cast<uint8_t>(digit >> 8));
    }
    return true;
  }

  bool items(char letter, ValueId id, const std::vector<ValueId>& list, int depth) {
    type(letter, id);
    open_.insert(id.value);
    number(static_cast<uint32_t>(list.size()));
    for (const ValueId item : list) {
      if (!write(item, depth - 1)) return false;
    }
    open_.erase(id.value);
    return true;
  }

  // Writes what a call makes: a code object, or a value of a built-in type.
  bool call(ValueId id, int depth) {
    if (const auto code = codes_.find(id.value); code != codes_.end()) {
      type('c', id);
      open_.insert(id.value);
      if (!write_code(code->second, depth)) return false;
      open_.erase(id.value);
      return true;
    }
    const std::string path = path_of(graph_, graph_.item(id, 0));
    const std::vector<ValueId> arguments = graph_.items(graph_.item(id, 1), 4);
    const bool is_ellipsis =
        path == "dill._eval_repr" && !arguments.empty() && graph_.text(arguments[0]) == "Ellipsis";
    if (is_ellipsis) {
      byte('.');
      return true;
    }
    if (path == "builtins.complex" && arguments.size() == 2) return complex(id, arguments);
    if (path == "builtins.slice" && arguments.size() == 3) {
      type(':', id);
      return std::all_of(arguments.begin(), arguments.end(),
                         [&](ValueId part) { return write(part, depth - 1); });
    }
    if ((path == "builtins.frozenset" || path == "builtins.set") && arguments.size() == 1) {
      const ValueId list = folded(graph_, arguments[0]);
      const Kind kind = graph_[list].kind;
      if (kind == Kind::List || kind == Kind::Tuple) {
        return items(path == "builtins.set" ? '<' : '>', id, graph_.items(list), depth);
      }
    }
    return unknown(id);
  }

  bool complex(ValueId id, const std::vector<ValueId>& parts) {
    if (graph_[parts[0]].kind != Kind::Float || graph_[parts[1]].kind != Kind::Float) {
      return unknown(id);
    }
    byte('y');
    for (const ValueId part : parts) long_number(static_cast<uint64_t>(graph_[part].number));
    return true;
  }

  bool write_code(const CodeParts& parts, int depth) {
    if (parts.is_too_old) return fail("code of CPython 3.7 or older");
    const auto all = [&](std::initializer_list<ValueId> list) {
      return std::all_of(list.begin(), list.end(),
                         [&](ValueId part) { return write(part, depth - 1); });
    };
    for (size_t i = 0; i < parts.numbers.size(); ++i) {
      const bool is_nlocals = i == 3;
      if (!is_nlocals || !parts.is_since_311) number(static_cast<uint32_t>(parts.numbers[i]));
    }
    if (!all({parts.bytecode, parts.consts, parts.names})) return false;
    if (parts.is_since_311) {
      if (!variables(parts) || !all({parts.filename, parts.name, parts.qualname})) return false;
    } else if (!all({parts.varnames, parts.freevars, parts.cellvars, parts.filename, parts.name})) {
      return false;
    }
    number(static_cast<uint32_t>(parts.firstlineno));
    return all({parts.linetable}) && (!parts.is_since_311 || all({parts.exceptiontable}));
  }

  // Writes the names and kinds of all variables, as 3.11 and newer keep them.
  bool variables(const CodeParts& parts) {
    std::unordered_set<std::string_view> cells;
    std::unordered_set<std::string_view> locals;
    for (const ValueId name : graph_.items(parts.cellvars)) cells.insert(graph_.text(name));
    std::string kinds;
    std::vector<ValueId> names;
    const auto add = [&](ValueId name, int kind) {
      names.push_back(name);
      kinds += static_cast<char>(kind);
    };
    for (const ValueId name : graph_.items(parts.varnames)) {
      locals.insert(graph_.text(name));
      add(name, kLocal | (cells.contains(graph_.text(name)) ? kCell : 0));
    }
    for (const ValueId name : graph_.items(parts.cellvars)) {
      if (!locals.contains(graph_.text(name))) add(name, kCell);
    }
    for (const ValueId name : graph_.items(parts.freevars)) add(name, kFree);
    byte('(');
    number(static_cast<uint32_t>(names.size()));
    for (const ValueId name : names) {
      if (!write(name, kDeepestConstant)) return false;
    }
    byte('s');
    return counted(kinds);
  }

  Graph& graph_;
  const CodeCalls& codes_;
  size_t limit_;
  const StandIns& stand_ins_;
  std::vector<uint8_t> out_;
  std::unordered_map<uint32_t, uint32_t> refs_;
  std::unordered_set<uint32_t> open_;  // what holds the value that is written
  Error error_;
};

}  // namespace

Result<std::vector<uint8_t>> marshalled(Graph& graph, const CodeCalls& codes, ValueId call,
                                        size_t limit, const StandIns& stand_ins) {
  return CodeWriter(graph, codes, limit, stand_ins).run(call);
}

}  // namespace pellucid::pickle
