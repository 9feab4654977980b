// SPDX-License-Identifier: Apache-2.0
// Reads the text of an expression in a template as Python does, and writes it in the canonical
// notation (notation.h).
#include <charconv>

#include "verify/lower/interpolation.h"
#include "verify/lower/notation.h"

namespace pellucid::verify::lower {

namespace {

class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const Mangle& mangle) : text_(text), mangle_(mangle) {
    next();
  }

  std::string whole() {
    const std::string meaning = tuple_or_one("");
    if (!token_.empty()) throw NotKnown{};
    return meaning;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  bool at_end() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void next() {
    while (!at_end() && (peek() == ' ' || peek() == '\n' || peek() == '\t')) ++at_;
    const size_t start = at_;
    if (at_end()) {
      token_ = {};
    } else if (starts_name(peek())) {
      while (starts_name(peek()) || is_digit(peek())) ++at_;
      token_ = text_.substr(start, at_ - start);
      // The prefix of a string.
      if (peek() == '\'' || peek() == '"') throw NotKnown{};
    } else if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) {
      while (starts_name(peek()) || is_digit(peek()) || peek() == '.') ++at_;
      if (peek() == '+' || peek() == '-') {
        const char before = text_[at_ - 1];
        const bool is_hexadecimal =
            text_.substr(start, 2) == "0x" || text_.substr(start, 2) == "0X";
        if ((before == 'e' || before == 'E') && !is_hexadecimal) throw NotKnown{};
      }
      token_ = text_.substr(start, at_ - start);
    } else if (peek() == '\'' || peek() == '"') {
      const char quote = peek();
      if (peek(1) == quote && peek(2) == quote) throw NotKnown{};
      for (++at_; !at_end() && peek() != quote; ++at_) {
        if (peek() == '\\' || peek() == '\n') throw NotKnown{};
      }
      if (at_end()) throw NotKnown{};
      ++at_;
      token_ = text_.substr(start, at_ - start);
    } else {
      for (const std::string_view op : {"...", "**", "//", "<<", ">>", "<=", ">=", "==", "!="}) {
        if (text_.substr(at_, op.size()) != op) continue;
        at_ += op.size();
        token_ = op;
        return;
      }
      if (std::string_view("+-*/%@&|^~<>()[]{},:.=").find(peek()) == std::string_view::npos) {
        throw NotKnown{};
      }
      token_ = text_.substr(at_++, 1);
    }
  }

