#include "server/kubernetes/webhooks.hpp"

#include <algorithm>

#include "common/base/crypto.hpp"
#include "common/base/percent_encoding.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::kubernetes {

bool Webhooks::all_trust(std::string_view bundle) const {
  return std::ranges::all_of(hooks, [&](const Hook& each) { return each.bundle == bundle; });
}

bool Webhooks::all_include(std::string_view certificate) const {
  return std::ranges::all_of(hooks, [&](const Hook& each) { return each.bundle.contains(certificate); });
}

std::string webhooks_path(std::string_view name) {
  return "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + percent_encode(name);
}

Result<Webhooks> read_webhooks(std::string_view object) {
  json::Tree tree;
  const json::Value document = tree.parse(object).value_or(json::Value());
  Webhooks read;
  read.version = document.get("metadata").text_of("resourceVersion");
  if (read.version.empty()) return failure("unexpected", "the Kubernetes API's answer is not a webhook configuration");
  for (const json::Value& each : document.items_of("webhooks")) {
    const auto bundle = from_base64(each.get("clientConfig").text_of("caBundle"));
    read.hooks.push_back(
        {std::string(each.text_of("name")), bundle ? std::string(bundle->begin(), bundle->end()) : std::string()});
  }
  return read;
}

std::string patch_webhooks(const Webhooks& webhooks, std::string_view bundle) {
  const std::string encoded = to_base64(as_bytes(bundle));
  json::Writer writer(json::Writer::Layout::compact);
  writer.begin_object();
  writer.key("metadata");
  writer.begin_object();
  writer.field("resourceVersion", webhooks.version);
  writer.end_object();
  writer.key("webhooks");
  writer.begin_list();
  for (const Webhooks::Hook& each : webhooks.hooks) {
    writer.begin_object();
    writer.field("name", each.name);
    writer.key("clientConfig");
    writer.begin_object();
    writer.field("caBundle", encoded);
    writer.end_object();
    writer.end_object();
  }
  writer.end_list();
  writer.end_object();
  return writer.take();
}

}  // namespace sluice::server::kubernetes
