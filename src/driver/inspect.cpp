// SPDX-License-Identifier: Apache-2.0
#include "driver/inspect.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "bytecode/contents.h"
#include "bytecode/holder.h"
#include "driver/pipeline.h"
#include "object/identifiers.h"
#include "object/repr.h"

namespace pellucid::driver {
namespace {

using object::Code;
using object::CodeId;
using object::Const;
using object::ConstId;
using object::ConstKind;
using object::Module;

constexpr size_t kLongest = 300;        // characters of one thing
constexpr size_t kMostRemarks = 30;     // lines
constexpr size_t kMostParts = 100'000;  // of constants, the bytes of them that are searched
constexpr size_t kMostJoined = 1 << 20;
constexpr size_t kMostSearches = 1000;
constexpr size_t kMostHidden = 20;  // code objects, and the lines of each
constexpr size_t kMostLines = 400;
constexpr size_t kHeader = object::kHeaderSize;
constexpr size_t kShortestText = 4;    // what is a message
constexpr size_t kMostOfAKind = 1000;  // in one code object

constexpr const char* kOddName = "odd name";

std::string shortened(std::string text) {
  if (text.size() <= kLongest) return text;
  const std::string left = std::to_string(text.size() - kLongest);
  return text.substr(0, kLongest) + "... (" + left + " characters more)";
}

bool is_printable(uint8_t byte) { return byte >= ' ' && byte < 0x7f; }

// Returns true if most of the bytes are text.
bool is_text(std::string_view bytes) {
  const auto printable = static_cast<size_t>(std::count_if(
      bytes.begin(), bytes.end(), [](char c) { return is_printable(static_cast<uint8_t>(c)); }));
  return bytes.size() >= kShortestText && 4 * printable >= 3 * bytes.size();
}

// Returns true if marshalled code may begin there, or after the header of a `.pyc`: its first
// field, the number of its arguments, is small.
bool may_begin_code(std::string_view bytes) {
  if (bytes.substr(0, 4).ends_with("\r\n")) bytes.remove_prefix(std::min(bytes.size(), kHeader));
  return bytes.size() > 4 && (bytes[0] & 0x7f) == 'c' &&
         bytes.substr(2, 3) == std::string_view("\0\0\0", 3);
}

std::string quoted(std::string_view bytes) { return shortened(object::repr_of_text(bytes)); }

// Returns true for names that a source can write, and for those that compilers give.
bool is_compilers_own(std::string_view name) {
  return name.starts_with('.') || (name.starts_with('<') && name.ends_with('>')) ||
         object::is_dotted(name);
}

class Inspector {
 public:
  Inspector(const Input& input, bool is_brief)
      : input_(input),
        module_(input.module),
        is_brief_(is_brief),
        met_(module_.strings.size()),
        kinds_(module_.strings.size()),
        holders_(module_.codes.size()) {}

  Inspection run() {
    walk();
    file();
    return std::move(out_);
  }

 private:
  void walk() {
    std::vector<std::pair<CodeId, CodeId>> todo{{module_.subject(), CodeId()}};  // with its holder
    std::vector<bool> seen(module_.codes.size());
    out_.codes.reserve(module_.codes.size());
    while (!todo.empty()) {
      const auto [id, holder] = todo.back();
      todo.pop_back();
      if (seen[id.index()]) continue;
      seen[id.index()] = true;
      holders_[id.index()] = holder;
      const std::vector<ConstId>& consts = module_[id].consts;
      for (size_t i = consts.size(); i-- > 0;) {
        if (module_[consts[i]].kind == ConstKind::Code)
          todo.emplace_back(module_[consts[i]].code, id);
      }
      CodeReport& report = out_.codes.emplace_back(id);
      one(report);
      // Of most code objects a brief inspection says nothing.
      if (!is_brief_ || !report.findings.empty()) report.path = path_of(id);
    }
  }