  bool take(std::string_view token) {
    if (token_ != token) return false;
    next();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) throw NotKnown{};
  }

  bool is_name() const { return !token_.empty() && starts_name(token_[0]); }

  std::string take_name() {
    for (const char* keyword : {"and", "or", "not", "if", "else", "for", "in", "is", "lambda",
                                "await", "async", "yield", "from"}) {
      if (token_ == keyword) throw NotKnown{};
    }
    if (!is_name()) throw NotKnown{};
    const std::string name(token_);
    next();
    return name;
  }

  // Reads the contents of brackets: `a`, or `a, b`.
  std::string tuple_or_one(std::string_view end) {
    std::vector<std::string> parts;
    bool is_tuple = false;
    while (token_ != end) {
      parts.push_back(end == "]" ? item() : starred());
      if (!take(",")) break;
      is_tuple = true;
    }
    if (parts.empty()) throw NotKnown{};
    return is_tuple ? made("tuple", parts) : parts[0];
  }

  std::string starred() {
    if (take("*")) return made("star", {level(kOr)});
    return expression();
  }

  // Reads an item of a subscript.
  std::string item() {
    std::array<std::string, 3> parts = {"-", "-", "-"};
    if (token_ != ":") {
      parts[0] = starred();
      if (token_ != ":") return parts[0];
    }
    for (size_t i = 1; i < 3 && take(":"); ++i) {
      if (token_ != ":" && token_ != "]" && token_ != ",") parts[i] = expression();
    }
    return made("slice", {parts[0], parts[1], parts[2]});
  }

  std::string expression() {
    if (++depth_ > kDeepestMeaning) throw NotKnown{};
    std::string value = disjunction();
    if (take("if")) {
      const std::string test = disjunction();
      expect("else");
      value = made("if", {test, value, expression()});
    }
    --depth_;
    return value;
  }

  std::string disjunction() {
    return joined("or", [&] { return conjunction(); });
  }
  std::string conjunction() {
    return joined("and", [&] { return negation(); });
  }
  template <typename Part>
  std::string joined(const char* word, Part part) {
    std::vector<std::string> parts = {part()};
    while (take(word)) parts.push_back(part());
    return parts.size() > 1 ? made(word, parts) : parts[0];
  }

  std::string negation() {
    if (++depth_ > kDeepestMeaning) throw NotKnown{};
    const std::string value = take("not") ? unary("not", negation()) : comparison();
    --depth_;
    return value;
  }

  std::string comparison() {
    std::vector<std::string> parts = {level(kOr)};
    while (true) {
      std::string op(token_);
      if (op == "not") {
        next();
        expect("in");
        op = "not in";
      } else if (op == "is") {
        next();
        op = take("not") ? "is not" : "is";
      } else if (op == "<" || op == ">" || op == "<=" || op == ">=" || op == "==" || op == "!=" ||
                 op == "in") {
        next();
      } else {
        break;
      }
      parts.push_back(op);
      parts.push_back(level(kOr));
    }
    return parts.size() > 1 ? made("compare", parts) : parts[0];
  }

  static constexpr size_t kOr = 0;
  std::string level(size_t level) {
    static const std::array<std::vector<std::string_view>, 6> operators = {
        {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}}};
    if (level == operators.size()) return factor();
    std::string left = this->level(level + 1);
    while (true) {
      std::string_view found;
      for (const std::string_view op : operators[level]) {
        if (token_ == op) found = op;
      }
      if (found.empty()) return left;
      next();
      left = binary(found, left, this->level(level + 1));
    }
  }

  std::string factor() {
    if (++depth_ > kDeepestMeaning) throw NotKnown{};
    std::string value;
    if (token_ == "-" || token_ == "+" || token_ == "~") {
      const std::string op(token_);
      next();
      value = unary(op, factor());
    } else {
      value = primary();
      if (take("**")) value = binary("**", value, factor());
    }
    --depth_;
    return value;
  }

  std::string primary() {
    std::string value = atom();
    while (true) {
      if (take(".")) {
        value = made("attribute", {value, mangle_(take_name())});
      } else if (take("[")) {
        const std::string index = tuple_or_one("]");
        expect("]");
        value = made("item", {value, index});
      } else if (take("(")) {
        value = call(value);
      } else {
        return value;
      }
    }
  }

  std::string call(const std::string& function) {
    std::vector<std::string> args = {function};
    std::vector<std::string> keywords;
    while (token_ != ")") {
      if (take("**")) {
        keywords.push_back(made("keyword", {"**", expression()}));
      } else if (take("*")) {
        args.push_back(made("star", {expression()}));
      } else {
        const size_t at = at_;
        const std::string_view token = token_;
        if (is_name()) {
          const std::string name(token_);
          next();
          if (take("=")) {
            keywords.push_back(made("keyword", {name, expression()}));
            if (!take(",")) break;
            continue;
          }
          at_ = at;
          token_ = token;
        }
        args.push_back(expression());
      }
      if (!take(",")) break;
    }
    expect(")");
    args.insert(args.end(), keywords.begin(), keywords.end());
    return made("call", args);
  }

  std::string atom() {
    if (take("(")) {
      if (take(")")) return made("tuple", {});
      const std::string value = tuple_or_one(")");
      expect(")");
      return value;
    }
    if (take("[")) return sequence("list", "]");
    if (take("{")) return braces();
    if (take("...")) return "...";
    if (token_ == "None" || token_ == "True" || token_ == "False") {
      const std::string word(token_);
      next();
      return word;
    }
    if (token_.empty()) throw NotKnown{};
    if (token_[0] == '\'' || token_[0] == '"') {
      std::string text;
      while (!token_.empty() && (token_[0] == '\'' || token_[0] == '"')) {
        text += token_.substr(1, token_.size() - 2);
        next();
      }
      return text_constant('s', text);
    }
    if (is_digit(token_[0]) || token_[0] == '.') return number();
    return mangle_(take_name());
  }

  std::string sequence(const char* what, std::string_view end) {
    std::vector<std::string> parts;
    while (token_ != end) {
      parts.push_back(starred());
      if (!take(",")) break;
    }
    expect(end);
    return made(what, parts);
  }

  std::string braces() {
    std::vector<std::string> parts;
    bool is_dict = token_ == "}";
    while (token_ != "}") {
      if (take("**")) {
        is_dict = true;
        parts.push_back(made("pair", {"**", level(kOr)}));
      } else {
        std::string first = starred();
        if (take(":")) {
          is_dict = true;
          first = made("pair", {first, expression()});
        }
        parts.push_back(first);
      }
      if (!take(",")) break;
    }
    expect("}");
    return made(is_dict ? "dict" : "set", parts);
  }

  std::string number() {
    std::string digits;
    for (const char c : token_) {
      if (c != '_') digits += c;
    }
    next();
    int base = 10;
    size_t from = 0;
    if (digits.size() > 2 && digits[0] == '0') {
      const char kind = static_cast<char>(digits[1] | 0x20);
      base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
      from = base == 10 ? 0 : 2;
    }
    const char* const end = digits.data() + digits.size();
    int64_t value = 0;
    const auto whole = std::from_chars(digits.data() + from, end, value, base);
    if (whole.ec == std::errc() && whole.ptr == end) return integer(value);
    double real = 0;
    const auto rest = std::from_chars(digits.data(), end, real);
    if (base != 10 || rest.ec != std::errc() || rest.ptr != end) throw NotKnown{};
    if (digits.find('.') == std::string::npos && digits.find('e') == std::string::npos) {
      throw NotKnown{};
    }
    return float_constant(real);
  }

  std::string_view text_;
  const Mangle& mangle_;
  size_t at_ = 0;
  std::string_view token_;
  uint32_t depth_ = 0;
};

}  // namespace

std::optional<std::string> meaning_of_text(std::string_view text, const Mangle& mangle) {
  try {
    return ExpressionReader(text, mangle).whole();
  } catch (const NotKnown&) {
    return std::nullopt;
  }
}

}  // namespace pellucid::verify::lower
