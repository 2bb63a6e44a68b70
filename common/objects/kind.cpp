#include "common/objects/kind.hpp"

namespace sluice {
namespace {

constexpr std::array<Kind, kKinds> kLockOrder = [] {
  std::array<Kind, kKinds> order = kAllKinds;
  std::ranges::sort(order, {}, [](Kind kind) { return info(kind).lock_rank; });
  return order;
}();

}  // namespace

std::span<const Kind> lock_order() { return kLockOrder; }

std::optional<Kind> kind_from(std::string_view name) {
  const auto* const found = std::ranges::find(kAllKinds, name, [](Kind kind) { return info(kind).name; });
  return found == kAllKinds.end() ? std::nullopt : std::optional(*found);
}

std::optional<Kind> synced_kind_from(std::string_view sync_name) {
  if (sync_name.empty()) return std::nullopt;
  const auto* const found = std::ranges::find(kAllKinds, sync_name, [](Kind kind) { return info(kind).sync_name; });
  return found == kAllKinds.end() ? std::nullopt : std::optional(*found);
}

std::string kind_names() {
  std::string names;
  for (const Kind kind : kLockOrder) names.append(names.empty() ? "" : ", ").append(info(kind).name);
  return names;
}

std::string_view synced_names() {
  static const std::string kNames = [] {
    std::string names;
    for (const Kind kind : kAllKinds) {
      if (info(kind).to_agents()) names.append(names.empty() ? "" : ", ").append(info(kind).sync_name);
    }
    return names;
  }();
  return kNames;
}

}  // namespace sluice
