#include "verify/lower/remembered.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <vector>

namespace pellucid::verify::lower {

namespace {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

struct NotKnown {};

constexpr uint32_t kDeepest = 100;

// Both readers build their answer of these.
std::string made(std::string_view what, const std::vector<std::string>& parts) {
  std::string out = '(' + std::string(what);
  for (const std::string& part : parts) out += ' ' + part;
  return out + ')';
}

std::string text_constant(char kind, std::string_view text) {
  return std::string(1, kind) + std::to_string(text.size()) + ':' + std::string(text);
}

std::string float_constant(double value) {
  std::array<char, 40> digits{};
  std::snprintf(digits.data(), digits.size(), "float:%.17g", value);
  return digits.data();
}

std::optional<int64_t> integer_of(std::string_view meaning) {
  if (!meaning.starts_with("int:")) return std::nullopt;
  int64_t value = 0;
  std::from_chars(meaning.data() + 4, meaning.data() + meaning.size(), value);
  return value;
}

std::string integer(int64_t value) { return "int:" + std::to_string(value); }

// The compiler computes what it can of integers.
std::string binary(std::string_view op, const std::string& left, const std::string& right) {
  const auto x = integer_of(left);
  const auto y = integer_of(right);
  int64_t result = 0;
  if (x && y) {
    const bool overflows = op == "+"   ? __builtin_add_overflow(*x, *y, &result)
                           : op == "-" ? __builtin_sub_overflow(*x, *y, &result)
                           : op == "*" ? __builtin_mul_overflow(*x, *y, &result)
                                       : true;
    if (overflows) throw NotKnown{};
    return integer(result);
  }
  return made(op, {left, right});
}

std::string unary(std::string_view op, const std::string& operand) {
  const auto x = integer_of(operand);
  int64_t negative = 0;
  if (x && op == "-") {
    if (__builtin_sub_overflow(int64_t{0}, *x, &negative)) throw NotKnown{};
    return integer(negative);
  }
  if (x && op == "+") return operand;
  if (x && op == "~") return integer(~*x);
  return made(op == "not" ? "not" : "unary" + std::string(op), {operand});
}

// -- the text
// ---------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(std::string_view text, const Mangle& mangle) : text_(text), mangle_(mangle) { next(); }

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
      // A prefix of a text.
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

  // What lies between brackets: `a`, or `a, b`.
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

  // In a subscript.
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
    if (++depth_ > kDeepest) throw NotKnown{};
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
    if (++depth_ > kDeepest) throw NotKnown{};
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
    if (++depth_ > kDeepest) throw NotKnown{};
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

// -- the tree
// ---------------------------------------------------------------------------------------

class Writer {
 public:
  Writer(const ast::Tree& tree, const Mangle& mangle) : tree_(tree), mangle_(mangle) {}

  std::string write(NodeId node) {
    if (++depth_ > kDeepest) throw NotKnown{};
    std::string meaning = write_in(node);
    --depth_;
    return meaning;
  }

 private:
  std::string name(Symbol id) const { return mangle_(tree_.text(id)); }

  std::vector<std::string> all(ListId list) {
    std::vector<std::string> parts;
    for (NodeId node : tree_.items(list)) parts.push_back(write(node));
    return parts;
  }
  std::string maybe(NodeId node) { return node.valid() ? write(node) : "-"; }

  std::string constant(object::ConstId id) {
    const object::Const& value = tree_.module()[id];
    switch (value.kind) {
      case object::ConstKind::None:
        return "None";
      case object::ConstKind::True:
        return "True";
      case object::ConstKind::False:
        return "False";
      case object::ConstKind::Ellipsis:
        return "...";
      case object::ConstKind::Int:
        return integer(value.integer);
      case object::ConstKind::Float:
        return float_constant(value.real);
      case object::ConstKind::Str:
        return text_constant('s', tree_.text(value.text));
      case object::ConstKind::Tuple: {
        if (++depth_ > kDeepest) throw NotKnown{};
        std::vector<std::string> parts;
        for (const object::ConstId item : value.items) parts.push_back(constant(item));
        --depth_;
        return made("tuple", parts);
      }
      default:  // NOLINT: not read from texts either
        throw NotKnown{};
    }
  }

