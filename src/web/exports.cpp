// SPDX-License-Identifier: Apache-2.0
#include "web/exports.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "archive/containers.h"
#include "cli/judge.h"
#include "pellucid/pellucid.h"
#include "pellucid/views.h"
#include "web/json.h"
#include "web/links.h"
#include "web/values.h"

namespace pellucid::web {

namespace {

using Members = std::vector<archive::Member>;

// What stays between two calls.
struct State {
  std::vector<uint8_t> input;
  std::string result;
  std::map<uint32_t, Members> archives;
  uint32_t last_handle = 0;
};

State& state() {
  static State own;
  return own;
}

// The next call has its own.
void drop_input() { std::vector<uint8_t>().swap(state().input); }

// Makes the result of a call; returns true if it is not an error.
template <typename Work>
bool answer(Work work) {
  std::string& result = state().result;
  try {
    Result<std::string> made = work();
    drop_input();
    if (made.ok()) {
      result = std::move(*made);
      return true;
    }
    const Error& error = made.error();
    const bool is_bug = error.code == ErrorCode::Internal;
    result = json_of_failure(word_of(error.code), error.offset,
                             (is_bug ? "internal error: " : "") + error.message);
  } catch (const std::bad_alloc&) {
    drop_input();
    result = json_of_failure("memory", 0, "not enough memory");
  } catch (const std::exception& error) {
    drop_input();
    result = json_of_failure("internal", 0, std::string("internal error: ") + error.what());
  }
  return false;
}

Result<Program> program_of(uint32_t minor) {
  std::optional<Version> version;
  if (minor != 0) {
    version = version_named("3." + std::to_string(minor));
    if (!version) return Error{ErrorCode::UnknownVersion, 0, "no version that can be read"};
  }
  return read_pyc(state().input, version);
}

std::string json_of_functions(const Decompilation& made, const std::vector<CodeView>& codes,
                              const std::vector<LineOrigin>& origins) {
  const std::vector<Extent> extents = extents_of(origins, codes, made.codes.size());
  std::map<uint32_t, const CodeVerdict*> verdicts;
  if (made.verdict) {
    for (const CodeVerdict& verdict : made.verdict->codes) verdicts[verdict.code] = &verdict;
  }
  std::vector<const CodeView*> order;
  for (const CodeView& code : codes) {
    if (code.code < extents.size()) order.push_back(&code);
  }
  std::stable_sort(order.begin(), order.end(), [&](const CodeView* a, const CodeView* b) {
    return extents[a->code].first < extents[b->code].first;
  });
  return array(order, [&](const CodeView* code) {
    Object object;
    add_place(object, *code);
    const Extent extent = extents[code->code];
    object.add("kind", word_of(code->kind))
        .add("firstLine", std::max(extent.first, 1u))
        .add("lastLine", std::max(extent.last, 1u));
    const auto found = verdicts.find(code->code);
    const CodeVerdict* const verdict = found == verdicts.end() ? nullptr : found->second;
    if (verdict == nullptr) {
      return object.add_json("verdict", "null")
          .add_json("reason", "null")
          .add_json("offset", "null")
          .text();
    }
    const bool is_unproven = verdict->status == Status::Unproven;
    return object.add("verdict", name_of(verdict->status))
        .add("reason", is_unproven ? std::optional(verdict->reason) : std::nullopt)
        .add("offset", is_unproven ? std::optional(verdict->offset) : std::nullopt)
        .text();
  });
}

Result<std::string> decompiled(uint32_t minor, uint32_t flags) {
  PELLUCID_TRY(const Program program, program_of(minor));
  DecompileOptions options;
  options.verify = (flags & kVerify) != 0;
  options.strict = (flags & kStrict) != 0;
  options.keep_lines = (flags & kKeepLines) != 0;
  options.structured = (flags & kUnstructured) == 0;
  options.remarks = true;
  PELLUCID_TRY(const Decompilation made, decompile(program, options));
  const cli::Judgement judged = cli::judge(made);
  const std::string text = judged.comments.empty()
                               ? made.source
                               : with_comments(made.source, judged.comments, options.keep_lines);
  PELLUCID_TRY(const std::vector<CodeView> codes, view_codes(program));
  std::vector<BytecodeView> bytecode;
  if ((flags & kNoText) == 0) {
    PELLUCID_TRY(bytecode, view_bytecode(program, Detail::Places));
  }
  const std::vector<Comment> none;
  const std::vector<LineOrigin> origins =
      origins_of(made, text, options.keep_lines ? none : judged.comments, bytecode);
  Object object;
  object.add("python", text_of(program.version()));
  if (made.verdict) {
    object.add("verdict", name_of(made.verdict->status));
  } else {
    object.add_json("verdict", "null");
  }
  object.add("reason", judged.reason.empty() ? std::nullopt : std::optional(judged.reason))
      .add_json("functions", json_of_functions(made, codes, origins));
  if ((flags & kNoText) != 0) return object.text();
  return object.add("text", text)
      .add_json("lines", json_of_all(origins))
      .add_json("diagnostics", json_of_all(made.diagnostics))
      .add_json("renamed", json_of_all(made.renamed))
      .add_json("notes", array(program.notes()))
      .add_json("remarks", array(made.remarks))
      .text();
}

Result<std::string> inspected(uint32_t minor) {
  PELLUCID_TRY(const Program program, program_of(minor));
  PELLUCID_TRY(const Inspection found, inspect(program));
  const auto report = [](const CodeReport& code) {
    return Object()
        .add("code", code.code)
        .add("path", code.path)
        .add("filename", code.filename)
        .add("firstLine", code.first_line)
        .add("flags", code.flags)
        .add("bytecodeSize", code.bytecode_size)
        .add("constantCount", code.constant_count)
        .add("nameCount", code.name_count)
        .add_json("findings", json_of_all(code.findings))
        .text();
  };
  return Object()
      .add("python", text_of(program.version()))
      .add_json("notes", array(program.notes()))
      .add("doubt", program.doubt())
      .add("subject", program.subject())
      .add_json("header", Object()
                              .add("magic", found.magic)
                              .add("magicWords", found.magic_words)
                              .add("flags", found.flags)
                              .add("date", found.date)
                              .add("size", found.size)
                              .text())
      .add("start", found.start)
      .add("end", found.end)
      .add_json("findings", json_of_all(found.findings))
      .add_json("codes", array(found.codes, report))
      .text();
}

Result<std::string> disassembled(uint32_t minor) {
  PELLUCID_TRY(const Program program, program_of(minor));
  PELLUCID_TRY(const std::vector<CodeView> codes, view_codes(program));
  PELLUCID_TRY(const std::vector<BytecodeView> all, view_bytecode(program, Detail::All));
  std::string listings;
  for (const CodeView& code : codes) {
    const BytecodeView& bytecode = all[code.code];
    Object object;
    add_place(object, code);
    object.add("firstLine", code.first_line)
        .add_json("instructions", json_of_all(bytecode.instructions))
        .add_json("exceptions", json_of_all(bytecode.exceptions))
        .add("error", bytecode.error.empty() ? std::nullopt : std::optional(bytecode.error));
    listings += (listings.empty() ? "" : ",") + object.text();
  }
  return Object()
      .add("python", text_of(program.version()))
      .add_json("codes", '[' + listings + ']')
      .text();
}

Result<std::string> codes_of(uint32_t minor) {
  PELLUCID_TRY(const Program program, program_of(minor));
  PELLUCID_TRY(const std::vector<CodeView> codes, view_codes(program));
  return array(codes, [](const CodeView& code) {
    Object object;
    add_place(object, code);
    return object.text();
  });
}

Result<std::string> dumped(uint32_t minor, const std::string& stage, int32_t code) {
  PELLUCID_TRY(const Program program, program_of(minor));
  const bool is_whole = code < 0 || stage == "module";
  PELLUCID_TRY(const Dump made, is_whole
                                    ? dump(program, stage)
                                    : dump_of_code(program, stage, static_cast<uint32_t>(code)));
  return Object()
      .add("python", text_of(program.version()))
      .add("stage", stage)
      .add("text", made.text)
      .add_json("diagnostics", json_of_all(made.diagnostics))
      .text();
}

Result<std::string> graph_of(uint32_t minor, int32_t number) {
  PELLUCID_TRY(const Program program, program_of(minor));
  PELLUCID_TRY(const std::vector<CodeView> codes, view_codes(program));
  const auto wanted = number < 0 ? codes.front().code : static_cast<uint32_t>(number);
  PELLUCID_TRY(const GraphView graph, view_graph(program, wanted));
  const auto code = std::find_if(codes.begin(), codes.end(),
                                 [&](const CodeView& each) { return each.code == wanted; });
  size_t id = 0;
  return Object()
      .add("code", wanted)
      .add("name", code == codes.end() ? std::string() : code->name)
      .add_json("blocks",
                array(graph.blocks, [&](const BlockView& block) { return json_of(block, id++); }))
      .add_json("edges", json_of_all(graph.edges))
      .text();
}

Result<std::string> opened() {
  const archive::Data data = archive::data_of(std::move(state().input));
  PELLUCID_TRY(archive::Contents found, archive::contents_of(archive::source_of(data)));
  if (!found.is_archive()) {
    return Object().add("handle", 0).add("kind", "code").add_json("members", "[{}]").text();
  }
  if (found.members.empty()) return Error{ErrorCode::Malformed, 0, "no compiled Python in it"};
  const uint32_t handle = ++state().last_handle;
  const std::string members = array(found.members, [](const archive::Member& member) {
    return Object().add("name", member.name).add("path", member.place).text();
  });
  state().archives.emplace(handle, std::move(found.members));
  return Object()
      .add("handle", handle)
      .add("kind", word_of(found.kind))
      .add_json("members", members)
      .text();
}

Result<std::string> member_of(uint32_t handle, uint32_t index) {
  const auto found = state().archives.find(handle);
  if (found == state().archives.end() || index >= found->second.size()) {
    return Error{ErrorCode::Unsupported, 0, "there is no such member"};
  }
  PELLUCID_TRY(const std::vector<uint8_t> bytes, found->second[index].read());
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

}  // namespace pellucid::web

using pellucid::Result;
using pellucid::web::answer;
using pellucid::web::Object;
using pellucid::web::state;

uint8_t* pellucid_input(size_t size) {
  try {
    state().input.assign(size, 0);
  } catch (const std::exception&) {
    return nullptr;
  }
  return state().input.data();
}

const char* pellucid_result() { return state().result.data(); }
size_t pellucid_result_size() { return state().result.size(); }

bool pellucid_about() {
  return answer([]() -> Result<std::string> {
    const auto version = [](pellucid::Version each) {
      return pellucid::web::json(pellucid::web::text_of(each));
    };
    const auto stage = [](const pellucid::StageView& each) {
      return Object().add("name", each.name).add("about", each.about).text();
    };
    return Object()
        .add("version", PELLUCID_VERSION)
        .add_json("versions", pellucid::web::array(pellucid::supported_versions(), version))
        .add_json("stages", pellucid::web::array(pellucid::view_stages(), stage))
        .text();
  });
}

bool pellucid_decompile(uint32_t minor, uint32_t flags) {
  return answer([&] { return pellucid::web::decompiled(minor, flags); });
}

bool pellucid_inspect(uint32_t minor) {
  return answer([&] { return pellucid::web::inspected(minor); });
}

bool pellucid_dis(uint32_t minor) {
  return answer([&] { return pellucid::web::disassembled(minor); });
}

bool pellucid_codes(uint32_t minor) {
  return answer([&] { return pellucid::web::codes_of(minor); });
}

bool pellucid_dump(uint32_t minor, const char* stage, int32_t code) {
  return answer([&] { return pellucid::web::dumped(minor, stage, code); });
}

bool pellucid_graph(uint32_t minor, int32_t code) {
  return answer([&] { return pellucid::web::graph_of(minor, code); });
}

bool pellucid_open() { return answer(pellucid::web::opened); }

bool pellucid_read(uint32_t handle, uint32_t member) {
  return answer([&] { return pellucid::web::member_of(handle, member); });
}

void pellucid_close(uint32_t handle) { state().archives.erase(handle); }
