#include "server/kubernetes/webhooks.hpp"

#include <algorithm>

#include "common/base/crypto.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::kubernetes {
namespace {

std::string_view member_text(const json::Value* object, std::string_view name) {
  return object != nullptr ? object->text_of(name) : std::string_view();
}

}  // namespace

bool Webhooks::all_trust(std::string_view bundle) const {
  return std::ranges::all_of(hooks, [&](const Hook& each) { return each.bundle == bundle; });
}

bool Webhooks::all_include(std::string_view certificate) const {
  return std::ranges::all_of(hooks, [&](const Hook& each) { return each.bundle.contains(certificate); });
}

std::string webhooks_path(std::string_view name) {
  return "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + escape_path(name);
}

Result<Webhooks> read_webhooks(std::string_view object) {
  json::Tree tree;
  const auto document = tree.parse(object);
  Webhooks read;
  read.version = member_text(document ? document->find("metadata") : nullptr, "resourceVersion");
  if (read.version.empty()) return failure("unexpected", "the Kubernetes API's answer is not a webhook configuration");
  const json::Value* const hooks = document->find("webhooks");
  if (hooks == nullptr || hooks->type() != json::Type::array) return read;
  for (const json::Value& each : hooks->items()) {
    const auto bundle = from_base64(member_text(each.find("clientConfig"), "caBundle"));
    read.hooks.push_back({std::string(member_text(&each, "name")),
                          bundle ? std::string(bundle->begin(), bundle->end()) : std::string()});
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
