// SPDX-License-Identifier: Apache-2.0
// object: the Python objects that bytecode carries, as plain values.
//
// A Module owns every string, constant and code object that came from one .pyc file (or from one
// live code object). All later layers refer to them by id. Two sources:
//
//   read_pyc(bytes)               a .pyc file of CPython 3.8-3.15         (pyc.h)
//   python/from_code.cpp          a live types.CodeType
//
// LOAD_SMALL_INT of 3.14 and LOAD_COMMON_CONSTANT of 3.15 do not refer to constants of their code
// object, so a Module starts with the constants that they can load: constant n is the int n for n <
// 256, and in 3.15 those of CommonConst follow. Start every Module with new_module(), and pass it
// to admit() when it is complete (admit.h).
//
// Invariants (check()): every id is in range; the constant graph is a DAG; `root` is a code object;
// every Code has the version of its Module.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/string_pool.h"

namespace pellucid::object {

using ConstId = Id<struct ConstTag>;
using CodeId = Id<struct CodeTag>;

struct Version {
  uint8_t major = 3;
  uint8_t minor = 0;
  friend constexpr auto operator<=>(Version, Version) = default;
};

// The versions that pellucid reads.
inline constexpr Version kOldestVersion{3, 8};
inline constexpr Version kNewestVersion{3, 15};

constexpr bool is_supported(Version version) {
  return kOldestVersion <= version && version <= kNewestVersion;
}

// Returns "3.8-3.15".
std::string supported_versions();

enum class ConstKind : uint8_t {
  None,
  False,
  True,
  Ellipsis,
  StopIteration,  // marshal can carry it; no compiler emits it
  Int,            // `integer`
  BigInt,         // `text`: optional '-', then hexadecimal digits, no leading zero
  Float,          // `real`
  Complex,        // `real`, `imag`
  Str,            // `text`: UTF-8, lone surrogates as three bytes each ("surrogatepass")
  Bytes,          // `text`: the raw bytes
  Tuple,          // `items`; in live code with a slice in it `text`, as for a Slice
  List,           // `items` (marshal can carry it; no compiler emits it)
  Set,            // `items`, in marshalled order
  FrozenSet,      // `items`, in marshalled order; in live code `text`, a name as for an Opaque
  Dict,           // `items`: key, value, key, value, ...
  Slice,   // `items`: start, stop, step (3.14 folds constant slices); `text` as for a FrozenSet
  Code,    // `code`
  Opaque,  // `text`: the name that the value is bound to; no literal
};

// One constant. Only the members named at its kind are used.
struct Const {
  ConstKind kind = ConstKind::None;
  Symbol text{};
  CodeId code{};
  int64_t integer = 0;
  double real = 0;
  double imag = 0;
  std::vector<ConstId> items{};
};

// The kind of a slot of the fast-locals array (3.11+ co_localspluskinds; derived before).
enum class LocalKind : uint8_t {
  Local,      // a plain local or argument
  CellLocal,  // an argument that is also a cell
  Cell,
  Free,
  Hidden,  // a local of an inlined comprehension (3.12+, class and module bodies)
};

// A code object, field for field. Names are CPython's without `co_`.
struct Code {
  Version version;
  uint32_t argcount = 0;  // positional, including positional-only
  uint32_t posonlyargcount = 0;
  uint32_t kwonlyargcount = 0;
  uint32_t nlocals = 0;
  uint32_t stacksize = 0;
  uint32_t flags = 0;
  int32_t firstlineno = 0;
  Symbol name;
  Symbol qualname;  // 3.11+; equal to `name` before
  Symbol filename;
  std::vector<uint8_t> bytecode;  // with inline caches, unspecialised
  std::vector<ConstId> consts;
  std::vector<Symbol> names;
  std::vector<Symbol> varnames;  // arguments first
  std::vector<Symbol> cellvars;  // including arguments that are cells
  std::vector<Symbol> freevars;
  std::vector<Symbol> localsplus;  // the fast-locals index space of 3.11+ (filled for all)
  std::vector<LocalKind> localspluskinds;
  std::vector<uint8_t> linetable;       // lnotab <= 3.9, linetable 3.10, locations 3.11+
  std::vector<uint8_t> exceptiontable;  // 3.11+
  std::string fault;                    // why it cannot be read; empty otherwise (admit.h)
};

enum CodeFlag : uint32_t {
  kOptimized = 0x1,
  kNewLocals = 0x2,
  kVarArgs = 0x4,
  kVarKeywords = 0x8,
  kNested = 0x10,
  kGenerator = 0x20,
  kNoFree = 0x40,  // <= 3.9
  kCoroutine = 0x80,
  kIterableCoroutine = 0x100,
  kAsyncGenerator = 0x200,
  // 3.8.0 and 3.8.1 had another bit, which has another meaning since (bpo-39562).
  kFutureAnnotations = 0x1000000,
  kHasDocstring = 0x4000000,  // 3.14+
  kMethod = 0x8000000,        // 3.14+
};

// Returns the number of parameters, which are the first locals.
inline size_t parameter_count(const Code& code) {
  return size_t{code.argcount} + code.kwonlyargcount + ((code.flags & kVarArgs) != 0) +
         ((code.flags & kVarKeywords) != 0);
}

// Replacements for names that no text can have in their places (fitting_names.h).
struct GivenNames {
  struct Pair {
    Symbol given;
    Symbol before;
  };
  bool are_live = false;                                   // to code of live objects
  std::vector<Pair> pairs;                                 // in the order of assignment
  std::unordered_map<Symbol, Symbol> by_name;              // original: replacement
  std::unordered_set<Symbol> of_code;                      // given only to code objects
  std::unordered_map<std::string, uint32_t> last_of_stem;  // the last number tried
};

// The code objects of a module. Copies share them: each text of a module adds constants, but few
// change a code object.
class Codes {
 public:
  class Iterator {
   public:
    explicit Iterator(const std::shared_ptr<Code>* at) : at_(at) {}
    const Code& operator*() const { return **at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const std::shared_ptr<Code>* at_;
  };

