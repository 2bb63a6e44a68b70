// The description of the admin API as it is served, walked by the names of members.
#pragma once

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/json_tree.hpp"
#include "server/admin/embedded.hpp"
#include "server/admin/json_edit.hpp"

namespace sluice::server {

using Names = std::set<std::string>;

class Document {
 public:
  Document() {
    const auto root = tree_.parse(embedded::openapi);
    REQUIRE(root.has_value());
    root_ = *root;
  }
  const JsonValue& root() const { return root_; }

  // nullptr where there is none.
  const JsonValue* find(const std::vector<std::string>& path) const { return find(root_, path); }
  static const JsonValue* find(const JsonValue& from, const std::vector<std::string>& path) {
    const JsonValue* at = &from;
    for (const std::string& name : path) {
      at = member(*at, name);
      if (at == nullptr) return nullptr;
    }
    return at;
  }
  const JsonValue& get(const std::vector<std::string>& path) const { return get(root_, path); }
  static const JsonValue& get(const JsonValue& from, const std::vector<std::string>& path) {
    std::string where;
    for (const std::string& name : path) where += "/" + name;
    CAPTURE(where);
    const JsonValue* const found = find(from, path);
    REQUIRE(found != nullptr);
    return *found;
  }

  // What "#/components/parameters/Limit" names; other values as they are.
  const JsonValue& resolve(const JsonValue& value) const {
    const std::string_view reference = text_member(value, "$ref");
    return reference.empty() ? value : get(steps(reference));
  }
  static std::vector<std::string> steps(std::string_view reference) {
    CAPTURE(reference);
    REQUIRE(reference.starts_with("#/"));
    reference.remove_prefix(2);
    std::vector<std::string> names;
    while (!reference.empty()) {
      const std::size_t end = std::min(reference.find('/'), reference.size());
      names.emplace_back(reference.substr(0, end));
      reference.remove_prefix(std::min(end + 1, reference.size()));
    }
    return names;
  }

 private:
  JsonTree tree_;
  JsonValue root_;
};

// Of an object.
inline Names names_of(const JsonValue& object) {
  REQUIRE(object.type() == JsonType::object);
  Names names;
  for (const JsonMember& entry : object.members()) names.insert(std::string(entry.name));
  return names;
}

// Of a list.
inline Names texts_of(const JsonValue& list) {
  REQUIRE(list.type() == JsonType::array);
  Names texts;
  for (const JsonValue& item : list.items()) {
    if (item.type() == JsonType::string) texts.insert(std::string(item.text()));
  }
  return texts;
}

}  // namespace sluice::server
