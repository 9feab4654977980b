// SPDX-License-Identifier: Apache-2.0
#include "object/marshal_reader.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/append.h"
#include "object/code_layout.h"
#include "object/marshal_input.h"
#include "object/utf8.h"
#include "object/written.h"

namespace pellucid::object {
namespace {

constexpr size_t kMaxDepth = 2000;  // MAX_MARSHAL_STACK_DEPTH of CPython's marshal.c
constexpr uint8_t kFlagRef = 0x80;
constexpr size_t kMinBudget = 1 << 20;
constexpr size_t kBudgetPerByte = 64;
// The limit for the written-out size of a constant, in values.
constexpr size_t kMinWritten = 1 << 16;
constexpr size_t kWrittenPerByte = 64;
// Compilers write about one object in so many bytes; room is made for no more objects than
// kMostRoom.
constexpr size_t kBytesPerObject = 24;
constexpr size_t kMostRoom = 1 << 15;

// A container that is not yet filled.
struct Frame {
  ConstKind kind = ConstKind::Tuple;
  bool until_null = false;    // dict: ends with TYPE_NULL instead of a count
  uint32_t remaining = 0;     // items (or fields of a code object) still to come
  std::optional<size_t> ref;  // the reference slot to fill
  size_t first = 0;           // of its items in Reader::items_, or of its fields in Reader::fields_
  CodeId code;
};

bool is_full(const Frame& frame) { return !frame.until_null && frame.remaining == 0; }

// The result of reading a type byte: a finished object, an opened container, or the end of a dict.
enum class Step : uint8_t { Value, Opened, Null, Failed };

class Reader {
 public:
  Reader(Module& module, std::span<const uint8_t> bytes, uint64_t base)
      : module_(module), in_(bytes, base), layout_(code_layout(module.version)) {
    const size_t objects = std::min(bytes.size() / kBytesPerObject, kMostRoom);
    module_.consts.reserve(module_.consts.size() + objects);
    refs_.reserve(objects / 2);
  }

  Result<ConstId> run() {
    for (;;) {
      const Step step = read_one();
      if (step == Step::Failed) return in_.error();
      if (step == Step::Null && !end_dict()) return in_.error();
      if (step == Step::Value && !stack_.empty()) deliver();
      // Closing a container may fill the one around it.
      while (!stack_.empty()) {
        if (!read_numbers()) return in_.error();
        if (!is_full(stack_.back())) break;
        if (!close()) return in_.error();
        if (!stack_.empty()) deliver();
      }
      if (stack_.empty()) return value_;
    }
  }

  // Returns where the object ends.
  size_t end() const { return in_.at(); }

 private:
  // -- one object -----------------------------------------------------------------------------
  Step read_one() {
    in_.start();
    uint8_t type = 0;
    if (!in_.byte(type)) return Step::Failed;
    ref_.reset();
    if (type == '0') return Step::Null;
    if (type == 'r') return read_reference() ? Step::Value : Step::Failed;
    return read_new(type);
  }

  // (Not a part of read_one(), which would save registers for it: half of all objects are
  // references.)
  [[gnu::noinline]] Step read_new(uint8_t type) {
    if (type & kFlagRef) {
      ref_ = refs_.size();
      refs_.emplace_back();
      type = static_cast<uint8_t>(type & ~kFlagRef);
    }
    switch (type) {
      case 'N':
        return finish(ConstKind::None);
      case 'F':
        return finish(ConstKind::False);
      case 'T':
        return finish(ConstKind::True);
      case '.':
        return finish(ConstKind::Ellipsis);
      case 'S':
        return finish(ConstKind::StopIteration);
      case 'i':
        return read_int();
      case 'l':
        return read_long();
      case 'f':
        return read_text_floats(ConstKind::Float);
      case 'x':
        return read_text_floats(ConstKind::Complex);
      case 'g':
        return read_floats(ConstKind::Float);
      case 'y':
        return read_floats(ConstKind::Complex);
      case 's':
        return read_bytes();
      case 't':
      case 'u':
        return read_utf8();
      case 'a':
      case 'A':
        return read_latin1(false);
      case 'z':
      case 'Z':
        return read_latin1(true);
      case '(':
        return open_counted(ConstKind::Tuple);
      case ')':
        return open_small_tuple();
      case '[':
        return open_counted(ConstKind::List);
      case '<':
        return open_counted(ConstKind::Set);
      case '>':
        return open_counted(ConstKind::FrozenSet);
      case '{':
        return open(ConstKind::Dict, 0);
      case ':':
        return module_.version.minor >= 14 ? open(ConstKind::Slice, 3) : unknown_type(type);
      case 'c':
        return open(ConstKind::Code, static_cast<uint32_t>(layout_.size()));
      default:
        return unknown_type(type);
    }
  }

