#include "server/store/kind.hpp"

#include <array>

#include <fmt/core.h>

#include "common/base/crypto.hpp"

namespace sluice::server::store {
namespace {

constexpr std::array<KindInfo, kKinds> kInfos{{{"override", "overrides", true, true},
                                               {"policy", "policies", true, true},
                                               {"plan", "plans", true, true},
                                               {"key", "keys", true, false},
                                               {"binding", "bindings", false, false},
                                               {"agent-token", "agent_tokens", false, false},
                                               {"token", "tokens", false, false},
                                               {"tenant", "tenants", false, false},
                                               {"organization", "organizations", false, false},
                                               {"setting", "settings", false, false},
                                               {"counter", "", true, true}}};

}  // namespace

const KindInfo& info(Kind kind) { return kInfos[static_cast<std::size_t>(kind)]; }

std::optional<Kind> kind_from(std::string_view name) {
  for (std::size_t i = 0; i < kInfos.size(); ++i) {
    if (kInfos[i].name == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::string kind_names() {
  std::string names;
  for (const KindInfo& kind : kInfos) names.append(names.empty() ? "" : ", ").append(kind.name);
  return names;
}

std::string random_id(Kind kind) {
  std::array<std::uint8_t, 6> bytes;
  random_bytes(bytes);
  return fmt::format("{}-{}", info(kind).name, to_hex(bytes));
}

}  // namespace sluice::server::store
