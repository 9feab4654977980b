#include "bytecode/breaches.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bytecode/raw_table.h"
#include "bytecode/varint.h"

namespace pellucid::bytecode {
namespace {

using object::Code;
using object::LocalKind;

constexpr uint32_t kKinds = object::kGenerator | object::kCoroutine | object::kAsyncGenerator;

// Arguments of RESUME, of YIELD_VALUE in 3.12, and their bits.
constexpr uint32_t kAfterYield = 1;
constexpr uint32_t kAfterYieldFrom = 2;
constexpr uint32_t kAfterAwait = 3;
constexpr uint32_t kOnlyWrapped = 4;     // 3.13+: nothing but the wrapper protects the yield
constexpr uint32_t kOnlyWrapped15 = 8;   // 3.15: the same
constexpr uint32_t kInGenerator = 4;     // 3.15: at the start of a generator expression
constexpr uint32_t kDepthOfWrapper = 1;  // 3.12: the same

// Which results of comparing two numbers make each of Lt, LtE, Eq, NotEq, Gt and GtE true: bits for
// unordered, less, greater and equal.
constexpr uint32_t kMasks[] = {2, 2 | 8, 8, 1 | 2 | 4, 4, 4 | 8};
constexpr uint32_t kToBool = 16;  // in the argument of COMPARE_OP (3.13+)

constexpr uint32_t kOfYieldFrom = 3;         // the argument of GET_ITER (3.15)
constexpr uint32_t kStopIterationError = 3;  // INTRINSIC_STOPITERATION_ERROR
constexpr uint8_t kEntryStart = 128;         // of the first byte of an entry of an exception table

class Finder {
 public:
  Finder(const object::Module& module, const Stream& stream)
      : module_(module),
        code_(module[stream.code]),
        stream_(stream),
        raw_(stream.raw),
        table_(raw_table(code_.version)),
        minor_(code_.version.minor) {}

  std::optional<Breach> run() {
    if (raw_.empty()) return std::nullopt;
    find_targets();
    cover();
    tables();
    prologue();
    for (at_ = 0; at_ < raw_.size() && !found_; ++at_) {
      one(name(at_), raw_[at_].arg);
    }
    exception_table();
    return found_;
  }

 private:
  std::string_view name(size_t index) const {
    return index < raw_.size() ? table_[raw_[index].opcode].name : "";
  }
  // Of what only control from the instruction before gets to.
  std::string_view name_after(size_t index) const {
    return index < raw_.size() && !is_target_[index] ? name(index) : "";
  }
  bool is_extended(size_t index) const { return raw_[index].start != raw_[index].offset; }

  void say(std::string what, uint32_t offset) {
    if (!found_) found_ = Breach{std::move(what), offset};
  }
  void say(const std::string& what) {
    say(std::string(name(at_)) + ' ' + std::to_string(raw_[at_].arg) + ": " + what,
        raw_[at_].offset);
  }
  void hold(bool holds, const char* what) {
    if (!holds) say(what);
  }

  void find_targets() {
    is_target_.assign(raw_.size() + 1, false);
    std::unordered_set<int64_t> targets;
    for (const RawInstr& instr : raw_) targets.insert(instr.target);
    for (const ExceptionEntry& entry : stream_.exceptions) {
      is_target_[stream_.instrs[entry.target].raw] = true;
    }
    for (size_t i = 0; i < raw_.size(); ++i) {
      if (targets.contains(raw_[i].start)) is_target_[i] = true;
    }
  }

