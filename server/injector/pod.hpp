// Read access to a pod's JSON. A member that is missing or of an unexpected type reads as empty.
//
// A Pod and the values that it returns are views: they are valid as long as the json::Tree that holds the pod.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "common/json/tree.hpp"

namespace sluice::server::injector {

// nullptr: the member is missing or null, or `object` is not an object.
const json::Value* member(const json::Value& object, std::string_view name);
std::optional<std::int64_t> integer_member(const json::Value& object, std::string_view name);
// The index of the first item whose member `key` is the text `value`.
std::optional<std::size_t> find_item(std::span<const json::Value> list, std::string_view key, std::string_view value);

class Pod {
 public:
  explicit Pod(const json::Value& root) : metadata_(root.get("metadata")), spec_(root.get("spec")) {}

  const json::Value& metadata() const { return metadata_; }
  const json::Value& spec() const { return spec_; }
  // The pod's name, or the prefix (`generateName`) from which the API server makes one.
  std::string_view name() const;
  const json::Value* annotation(std::string_view name) const { return member(metadata_.get("annotations"), name); }
  std::string_view label(std::string_view name) const { return metadata_.get("labels").text_of(name); }
  std::span<json::Value> containers() const { return spec_.items_of("containers"); }
  std::span<json::Value> init_containers() const { return spec_.items_of("initContainers"); }

  // The index of the sidecar among the init containers.
  std::optional<std::size_t> sidecar() const;

 private:
  json::Value metadata_;
  json::Value spec_;
};

}  // namespace sluice::server::injector
