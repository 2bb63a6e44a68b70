#include "common/yaml/yaml.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "common/base/text.hpp"
#include "common/base/utf8.hpp"
#include "common/json/fault_place.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "common/json/tree.hpp"
#include "common/yaml/yaml_mistake.hpp"
#include "common/yaml/yaml_scalar.hpp"

namespace sluice::yaml {
namespace {

// The parser passes the tag !!str as kCore followed by "str". A node without a tag gets "!" if it is a quoted or block
// scalar, else "?".
constexpr std::string_view kCore = "tag:yaml.org,2002:";

// An exception, because nothing else stops the parser.
struct Refused {
  Fault fault;
};

// Turns the parser's marks, which count bytes, into lines and columns that count characters.
class Positions {
 public:
  explicit Positions(std::string_view text) : text_(text) {}

  TextPosition of(const YAML::Mark& mark) {
    if (mark.is_null()) return {1, 1};
    const auto at = static_cast<std::size_t>(mark.pos);
    const auto column = static_cast<std::size_t>(mark.column);
    // The parser's marks may lie after the end of the text.
    if (at > text_.size() || column > at) return PositionCounter(text_).at(text_.size());
    // Continues from the previous mark in the same line, so that a long line is counted only once.
    if (mark.line != line_ || at < last_) {
      line_ = mark.line;
      last_ = at - column;
      characters_ = 0;
    }
    characters_ += std::ranges::count_if(text_.substr(last_, at - last_),
                                         [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    last_ = at;
    return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(characters_ + 1)};
  }

 private:
  std::string_view text_;
  int line_ = -1;                  // of the previous mark
  std::size_t last_ = 0;           // byte offset of the previous mark
  std::ptrdiff_t characters_ = 0;  // characters from the start of the line to last_
};

class Writer final : public YAML::EventHandler {
 public:
  explicit Writer(std::string_view text) : positions_(text) {}

  YamlDocument take() { return std::move(out_); }
  Fault fault_at(const YAML::Mark& mark, std::string text) {
    const TextPosition place = positions_.of(mark);
    return {"", std::move(text), place.line, place.column};
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (at_name()) refuse(mark, "a name must not be empty");
    begin(mark, anchor);
    out_.json += "null";
    end(anchor, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (at_name()) return name(mark, tag, value);
    begin(mark, anchor);
    if (tag == "?") {
      auto json = json_of_plain(value);
      if (!json) refuse(mark, std::move(json.error()));
      out_.json += *json;
    } else {
      if (tag != "!" && tag != std::string(kCore) + "str") refuse_tag(mark, tag);
      json::append_string(out_.json, value);
    }
    end(anchor, 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", anchor, '[');
  }
  void OnSequenceEnd() override { close(']'); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map", anchor, '{');
  }
  void OnMapEnd() override { close('}'); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (at_name()) refuse(mark, "a name must be written out: it cannot be an alias");
    const Anchored* const target = anchor < anchors_.size() ? &anchors_[anchor] : nullptr;
    if (target == nullptr || target->size == 0)
      refuse(mark, "the alias refers to a node that contains it, or to a name");
    aliased_ += target->size;
    if (aliased_ > kMaxAliasedBytes) {
      refuse(mark, fmt::format("aliases add more than {} MiB: write less", kMaxAliasedBytes >> 20));
    }
    const Anchored copied = *target;
    begin(mark, 0);
    check_depth(mark, copied.depth);
    // append() reads from the string that it extends, so the string must not be reallocated.
    out_.json.reserve(out_.json.size() + copied.size);
    out_.json.append(out_.json.data() + copied.offset, copied.size);
    for (std::size_t i = 1; i < copied.positions; ++i)
      out_.positions.push_back(out_.positions[copied.first_position + i]);
    end(0, copied.depth);
  }

 private:
  // The JSON of a node that an alias can repeat.
  struct Anchored {
    std::size_t offset = 0;
    std::size_t size = 0;  // 0: the node has not ended
    std::size_t first_position = 0;
    std::size_t positions = 0;
    std::size_t depth = 0;  // levels of lists and maps
  };
  struct OpenNode {
    bool is_map = false;
    bool at_name = false;  // the next event is the name of a member
    bool empty = true;
    std::size_t depth = 1;  // levels, including itself
    YAML::anchor_t anchor = 0;
  };

  bool at_name() const { return !open_.empty() && open_.back().at_name; }

  [[noreturn]] void refuse(const YAML::Mark& mark, std::string text) { throw Refused{fault_at(mark, std::move(text))}; }
  [[noreturn]] void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    refuse(mark, fmt::format("the tag {} is not supported; supported are !!str, !!map and !!seq", quoted(tag)));
  }

  void check_depth(const YAML::Mark& mark, std::size_t below) {
    if (open_.size() + below > json::kMaxDepth) refuse(mark, fmt::format("nested more than {} deep", json::kMaxDepth));
  }

  void separate() {
    if (!open_.back().empty) out_.json += ',';
    open_.back().empty = false;
  }

  void name(const YAML::Mark& mark, const std::string& tag, const std::string& value) {
    if (tag == "?" && value == "<<") refuse(mark, "merge keys (<<) are not YAML 1.2: write the members out");
    if (tag != "?" && tag != "!" && tag != std::string(kCore) + "str") refuse_tag(mark, tag);
    separate();
    json::append_string(out_.json, value);
    out_.json += ':';
    open_.back().at_name = false;
  }

  // In the JSON, each value begins on a line of its own, so that locate() finds its position in the YAML.
  void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (!open_.empty()) {
      if (!open_.back().is_map) separate();
      out_.json += '\n';
    }
    out_.positions.push_back(positions_.of(mark));
    if (anchor == 0) return;
    if (anchor >= anchors_.size()) anchors_.resize(anchor + 1);
    anchors_[anchor] = {.offset = out_.json.size(), .first_position = out_.positions.size() - 1};
  }