  // Returns the names of the code objects around one, and its own.
  std::string path_of(CodeId id) const {
    std::vector<CodeId> path;
    for (; id.valid(); id = holders_[id.index()]) path.push_back(id);
    std::string text;
    for (size_t i = path.size(); i-- > 0;) {
      text += module_.text(module_[path[i]].name);
      if (i > 0) text += '/';
    }
    return text;
  }

  void one(CodeReport& report) {
    const Code& code = module_[report.code];
    if (!code.fault.empty()) return add(report, {"fault", code.fault});
    if (is_brief_ && report.code.index() < input_.uses_all.size() &&
        input_.uses_all[report.code.index()]) {
      // Only common findings would be made of its instructions.
      for (const ConstId id : code.consts) {
        if (module_[id].kind == ConstKind::Bytes) code_in_bytes(report, module_[id]);
      }
      return names_by_themselves(report, code);
    }
    const bytecode::Contents found = bytecode::contents_of(module_, code, input_.is_straight);
    has_parts_ = false;
    parts_.clear();
    joined_.clear();
    constants(report, code, found);
    names(report, code, found);
    operands_ += found.operands;
    if (!found.operands.empty() && !is_brief_) {
      const std::string count = std::to_string(found.operands.size());
      add(report, {"operands", count + " operands that mean nothing: " + quoted(found.operands),
                   found.operands_at, true});
    }
    if (found.junk > 0) {
      add(report,
          {"junk", std::to_string(found.junk) + " bytes that no path reaches and that are no code",
           found.junk_at});
    }
  }

  static void add(CodeReport& report, Finding finding) {
    if (report.findings.size() < kMostOfAKind) report.findings.push_back(std::move(finding));
  }

  void constants(CodeReport& report, const Code& code, const bytecode::Contents& found) {
    for (size_t i = 0; i < code.consts.size(); ++i) {
      const Const& value = module_[code.consts[i]];
      if (value.kind == ConstKind::Bytes) code_in_bytes(report, value);
      if (found.loads[i]) continue;
      if (value.kind == ConstKind::Code) {
        const Code& inner = module_[value.code];
        report.hidden.push_back(value.code);
        add(report, {"code", "code that no instruction loads: " + quoted(module_.text(inner.name)) +
                                 " of file " + quoted(module_.text(inner.filename)) + ", line " +
                                 std::to_string(inner.firstlineno)});
        continue;
      }
      Finding finding{"constant", "constant that no instruction loads: "};
      // If code was taken away, every constant that is left tells something.
      finding.is_common = found.junk == 0 && is_left_after(code, found, i);
      if (finding.is_common && is_brief_) continue;
      finding.value = shortened(object::repr(module_, code.consts[i]));
      finding.text += finding.value;
      add(report, std::move(finding));
    }
  }

  // Returns true if a constant is a remainder of folding: compilers fold displays, and leave their
  // parts.
  bool is_left_after(const Code& code, const bytecode::Contents& found, size_t index) {
    const Const& value = module_[code.consts[index]];
    if (value.kind != ConstKind::Str && value.kind != ConstKind::Bytes) return true;
    if (module_.text(value.text).size() < kShortestText) return true;
    if (!has_parts_) collect_parts(code, found);
    if (parts_.contains(value.text)) return true;
    // 3.14 folds 'a' + 'b' late, and leaves both.
    if (searches_ == 0) return false;
    --searches_;
    return joined_.find(module_.text(value.text)) != std::string::npos;
  }

  // Collects the parts of the constants that a code object loads.
  void collect_parts(const Code& code, const bytecode::Contents& found) {
    has_parts_ = true;
    std::vector<ConstId> todo;
    for (size_t i = 0; i < code.consts.size(); ++i) {
      if (found.loads[i]) todo.push_back(code.consts[i]);
    }
    for (size_t i = 0; i < todo.size() && i < kMostParts; ++i) {
      const Const& value = module_[todo[i]];
      if (value.kind == ConstKind::Str || value.kind == ConstKind::Bytes) {
        parts_.insert(value.text);
        const std::string_view text = module_.text(value.text);
        if (joined_.size() + text.size() < kMostJoined) (joined_ += text) += '\n';
      }
      todo.insert(todo.end(), value.items.begin(), value.items.end());
    }
  }

