// Reads and patches the caBundle of each webhook in one MutatingWebhookConfiguration: the authorities (CAs) that the
// API server trusts when it calls the webhook.
//
// Thread safety: values and pure functions.
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
  bool all_trust(std::string_view bundle) const;         // the caBundle of every hook is exactly this text
  bool all_include(std::string_view certificate) const;  // the caBundle of every hook contains this certificate
};

// The path of the configuration `name` in the Kubernetes API.
std::string webhooks_path(std::string_view name);

// Reads the API's JSON. Error `unexpected`: it is not a webhook configuration.
Result<Webhooks> read_webhooks(std::string_view object);

// The strategic merge patch that sets this bundle in every hook and changes nothing else. The API server refuses it
// with 409 if the configuration has changed since it was read.
inline constexpr const char* kStrategicMergePatch = "application/strategic-merge-patch+json";
std::string patch_webhooks(const Webhooks& webhooks, std::string_view bundle);

}  // namespace sluice::server::kubernetes
