// Reads YAML or JSON of another program: the line of each value, and maps of which no member gets lost.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/json/tree.hpp"
#include "server/imports/draft.hpp"

namespace sluice::server::imports {

// All YAML documents of one source.
class YamlSource {
 public:
  // Adds a fault to the draft if the text is no YAML. `file`: the index of the source.
  YamlSource(std::string_view text, std::size_t file, Draft& draft);
  YamlSource(const YamlSource&) = delete;

  // Empty documents are left out. A document is in memory as long as this object lives.
  std::span<const json::Value* const> documents() const { return documents_; }
  Place place_of(const json::Value& value) const;
  // The line of the member's name, which may be above its value. REQUIRES: `value` is the member's.
  Place place_of(std::string_view name, const json::Value& value) const;
  Draft& draft() const { return draft_; }

 private:
  struct Document {
    json::Tree tree;
    json::Value root;
  };

  void read_document(std::string_view text, std::uint32_t lines_before);
  void number(const json::Value& value, std::span<const std::uint32_t> lines, std::size_t& next);

  std::size_t file_;
  Draft& draft_;
  std::vector<std::string_view> lines_;
  std::vector<std::unique_ptr<Document>> parsed_;
  std::vector<const json::Value*> documents_;
  std::unordered_map<const json::Value*, std::uint32_t> line_of_;
};

// A map of the source. Getters return nullopt for an absent member and for null. A value of another type, or outside of
// its range, is a fault of the draft.
class Section {
 public:
  // A value that is no map is a fault, and is read as an empty map. REQUIRES: `source` and `value` outlive the section.
  Section(const YamlSource& source, const json::Value& value);

  bool is_map() const { return is_map_; }
  Place place() const { return source_.place_of(value_); }
  Place place_of(std::string_view name) const;  // of the section if there is no such member
  const YamlSource& source() const { return source_; }
  Draft& draft() const { return source_.draft(); }

  const json::Value* take(std::string_view name);
  // Numbers and booleans are read as they are written.
  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most);
  std::optional<bool> boolean(std::string_view name);
  // The items of a list; a value that is no list is a fault.
  std::span<const json::Value> list(std::string_view name);
  // The texts of a list of scalars.
  std::vector<std::string> texts(std::string_view name);

  // Adds a fault if the member is absent. `why`: what it is for.
  void require(std::string_view name, std::string_view why);
  void fault(std::string_view name, std::string text) { draft().fault(place_of(name), std::move(text)); }
  void note(std::string_view name, std::string why, std::string instead = {}) {
    draft().note(place_of(name), name, std::move(why), std::move(instead));
  }

  // Notes a member that has no counterpart, if it is given.
  void drop(std::string_view name, std::string_view why, std::string_view instead = {});
  // Takes members that do not limit requests.
  void leave_aside(std::initializer_list<std::string_view> names);
  // Notes each member that was not taken. `owner`: whose members they are. Call it last.
  void note_rest(std::string_view owner);

 private:
  const YamlSource& source_;
  const json::Value& value_;
  bool is_map_;
  std::vector<std::string_view> taken_;
};

// A scalar as it is written; nullopt for lists, maps and null.
std::optional<std::string> scalar_text(const json::Value& value);

}  // namespace sluice::server::imports