  void code_in_bytes(CodeReport& report, const Const& value) const {
    const std::string_view text = module_.text(value.text);
    if (text.size() < 40) return;
    if (text.starts_with("PYARMOR") || text.starts_with("PY00000")) {
      const std::string size = std::to_string(text.size());
      return add(report, {"encrypted", "a constant of " + size +
                                           " bytes is what PyArmor encrypts; its key is not here"});
    }
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()),
                                         text.size());
    const Result<Input> inner = read_input(bytes);
    if (!inner.ok()) return;
    const object::Version version = inner->module.version;
    add(report,
        {"code in bytes", "a constant of " + std::to_string(text.size()) +
                              " bytes is code of CPython " + std::to_string(version.major) + '.' +
                              std::to_string(version.minor) + " (--follow decompiles it)"});
  }

  void names(CodeReport& report, const Code& code, const bytecode::Contents& found) {
    for (size_t i = 0; i < code.names.size(); ++i) {
      if (found.uses[i]) continue;
      Finding finding{"name", "name that no instruction uses: "};
      finding.value = quoted(module_.text(code.names[i]));
      finding.text += finding.value;
      add(report, std::move(finding));
    }
    names_by_themselves(report, code);
  }

  void names_by_themselves(CodeReport& report, const Code& code) {
    const std::array<std::pair<const char*, const std::vector<Symbol>*>, 4> lists = {{
        {"names", &code.names},
        {"local variables", &code.varnames},
        {"cells", &code.cellvars},
        {"free variables", &code.freevars},
    }};
    for (const auto& [what, symbols] : lists) {
      ++list_;
      for (const Symbol symbol : *symbols) {
        if (std::exchange(met_[symbol.index()], list_) == list_) {
          add(report, {"doubled name", "twice among the " + std::string(what) + ": " +
                                           quoted(module_.text(symbol))});
        } else if (is_odd(symbol, symbols == &code.names)) {
          Finding finding{kOddName, "no name of a source among the " + std::string(what) + ": "};
          finding.value = quoted(module_.text(symbol));
          finding.text += finding.value;
          add(report, std::move(finding));
        }
      }
    }
  }

  // (`from . import x` imports from an empty name.)
  bool is_odd(Symbol symbol, bool may_be_empty) {
    enum : uint8_t { kUnknown, kOdd, kPlain };
    uint8_t& kind = kinds_[symbol.index()];
    const std::string_view name = module_.text(symbol);
    if (kind == kUnknown) kind = is_compilers_own(name) ? kPlain : kOdd;
    return kind == kOdd && !(may_be_empty && name.empty());
  }

  void file() {
    if (is_text(operands_)) {
      out_.file.push_back(
          {"message", "a message in operands that mean nothing: " + quoted(operands_)});
    }
    if (input_.end < input_.size) {
      std::string said = std::to_string(input_.size - input_.end) + " bytes after the code";
      if (is_text(input_.rest)) said += ": " + quoted(input_.rest);
      if (may_begin_code(input_.rest)) said += ", which may be code (--carve decompiles it)";
      out_.file.push_back({"rest", std::move(said), input_.end});
    }
    if (!input_.doubt.empty()) {
      out_.file.push_back({"version", "the version is a guess: " + input_.doubt});
    }
    if (!input_.subject.empty()) {
      out_.file.push_back({"subject", "the code of " + input_.subject +
                                          " by itself; what was around it is not known"});
    }
  }

  const Input& input_;
  const Module& module_;
  bool is_brief_;
  std::vector<uint32_t> met_;    // by symbol: the last list of names that had it
  std::vector<uint8_t> kinds_;   // by symbol: whether it is odd, once that was asked
  std::vector<CodeId> holders_;  // by code object: the one around it; invalid: none
  uint32_t list_ = 0;
  std::string operands_;  // of all code objects
  bool has_parts_ = false;
  std::unordered_set<Symbol> parts_;  // of the constants of the current code object
  std::string joined_;                // the same, joined
  size_t searches_ = kMostSearches;
  Inspection out_;
};

