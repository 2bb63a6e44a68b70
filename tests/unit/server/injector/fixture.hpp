// Pods, settings, and what the injector makes of them.
#pragma once

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <string_view>

#include "server/injector/inject.hpp"
#include "tests/unit/server/injector/document.hpp"

namespace sluice::server::injector {

inline InjectorSettings settings() {
  InjectorSettings made;
  made.version = "1.2.3";
  made.image = "localhost/sluice:dev";
  made.server_url = "https://sluice-server.sluice-system.svc:8080";
  made.server_ca = "-----BEGIN CERTIFICATE-----\nZm9v\n-----END CERTIFICATE-----\n";
  made.counters = "redis://redis.example:6379/0";
  return made;
}

struct Outcome {
  Injection made;
  Node after;

  std::string text(std::string_view pointer) const { return text_of(after.at(pointer)); }
  std::string annotation(std::string_view name) const {
    const Node* const annotations = after.at("/metadata").find("annotations");
    const Node* const found = annotations == nullptr ? nullptr : annotations->find(name);
    return found == nullptr ? "" : found->text;
  }
};

inline Outcome run(const Node& pod, const InjectorSettings& with = settings(), std::string_view namespace_ = "shop") {
  json::Tree tree;
  const std::string text = text_of(pod);
  const auto root = tree.parse(text);
  REQUIRE(root.has_value());
  Injection made = inject(*root, namespace_, with);
  Node after = patched(pod, made.patch);
  return {std::move(made), std::move(after)};
}
inline Outcome run(std::string_view pod, const InjectorSettings& with = settings(),
                   std::string_view namespace_ = "shop") {
  return run(parse_node(pod), with, namespace_);
}

// A pod of one container, with these members (`"hostNetwork":true`) in spec, metadata, and the container.
inline std::string pod(std::string_view spec = "", std::string_view metadata = "", std::string_view container = "") {
  std::string out = R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"cart")";
  if (!metadata.empty()) out += ',' + std::string(metadata);
  out += R"(},"spec":{"containers":[{"name":"app","image":"app:1")";
  if (!container.empty()) out += ',' + std::string(container);
  out += "}]";
  if (!spec.empty()) out += ',' + std::string(spec);
  return out + "}}";
}

inline std::string annotated(std::string_view annotations) {
  return pod("", R"("annotations":{)" + std::string(annotations) + "}");
}

}  // namespace sluice::server::injector
