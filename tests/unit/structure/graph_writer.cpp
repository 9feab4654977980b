// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "object/repr.h"
#include "structure/graph/uses.h"
#include "structure/graph_text.h"
#include "structure/graph_words.h"

namespace pellucid::structure {
namespace {

std::string text_of(ValueId id) { return "v" + std::to_string(id.value); }
std::string text_of(BlockId id) { return "b" + std::to_string(id.value); }

std::string list_of(const std::vector<ValueId>& values) {
  std::string text;
  for (const ValueId id : values) text += ' ' + text_of(id);
  return text;
}

// What stands after the `;` of a line.
class Notes {
 public:
  void add(const std::string& note) { text_ += (text_.empty() ? "  ; " : ", ") + note; }
  void add_unless(bool usual, const std::string& note) {
    if (!usual) add(note);
  }
  template <typename Number>
  void number(const char* name, Number value, Number usual) {
    if (value != usual) add(std::string(name) + ' ' + std::to_string(value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Writer {
 public:
  Writer(const object::Module& module, const Reduction& reduction)
      : module_(module), reduction_(reduction), g_(reduction.graph), recounted_(g_) {
    recount_uses(recounted_);
  }

  std::string run() {
    head();
    std::istringstream dump(structure::dump(module_, g_));
    for (std::string line; std::getline(dump, line);) one(line);
    for (size_t i = 0; i < g_.handlers.size(); ++i) {
      const BlockId entry = g_.f.handlers[i].entry;
      if (!g_.reachable(entry))
        out_ += handler(i, "h" + std::to_string(i) + ": dead at " + text_of(entry));
    }
    for (const BlockId join : reduction_.joins) out_ += "joins " + text_of(join) + '\n';
    const std::map<ValueId, BlockId> ends(g_.clause_ends.all().begin(), g_.clause_ends.all().end());
    for (const auto& [value, end] : ends) {
      out_ +=
          "clause of " + text_of(value) + " ends at " + (end.valid() ? text_of(end) : "-") + '\n';
    }
    const std::map<uint32_t, std::array<size_t, 2>> held(g_.held.begin(), g_.held.end());
    for (const auto& [offset, times] : held) {
      if (times == std::array<size_t, 2>{}) continue;
      out_ += "held at " + std::to_string(offset) + ": " + std::to_string(times[0]) + ' ' +
              std::to_string(times[1]) + '\n';
    }
    return std::move(out_);
  }

 private:
  void head() {
    const uint32_t minor = module_.version.minor;
    if (minor != 12) out_ += "python 3." + std::to_string(minor) + '\n';
    if (g_.f.marks_ends) out_ += "marks ends\n";
    if (g_.f.marks_empty_bodies) out_ += "marks empty bodies\n";
    if (!reduction_.joins_copies) out_ += "leaves copies\n";
  }

  void one(const std::string& line) {
    const size_t start = line.find_first_not_of(" |");
    prefix_ = line.substr(0, start);
    std::string text = line.substr(start, line.find("  ; ") - start);
    if (start == 0 && text[0] == 'b') return block(text);
    if (start == 0) {
      out_ += handler(std::stoul(text.substr(1)), text);
      return;
    }
    if (text[0] == '=') return result(text);
    if (text.starts_with("for ")) {
      out_ += prefix_ + text + '\n';
      return;
    }
    const size_t equals = text.find(" = ");
    if (text[0] == 'v' && equals != std::string::npos) return item(text);
    exit(text);
  }

  void place(uint32_t offset, int32_t line, const std::string& prefix) {
    if (line != line_) out_ += prefix + "line " + std::to_string(line) + '\n';
    if (offset != offset_) out_ += prefix + "at " + std::to_string(offset) + '\n';
    line_ = line;
    offset_ = offset;
  }

  void block(const std::string& text) {
    block_ = BlockId(static_cast<uint32_t>(std::stoul(text.substr(1))));
    const ir::Block& block = g_[block_];
    for (const ValueId param : block.params) known_.insert(g_.resolve(param));
    place(block.offset, line_, "");
    last_ = offset_;
    Notes notes;
    notes.number("exceptions", block.exc_depth, 0u);
    notes.number("loop_end", block.loop_end, 0u);
    notes.number("drops", block.drops, 0u);
    if (!block.entry_stack.empty()) {
      std::vector<ValueId> stack;
      for (const ValueId id : block.entry_stack) stack.push_back(g_.resolve(id));
      notes.add("stack" + list_of(stack));
    }
    if (g_.tested_loops.contains(block_)) {
      notes.number("stay", unsigned{g_.tested_loops.at(block_)}, 0u);
    }
    for (const ValueId param : block.params) uses(notes, param, true);
    out_ += text + notes.text() + '\n';
    part_ = {};
  }

  void uses(Notes& notes, ValueId id, bool with_name = false) {
    const std::string name = with_name ? "uses of " + text_of(g_.resolve(id)) : "uses";
    const ValueId real = g_.resolve(id);
    notes.number(name.c_str(), g_[real].uses, recounted_[real].uses);
  }

  void introduce(std::span<const ValueId> operands) {
    for (const ValueId operand : operands) {
      const ValueId id = g_.resolve(operand);
      if (id == ir::kNull || !known_.insert(id).second || is_item(id)) continue;
      const ir::Value& value = g_[id];
      introduce(g_.f.operands(id));
      out_ += prefix_ + "let " + text_of(id) + " = ";
      Notes notes;
      if (value.kind == ValueKind::Instr) {
        out_ += instruction(value, notes);
      } else {
        out_ += std::string(kKinds[static_cast<size_t>(value.kind)]);
        if (value.a != 0) out_ += ' ' + std::to_string(value.a);
        notes.number("b", value.b, 0u);
      }
      for (const ValueId part : g_.f.operands(id)) out_ += ' ' + text_of(g_.resolve(part));
      uses(notes, id);
      out_ += notes.text() + '\n';
    }
  }

  bool is_item(ValueId id) {
    if (items_.empty()) {
      for (const BlockId block : g_.order()) collect(g_[block].items);
    }
    return items_.contains(id);
  }

  void collect(const std::vector<ValueId>& items) {
    for (const ValueId item : items) {
      items_.insert(g_.resolve(item));
      if (g_[item].kind != ValueKind::Region) continue;
      for (const Part& part : g_.regions[g_[item].a].parts) collect(part.items);
    }
  }

  std::string instruction(const ir::Value& value, Notes& notes) {
    std::string text(bytecode::name_of(value.op));
    switch (bytecode::operand_of(value.op)) {
      case bytecode::Operand::Const:
        text += ' ' + object::repr(module_, value.constant());
        notes.number("b", value.b, 0u);
        break;
      case bytecode::Operand::Name:
      case bytecode::Operand::Local:
      case bytecode::Operand::Cell:
        text += ' ' + std::string(module_.text(value.symbol()));
        notes.number("b", value.b, 0u);
        break;
      case bytecode::Operand::None:
        notes.number("a", value.a, 0u);
        notes.number("b", value.b, 0u);
        break;
      case bytecode::Operand::Target:
      case bytecode::Operand::Count:
      case bytecode::Operand::Depth:
      case bytecode::Operand::Operator:
      case bytecode::Operand::Flags:
      case bytecode::Operand::Kind:
        text += ' ' + std::to_string(value.a);
        if (value.b != 0) text += ',' + std::to_string(value.b);
        break;
    }
    notes.add_unless(!value.steady, "steady");
    return text;
  }

  void item(const std::string& text) {
    const ValueId id(static_cast<uint32_t>(std::stoul(text.substr(1))));
    const ir::Value& value = g_[id];
    known_.insert(id);
    introduce(g_.f.operands(id));
    place(value.offset, value.line, prefix_);
    last_ = offset_;
    offset_ += 2;
    Notes notes;
    std::string what = text.substr(text.find(" = ") + 3);
    if (value.kind == ValueKind::Region) {
      const Region& region = g_.regions[value.a];
      if (region.kind == RegionKind::Comprehension) {
        notes.add("makes " + std::string(bytecode::name_of(region.container)));
        for (const Symbol name : region.hidden)
          notes.add("hides " + std::string(module_.text(name)));
        for (const Symbol name : region.cells) notes.add("cell " + std::string(module_.text(name)));
      }
      if (region.is_tested_again) notes.add("tested_again");
      part_[prefix_] = {&region, 0};
    } else {
      what = instruction(value, notes);
      for (const ValueId operand : g_.f.operands(id)) what += ' ' + text_of(g_.resolve(operand));
    }
    uses(notes, id);
    out_ += prefix_ + text_of(id) + " = " + what + notes.text() + '\n';
  }

  void result(const std::string& text) {
    auto& [region, index] = part_.at(prefix_.substr(0, prefix_.size() - 2));
    const Part& part = region->parts[index++];
    introduce(std::vector{part.result});
    out_ += prefix_ + text + (part.follows_lost_test ? "  ; lost_test" : "") + '\n';
  }

  void exit(const std::string& text) {
    const ir::Block& block = g_[block_];
    introduce(block.operands);
    for (const ir::Edge& edge : block.next) introduce(edge.args);
    if (block.exit == ExitKind::Goto) offset_ = last_;
    place(block.exit_offset, block.exit_line, prefix_);
    offset_ += 2;
    Notes notes;
    notes.number("jump", unsigned{block.jump}, 0u);
    notes.add_unless(!block.is_lost_test, "lost_test");
    out_ += prefix_ + text + notes.text() + '\n';
  }

  std::string handler(size_t index, const std::string& text) {
    const flow::Handler& handler = g_.f.handlers[index];
    Notes notes;
    notes.number("depth", handler.depth, 0u);
    notes.number("pushes", unsigned{handler.pushes}, 1u);
    notes.add_unless(!handler.lasti, "lasti");
    notes.add_unless(handler.begins, "counts_later");
    notes.add_unless(!handler.is_with, "of_with");
    notes.add_unless(!handler.is_finally, "of_finally");
    notes.number("exceptions", handler.exc_depth, 0u);
    const ValueId exit = g_.handlers[index].exit;
    if (exit.valid()) notes.add("exit " + text_of(g_.resolve(exit)));
    return text + notes.text() + '\n';
  }

  const object::Module& module_;
  const Reduction& reduction_;
  const Graph& g_;
  Graph recounted_;
  std::string out_, prefix_;
  BlockId block_;
  uint32_t offset_ = 0, last_ = 0;
  int32_t line_ = 1;
  std::set<ValueId> known_, items_;
  std::map<std::string, std::pair<const Region*, size_t>> part_;  // by prefix: what is written
};

}  // namespace

std::string graph_text(const object::Module& module, const Reduction& reduction) {
  return Writer(module, reduction).run();
}

void number_places(ir::Function& function, int32_t first_line) {
  const auto number_line = [&](int32_t& line) {
    if (line != bytecode::kNoLine) line -= first_line - 1;
  };
  for (ir::Value& value : function.values) number_line(value.line);
  for (ir::Block& block : function.blocks) number_line(block.exit_line);
  std::map<uint32_t, uint32_t> ranks;
  const auto each = [&](const auto& visit) {
    for (ir::Value& value : function.values) visit(value.offset);
    for (ir::Block& block : function.blocks) {
      visit(block.offset);
      visit(block.exit_offset);
      if (block.loop_end != 0) visit(block.loop_end);
    }
  };
  each([&](uint32_t& offset) { ranks[offset] = 0; });
  uint32_t rank = 0;
  for (auto& [offset, number] : ranks) number = 2 * rank++;
  each([&](uint32_t& offset) { offset = ranks.at(offset); });
}

}  // namespace pellucid::structure
