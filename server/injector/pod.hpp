// Read access to a pod's JSON. A member that is missing or of an unexpected type reads as empty.
//
// Thread safety: pure functions; the views live as long as the tree.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "common/json/tree.hpp"

namespace sluice::server::injector {

// A member of an object; nullptr if it is missing or null, and also if `object` is nullptr or not an object.
const json::Value* member(const json::Value* object, std::string_view name);
std::string_view text_member(const json::Value* object, std::string_view name);  // "": missing, or not a string
std::span<json::Value> items(const json::Value* object, std::string_view name);  // of a list
bool is_true(const json::Value* object, std::string_view name);
std::optional<std::int64_t> integer_member(const json::Value* object, std::string_view name);
// The first item whose member `key` is the text `value`, by its index.
std::optional<std::size_t> find_item(std::span<const json::Value> list, std::string_view key, std::string_view value);

class Pod {
 public:
  explicit Pod(const json::Value& root) : metadata_(member(&root, "metadata")), spec_(member(&root, "spec")) {}

  const json::Value* metadata() const { return metadata_; }
  const json::Value* spec() const { return spec_; }
  // The pod's name, or the prefix (`generateName`) from which the API server makes one; for log lines.
  std::string_view name() const;
  // nullptr: no such annotation. An annotation may have the value "".
  const json::Value* annotation(std::string_view name) const { return member(member(metadata_, "annotations"), name); }
  std::string_view label(std::string_view name) const { return text_member(member(metadata_, "labels"), name); }
  std::span<json::Value> containers() const { return items(spec_, "containers"); }
  std::span<json::Value> init_containers() const { return items(spec_, "initContainers"); }

  // The index of the sidecar among the init containers; it is recognised by its name and the annotation.
  std::optional<std::size_t> sidecar() const;

 private:
  const json::Value* metadata_;
  const json::Value* spec_;
};

}  // namespace sluice::server::injector