  std::string write_in(NodeId node) {
    switch (tree_.kind(node)) {
      case Kind::Constant:
        return constant(tree_.as<ast::Constant>(node).value);
      case Kind::Name:
        return name(tree_.as<ast::Name>(node).id);
      case Kind::Attribute: {
        const auto attribute = tree_.as<ast::Attribute>(node);
        return made("attribute", {write(attribute.value), name(attribute.attr)});
      }
      case Kind::Subscript: {
        const auto item = tree_.as<ast::Subscript>(node);
        return made("item", {write(item.value), write(item.slice)});
      }
      case Kind::Slice: {
        const auto slice = tree_.as<ast::Slice>(node);
        return made("slice", {maybe(slice.lower), maybe(slice.upper), maybe(slice.step)});
      }
      case Kind::Starred:
        return made("star", {write(tree_.as<ast::Starred>(node).value)});
      case Kind::Tuple:
        return made("tuple", all(tree_.as<ast::Tuple>(node).elts));
      case Kind::List:
        return made("list", all(tree_.as<ast::List>(node).elts));
      case Kind::Set:
        return made("set", all(tree_.as<ast::Set>(node).elts));
      case Kind::Dict:
        return dictionary(tree_.as<ast::Dict>(node));
      case Kind::IfExp: {
        const auto choice = tree_.as<ast::IfExp>(node);
        return made("if", {write(choice.test), write(choice.body), write(choice.orelse)});
      }
      case Kind::BoolOp: {
        const auto operation = tree_.as<ast::BoolOp>(node);
        const bool is_and = operation.op == static_cast<uint32_t>(ast::BoolOperator::And);
        return made(is_and ? "and" : "or", all(operation.values));
      }
      case Kind::UnaryOp: {
        const auto operation = tree_.as<ast::UnaryOp>(node);
        return unary(symbol(static_cast<ast::UnaryOperator>(operation.op)),
                     write(operation.operand));
      }
      case Kind::BinOp: {
        const auto operation = tree_.as<ast::BinOp>(node);
        const std::string left = write(operation.left);
        return binary(symbol(static_cast<ast::Operator>(operation.op)), left,
                      write(operation.right));
      }
      case Kind::Compare:
        return comparison(tree_.as<ast::Compare>(node));
      case Kind::Call:
        return call(tree_.as<ast::Call>(node));
      default:  // NOLINT: not read from texts either
        throw NotKnown{};
    }
  }

  static const char* symbol(ast::UnaryOperator op) {
    switch (op) {
      case ast::UnaryOperator::Invert:
        return "~";
      case ast::UnaryOperator::Not:
        return "not";
      case ast::UnaryOperator::UAdd:
        return "+";
      case ast::UnaryOperator::USub:
        return "-";
    }
    throw NotKnown{};
  }

  static const char* symbol(ast::Operator op) {
    switch (op) {
      case ast::Operator::Add:
        return "+";
      case ast::Operator::Sub:
        return "-";
      case ast::Operator::Mult:
        return "*";
      case ast::Operator::MatMult:
        return "@";
      case ast::Operator::Div:
        return "/";
      case ast::Operator::Mod:
        return "%";
      case ast::Operator::Pow:
        return "**";
      case ast::Operator::LShift:
        return "<<";
      case ast::Operator::RShift:
        return ">>";
      case ast::Operator::BitOr:
        return "|";
      case ast::Operator::BitXor:
        return "^";
      case ast::Operator::BitAnd:
        return "&";
      case ast::Operator::FloorDiv:
        return "//";
    }
    throw NotKnown{};
  }

  static const char* symbol(ast::CmpOperator op) {
    switch (op) {
      case ast::CmpOperator::Eq:
        return "==";
      case ast::CmpOperator::NotEq:
        return "!=";
      case ast::CmpOperator::Lt:
        return "<";
      case ast::CmpOperator::LtE:
        return "<=";
      case ast::CmpOperator::Gt:
        return ">";
      case ast::CmpOperator::GtE:
        return ">=";
      case ast::CmpOperator::Is:
        return "is";
      case ast::CmpOperator::IsNot:
        return "is not";
      case ast::CmpOperator::In:
        return "in";
      case ast::CmpOperator::NotIn:
        return "not in";
    }
    throw NotKnown{};
  }

  std::string dictionary(const ast::Dict& node) {
    const auto keys = tree_.items(node.keys);
    const auto values = tree_.items(node.values);
    std::vector<std::string> parts;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string key = keys[i].valid() ? write(keys[i]) : "**";
      parts.push_back(made("pair", {key, write(values[i])}));
    }
    return made("dict", parts);
  }

  std::string comparison(const ast::Compare& node) {
    const auto ops = tree_.numbers(node.ops);
    const auto right = tree_.items(node.comparators);
    std::vector<std::string> parts = {write(node.left)};
    for (size_t i = 0; i < right.size(); ++i) {
      parts.push_back(symbol(static_cast<ast::CmpOperator>(ops[i])));
      parts.push_back(write(right[i]));
    }
    return made("compare", parts);
  }

  std::string call(const ast::Call& node) {
    std::vector<std::string> parts = {write(node.func)};
    for (const std::string& arg : all(node.args)) parts.push_back(arg);
    for (NodeId id : tree_.items(node.keywords)) {
      const auto keyword = tree_.as<ast::keyword>(id);
      const std::string name(keyword.arg.valid() ? tree_.text(keyword.arg) : "**");
      parts.push_back(made("keyword", {name, write(keyword.value)}));
    }
    return made("call", parts);
  }

  const ast::Tree& tree_;
  const Mangle& mangle_;
  uint32_t depth_ = 0;
};

}  // namespace

std::optional<std::string> meaning_of_text(std::string_view text, const Mangle& mangle) {
  try {
    return Reader(text, mangle).whole();
  } catch (const NotKnown&) {
    return std::nullopt;
  }
}

std::optional<std::string> meaning_of_tree(const ast::Tree& tree, NodeId node,
                                           const Mangle& mangle) {
  try {
    return Writer(tree, mangle).write(node);
  } catch (const NotKnown&) {
    return std::nullopt;
  }
}

}  // namespace pellucid::verify::lower
