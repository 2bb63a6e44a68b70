// The description of the admin API as it is served, walked by the names of members.
#pragma once

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/edit.hpp"
#include "common/json/tree.hpp"
#include "server/admin/openapi.hpp"

namespace sluice::server {

using Names = std::set<std::string>;

class Document {
 public:
  Document() {
    const auto root = tree_.parse(admin::openapi_document());
    REQUIRE(root.has_value());
    root_ = *root;
  }
  const json::Value& root() const { return root_; }

  // nullptr where there is none.
  const json::Value* find(const std::vector<std::string>& path) const { return find(root_, path); }
  static const json::Value* find(const json::Value& from, const std::vector<std::string>& path) {
    const json::Value* at = &from;
    for (const std::string& name : path) {
      at = at->find(name);
      if (at == nullptr) return nullptr;
    }
    return at;
  }
  const json::Value& get(const std::vector<std::string>& path) const { return get(root_, path); }
  static const json::Value& get(const json::Value& from, const std::vector<std::string>& path) {
    std::string where;
    for (const std::string& name : path) where += "/" + name;
    CAPTURE(where);
    const json::Value* const found = find(from, path);
    REQUIRE(found != nullptr);
    return *found;
  }

  // What "#/components/parameters/Limit" names; other values as they are.
  const json::Value& resolve(const json::Value& value) const {
    const std::string_view reference = value.text_of("$ref");
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
  json::Tree tree_;
  json::Value root_;
};

// Of an object.
inline Names names_of(const json::Value& object) {
  REQUIRE(object.type() == json::Type::object);
  Names names;
  for (const json::Member& entry : object.members()) names.insert(std::string(entry.name));
  return names;
}

// Of a list.
inline Names texts_of(const json::Value& list) {
  REQUIRE(list.type() == json::Type::array);
  Names texts;
  for (const json::Value& item : list.items()) {
    if (item.type() == json::Type::string) texts.insert(std::string(item.text()));
  }
  return texts;
}

}  // namespace sluice::server