// The names of a file that a generator of code gave: all begin with one character that no name has.
struct Generated {
  std::string_view first;  // "'@", the quote and the character
  size_t names = 0;
  size_t codes = 0;

  bool is_one(const Finding& finding) const {
    return names > 1 && finding.kind == kOddName && finding.value.starts_with(first);
  }
};

Generated generated_names(const std::vector<CodeReport>& codes) {
  Generated found;
  for (const CodeReport& report : codes) {
    const size_t before = found.names;
    for (const Finding& finding : report.findings) {
      if (finding.kind != kOddName || finding.value.size() < 3) continue;
      const std::string_view first = std::string_view(finding.value).substr(0, 2);
      if (std::string_view("!$%&*+,-/:;=?@^|~").find(first[1]) == std::string_view::npos) continue;
      if (found.names == 0) found.first = first;
      if (found.first == first) ++found.names;
    }
    if (found.names > before) ++found.codes;
  }
  return found;
}

// Adds a line for all constants, one for all names, and one for each other finding.
void add_lines(const CodeReport& report, const Generated& generated,
               std::vector<std::string>& lines) {
  std::string constants, names;
  for (const Finding& finding : report.findings) {
    if (finding.is_common || generated.is_one(finding)) continue;
    if (finding.kind == "constant" || finding.kind == "name") {
      std::string& all = finding.kind == "name" ? names : constants;
      all += (all.empty() ? "" : ", ") + finding.value;
    } else {
      lines.push_back("- " + report.path + ": " + finding.text);
    }
  }
  if (!constants.empty()) {
    lines.push_back("- " + report.path +
                    ": constants that no instruction loads: " + shortened(std::move(constants)));
  }
  if (!names.empty()) {
    lines.push_back("- " + report.path +
                    ": names that no instruction uses: " + shortened(std::move(names)));
  }
}

// Adds the source of one code object by itself.
void add_source(const Module& module, CodeId code, const std::string& path,
                std::vector<std::string>& lines) {
  Module alone = module;
  alone.root = code;
  bytecode::hold(alone);
  const Result<Output> output = decompile(alone, alone.root);
  if (!output.ok()) return;
  lines.push_back("pellucid: code that no instruction loads, in " + path + ':');
  const std::string_view source = output->source;
  size_t count = 0;
  for (size_t at = 0; at < source.size(); ++count) {
    const size_t end = std::min(source.find('\n', at), source.size());
    if (count == kMostLines) return lines.push_back("...");
    lines.emplace_back(source.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

Inspection inspect(const Input& input, bool is_brief) { return Inspector(input, is_brief).run(); }

Remarks remarks_on(const Input& input) {
  const Inspection found = inspect(input, true);
  Remarks remarks;
  std::vector<std::string>& lines = remarks.before;
  for (const Finding& finding : found.file) lines.push_back("- " + finding.text);
  const Generated generated = generated_names(found.codes);
  if (generated.names > 1) {
    lines.push_back("- no names of a source: " + std::to_string(generated.names) +
                    " that begin with " + std::string(generated.first) + "', in " +
                    std::to_string(generated.codes) +
                    (generated.codes == 1 ? " code object" : " code objects"));
  }
  size_t hidden = 0;
  for (const CodeReport& report : found.codes) {
    add_lines(report, generated, lines);
    for (const CodeId code : report.hidden) {
      if (++hidden <= kMostHidden) add_source(input.module, code, report.path, remarks.after);
    }
  }
  if (lines.size() > kMostRemarks) {
    const std::string left = std::to_string(lines.size() - kMostRemarks);
    lines.resize(kMostRemarks);
    lines.push_back("- and " + left + " more");
  }
  if (!lines.empty()) {
    lines.insert(lines.begin(), "pellucid: what this text does not show (`pellucid inspect`):");
  }
  return remarks;
}

}  // namespace pellucid::driver
