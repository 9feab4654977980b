// SPDX-License-Identifier: Apache-2.0
// Writes pieces by their kind.
#include "print/expand.h"

namespace pellucid::print {

using ast::NodeId;

namespace {

std::string_view without_end(std::string_view text, size_t size) {
  text.remove_suffix(size);
  return text;
}

}  // namespace

void step(Writer& writer, const Task& task) {
  switch (task.what) {
    case Task::Text:
      writer.write(task.text);
      break;
    case Task::Open:
      writer.write_opening(task.text, Mark::Open);
      break;
    case Task::OpenCall:
      writer.write_opening(task.text, Mark::OpenCall);
      break;
    case Task::OpenLine:
      writer.write_opening(task.text, Mark::OpenLine);
      break;
    case Task::OpenBare:
      writer.mark(Mark::OpenBare);
      break;
    case Task::Separator:
      writer.write(task.text);
      writer.mark(Mark::Separator);
      break;
    case Task::CloseBare:
      writer.mark(Mark::CloseWithComma);
      break;
    case Task::Close:
      writer.write_closing(task.text, Mark::Close);
      break;
    case Task::CloseWithComma:
      writer.write_closing(task.text, Mark::CloseWithComma);
      break;
    case Task::Choice:
      writer.mark(Mark::Choice);
      break;
    case Task::Joined:
      writer.mark(Mark::Joined);
      break;
    case Task::ChoiceEnd:
      writer.mark(Mark::ChoiceEnd);
      break;
    case Task::Group:
      writer.mark(Mark::Group);
      break;
    case Task::Row:
      writer.mark(Mark::Row);
      break;
    case Task::Operator:
      writer.mark(Mark::Operator);
      break;
    case Task::GroupEnd:
      writer.mark(Mark::GroupEnd);
      break;
    case Task::Word:
      writer.write_word(Symbol(task.id));
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

}  // namespace pellucid::print
