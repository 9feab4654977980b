#include "object/fitting_names.h"

#include <algorithm>
#include <array>

namespace pellucid::object {

namespace {

// `a.b.c`, of which an import makes one name.
bool is_dotted(std::string_view text) {
  for (;;) {
    const size_t dot = text.find('.');
    if (!is_identifier(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_writable(std::string_view text) {
  return text.empty() || text[0] == '.' || is_dotted(text);
}

class Fitting {
 public:
  Fitting(Module& module, std::unordered_map<std::string, std::string>& known)
      : module_(module), known_(known) {}

  FittingNames run() {
    for (size_t i = 0; i < module_.codes.size(); ++i) {
      Code& code = module_.codes[i];
      has_any_ = false;
      for (auto* names :
           {&code.names, &code.varnames, &code.cellvars, &code.freevars, &code.localsplus}) {
        for (Symbol& name : *names) fit(name);
      }
      if (has_any_) found_.codes.push_back(CodeId(i));
    }
    return std::move(found_);
  }

 private:
  void fit(Symbol& name) {
    if (is_writable(module_.text(name))) return;
    const std::string text(module_.text(name));
    has_any_ = true;
    Symbol& given = given_[text];
    if (!given.valid()) {
      given = given_to(text);
      found_.names.emplace_back(given, name);
    }
    name = given;
  }

  Symbol given_to(const std::string& text) {
    std::string& given = known_[text];
    if (given.empty() || module_.strings.find(given).valid()) {
      std::string stem = "_";
      for (const char c : text) {
        if (is_identifier(stem + c)) stem += c;
      }
      given = stem;
      for (int n = 1; module_.strings.find(given).valid(); ++n) {
        given = stem + "_" + std::to_string(n);
      }
    }
    return module_.strings.intern(given);
  }

  Module& module_;
  std::unordered_map<std::string, std::string>& known_;
  FittingNames found_;
  std::unordered_map<std::string, Symbol> given_;
  bool has_any_ = false;
};

}  // namespace

bool is_identifier(std::string_view text) {
  static constexpr std::array<std::string_view, 35> kKeywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // A surrogate, 0xd800 to 0xdfff, is no character of a text.
    const bool is_surrogate = static_cast<unsigned char>(c) == 0xed && i + 1 < text.size() &&
                              static_cast<unsigned char>(text[i + 1]) >= 0xa0;
    if (is_surrogate) return false;
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || static_cast<unsigned char>(c) >= 0x80;
    if (!fits) return false;
  }
  return std::find(kKeywords.begin(), kKeywords.end(), text) == kKeywords.end();
}

FittingNames fit_names(Module& module, std::unordered_map<std::string, std::string>& known) {
  return Fitting(module, known).run();
}

}  // namespace pellucid::object
