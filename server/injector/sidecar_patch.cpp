#include "server/injector/sidecar_patch.hpp"

#include <algorithm>
#include <functional>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/pointer.hpp"
#include "server/injector/names.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::string_view kInitContainers = "/spec/initContainers";
constexpr std::string_view kVolumesPointer = "/spec/volumes";

std::string json_of(const json::Value& value) {
  std::string text;
  json::append(text, value);
  return text;
}

std::string list_of(std::string_view item) { return fmt::format("[{}]", item); }

// A list in the sidecar's container. Other programs may add items to the list.
struct SharedList {
  std::string_view name;
  std::function<bool(const json::Value&)> is_ours;
};

// Writes the list anew if our items are not the wanted ones: first the wanted items, then those of other programs.
void patch_shared(json::Patch& patch, const std::string& at, const json::Value& actual, const json::Value& wanted,
                  const SharedList& list) {
  std::vector<const json::Value*> ours;
  std::vector<const json::Value*> others;
  for (const json::Value& item : actual.items_of(list.name)) (list.is_ours(item) ? ours : others).push_back(&item);
  const auto wanted_items = wanted.items_of(list.name);
  const bool good = std::ranges::equal(
      ours, wanted_items, [](const json::Value* there, const json::Value& wish) { return json::covers(*there, wish); });
  if (good) return;
  std::string text = "[";
  for (const json::Value& item : wanted_items) text += (text.size() > 1 ? "," : "") + json_of(item);
  for (const json::Value* item : others) text += (text.size() > 1 ? "," : "") + json_of(*item);
  patch.add(json::pointer_to(at, list.name), text + ']');
}

void update_sidecar(json::Patch& patch, const std::string& at, const json::Value& actual, const json::Value& wanted) {
  const auto is_our_variable = [](const json::Value& item) { return is_own_variable(item.text_of("name")); };
  const auto wanted_mounts = wanted.items_of("volumeMounts");
  const auto is_our_mount = [&](const json::Value& item) {
    return find_item(wanted_mounts, "mountPath", item.text_of("mountPath")).has_value();
  };
  for (const json::Member& part : wanted.members()) {
    if (part.name == "env") {
      patch_shared(patch, at, actual, wanted, {"env", is_our_variable});
    } else if (part.name == "volumeMounts") {
      patch_shared(patch, at, actual, wanted, {"volumeMounts", is_our_mount});
    } else if (const json::Value* const there = actual.find(part.name);
               there == nullptr || !json::covers(*there, part.value)) {
      patch.add(json::pointer_to(at, part.name), json_of(part.value));
    }
  }
}

// REQUIRES: `json` is valid JSON.
json::Value parsed(json::Tree& tree, const std::string& json) { return *tree.parse(json); }

}  // namespace

void patch_sidecar(json::Patch& patch, const Pod& pod, const std::string& container) {
  if (const auto index = pod.sidecar()) {
    json::Tree tree;
    return update_sidecar(patch, json::pointer_to(kInitContainers, *index), pod.init_containers()[*index],
                          parsed(tree, container));
  }
  if (member(pod.spec(), "initContainers") == nullptr) return patch.add(kInitContainers, list_of(container));
  patch.add(json::pointer_to(kInitContainers, std::size_t{0}), container);
}

void patch_volumes(json::Patch& patch, const Pod& pod, const std::vector<NamedJson>& volumes) {
  const auto existing = pod.spec().items_of("volumes");
  std::string missing;
  for (const NamedJson& volume : volumes) {
    const auto index = find_item(existing, "name", volume.name);
    if (!index) {
      missing += (missing.empty() ? "" : ",") + volume.json;
      if (member(pod.spec(), "volumes") != nullptr) patch.add(json::pointer_to(kVolumesPointer, "-"), volume.json);
      continue;
    }
    json::Tree tree;
    if (json::covers(existing[*index], parsed(tree, volume.json))) continue;
    patch.replace(json::pointer_to(kVolumesPointer, *index), volume.json);
  }
  if (!missing.empty() && member(pod.spec(), "volumes") == nullptr) patch.add(kVolumesPointer, list_of(missing));
}

}  // namespace sluice::server::injector
