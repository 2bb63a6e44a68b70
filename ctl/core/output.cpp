#include "ctl/core/output.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/layout.hpp"
#include "common/yaml/yaml_writer.hpp"
#include "ctl/core/document.hpp"

namespace sluice::ctl {
namespace {

constexpr std::size_t kLineWidth = 120;

// The characters of a text in UTF-8: bytes that do not continue another.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::string joined(const json::Value& list) {
  std::string text;
  for (const json::Value& item : list.items()) {
    const std::string_view name = item.type() == json::Type::object ? item.text_of("name") : std::string_view();
    text.append(text.empty() ? "" : ", ").append(name.empty() ? cell(item) : printable(name));
  }
  return text.empty() ? "-" : text;
}

std::string pairs(const json::Value& object) {
  std::string text;
  for (const json::Member& member : object.members()) {
    text.append(text.empty() ? "" : ", ").append(printable(member.name)).append("=").append(cell(member.value));
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::optional<Format> parse_format(std::string_view text) {
  if (text == "table") return Format::table;
  if (text == "json") return Format::json;
  if (text == "yaml") return Format::yaml;
  if (text == "name") return Format::name;
  return std::nullopt;
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line.append(row[i]);
      if (i + 1 < widths.size()) line.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    out.append(line).append("\n");
  }
  return out;
}

std::string cell(const json::Value& value) {
  switch (value.type()) {
    case json::Type::null:
      return "-";
    case json::Type::boolean:
      return value.boolean() ? "yes" : "no";
    case json::Type::number:
      return std::string(value.text());
    case json::Type::string:
      return value.text().empty() ? "-" : printable(value.text());
    case json::Type::array:
      return joined(value);
    case json::Type::object:
      return pairs(value);
  }
  return "-";
}

json::Value member_at(const json::Value& object, std::string_view path) {
  json::Value value = object;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    value = value.get(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value;
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // C0, DEL, and C1, which UTF-8 writes as C2 80 to C2 9F.
    const bool second_of_c1 = i + 1 < text.size() && byte == 0xC2U && static_cast<unsigned char>(text[i + 1]) < 0xA0U;
    if (second_of_c1) ++i;
    out.push_back(byte < 0x20U || byte == 0x7FU || second_of_c1 ? '?' : text[i]);
  }
  return out;
}

void print_document(const json::Value& document, Format format) {
  if (format == Format::yaml) {
    fmt::print("{}", yaml::yaml_of_json(document));
  } else {
    fmt::print("{}\n", json::indented(document, kLineWidth));
  }
}

void Items::add(const json::Value& item) {
  if (!items_.empty()) items_.push_back(',');
  json::append(items_, item);
}

void Items::print(Format format) const { print_document(Document::parse(json())->root(), format); }

void print_objects(const std::vector<json::Value>& objects, const Kind& kind, Format format) {
  if (format == Format::name) {
    for (const json::Value& object : objects) fmt::print("{}/{}\n", kind.name, object.text_of("id"));
    return;
  }
  if (format == Format::table) {
    std::vector<std::string> titles;
    for (const Column& column : kind.columns) titles.emplace_back(column.title);
    Table table(std::move(titles));
    for (const json::Value& object : objects) {
      std::vector<std::string> cells;
      for (const Column& column : kind.columns) {
        const json::Value value = member_at(object, column.member);
        const bool absent = value.type() == json::Type::null && !column.fallback.empty();
        cells.push_back(absent ? std::string(column.fallback) : cell(value));
      }
      table.add(std::move(cells));
    }
    if (table.empty()) {
      fmt::print(stderr, "There are no {}.\n", kind.plural);
    } else {
      fmt::print("{}", table.text());
    }
    return;
  }
  Items items;
  for (const json::Value& object : objects) items.add(object);
  items.print(format);
}

}  // namespace sluice::ctl