  // What protects each raw instruction: the raw instruction that its handler starts with.
  void cover() {
    handler_.assign(raw_.size(), kNoHandler);
    for (const ExceptionEntry& entry : stream_.exceptions) {
      for (uint32_t i = entry.begin; i < entry.end; ++i) {
        handler_[stream_.instrs[i].raw] = stream_.instrs[entry.target].raw;
      }
    }
  }
  bool is_protected_by(size_t index, std::string_view first) const {
    return handler_[index] != kNoHandler && name(handler_[index]) == first;
  }
  bool is_only_wrapped(size_t index) const {
    if (handler_[index] == kNoHandler) return true;
    // (A lambda has no wrapper.)
    const bool is_bare = handler_[handler_[index]] == kNoHandler;
    if (is_bare && is_protected_by(index, "CLEANUP_THROW")) return true;
    return is_protected_by(index, "CALL_INTRINSIC_1") &&
           raw_[handler_[index]].arg == kStopIterationError &&
           name(handler_[index] + 1) == "RERAISE";
  }

  // -- the code object ------------------------------------------------------------------------
  void tables() {
    const size_t parameters = object::parameter_count(code_);
    if (minor_ >= 11) {
      bool after_free = false;
      for (const LocalKind kind : code_.localspluskinds) {
        if (after_free && kind != LocalKind::Free) say("free variables before others", 0);
        after_free = after_free || kind == LocalKind::Free;
      }
    }
    // Until 3.10 an argument that is a cell is moved there.
    for (const Symbol cell : code_.cellvars) {
      const auto local = std::find(code_.varnames.begin(), code_.varnames.end(), cell);
      const auto place = static_cast<size_t>(local - code_.varnames.begin());
      if (local != code_.varnames.end() && place < parameters) is_cell_.insert(cell.value);
    }
    std::unordered_map<uint32_t, size_t> places;
    for (size_t i = 0; i < code_.localsplus.size(); ++i) {
      const auto [other, is_new] = places.emplace(code_.localsplus[i].value, i);
      if (!is_new && !are_told_apart(other->second, i)) say("two variables have one name", 0);
    }
  }

  // Returns true if no instruction means the variable and it never has a value, or is a free
  // variable of a class body, whose locals() leave it out: what only dead code has bound.
  bool is_idle(size_t place) const {
    const bool is_free = code_.localspluskinds[place] == LocalKind::Free;
    if (is_free ? (code_.flags & object::kOptimized) != 0
                : place < object::parameter_count(code_)) {
      return false;
    }
    const size_t locals = minor_ >= 11 ? 0 : code_.varnames.size();
    return std::none_of(raw_.begin(), raw_.end(), [&](const RawInstr& instr) {
      const uint16_t kinds = table_[instr.opcode].kinds;
      const std::string_view op = table_[instr.opcode].name;
      if ((kinds & (kLocal | kFree)) == 0 || op == "MAKE_CELL" || op == "COPY_FREE_VARS")
        return false;
      // LOAD_FAST_LOAD_FAST and its like have two.
      const bool has_two = op.find("FAST") != op.rfind("FAST");
      if (has_two) return instr.arg >> 4 == place || (instr.arg & 15) == place;
      return instr.arg + ((kinds & kFree) != 0 ? locals : 0) == place;
    });
  }

  // A variable that nothing means is no other one's namesake. An inlined comprehension (3.12+) may
  // have a local that is called as a cell around it is, and a class body the cell `__class__`
  // beside one of the function around it: which of the two an instruction means can be told from
  // the instruction.
  bool are_told_apart(size_t first, size_t second) const {
    if (is_idle(first) || is_idle(second)) return true;
    const LocalKind kind = code_.localspluskinds[first];
    const bool is_local = kind == LocalKind::Local || kind == LocalKind::Hidden;
    if (is_local) {
      return minor_ >= 12 && first >= object::parameter_count(code_) &&
             std::any_of(raw_.begin(), raw_.end(), [&](const RawInstr& instr) {
               return table_[instr.opcode].name == "LOAD_FAST_AND_CLEAR" && instr.arg == first;
             });
    }
    if (kind == LocalKind::CellLocal) return is_only_lent(first, second);
    if ((code_.flags & object::kOptimized) != 0 || kind != LocalKind::Cell ||
        code_.localspluskinds[second] != LocalKind::Free) {
      return false;
    }
    const size_t count = minor_ >= 11 ? 0 : code_.varnames.size();
    return std::all_of(raw_.begin(), raw_.end(), [&](const RawInstr& instr) {
      const std::string_view op = table_[instr.opcode].name;
      const bool is_variable = (table_[instr.opcode].kinds & (kLocal | kFree)) != 0;
      if (!is_variable || op == "COPY_FREE_VARS") return true;
      const bool takes_cell =
          op == "LOAD_CLOSURE" || op == "MAKE_CELL" || op.starts_with("LOAD_FAST");
      return instr.arg + count != (takes_cell ? second : first);
    });
  }

