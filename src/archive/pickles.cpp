// SPDX-License-Identifier: Apache-2.0
#include "archive/pickles.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "archive/inflate.h"
#include "archive/kinds.h"
#include "pellucid/pellucid.h"
#include "pickle/fold.h"
#include "pickle/stream.h"
#include "pickle/text.h"

namespace pellucid::archive {

namespace {

constexpr std::string_view kNumpy = "\x93NUMPY";
constexpr std::string_view kHdf5 = "\x89HDF\r\n";
constexpr size_t kMostSteps = 100'000;  // that are listed of one file
constexpr size_t kLeastCode = 40;

bool begins_with(Span bytes, std::string_view mark) {
  return bytes.size() >= mark.size() &&
         std::equal(mark.begin(), mark.end(), bytes.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

std::string_view text_of(Span bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns where the pickle of a numpy array of objects starts.
std::optional<uint64_t> start_in_numpy(Span bytes) {
  if (!begins_with(bytes, kNumpy) || bytes.size() < 12) return std::nullopt;
  const bool is_short = bytes[6] == 1;
  uint64_t size = bytes[8] | bytes[9] << 8;
  if (!is_short) size |= uint64_t{bytes[10]} << 16 | uint64_t{bytes[11]} << 24;
  const uint64_t start = (is_short ? 10 : 12) + size;
  if (start >= bytes.size()) return std::nullopt;
  const std::string_view header = text_of(bytes).substr(0, start);
  const bool holds_objects = header.find("|O") != std::string_view::npos;
  return holds_objects ? std::optional(start) : std::nullopt;
}

// Returns where zlib data starts, as joblib writes it: 2 bytes before it, or the 19 of old
// releases.
std::optional<size_t> start_of_deflated(Span bytes) {
  size_t start = 0;
  if (begins_with(bytes, "ZF0x")) start = 19;
  if (bytes.size() < start + 8 || (bytes[start] & 15) != 8) return std::nullopt;
  const unsigned header = static_cast<unsigned>(bytes[start]) << 8 | bytes[start + 1];
  return header % 31 == 0 ? std::optional(start + 2) : std::nullopt;
}

bool is_name_of_pickle(std::string_view name) {
  constexpr std::string_view kSuffixes[] = {".pkl", ".pickle", ".pck", ".p", ".joblib", ".dill"};
  return std::any_of(std::begin(kSuffixes), std::end(kSuffixes),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

bool is_name_of_config(std::string_view name) {
  return name.ends_with("config.json") || name.ends_with("model.json");
}

std::string word_of(pickle::Danger danger) {
  switch (danger) {
    case pickle::Danger::None:
      return "none";
    case pickle::Danger::Unknown:
      return "unknown";
    case pickle::Danger::Runs:
      return "runs";
  }
  return "";
}

// --- code objects --------------------------------------------------------------------------------

// Gives code objects without headers the one of their version, if all that one Python wrote agree.
class Versions {
 public:
  explicit Versions(std::vector<pickle::FoundCode>& codes) : codes_(codes) {}

  void run() {
    if (give([](const pickle::FoundCode&) { return true; })) return;
    for (const pickle::Layout layout :
         {pickle::Layout::Until310, pickle::Layout::Since311, pickle::Layout::AsFound}) {
      give([&](const pickle::FoundCode& code) { return code.layout == layout; });
    }
  }

 private:
  template <typename Which>
  bool give(Which which) {
    std::vector<pickle::FoundCode*> chosen;
    std::vector<Span> marshalled;
    for (pickle::FoundCode& code : codes_) {
      const bool has_header = code.bytes.empty() || (code.bytes[0] & 0x7f) != 'c';
      if (has_header || !which(code)) continue;
      chosen.push_back(&code);
      marshalled.emplace_back(code.bytes);
    }
    if (chosen.empty()) return false;
    const std::optional<Version> version = version_of(marshalled);
    if (!version) return false;
    const Bytes header = pyc_header(*version);
    for (pickle::FoundCode* const code : chosen) {
      code->bytes.insert(code->bytes.begin(), header.begin(), header.end());
    }
    return true;
  }

  std::vector<pickle::FoundCode>& codes_;
};

// Returns a name that is a file's: "Model.forward", "lambda".
std::string place_of(std::string_view name) {
  std::string place;
  for (const char c : name) {
    if (c == '<' || c == '>') continue;
    const auto byte = static_cast<uint8_t>(c);
    const bool is_plain = byte >= 0x80 || ('a' <= (c | 0x20) && (c | 0x20) <= 'z') ||
                          ('0' <= c && c <= '9') || c == '_' || c == '.' || c == '-';
    place += is_plain ? c : '_';
  }
  while (place.starts_with('.')) place.erase(0, 1);
  return (place.empty() ? "code" : place) + ".pyc";
}

class Reader {
 public:
  explicit Reader(const Options& options) : options_(options) {}

  Pickled run(const Data& data) {
    const Span bytes = data.bytes;
    if (const auto start = start_in_numpy(bytes)) {
      read(bytes, *start);
    } else if (const Bytes unpacked = inflated(bytes); !unpacked.empty()) {
      read(unpacked, 0);
    } else if (pickle::is_pickle(bytes)) {
      read(bytes, 0);
    } else if (begins_with(bytes, kHdf5) || begins_with(bytes, "{")) {
      configuration(bytes);
    }
    return std::move(out_);
  }

 private:
  // Returns the pickle that zlib compressed; empty if it is none.
  static Bytes inflated(Span bytes) {
    constexpr size_t kFront = 16;
    const auto start = start_of_deflated(bytes);
    if (!start) return {};
    const Span packed = bytes.subspan(*start);
    if (!pickle::begins_like_pickle(inflate_front(packed, kFront))) return {};
    Result<Bytes> unpacked = inflate_most(packed, kLargestMember);
    return unpacked.ok() ? std::move(*unpacked) : Bytes();
  }

  void read(Span bytes, uint64_t start) {
    out_.is_pickled = true;
    pickle::Contents contents = pickle::read(bytes, start);
    std::vector<pickle::FoundCode> codes;
    for (pickle::Pickle& each : contents.pickles) {
      if (options_.lists_loads) out_.loads.push_back(load_of(each));
      for (pickle::FoundCode& code : each.codes) {
        if (code.is_nested) continue;
        const bool is_guess = code.layout == pickle::Layout::AsFound && !code.is_claimed;
        if (is_guess && !read_pyc(code.bytes).ok()) continue;
        if (!each.inside.empty()) code.about.push_back("found " + each.inside);
        codes.push_back(std::move(code));
      }
    }
    if (options_.lists_loads && !out_.loads.empty()) {
      Load& last = out_.loads.back();
      for (std::string& note : contents.notes) last.notes.push_back(std::move(note));
      if (contents.end < bytes.size() && out_.loads.back().failure.empty()) {
        last.notes.push_back(std::to_string(bytes.size() - contents.end) +
                             " bytes follow the last pickle");
      }
    }
    Versions(codes).run();
    for (pickle::FoundCode& code : codes) add(std::move(code));
  }

  Load load_of(const pickle::Pickle& from) {
    Load load;
    load.inside = from.inside;
    load.start = from.graph.start;
    load.end = from.graph.end;
    load.protocol = from.graph.protocol;
    load.notes = from.graph.notes;
    for (const pickle::Effect& effect : from.graph.effects) {
      if (++steps_ > kMostSteps) {
        load.notes.push_back("more than 100,000 steps; the rest is not listed");
        break;
      }
      pickle::Act act = pickle::act_of(from.graph, effect);
      load.steps.push_back({act.offset, std::move(act.kind), std::move(act.name),
                            std::move(act.text), std::move(act.why), word_of(act.danger)});
    }
    if (from.graph.has_failed) {
      load.failure =
          from.graph.failure.message + " at byte " + pickle::hex_text(from.graph.failure.offset);
    }
    return load;
  }

  // Code objects of one name are told apart by their number.
  std::string unique(const std::string& name) {
    const size_t count = ++names_[name];
    return count == 1 ? name : name + '~' + std::to_string(count);
  }

  void add(pickle::FoundCode code) {
    Member member;
    if (code.name.empty()) code.name = "code";
    member.name = unique(code.name);
    member.place = place_of(code.name);
    member.about = {code.name + ", at byte " + pickle::hex_text(code.offset)};
    for (std::string& line : code.about) member.about.push_back(std::move(line));
    if (!code.refusal.empty()) {
      const Error error{ErrorCode::Unsupported, code.offset, "pickle: " + code.refusal};
      member.read = [error]() -> Result<Bytes> { return error; };
    } else {
      const auto bytes = std::make_shared<const Bytes>(std::move(code.bytes));
      member.read = [bytes]() -> Result<Bytes> { return *bytes; };
    }
    out_.members.push_back(std::move(member));
  }

  // --- Keras: base 64 of marshalled code, in quotes, in the JSON of a model.
  void configuration(Span bytes) {
    const std::string_view text = text_of(bytes);
    std::vector<pickle::FoundCode> codes;
    for (const std::string_view mark : {"\"4w", "\"Yw"}) {
      for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at)) {
        const size_t end = std::min(text.find('"', at + 1), text.size());
        std::string_view encoded = text.substr(at + 1, end - at - 1);
        if (encoded.size() >= kLeastCode) code_in(text, at, encoded, codes);
        at = end;
      }
    }
    if (codes.empty()) return;
    out_.is_pickled = true;
    Versions(codes).run();
    for (pickle::FoundCode& code : codes) add(std::move(code));
  }

  static void code_in(std::string_view text, size_t at, std::string_view encoded,
                      std::vector<pickle::FoundCode>& codes) {
    std::string plain;
    for (size_t i = 0; i < encoded.size(); ++i) {
      if (encoded[i] == '\\') {
        ++i;  // "\n"
      } else {
        plain += encoded[i];
      }
    }
    const std::string decoded = pickle::base64_decoded(plain);
    pickle::FoundCode code;
    code.bytes.assign(decoded.begin(), decoded.end());
    if (!looks_like_code(code.bytes) || !read_pyc(code.bytes).ok()) return;
    code.offset = at;
    code.name = name_before(text.substr(0, at));
    code.about = {"Keras: a Lambda layer, or another function of the model"};
    codes.push_back(std::move(code));
  }

  // Returns the name of the layer that a place belongs to.
  static std::string name_before(std::string_view text) {
    constexpr std::string_view kKey = "\"name\": \"";
    constexpr size_t kFar = 4096;
    const size_t found = text.rfind(kKey);
    if (found == std::string_view::npos || text.size() - found > kFar) return "lambda";
    const std::string_view rest = text.substr(found + kKey.size());
    return std::string(rest.substr(0, std::min<size_t>(rest.find('"'), 80)));
  }

  const Options& options_;
  Pickled out_;
  std::unordered_map<std::string, size_t> names_;
  size_t steps_ = 0;
};

}  // namespace

bool may_be_pickled(Span head, std::string_view name) {
  return pickle::begins_like_pickle(head) || begins_with(head, kNumpy) || is_name_of_pickle(name) ||
         (is_name_of_config(name) && begins_with(head, "{"));
}

Pickled pickled_in(const Data& data, const Options& options) { return Reader(options).run(data); }

std::vector<pickle::FoundCode> code_in_pickle(Span bytes) {
  std::vector<pickle::FoundCode> codes;
  for (pickle::Pickle& each : pickle::read(bytes).pickles) {
    if (!each.inside.empty()) continue;
    for (pickle::FoundCode& code : each.codes) codes.push_back(std::move(code));
  }
  Versions(codes).run();
  return codes;
}

}  // namespace pellucid::archive
