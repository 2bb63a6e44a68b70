// Reads and patches the caBundle of each webhook in one MutatingWebhookConfiguration: the authorities (CAs) that the
// API server trusts when it calls the webhook.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::server::kubernetes {

struct Webhooks {
  struct Hook {
    std::string name;
    std::string bundle;  // PEM; "": none
  };
  std::string version;  // resourceVersion; "": there is no such configuration
  std::vector<Hook> hooks;

  bool exist() const { return !version.empty(); }
  bool all_trust(std::string_view bundle) const;         // every bundle is exactly this text
  bool all_include(std::string_view certificate) const;  // every bundle contains this certificate
};

std::string webhooks_path(std::string_view name);

// Error `unexpected`: the JSON is not a webhook configuration.
Result<Webhooks> read_webhooks(std::string_view object);

inline constexpr const char* kStrategicMergePatch = "application/strategic-merge-patch+json";
// The API server refuses the patch with 409 if the configuration has another version than `webhooks.version`.
std::string patch_webhooks(const Webhooks& webhooks, std::string_view bundle);

}  // namespace sluice::server::kubernetes