  // Where the local is a cell, too, compilers make it in the place of the free variable: nothing
  // but what sets the local aside and puts it back means the local.
  bool is_only_lent(size_t first, size_t second) const {
    if (minor_ < 12 || first < object::parameter_count(code_) ||
        code_.localspluskinds[second] != LocalKind::Free) {
      return false;
    }
    bool is_lent = false;
    for (const RawInstr& instr : raw_) {
      const std::string_view op = table_[instr.opcode].name;
      if ((table_[instr.opcode].kinds & (kLocal | kFree)) == 0 || instr.arg != first) continue;
      is_lent = is_lent || op == "LOAD_FAST_AND_CLEAR";
      if (op != "LOAD_FAST_AND_CLEAR" && op != "STORE_FAST" && op != "MAKE_CELL") return false;
    }
    return is_lent;
  }

  // Cells are made, and those of the function taken over, before all else.
  void prologue() {
    size_t copies = 0;
    const size_t end = end_of_prologue(copies);
    for (at_ = end; at_ < raw_.size(); ++at_) {
      hold(name(at_) != "COPY_FREE_VARS", "not before all else");
    }
    // A frame that has not come to its RESUME is none to those who look for frames.
    at_ = end - 1;
    if (minor_ >= 11) {
      hold(name(at_) == "RESUME" && !is_target_[at_], "before the RESUME");
      if (copies != (code_.freevars.empty() ? 0 : 1)) say("free variables are not taken over", 0);
    }
    starts();
  }

  // Counts the instructions up to the first that is no part of it, that one included.
  size_t end_of_prologue(size_t& copies) {
    size_t end = 0;
    std::unordered_set<uint32_t> made;
    for (bool is_over = false; end < raw_.size() && !is_over; ++end) {
      at_ = end;
      if (name(end) == "COPY_FREE_VARS") {
        ++copies;
        hold(raw_[end].arg == code_.freevars.size(), "another number of free variables");
      } else if (name(end) == "MAKE_CELL") {
        hold(made.insert(raw_[end].arg).second, "a cell is made twice");
        is_over = is_target_[end];
      } else {
        is_over = name(end) != "NOP" && name(end) != "RETURN_GENERATOR" &&
                  !(end > 0 && name(end - 1) == "RETURN_GENERATOR");
      }
      if (end > 0 && is_target_[end]) is_over = true;
    }
    return end;
  }

  // The flags of a generator and the instruction that makes one go together.
  void starts() {
    const bool is_one = (code_.flags & kKinds) != 0;
    size_t count = 0;
    for (at_ = 0; at_ < raw_.size(); ++at_) {
      if (name(at_) == "RETURN_GENERATOR") ++count;
      if (name(at_) == "GEN_START") hold(at_ == 0 && is_one, "not at a generator's start");
    }
    const bool starts = minor_ >= 11 ? count == 1 : minor_ < 10 || name(0) == "GEN_START";
    if (is_one ? !starts : count > 0) say("flags of a generator without its start", 0);
  }