  Step unknown_type(uint8_t type) {
    char text[32];
    std::snprintf(text, sizeof text, "unknown type code 0x%02x", type);
    in_.malformed(text);
    return Step::Failed;
  }

  // Adds a constant of this kind, and makes it the last finished object.
  Const& add(ConstKind kind) {
    Const& added = module_.consts.emplace_back();
    added.kind = kind;
    value_ = ConstId(module_.consts.size() - 1);
    if (ref_) refs_[*ref_] = value_;
    return added;
  }
  Step finish(ConstKind kind) {
    add(kind);
    return Step::Value;
  }
  Step finish_int(int64_t value) {
    add(ConstKind::Int).integer = value;
    return Step::Value;
  }
  Step finish_text(ConstKind kind, std::string_view text) {
    add(kind).text = module_.strings.intern(text);
    return Step::Value;
  }

  bool read_reference() {
    uint32_t index = 0;
    if (!in_.little_endian(index)) return false;
    if (index >= refs_.size()) return no_reference(index, "out of range");
    if (!refs_[index].valid()) return no_reference(index, "to an object that holds it");
    value_ = refs_[index];
    if (module_[value_].kind == ConstKind::Bytes) refer_to_bytes();
    return true;
  }

  [[gnu::cold, gnu::noinline]] bool no_reference(uint32_t index, const char* why) {
    return in_.malformed("reference " + std::to_string(index) + ' ' + why);
  }

  Step read_int() {
    int32_t value = 0;
    if (!in_.little_endian(value)) return Step::Failed;
    return finish_int(value);
  }

  // Reads base 2**15 digits, least significant first; the sign is that of their count.
  Step read_long() {
    int32_t signed_count = 0;
    if (!in_.little_endian(signed_count)) return Step::Failed;
    const size_t count = static_cast<size_t>(std::llabs(signed_count));
    if (!in_.need(2 * count)) return Step::Failed;
    std::string digits;  // hexadecimal, least significant first
    uint32_t pending = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < count; ++i) {
      uint16_t digit = 0;
      if (!in_.little_endian(digit)) return Step::Failed;
      if (digit > 0x7fff || (i + 1 == count && digit == 0)) {
        in_.malformed("digit of a long out of range");
        return Step::Failed;
      }
      pending |= static_cast<uint32_t>(digit) << bits;
      for (bits += 15; bits >= 4; bits -= 4, pending >>= 4)
        digits += "0123456789abcdef"[pending & 15];
    }
    if (pending != 0) digits += "0123456789abcdef"[pending & 15];
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    return finish_long(std::string(digits.rbegin(), digits.rend()), signed_count < 0);
  }

  Step finish_long(const std::string& digits, bool negative) {
    if (digits.size() <= 16) {
      const uint64_t magnitude = digits.empty() ? 0 : std::strtoull(digits.c_str(), nullptr, 16);
      if (magnitude <= static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0)) {
        const uint64_t value = negative ? ~magnitude + 1 : magnitude;
        return finish_int(static_cast<int64_t>(value));
      }
    }
    return finish_text(ConstKind::BigInt, (negative ? "-" : "") + digits);
  }