  size_t size() const { return codes_.size(); }
  bool empty() const { return codes_.empty(); }
  const Code& operator[](size_t index) const { return *codes_[index]; }
  Iterator begin() const { return Iterator(codes_.data()); }
  Iterator end() const { return Iterator(codes_.data() + codes_.size()); }

  CodeId push_back(Code code) {
    codes_.push_back(std::make_shared<Code>(std::move(code)));
    return CodeId(codes_.size() - 1);
  }
  // Adds an empty code object.
  CodeId add() {
    codes_.push_back(std::make_shared<Code>());
    return CodeId(codes_.size() - 1);
  }

  // Returns the code object for changes; it is no longer shared with other modules.
  Code& edit(CodeId id) {
    std::shared_ptr<Code>& code = part_of(codes_, id);
    if (code.use_count() > 1) code = std::make_shared<Code>(*code);
    return *code;
  }

 private:
  std::vector<std::shared_ptr<Code>> codes_;
};

struct Module {
  Version version;
  StringPool strings;
  std::vector<Const> consts;
  Codes codes;
  CodeId root;
  // The code object that was read if `root` is a module made around it (bytecode/holder.h); invalid
  // if it is `root` itself.
  CodeId held{};
  GivenNames names_given{};

  CodeId subject() const { return held.valid() ? held : root; }
  std::string_view text(Symbol symbol) const { return strings.view(symbol); }
  const Const& operator[](ConstId id) const { return part_of(consts, id); }
  const Code& operator[](CodeId id) const { return part_of(codes, id); }
  // Reserves room for the constants that a text or a proof adds to a copy: few compared with the
  // existing ones, so that doubling would waste memory.
  void make_room() { consts.reserve(consts.size() + consts.size() / 8 + 64); }
  ConstId add(Const value) {
    consts.push_back(std::move(value));
    return ConstId(consts.size() - 1);
  }
};

// Returns an empty module of a version, with the constants that its instructions load implicitly.
Module new_module(Version version);

// Returns the number of small ints at the front of a module's constants.
constexpr size_t small_int_count(Version version) { return version.minor >= 14 ? 256 : 0; }

// The constants of LOAD_COMMON_CONSTANT, except built-in functions and types, in its order.
enum class CommonConst : uint32_t { None, EmptyStr, True, False, MinusOne };

// Returns the number of these that follow the small ints.
constexpr size_t common_const_count(Version version) { return version.minor >= 15 ? 5 : 0; }

// Returns the constant of a module that has it.
constexpr ConstId common_const(Version version, CommonConst which) {
  return ConstId(small_int_count(version) + static_cast<size_t>(which));
}

// Fills localsplus and localspluskinds from varnames, cellvars and freevars, in the order
// that 3.11+ gives them: locals (arguments that are cells among them), other cells, free variables.
void derive_localsplus(Code& code);

// Returns true if two constants of one or two modules are structurally equal, as for CPython's
// compiler: by type and value, -0.0 unequal to 0.0, NaN equal to itself. Code constants are equal
// only if they are the same id of the same module.
bool same_constant(const Module& a, ConstId x, const Module& b, ConstId y);

// Returns the truth of the constant.
bool is_true(const Module& module, const Const& value);

// Returns the deterministic text of a module: every code object with every field. For goldens and
// people.
std::string dump(const Module& module);

// Checks the invariants of this header; throws InternalError.
void check(const Module& module);

}  // namespace pellucid::object