  // -- instructions ---------------------------------------------------------------------------
  void one(std::string_view op, uint32_t arg) {
    if (op == "IS_OP" || op == "CONTAINS_OP") {
      hold(arg <= 1, "the argument is not 0 or 1");
    } else if (op == "COMPARE_OP") {
      compare_op(arg);
    } else if (op == "MAKE_FUNCTION") {
      hold(minor_ >= 13 || arg <= 15, "no such attribute of a function");
    } else if (op == "SET_FUNCTION_ATTRIBUTE") {
      hold(arg == 1 || arg == 2 || arg == 4 || arg == 8 || (arg == 16 && minor_ >= 14),
           "no such attribute of a function");
    } else if (op == "CONVERT_VALUE") {
      hold(arg >= 1 && arg <= 3, "no such conversion");
    } else if (op == "FORMAT_VALUE") {
      hold(arg <= 7, "no such conversion");
    } else if (op == "BUILD_SLICE") {
      hold(arg == 2 || arg == 3, "no such slice");
    } else if (op == "RAISE_VARARGS") {
      hold(arg <= 2, "no such number of exceptions");
    } else if (op == "LOAD_SPECIAL") {
      hold(arg <= 3, "no such method");
    } else if (op == "GET_ITER") {
      hold(minor_ < 15 || arg == 0 || arg == kOfYieldFrom, "no such kind of iterator");
    } else if (op == "END_FOR") {
      // FOR_ITER leaves for so many code units after its target, whatever stands there: past
      // END_FOR, on 3.13 past the pop after it too.
      const bool has_pop = minor_ == 13 && at_ + 1 < raw_.size();
      const bool is_plain = !is_extended(at_) && !(has_pop && is_extended(at_ + 1));
      hold(is_plain, "a prefix where a loop is left");
    } else if (op == "CACHE") {
      say("no instruction");
    } else if (op == "KW_NAMES" || op == "PRECALL") {
      call_parts(op, arg);
    } else if (op == "YIELD_VALUE" || op == "YIELD_FROM" || op == "RESUME") {
      yields(op, arg);
    } else if (op == "GET_AWAITABLE") {
      awaits();
    } else {
      variables(op, arg);
      tests(op);
    }
  }

  void compare_op(uint32_t arg) {
    if (minor_ == 12) {
      hold(arg >> 4 < 6 && (arg & 15) == kMasks[arg >> 4], "no such comparison");
    } else if (minor_ >= 13) {
      hold(arg >> 5 < 6 && (arg & 15) == kMasks[arg >> 5], "no such comparison");
      // What a test consumes is no other object for being a bool.
      if ((arg & kToBool) == 0) return;
      const std::string_view next = name_after(at_ + 1);
      hold(next == "POP_JUMP_IF_TRUE" || next == "POP_JUMP_IF_FALSE" || next == "UNARY_NOT" ||
               next == "TO_BOOL" || next == "COPY",
           "its truth is no part of a test");
    }
  }

  // What is read together with the CALL that follows.
  void call_parts(std::string_view op, uint32_t arg) {
    if (op == "PRECALL") {
      hold(name_after(at_ + 1) == "CALL" && raw_[at_ + 1].arg == arg, "without its CALL");
      return;
    }
    const size_t call = at_ + (name_after(at_ + 1) == "PRECALL" ? 2 : 1);
    const bool leads = name_after(call) == "CALL" && !is_extended(call);
    hold(name_after(call) == "CALL", "without its CALL");
    if (!leads && name_after(call) != "CALL") return;
    if (arg >= code_.consts.size()) return;
    const object::Const& names = module_[code_.consts[arg]];
    hold(names.kind == object::ConstKind::Tuple && names.items.size() <= raw_[call].arg,
         "no names for the last arguments");
  }

  void yields(std::string_view op, uint32_t arg) {
    // Until 3.10 a generator goes on after the first unit of the instruction that it stands at.
    if (op != "RESUME" && minor_ <= 10) return hold(!is_extended(at_), "with a prefix");
    if (op == "YIELD_VALUE") return yield_value(arg);
    // RESUME: who asks a generator what it waits for looks at its argument.
    const bool follows = at_ > 0 && name(at_ - 1) == "YIELD_VALUE";
    if (!follows) hold(arg == 0 || (minor_ >= 15 && arg == kInGenerator), "no yield");
  }

