// SPDX-License-Identifier: Apache-2.0
// Writes the stack of pieces.
#include <algorithm>

#include "object/identifiers.h"
#include "print/expand.h"

namespace pellucid::print {

using ast::NodeId;

namespace {

std::string_view without_end(std::string_view text, size_t size) {
  text.remove_suffix(size);
  return text;
}

void write_word(Writer& writer, std::string_view name) {
  if (object::is_identifier(name)) return writer.write(name);
  writer.write(object::as_identifier(name));
}

void step(Writer& writer, const Task& task) {
  writer.quotes = task.quotes;
  writer.inside = task.inside;
  const auto mark = [&](Mark::What what) {
    if (!task.inside && !writer.is_confined) {
      const bool may_hug = task.what == Task::HuggingGroup;
      writer.marks.push_back({what, static_cast<uint32_t>(writer.out.size()), may_hug});
    }
  };
  switch (task.what) {
    case Task::Text:
      writer.write(task.text);
      break;
    case Task::Open:
    case Task::OpenLine:
      writer.write(task.text);
      ++writer.depth;
      mark(task.what == Task::Open ? Mark::Open : Mark::OpenLine);
      break;
    case Task::OpenBare:
      mark(Mark::OpenBare);
      break;
    case Task::Separator:
      writer.write(task.text);
      mark(Mark::Separator);
      break;
    case Task::CloseBare:
      mark(Mark::CloseWithComma);
      break;
    case Task::Close:
    case Task::CloseWithComma:
      --writer.depth;
      mark(task.what == Task::Close ? Mark::Close : Mark::CloseWithComma);
      writer.write(task.text);
      break;
    case Task::Choice:
      mark(Mark::Choice);
      break;
    case Task::Joined:
      mark(Mark::Joined);
      break;
    case Task::ChoiceEnd:
      mark(Mark::ChoiceEnd);
      break;
    case Task::Group:
    case Task::HuggingGroup:
      mark(Mark::Group);
      break;
    case Task::Row:
      mark(Mark::Row);
      break;
    case Task::Operator:
      mark(Mark::Operator);
      break;
    case Task::GroupEnd:
      mark(Mark::GroupEnd);
      break;
    case Task::Word:
      write_word(writer, writer.module.text(Symbol(task.id)));
      break;
    case Task::Line:
      if (!task.inside) writer.go_to_line(static_cast<int32_t>(task.id));
      break;
    case Task::Expr:
      expand(writer, NodeId(task.id), task.place);
      break;
    case Task::Const:
      expand_constant(writer, object::ConstId(task.id), task.place);
      break;
    case Task::Params:
      expand_parameters(writer, NodeId(task.id), task.text);
      break;
    case Task::Param:
      expand_parameter(writer, NodeId(task.id));
      break;
    case Task::TypeParam:
      expand_type_parameter(writer, NodeId(task.id));
      break;
    case Task::Pattern:
      expand_pattern(writer, NodeId(task.id), task.place);
      break;
    case Task::PatternOpen:
      writer.write(task.text);
      begin_brackets(writer);
      break;
    case Task::PatternLine:
      go_to_pattern(writer, NodeId(task.id));
      break;
    case Task::PatternClose:
      end_brackets(writer, task.id != 0);
      writer.write(task.text);
      break;
    case Task::Comprehension:
      comprehension(writer, NodeId(task.id));
      break;
    case Task::Keyword:
      keyword(writer, NodeId(task.id));
      break;
    case Task::FormatText:
      append_escaped(writer.out, without_end(writer.module.text(Symbol(task.id)), task.cut),
                     TextKind::Str, task.quote, task.braces);
      break;
    case Task::FormatField:
      format_value(writer, NodeId(task.id), task.quote, task.text);
      break;
    case Task::Brace:
    case Task::InterpolationBrace:
      writer.out += '{';
      writer.brace_at = writer.out.size();
      if (task.what == Task::InterpolationBrace) writer.interpolations.push_back(writer.out.size());
      break;
    case Task::InterpolationText:
      finish_interpolation(writer, writer.module.text(Symbol(task.id)));
      break;
  }
}

}  // namespace

void run(Writer& writer) {
  while (!writer.work.empty() && !writer.failed) {
    const Task task = writer.work.back();
    writer.work.pop_back();
    const auto mark = static_cast<std::ptrdiff_t>(writer.work.size());
    step(writer, task);
    std::reverse(writer.work.begin() + mark, writer.work.end());
  }
}

}  // namespace pellucid::print