  void end(YAML::anchor_t anchor, std::size_t depth) {
    if (anchor != 0) {
      Anchored& ended = anchors_[anchor];
      ended.size = out_.json.size() - ended.offset;
      ended.positions = out_.positions.size() - ended.first_position;
      ended.depth = depth;
    }
    if (open_.empty()) return;
    OpenNode& parent = open_.back();
    parent.at_name = parent.is_map;
    parent.depth = std::max(parent.depth, depth + 1);
  }

  void open(const YAML::Mark& mark, const std::string& tag, std::string_view core, YAML::anchor_t anchor,
            char bracket) {
    if (at_name()) refuse(mark, "a name must be a text, not a list or a map");
    if (tag != "?" && tag != "!" && tag != std::string(kCore).append(core)) refuse_tag(mark, tag);
    begin(mark, anchor);
    open_.push_back({.is_map = bracket == '{', .at_name = bracket == '{', .anchor = anchor});
    check_depth(mark, 0);
    out_.json += bracket;
  }

  void close(char bracket) {
    const OpenNode closed = open_.back();
    open_.pop_back();
    out_.json += bracket;
    end(closed.anchor, closed.depth);
  }

  Positions positions_;
  YamlDocument out_;
  std::vector<OpenNode> open_;
  std::vector<Anchored> anchors_;  // indexed by YAML::anchor_t
  std::size_t aliased_ = 0;        // bytes of JSON that aliases have added
};

Fault too_large() {
  return {"", fmt::format("YAML may have at most {} MiB: divide it, or write JSON", kMaxYamlBytes >> 20), 1, 1};
}

// The largest number of brackets that are open at the same time. The parser keeps all open brackets in memory before
// its first event, so check_depth() would come too late.
std::size_t open_brackets(std::string_view text) {
  std::size_t open = 0;
  std::size_t most = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') most = std::max(most, ++open);
    if ((c == ']' || c == '}') && open > 0) --open;
  }
  return most;
}

// Finds what the parser would not report: bytes that it would change, and texts that need too much memory.
std::optional<Fault> fault_of_text(std::string_view text) {
  if (text.size() > kMaxYamlBytes) return too_large();
  if (!is_utf8(text)) return Fault{"", "the text is not UTF-8", 1, 1};
  if (text.find('\0') != std::string_view::npos) return Fault{"", "the text holds the byte NUL", 1, 1};
  if (open_brackets(text) > kMaxOpenBrackets) {
    return Fault{"", fmt::format("more than {} brackets are open at the same time", kMaxOpenBrackets), 1, 1};
  }
  return std::nullopt;
}

Fault fault_of_parser(std::string_view text, const YAML::Exception& error, Writer& writer) {
  const std::size_t offset = error.mark.is_null() ? 0 : static_cast<std::size_t>(error.mark.pos);
  const auto mistake = usual_mistake(text, offset, error.msg);
  Fault fault = writer.fault_at(
      error.mark, fmt::format("the text is not YAML: {}", mistake ? mistake->why : std::string_view(error.msg)));
  if (mistake && mistake->offset) {
    const TextPosition at = PositionCounter(text).at(*mistake->offset);
    fault.line = at.line;
    fault.column = at.column;
  }
  return fault;
}

}  // namespace

void YamlDocument::locate(Faults& faults) const {
  json::locate_faults(json, faults);
  for (Fault& fault : faults) {
    if (fault.line == 0 || fault.line > positions.size()) continue;
    const TextPosition& place = positions[fault.line - 1];
    fault.line = place.line;
    fault.column = place.column;
  }
}

std::expected<YamlDocument, Fault> json_of_yaml(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (auto fault = fault_of_text(text)) return std::unexpected(std::move(*fault));
  Writer writer(text);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(writer)) return std::unexpected(Fault{"", "there is no document in the text", 1, 1});
    Writer rest(text);
    if (parser.HandleNextDocument(rest)) {
      return std::unexpected(Fault{"", "there is more than one document in the text: give them one by one", 1, 1});
    }
    return writer.take();
  } catch (Refused& refused) {
    return std::unexpected(std::move(refused.fault));
  } catch (const YAML::Exception& error) {
    return std::unexpected(fault_of_parser(text, error, writer));
  }
}

}  // namespace sluice::yaml
