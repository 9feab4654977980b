// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <sstream>

#include "structure/graph/uses.h"
#include "structure/graph_text.h"
#include "structure/graph_words.h"
#include "structure/text_line.h"

namespace pellucid::structure {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) {
    made_.module = std::make_unique<object::Module>();
    module_ = made_.module.get();
    f_.values.resize(1);
    f_.values[0].kind = ValueKind::Null;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.find_first_not_of(" |") != std::string::npos && line[0] != '#')
        lines_.push_back(line);
    }
  }

  TextGraph run() {
    set_version(12);
    while (at_ < lines_.size()) top();
    for (const auto& [id, kind] : dead_) f_.handlers[id].entry = kind;
    made_.tree = std::make_unique<ast::Tree>(*module_);
    f_.code = object::CodeId(0u);
    Graph graph(std::move(f_));
    graph.regions = std::move(regions_);
    for (const BlockId id : kept_) graph.kept.add(id);
    for (const auto& [id, stay] : tested_) graph.tested_loops[id] = stay;
    for (const auto& [offset, times] : held_) graph.held[offset] = times;
    for (size_t i = 0; i < graph.handlers.size(); ++i) {
      if (i < handlers_.size()) graph.handlers[i] = handlers_[i];
    }
    for (HandlerInfo& info : graph.handlers) {
      for (HandlerId h = info.outer; h.valid(); h = graph.handlers[h.index()].outer) ++info.depth;
    }
    for (const auto& [value, end] : clauses_) graph.clause_ends.note(graph, value, end);
    recount_uses(graph);
    for (const auto& [id, uses] : uses_) graph[id].uses = uses;
    made_.reduction = std::make_unique<Reduction>(
        Reduction{std::move(graph), *made_.tree, joins_copies_, std::move(joins_)});
    return std::move(made_);
  }

 private:
  std::string now() const { return at_ < lines_.size() ? lines_[at_] : "the end"; }

  uint32_t index(const std::string& token, char kind) const {
    if (!is_id(token, kind)) refuse(now());
    return static_cast<uint32_t>(std::stoul(token.substr(1)));
  }
  ValueId value(const std::string& token) {
    const ValueId id(index(token, 'v'));
    if (f_.values.size() <= id.index()) f_.values.resize(id.index() + 1);
    return id;
  }
  BlockId block(const std::string& token) {
    if (token == "-") return {};
    const BlockId id(index(token, 'b'));
    if (f_.blocks.size() <= id.index()) f_.blocks.resize(id.index() + 1);
    return id;
  }
  HandlerId handler(const std::string& token) {
    const HandlerId id(index(token, 'h'));
    if (f_.handlers.size() <= id.index()) {
      f_.handlers.resize(id.index() + 1);
      handlers_.resize(id.index() + 1);
    }
    return id;
  }

  void set_version(uint32_t minor) {
    *module_ = object::new_module({3, static_cast<uint8_t>(minor)});
    object::Code code;
    code.version = module_->version;
    code.qualname = code.name = module_->strings.intern("f");
    code.flags = object::kOptimized;
    module_->root = module_->codes.push_back(std::move(code));
    f_.folds = flow::folds_of(module_->version);
    f_.habits = flow::habits_of(module_->version);
  }

  // A line that belongs to no block, or one that starts a block, with all that is in it.
  void top() {
    Line line(lines_[at_]);
    const std::string word = line.words[0];
    if (place(line)) return;
    if (is_id(word, 'b')) return read_block(line);
    if (is_id(word, 'h')) {
      read_handler(line);
    } else if (word == "python") {
      const std::string& version = line.part(1);
      set_version(static_cast<uint32_t>(std::stoul(version.substr(2))));
    } else if (word == "marks") {
      (line.part(1) == "ends" ? f_.marks_ends : f_.marks_empty_bodies) = true;
    } else if (word == "leaves") {
      joins_copies_ = false;
    } else if (word == "joins") {
      joins_.push_back(block(line.part(1)));
    } else if (word == "clause") {
      const ValueId exception = value(line.part(2));
      clauses_.emplace_back(exception, block(line.part(5)));
    } else if (word == "held") {
      held_[static_cast<uint32_t>(std::stoul(line.part(2)))] = {std::stoul(line.part(4)),
                                                                std::stoul(line.part(5))};
    } else {
      refuse(now());
    }
    ++at_;
  }

  bool place(const Line& line) {
    if (line.words.size() != 2 || !is_number(line.words[1])) return false;
    if (line.words[0] == "line")
      line_ = static_cast<int32_t>(std::stol(line.words[1]));
    else if (line.words[0] == "at")
      offset_ = static_cast<uint32_t>(std::stoul(line.words[1])), is_told_ = true;
    else
      return false;
    ++at_;
    return true;
  }

  std::vector<ValueId> values(Line& line) {
    std::vector<ValueId> found;
    while (!line.done() && is_id(line.word(), 'v')) {
      found.push_back(value(line.take()));
      if (!line.done() && line.word() == ",") line.skip();
    }
    return found;
  }
  std::vector<ValueId> in_brackets(Line& line) {
    if (line.done() || line.word() != "(") return {};
    line.skip();
    std::vector<ValueId> found = values(line);
    line.expect(")");
    return found;
  }

  void read_block(Line& line) {
    const BlockId id = block(line.take());
    const std::vector<ValueId> params = in_brackets(line);
    ir::Block made;
    for (const ValueId param : params) f_[param].kind = ValueKind::Phi;
    made.params = params;
    made.offset = offset_;
    while (!line.done()) {
      const std::string word = line.take();
      if (word == "in")
        made.handler = handler(line.take());
      else if (word == "kept")
        kept_.push_back(id);
      else if (word == "tested")
        tested_[id] = 0;
      else
        refuse(now());
    }
    line.each_note([&](const std::string& name, Line& words) {
      if (name == "exceptions")
        made.exc_depth = words.number();
      else if (name == "loop_end")
        made.loop_end = words.number();
      else if (name == "drops")
        made.drops = words.number();
      else if (name == "stack")
        made.entry_stack = values(words);
      else if (name == "stay")
        tested_[id] = static_cast<uint8_t>(words.number());
      else if (name == "uses")
        uses_of(words, {});
      else
        refuse(now());
    });
    ++at_;
    is_told_ = false;
    last_ = offset_;
    read_items("  ", made.items);
    read_exit(made);
    f_.blocks[id.index()] = std::move(made);
  }

  void uses_of(Line& words, ValueId id) {
    if (!words.done() && words.word() == "of") {
      words.skip();
      id = value(words.take());
    }
    uses_.emplace_back(id, words.number());
  }

  void read_items(const std::string& prefix, std::vector<ValueId>& items) {
    while (at_ < lines_.size()) {
      Line line(lines_[at_]);
      if (line.prefix != prefix) return;
      if (place(line)) continue;
      const bool is_let = line.word() == "let";
      if (is_let) line.skip();
      if (line.words.size() < line.next + 2 || line.words[line.next + 1] != "=") return;
      const ValueId id = value(line.take());
      line.expect("=");
      if (!is_let) items.push_back(id);
      read_value(id, line, is_let);
    }
  }

  void read_value(ValueId id, Line& line, bool is_let) {
    ir::Value made;
    made.line = line_;
    made.offset = is_let ? last_ : offset_;
    if (!is_let) {
      last_ = offset_;
      offset_ += 2;
      is_told_ = false;
    }
    const std::string what = line.take();
    const auto kind = std::find(std::begin(kKinds), std::end(kKinds), what);
    const auto region = std::find(std::begin(kRegions), std::end(kRegions), what);
    if (kind != std::end(kKinds)) {
      made.kind = static_cast<ValueKind>(kind - std::begin(kKinds));
      if (!line.done() && is_number(line.word())) made.a = line.number();
    } else if (region != std::end(kRegions)) {
      made.kind = ValueKind::Region;
      made.a = static_cast<uint32_t>(regions_.size());
      regions_.emplace_back();
      regions_.back().kind = static_cast<RegionKind>(region - std::begin(kRegions));
    } else {
      made.op = op_of(what);
      read_operand(made, line);
    }
    const std::vector<ValueId> operands = values(line);
    if (!line.done()) refuse(now());
    made.first = static_cast<uint32_t>(f_.operand_pool.size());
    made.count = static_cast<uint32_t>(operands.size());
    f_.operand_pool.insert(f_.operand_pool.end(), operands.begin(), operands.end());
    line.each_note([&](const std::string& name, Line& words) {
      if (name == "a")
        made.a = words.number();
      else if (name == "b")
        made.b = words.number();
      else if (name == "steady")
        made.steady = true;
      else if (name == "uses")
        uses_of(words, id);
      else if (name == "makes")
        regions_.back().container = op_of(words.take());
      else if (name == "hides")
        regions_.back().hidden.push_back(module_->strings.intern(words.take()));
      else if (name == "cell")
        regions_.back().cells.push_back(module_->strings.intern(words.take()));
      else if (name == "tested_again")
        regions_.back().is_tested_again = true;
      else
        refuse(now());
    });
    ++at_;
    const bool is_region = made.kind == ValueKind::Region;
    f_[id] = made;
    if (is_region) read_parts(made.a, line.prefix);
  }

  void read_parts(size_t region, const std::string& prefix) {
    std::vector<ValueId> items;
    while (at_ < lines_.size()) {
      Line line(lines_[at_]);
      if (line.prefix == prefix + "  | ") {
        read_items(prefix + "  | ", items);
      } else if (line.prefix == prefix + "  " && line.word() == "=") {
        Part part;
        part.items = std::exchange(items, {});
        part.result = value(line.part(1));
        part.follows_lost_test = !line.notes.empty();
        regions_[region].parts.push_back(std::move(part));
        ++at_;
      } else if (line.prefix == prefix + "  " && line.word() == "for") {
        ComprehensionStep step;
        step.header = block(line.part(1));
        for (size_t i = 2; i < line.words.size(); ++i) step.blocks.push_back(block(line.words[i]));
        regions_[region].steps.push_back(std::move(step));
        ++at_;
      } else {
        return;
      }
    }
  }

  static Op op_of(const std::string& name) {
    for (uint32_t op = 0; op <= static_cast<uint32_t>(Op::WithCleanupFinish); ++op) {
      if (bytecode::name_of(static_cast<Op>(op)) == name) return static_cast<Op>(op);
    }
    throw InternalError("no such operation: " + name);
  }

  void read_operand(ir::Value& made, Line& line) {
    switch (bytecode::operand_of(made.op)) {
      case bytecode::Operand::None:
        return;
      case bytecode::Operand::Const:
        made.a = constant(line).value;
        return;
      case bytecode::Operand::Name:
      case bytecode::Operand::Local:
      case bytecode::Operand::Cell:
        made.a = module_->strings.intern(line.take()).value;
        return;
      case bytecode::Operand::Target:
      case bytecode::Operand::Count:
      case bytecode::Operand::Depth:
      case bytecode::Operand::Operator:
      case bytecode::Operand::Flags:
      case bytecode::Operand::Kind:
        made.a = line.number();
        if (line.done() || line.word() != ",") return;
        line.skip();
        made.b = line.number();
        return;
    }
  }

  // As object::repr() writes it; what is the same is one constant.
  object::ConstId constant(Line& line) {
    using object::ConstKind;
    object::Const made;
    const std::string word = line.take();
    if (word == "True" || word == "False") {
      made.kind = word == "True" ? ConstKind::True : ConstKind::False;
    } else if (word == "Ellipsis") {
      made.kind = ConstKind::Ellipsis;
    } else if (word[0] == '\'') {
      made.kind = ConstKind::Str;
      made.text = module_->strings.intern(word.substr(1, word.size() - 2));
    } else if (is_number(word)) {
      made.kind = ConstKind::Int;
      made.integer = std::stol(word);
    } else if (word == "(") {
      made.kind = ConstKind::Tuple;
      while (line.word() != ")") {
        made.items.push_back(constant(line));
        if (line.word() == ",") line.skip();
      }
      line.skip();
    } else if (word == "<code") {
      line.number();
      made.kind = ConstKind::Code;
      made.code = code(line.take());
    } else if (word != "None") {
      refuse(now());
    }
    const object::ConstId id = module_->add(made);
    for (size_t i = 0; i + 1 < module_->consts.size(); ++i) {
      if (object::same_constant(*module_, object::ConstId(i), *module_, id)) {
        module_->consts.pop_back();
        return object::ConstId(i);
      }
    }
    return id;
  }

  object::CodeId code(const std::string& name) {
    const Symbol symbol = module_->strings.intern(name.substr(0, name.size() - 1));
    for (size_t i = 1; i < module_->codes.size(); ++i) {
      if (module_->codes[i].name == symbol) return object::CodeId(i);
    }
    object::Code code;
    code.version = module_->version;
    code.name = code.qualname = symbol;
    return module_->codes.push_back(std::move(code));
  }

  void read_exit(ir::Block& made) {
    if (at_ == lines_.size()) refuse(now());
    Line line(lines_[at_]);
    const std::string name = line.take();
    uint8_t kind = 0;
    while (kind <= static_cast<uint8_t>(ExitKind::Reraise) &&
           ir::name_of(static_cast<ExitKind>(kind)) != name) {
      ++kind;
    }
    if (kind > static_cast<uint8_t>(ExitKind::Reraise)) refuse(now());
    made.exit = static_cast<ExitKind>(kind);
    if (made.exit == ExitKind::Goto && !is_told_) offset_ = last_;
    made.exit_offset = offset_;
    made.exit_line = line_;
    offset_ += 2;
    is_told_ = false;
    made.operands = values(line);
    for (size_t k = 0; !line.done(); ++k) {
      line.expect("->");
      made.next[k].to = block(line.take());
      made.next[k].args = in_brackets(line);
    }
    line.each_note([&](const std::string& note, Line& words) {
      if (note == "jump")
        made.jump = static_cast<uint8_t>(words.number());
      else if (note == "lost_test")
        made.is_lost_test = true;
      else
        refuse(now());
    });
    ++at_;
  }

  // h0: finally at b3 in h1, ends at b5, swallowed to b6
  void read_handler(Line& line) {
    const HandlerId id = handler(line.take());
    line.expect(":");
    const std::string kind = line.take();
    HandlerInfo info;
    flow::Handler made;
    line.expect("at");
    made.entry = block(line.take());
    if (kind == "dead") {
      dead_[id.index()] = made.entry;
    } else {
      const auto* known = std::find(std::begin(kHandlers), std::end(kHandlers), kind);
      if (known == std::end(kHandlers)) refuse(now());
      info.kind = static_cast<HandlerKind>(known - std::begin(kHandlers));
    }
    while (!line.done()) {
      const std::string word = line.take();
      if (word == ",") continue;
      if (word == "in") {
        info.outer = handler(line.take());
        continue;
      }
      line.skip();
      (word == "ends" ? info.end : info.swallowed) = block(line.take());
    }
    line.each_note([&](const std::string& name, Line& words) {
      if (name == "depth")
        made.depth = words.number();
      else if (name == "pushes")
        made.pushes = static_cast<uint8_t>(words.number());
      else if (name == "lasti")
        made.lasti = true;
      else if (name == "counts_later")
        made.begins = false;
      else if (name == "of_with")
        made.is_with = true;
      else if (name == "of_finally")
        made.is_finally = true;
      else if (name == "exceptions")
        made.exc_depth = words.number();
      else if (name == "exit")
        info.exit = value(words.take());
      else
        refuse(now());
    });
    f_.handlers[id.index()] = made;
    handlers_[id.index()] = info;
  }

  TextGraph made_;
  object::Module* module_ = nullptr;
  ir::Function f_;
  std::vector<std::string> lines_;
  size_t at_ = 0;
  int32_t line_ = 1;
  uint32_t offset_ = 0, last_ = 0;
  bool is_told_ = false;  // the offset of what comes next
  std::vector<Region> regions_;
  std::vector<HandlerInfo> handlers_;
  std::map<size_t, BlockId> dead_;
  std::vector<BlockId> kept_, joins_;
  std::map<BlockId, uint8_t> tested_;
  std::map<uint32_t, std::array<size_t, 2>> held_;
  std::vector<std::pair<ValueId, BlockId>> clauses_;
  std::vector<std::pair<ValueId, uint32_t>> uses_;
  bool joins_copies_ = true;
};

}  // namespace

TextGraph read_graph(const std::string& text) { return Reader(text).run(); }

}  // namespace pellucid::structure