  void yield_value(uint32_t arg) {
    const bool sends = at_ > 0 && name(at_ - 1) == "SEND";
    hold(minor_ < 13 || arg == (sends ? 1u : 0u), "with another state of the generator");
    const size_t next = at_ + 1;
    if (name_after(next) != "RESUME" || is_extended(next)) {
      say("without its RESUME");
      return;
    }
    const uint32_t wrapped = minor_ >= 15 ? kOnlyWrapped15 : minor_ >= 13 ? kOnlyWrapped : 0;
    const uint32_t place = raw_[next].arg & ~wrapped;
    hold(sends ? place == kAfterYieldFrom || place == kAfterAwait : place == kAfterYield,
         "with another's RESUME");
    const bool says_so = minor_ == 12 ? arg == kDepthOfWrapper : place != raw_[next].arg;
    hold(!says_so || is_only_wrapped(at_), "its handler is left out on close()");
    if (sends && minor_ >= 12) {
      hold(is_protected_by(at_, "CLEANUP_THROW"), "what is thrown in goes past what it waits for");
    }
  }

  // Until 3.10 the message of an error tells what stands right before it.
  void awaits() {
    if (minor_ > 10 || at_ == 0) return;
    size_t before = at_ - 1;
    while (before > 0 && name(before) == "NOP") --before;
    const bool tells = name(before) == "BEFORE_ASYNC_WITH" ||
                       name(before) == "WITH_CLEANUP_START" || name(before) == "WITH_EXCEPT_START";
    hold(!tells || (before + 1 == at_ && !is_extended(at_)), "apart from what it belongs to");
  }

  // Which slots hold cells decides what an instruction may do to them.
  void variables(std::string_view op, uint32_t arg) {
    if (minor_ <= 10) {
      const bool is_local = op == "LOAD_FAST" || op == "STORE_FAST" || op == "DELETE_FAST";
      if (is_local && arg < code_.varnames.size()) {
        hold(!is_cell_.contains(code_.varnames[arg].value), "the argument has moved to its cell");
      }
      return;
    }
    const bool is_cell = op == "LOAD_DEREF" || op == "STORE_DEREF" || op == "DELETE_DEREF" ||
                         op == "LOAD_CLASSDEREF" || op == "LOAD_FROM_DICT_OR_DEREF" ||
                         op == "MAKE_CELL" || (op == "LOAD_CLOSURE" && minor_ <= 12);
    if (is_cell && arg < code_.localspluskinds.size()) {
      const LocalKind kind = code_.localspluskinds[arg];
      hold(kind != LocalKind::Local && kind != LocalKind::Hidden, "the local is no cell");
      const bool is_own = op != "MAKE_CELL" || kind != LocalKind::Free ||
                          std::find(code_.varnames.begin(), code_.varnames.end(),
                                    code_.localsplus[arg]) != code_.varnames.end();
      hold(is_own, "the cell is another function's");
    }
    const bool is_value = op == "DELETE_FAST" || op == "LOAD_FAST_CHECK";
    if (is_value && arg < code_.localspluskinds.size()) {
      const LocalKind kind = code_.localspluskinds[arg];
      hold(kind == LocalKind::Local || kind == LocalKind::Hidden, "the local is a cell");
    }
  }

