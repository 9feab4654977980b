// SPDX-License-Identifier: Apache-2.0
// The stack of pieces still to be written.
#include <algorithm>

#include "object/identifiers.h"
#include "print/expressions.h"

namespace pellucid::print {

using ast::NodeId;

void Expressions::write(std::string_view text) {
  // `{{` in an f-string is a brace, not a set.
  if (brace_at_ == out_.size() && text.starts_with('{')) out_ += ' ';
  out_ += text;
}

Expressions::Task& Expressions::push(Task::What what, uint32_t id, Place place, const char* text) {
  return work_.emplace_back(
      Task{what, quotes_, inside_, kSingle, Braces::Plain, place, id, 0, text});
}

void Expressions::run() {
  while (!work_.empty() && !failed_) {
    const Task task = work_.back();
    work_.pop_back();
    const auto mark = static_cast<std::ptrdiff_t>(work_.size());
    step(task);
    std::reverse(work_.begin() + mark, work_.end());
  }
}

namespace {

std::string_view without_end(std::string_view text, size_t size) {
  text.remove_suffix(size);
  return text;
}

}  // namespace

void Expressions::step(const Task& task) {
  quotes_ = task.quotes;
  inside_ = task.inside;
  const auto mark = [&](Mark::What what) {
    if (!task.inside && !is_confined_) {
      const bool may_hug = task.what == Task::HuggingGroup;
      marks_.push_back({what, static_cast<uint32_t>(out_.size()), may_hug});
    }
  };
  switch (task.what) {
    case Task::Text:
      write(task.text);
      break;
    case Task::Open:
    case Task::OpenLine:
      write(task.text);
      ++depth_;
      mark(task.what == Task::Open ? Mark::Open : Mark::OpenLine);
      break;
    case Task::OpenBare:
      mark(Mark::OpenBare);
      break;
    case Task::Separator:
      write(task.text);
      mark(Mark::Separator);
      break;
    case Task::CloseBare:
      mark(Mark::CloseWithComma);
      break;
    case Task::Close:
    case Task::CloseWithComma:
      --depth_;
      mark(task.what == Task::Close ? Mark::Close : Mark::CloseWithComma);
      write(task.text);
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
      write(object::as_identifier(module_.text(Symbol(task.id))));
      break;
    case Task::Line:
      if (!task.inside) go_to_line(static_cast<int32_t>(task.id));
      break;
    case Task::Expr:
      expand(NodeId(task.id), task.place);
      break;
    case Task::Const:
      expand_constant(object::ConstId(task.id), task.place);
      break;
    case Task::Params:
      expand_parameters(NodeId(task.id), task.text);
      break;
    case Task::Param:
      expand_parameter(NodeId(task.id));
      break;
    case Task::TypeParam:
      expand_type_parameter(NodeId(task.id));
      break;
    case Task::Pattern:
      expand_pattern(NodeId(task.id), task.place);
      break;
    case Task::PatternOpen:
      write(task.text);
      begin_brackets();
      break;
    case Task::PatternLine:
      go_to_pattern(NodeId(task.id));
      break;
    case Task::PatternClose:
      end_brackets(task.id != 0);
      write(task.text);
      break;
    case Task::Comprehension:
      comprehension(NodeId(task.id));
      break;
    case Task::Keyword:
      keyword(NodeId(task.id));
      break;
    case Task::FormatText:
      append_escaped(out_, without_end(module_.text(Symbol(task.id)), task.cut), TextKind::Str,
                     task.quote, task.braces);
      break;
    case Task::FormatField:
      format_value(NodeId(task.id), task.quote, task.text);
      break;
    case Task::Brace:
    case Task::InterpolationBrace:
      out_ += '{';
      brace_at_ = out_.size();
      if (task.what == Task::InterpolationBrace) interpolations_.push_back(out_.size());
      break;
    case Task::InterpolationText:
      finish_interpolation(module_.text(Symbol(task.id)));
      break;
  }
}

}  // namespace pellucid::print