  Step read_floats(ConstKind kind) {
    uint64_t real = 0;
    uint64_t imag = 0;
    if (!in_.little_endian(real)) return Step::Failed;
    if (kind == ConstKind::Complex && !in_.little_endian(imag)) return Step::Failed;
    return finish_number(kind, std::bit_cast<double>(real), std::bit_cast<double>(imag));
  }

  Step read_text_floats(ConstKind kind) {
    double real = 0;
    double imag = 0;
    if (!in_.text_float(real)) return Step::Failed;
    if (kind == ConstKind::Complex && !in_.text_float(imag)) return Step::Failed;
    return finish_number(kind, real, imag);
  }
  Step finish_number(ConstKind kind, double real, double imag) {
    Const& number = add(kind);
    number.real = real;
    number.imag = imag;
    return Step::Value;
  }
  Step read_bytes() {
    uint32_t count = 0;
    if (!in_.length(count)) return Step::Failed;
    bytes_ = in_.take(count);
    const bool is_table = !stack_.empty() && stack_.back().kind == ConstKind::Code;
    if (!is_table) return finish_text(ConstKind::Bytes, bytes_);
    // The tables of a code object are copied into it, and nothing else needs them as a constant.
    finish_text(ConstKind::Bytes, {});
    if (ref_) tables_.emplace_back(value_, bytes_);
    return Step::Value;
  }

  // Makes value_, which is referred to, a constant with a text, if it is a table of a code object.
  [[gnu::noinline]] void refer_to_bytes() {
    Const& value = module_.consts[value_.index()];
    bytes_ = module_.text(value.text);
    if (!bytes_.empty()) return;
    const auto table = std::lower_bound(tables_.begin(), tables_.end(), value_,
                                        [](const auto& one, ConstId id) { return one.first < id; });
    if (table == tables_.end() || table->first != value_) return;
    value.text = module_.strings.intern(table->second);
    bytes_ = module_.text(value.text);
  }
  Step read_utf8() {
    uint32_t count = 0;
    if (!in_.length(count)) return Step::Failed;
    const std::string_view text = in_.take(count);
    if (!is_utf8_with_surrogates(text)) {
      in_.malformed("string is not UTF-8");
      return Step::Failed;
    }
    return finish_text(ConstKind::Str, text);
  }
  // Reads a string that marshal calls ASCII and reads as Latin-1.
  Step read_latin1(bool is_short) {
    uint32_t count = 0;
    if (!(is_short ? in_.short_length(count) : in_.length(count))) return Step::Failed;
    const std::string_view text = in_.take(count);
    if (is_ascii(text)) return finish_text(ConstKind::Str, text);
    return finish_text(ConstKind::Str, utf8_of_latin1(text));
  }

  // -- containers -----------------------------------------------------------------------------
  Step open_counted(ConstKind kind) {
    uint32_t count = 0;
    return in_.length(count) ? open(kind, count) : Step::Failed;
  }
  Step open_small_tuple() {
    uint32_t count = 0;
    return in_.short_length(count) ? open(ConstKind::Tuple, count) : Step::Failed;
  }

  Step open(ConstKind kind, uint32_t count) {
    if (stack_.size() >= kMaxDepth) {
      in_.fail(ErrorCode::Limit, "nested too deeply", in_.started());
      return Step::Failed;
    }
    Frame frame;
    frame.kind = kind;
    frame.until_null = kind == ConstKind::Dict;
    frame.remaining = count;
    frame.ref = ref_;
    frame.first = items_.size();
    if (kind == ConstKind::Code) {
      frame.code = module_.codes.add();
      frame.first = fields_.size();
      fields_.emplace_back();
    }
    stack_.push_back(frame);
    return Step::Opened;
  }

  // Reads the plain numbers that come next if the innermost container is a code object.
  bool read_numbers() {
    Frame& frame = stack_.back();
    while (frame.kind == ConstKind::Code && frame.remaining > 0) {
      const Field field = layout_[layout_.size() - frame.remaining];
      if (!is_number(field)) break;
      if (!in_.little_endian(fields_.back().numbers[static_cast<size_t>(field)])) return false;
      --frame.remaining;
    }
    return true;
  }