  // 3.13+: what is tested is one of True and False, and nothing is asked of it.
  void tests(std::string_view op) {
    if (minor_ < 13) return;
    if (op != "POP_JUMP_IF_TRUE" && op != "POP_JUMP_IF_FALSE" && op != "UNARY_NOT") return;
    size_t before = at_;
    while (before > 0 && !is_target_[before] && name(before - 1) == "NOP") --before;
    hold(before > 0 && !is_target_[before] && makes_bool(before - 1), "not of a truth");
  }
  bool makes_bool(size_t index) const {
    const std::string_view op = name(index);
    if (op == "COMPARE_OP") {
      return (raw_[index].arg & kToBool) != 0 || compares_length(index) || asks_for_format(index);
    }
    if (op == "LOAD_CONST" || op == "LOAD_COMMON_CONSTANT") return loads_bool(index);
    return op == "TO_BOOL" || op == "IS_OP" || op == "CONTAINS_OP" || op == "UNARY_NOT" ||
           op == "CHECK_EXC_MATCH" || op == "MATCH_SEQUENCE" || op == "MATCH_MAPPING";
  }
  // `GET_LEN; LOAD_CONST 2; COMPARE_OP >=`: two numbers.
  bool compares_length(size_t index) const {
    if (index < 2 || is_target_[index] || is_target_[index - 1]) return false;
    const bool is_number =
        loads(index - 1, [](object::ConstKind kind) { return kind == object::ConstKind::Int; });
    return is_number && name(index - 2) == "GET_LEN";
  }
  // What a function of annotations starts with (3.14+), which every caller gives a small number.
  bool asks_for_format(size_t index) const {
    constexpr size_t kInPrologue = 8;
    constexpr uint32_t kNotImplementedError = 1;
    const bool is_one = code_.posonlyargcount == 1 && code_.argcount == 1 &&
                        (module_.text(code_.name) == "__annotate__" ||
                         module_.text(code_.varnames[0]) == ".format");
    if (minor_ < 14 || !is_one || index < 2 || index > kInPrologue) return false;
    size_t next = index + 2;
    if (name_after(next) == "NOT_TAKEN") ++next;
    return name(index - 2).starts_with("LOAD_FAST") && raw_[index - 2].arg == 0 &&
           name_after(index - 1) == "LOAD_SMALL_INT" && !is_target_[index] &&
           name_after(next) == "LOAD_COMMON_CONSTANT" && raw_[next].arg == kNotImplementedError &&
           name_after(next + 1) == "RAISE_VARARGS";
  }
  bool loads_bool(size_t index) const {
    return loads(index, [](object::ConstKind kind) {
      return kind == object::ConstKind::True || kind == object::ConstKind::False;
    });
  }
  template <typename Holds>
  bool loads(size_t index, Holds holds) const {
    const auto instr = std::lower_bound(stream_.instrs.begin(), stream_.instrs.end(), index,
                                        [](const Instr& one, size_t raw) { return one.raw < raw; });
    return instr != stream_.instrs.end() && instr->raw == index && instr->op == Op::LoadConst &&
           holds(module_[instr->constant()].kind);
  }

  // The first byte of each entry is marked: CPython looks for entries from the middle on.
  void exception_table() {
    const std::vector<uint8_t>& table = code_.exceptiontable;
    for (size_t at = 0; at < table.size() && !found_;) {
      for (int field = 0; field < 4; ++field) {
        bool goes_on = true;
        for (bool is_first = field == 0; goes_on && at < table.size(); ++at, is_first = false) {
          if (((table[at] & kEntryStart) != 0) != is_first) {
            say("the exception table has no such entry", 0);
          }
          goes_on = (table[at] & 64) != 0;
        }
      }
    }
  }

  static constexpr size_t kNoHandler = ~size_t{0};

  const object::Module& module_;
  const Code& code_;
  const Stream& stream_;
  const std::vector<RawInstr>& raw_;
  const RawTable& table_;
  int minor_;
  std::vector<bool> is_target_;
  std::vector<size_t> handler_;
  std::unordered_set<uint32_t> is_cell_;  // the symbols of arguments that are cells
  std::optional<Breach> found_;
  size_t at_ = 0;
};

}  // namespace

std::optional<Breach> find_breach(const object::Module& module, const Stream& stream) {
  return Finder(module, stream).run();
}

}  // namespace pellucid::bytecode
