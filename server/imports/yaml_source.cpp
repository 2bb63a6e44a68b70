#include "server/imports/yaml_source.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "common/yaml/yaml.hpp"

namespace sluice::server::imports {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Only between documents may a line begin like this: within a scalar, YAML forbids it.
bool is_separator(std::string_view line) {
  if (!line.starts_with("---")) return false;
  return line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r';
}

bool has_content(std::string_view text) {
  for (std::string_view line : lines_of(text)) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (!line.empty() && line.front() != '#' && line.front() != '%' && !line.starts_with("...")) return true;
  }
  return false;
}

}  // namespace

YamlSource::YamlSource(std::string_view text, std::size_t file, Draft& draft) : file_(file), draft_(draft) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.size() > yaml::kMaxYamlBytes) {
    draft_.fault({file_, 0}, fmt::format("the text has more than {} MiB: divide it", yaml::kMaxYamlBytes >> 20));
    return;
  }
  lines_ = lines_of(text);
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= lines_.size(); ++i) {
    const bool at_end = i == lines_.size();
    if (!at_end && (i == begin || !is_separator(lines_[i]))) continue;
    if (begin == i) continue;
    const char* const from = lines_[begin].data();
    const char* const to = at_end ? text.data() + text.size() : lines_[i].data();
    read_document({from, static_cast<std::size_t>(to - from)}, static_cast<std::uint32_t>(begin));
    begin = i;
  }
}

void YamlSource::read_document(std::string_view text, std::uint32_t lines_before) {
  const std::size_t first = is_separator(text.substr(0, text.find('\n'))) ? 3 : 0;
  if (!has_content(text.substr(first))) return;
  auto made = yaml::json_of_yaml(text);
  if (!made) {
    return draft_.fault({file_, made.error().line + lines_before},
                        fmt::format("this cannot be read: {}", made.error().text));
  }
  auto document = std::make_unique<Document>();
  auto root = document->tree.parse(made->json);
  if (!root) {
    Faults faults{root.error()};
    made->locate(faults);
    return draft_.fault({file_, faults[0].line + lines_before}, fmt::format("this cannot be read: {}", faults[0].text));
  }
  document->root = *root;
  std::vector<std::uint32_t> lines;
  for (const TextPosition& position : made->positions) lines.push_back(position.line + lines_before);
  std::size_t next = 0;
  number(document->root, lines, next);
  if (document->root.type() != json::Type::null) documents_.push_back(&document->root);
  parsed_.push_back(std::move(document));
}

// The positions are in the order of the values in the document.
void YamlSource::number(const json::Value& value, std::span<const std::uint32_t> lines, std::size_t& next) {
  line_of_[&value] = next < lines.size() ? lines[next] : 0;
  ++next;
  if (value.type() == json::Type::array) {
    for (const json::Value& item : value.items()) number(item, lines, next);
  } else if (value.type() == json::Type::object) {
    for (const json::Member& member : value.members()) number(member.value, lines, next);
  }
}

Place YamlSource::place_of(const json::Value& value) const {
  const auto found = line_of_.find(&value);
  return {file_, found == line_of_.end() ? 0 : found->second};
}

Place YamlSource::place_of(std::string_view name, const json::Value& value) const {
  constexpr std::uint32_t kFarthest = 100;  // lines of comments between a name and its value
  constexpr std::size_t kMaxLine = 1'000;   // a whole document can be one line, which is not searched for each name
  Place place = place_of(value);
  for (std::uint32_t line = place.line; line > 0 && line + kFarthest > place.line; --line) {
    if (line > lines_.size() || lines_[line - 1].size() > kMaxLine) break;
    if (lines_[line - 1].find(name) != std::string_view::npos) return {file_, line};
  }
  return place;
}

Section::Section(const YamlSource& source, const json::Value& value)
    : source_(source), value_(value), is_map_(value.type() == json::Type::object) {
  if (!is_map_) {
    draft().fault(place(), fmt::format("this must be a map of names and values, not {}", json::describe(value.type())));
    return;
  }
  for (const json::Member& member : value_.members()) {
    if (!member.duplicate) continue;
    draft().fault(source_.place_of(member.name, member.value),
                  fmt::format("{} is given twice: keep one", quoted(member.name)));
  }
}

Place Section::place_of(std::string_view name) const {
  const json::Value* const found = value_.find(name);
  return found == nullptr ? place() : source_.place_of(name, *found);
}

const json::Value* Section::take(std::string_view name) {
  taken_.push_back(name);
  const json::Value* const found = value_.find(name);
  return found == nullptr || found->type() == json::Type::null ? nullptr : found;
}

std::optional<std::string> Section::text(std::string_view name) {
  const json::Value* const value = take(name);
  if (value == nullptr) return std::nullopt;
  auto text = scalar_text(*value);
  if (!text) fault(name, json::wrong_type_text(name, *value, "a text"));
  return text;
}

std::optional<std::int64_t> Section::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const auto written = text(name);
  if (!written) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = written->data() + written->size();
  const auto [stop, error] = std::from_chars(written->data(), end, number);
  if (error == std::errc{} && stop == end && number >= least && number <= most) return number;
  fault(name, fmt::format("{} must be a whole number from {} to {}, not {}", name, least, most, quoted(*written)));
  return std::nullopt;
}

std::optional<bool> Section::boolean(std::string_view name) {
  const auto written = text(name);
  if (!written) return std::nullopt;
  if (*written == "true" || *written == "false") return *written == "true";
  fault(name, fmt::format("{} must be true or false, not {}", name, quoted(*written)));
  return std::nullopt;
}

std::span<const json::Value> Section::list(std::string_view name) {
  const json::Value* const value = take(name);
  if (value == nullptr) return {};
  if (value->type() == json::Type::array) return value->items();
  fault(name, json::wrong_type_text(name, *value, "a list"));
  return {};
}

std::vector<std::string> Section::texts(std::string_view name) {
  std::vector<std::string> found;
  for (const json::Value& item : list(name)) {
    auto text = scalar_text(item);
    if (text) {
      found.push_back(*std::move(text));
    } else {
      draft().fault(source_.place_of(item), json::wrong_type_text(name, item, "a list of texts"));
    }
  }
  return found;
}

void Section::require(std::string_view name, std::string_view why) {
  if (is_map_ && take(name) == nullptr) draft().fault(place(), fmt::format("{} is missing: {}", name, why));
}

void Section::drop(std::string_view name, std::string_view why, std::string_view instead) {
  if (take(name) != nullptr) note(name, std::string(why), std::string(instead));
}

void Section::leave_aside(std::initializer_list<std::string_view> names) {
  taken_.insert(taken_.end(), names.begin(), names.end());
}

void Section::note_rest(std::string_view owner) {
  if (!is_map_) return;
  for (const json::Member& member : value_.members()) {
    if (std::ranges::find(taken_, member.name) != taken_.end() || member.value.type() == json::Type::null) continue;
    draft().note(source_.place_of(member.name, member.value), member.name,
                 fmt::format("this is not known as a member of {}, and was left out", owner),
                 "check its spelling, or look up what it does");
  }
}

std::optional<std::string> scalar_text(const json::Value& value) {
  switch (value.type()) {
    case json::Type::string:
    case json::Type::number:
      return std::string(value.text());
    case json::Type::boolean:
      return value.boolean() ? "true" : "false";
    case json::Type::null:
    case json::Type::array:
    case json::Type::object:
      break;
  }
  return std::nullopt;
}

}  // namespace sluice::server::imports