  // Passes value_ to the innermost open container.
  void deliver() {
    Frame& frame = stack_.back();
    if (frame.kind == ConstKind::Code) {
      const Field field = layout_[layout_.size() - frame.remaining];
      fields_.back().objects[static_cast<size_t>(field)] = value_;
      fields_.back().bytes[static_cast<size_t>(field)] = bytes_;
    } else {
      append_to(items_, value_);
    }
    if (!frame.until_null) --frame.remaining;
  }

  bool end_dict() {
    if (stack_.empty() || !stack_.back().until_null) return in_.malformed("unexpected null object");
    const size_t count = items_.size() - stack_.back().first;
    if (count % 2 != 0) return in_.malformed("dict ends after a key");
    stack_.back().until_null = false;
    return true;
  }

  // Turns the innermost container into value_.
  bool close() {
    const Frame frame = stack_.back();
    stack_.pop_back();
    const bool is_code = frame.kind == ConstKind::Code;
    const auto items =
        std::span<const ConstId>(items_).subspan(is_code ? items_.size() : frame.first);
    const uint64_t written = written_size(items);
    if (written > kMinWritten + kWrittenPerByte * in_.size()) {
      return in_.fail(ErrorCode::Limit, "a constant holds too much too often, found", in_.at());
    }
    if (is_code) {
      Code& code = module_.codes.edit(frame.code);
      const std::string problem = assemble_code(module_, fields_.back(), code);
      fields_.pop_back();
      if (!problem.empty()) {
        return in_.fail(ErrorCode::Malformed, "code object: " + problem + ", found", in_.at());
      }
      if (!within_budget(code)) return false;
    }
    ref_ = frame.ref;
    Const& container = add(frame.kind);
    container.code = frame.code;
    container.items.assign(items.begin(), items.end());
    if (!is_code) items_.resize(frame.first);
    if (written > 1) {
      written_.resize(value_.index() + 1, 0);
      written_.back() = written;
    }
    return true;
  }

  // Returns the written-out size of a container, in values: an item that it contains several times,
  // by reference, counts each time. A code object counts as one.
  uint64_t written_size(std::span<const ConstId> items) const {
    uint64_t size = 1;
    for (const ConstId item : items) {
      const uint64_t known = item.index() < written_.size() ? written_[item.index()] : 0;
      size += known != 0 ? known : written_alone(module_, module_[item]);
    }
    return size;
  }

  // Returns false if code objects copy too much. Each copies the bytes and tables that it refers
  // to. Many references to one huge object could make a small file exhaust memory; compilers share
  // next to nothing.
  bool within_budget(const Code& code) {
    copied_ += code.bytecode.size() + code.linetable.size() + code.exceptiontable.size();
    copied_ += sizeof(uint32_t) * (code.consts.size() + code.names.size() + code.localsplus.size());
    return copied_ <= kMinBudget + kBudgetPerByte * in_.size() ||
           in_.fail(ErrorCode::Limit, "code objects share too much, found", in_.at());
  }

  Module& module_;
  MarshalInput in_;
  std::span<const Field> layout_;
  size_t copied_ = 0;              // bytes that code objects have copied
  std::optional<size_t> ref_;      // its reference slot
  std::vector<uint64_t> written_;  // by constant: the size of a container, 0 for others
  std::vector<ConstId> refs_;      // invalid while the object is incomplete
  std::vector<Frame> stack_;
  std::vector<ConstId> items_;      // of the open containers, end to end
  std::vector<CodeFields> fields_;  // of the open code objects
  ConstId value_;                   // the last finished object
  std::string_view bytes_;          // of value_, if it is Bytes
  // The tables of code objects that may be referred to, in the order of their ids.
  std::vector<std::pair<ConstId, std::string_view>> tables_;
};

}  // namespace

Result<ConstId> read_object(Module& module, std::span<const uint8_t> bytes, uint64_t base,
                            size_t* end) {
  Reader reader(module, bytes, base);
  Result<ConstId> read = reader.run();
  if (end != nullptr) *end = reader.end();
  return read;
}

}  // namespace pellucid::object
