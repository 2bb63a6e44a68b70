// How results are printed: a table for people, JSON and YAML for programs, and names for scripts.
//
// Thread safety: pure functions, but those that print.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/tree.hpp"
#include "ctl/core/kinds.hpp"

namespace sluice::ctl {

enum class Format { table, json, yaml, name };

std::optional<Format> parse_format(std::string_view text);

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  // A row has as many cells as there are titles.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() == 1; }
  std::string text() const;  // columns as wide as their widest cell, two spaces apart

 private:
  std::vector<std::vector<std::string>> rows_;
};

// A value as the text of a cell: "-" for nothing, "yes", names of limits, "a=b, c=d".
std::string cell(const json::Value& value);
// The member "a.b" of an object.
json::Value member_at(const json::Value& object, std::string_view path);

// Control characters replaced, so that a name can't write escape sequences to a terminal.
std::string printable(std::string_view text);

// Prints one document as JSON or YAML. REQUIRES: `format` is one of these.
void print_document(const json::Value& document, Format format);

// A list as one document: {"items": […]}.
class Items {
 public:
  void add(const json::Value& item);  // copies it
  // REQUIRES: as print_document().
  void print(Format format) const;
  std::string json() const { return R"({"items":[)" + items_ + "]}"; }

 private:
  std::string items_;
};

// Prints objects of a kind. For JSON and YAML: as Items.
void print_objects(const std::vector<json::Value>& objects, const Kind& kind, Format format);

}  // namespace sluice::ctl
