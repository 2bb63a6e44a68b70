// A Kubernetes API of one Secret and one MutatingWebhookConfiguration, with resourceVersions, in memory: it answers
// from the loop, and may lose requests, lose answers, or be away.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "common/base/clock.hpp"
#include "common/base/crypto.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::kubernetes::test {

using Texts = std::map<std::string, std::string, std::less<>>;

struct DrivenClock final : Clock {
  std::int64_t seconds = 1'800'000'000;
  std::int64_t now_us() const override { return seconds * 1'000'000; }
  std::chrono::sys_seconds now() const { return std::chrono::sys_seconds(std::chrono::seconds(seconds)); }
};

inline std::string plain(std::string_view base64) {
  const auto bytes = from_base64(base64);
  REQUIRE(bytes);
  return {bytes->begin(), bytes->end()};
}

class FakeCluster final : public Api {
 public:
  struct Secret {
    std::int64_t version = 0;
    Texts annotations;
    Texts data;  // decoded
  };
  struct Asked {
    std::string method;
    std::string path;
  };

  explicit FakeCluster(boost::asio::io_context& its_loop) : loop_(its_loop) {}

  void send(std::string method, std::string path, std::string body, std::chrono::milliseconds, Done done,
            std::string content_type, std::string) override {
    asked.push_back({method, path});
    boost::asio::post(loop_, [this, method, path, body, done, content_type] {
      if (away || chance(losing_requests)) return done(failure("refused", "the API server is away"));
      ApiResponse answer = forbidden.contains(method + " " + path) ? ApiResponse{403, R"({"message":"forbidden"})"}
                                                                   : act(method, path, body, content_type);
      if (changed) changed();
      if (chance(losing_answers)) return done(failure("timeout", "no answer came"));
      done(std::move(answer));
    });
  }

  std::optional<Secret> secret;
  bool has_webhooks = true;
  std::string bundle;  // of the one webhook
  bool away = false;
  double losing_requests = 0;
  double losing_answers = 0;
  Texts forbidden;  // "METHOD path"
  std::function<void()> changed;
  std::vector<Asked> asked;
  std::mt19937 random{1};

  // As an administrator would.
  void annotate(const std::string& name, const std::string& value) {
    REQUIRE(secret);
    secret->annotations[name] = value;
    secret->version = ++version_;
  }
  void put(Texts data) { secret = Secret{++version_, {}, std::move(data)}; }

  static constexpr const char* kSecrets = "/api/v1/namespaces/sluice-system/secrets";
  static constexpr const char* kSecret = "/api/v1/namespaces/sluice-system/secrets/sluice-tls";
  static constexpr const char* kWebhooks =
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/sluice-injector";

 private:
  bool chance(double share) { return std::uniform_real_distribution<double>(0, 1)(random) < share; }

  ApiResponse act(const std::string& method, const std::string& path, const std::string& body,
                  const std::string& content_type) {
    json::Tree tree;
    const auto document = tree.parse(body.empty() ? "{}" : body);
    REQUIRE(document);
    if (path == kWebhooks) return of_webhooks(method, *document, content_type);
    if (path == kSecrets && method == "POST") return create(*document);
    REQUIRE(path == kSecret);
    if (!secret) return {404, R"({"message":"not found"})"};
    if (method == "GET") return {200, written()};
    REQUIRE(method == "PATCH");
    CHECK(content_type == kMergePatch);
    if (document->find("metadata")->find("resourceVersion")->text() != std::to_string(secret->version)) {
      return {409, R"({"message":"the object has been modified"})"};
    }
    take(*document);
    return {200, written()};
  }

  ApiResponse create(const json::Value& object) {
    if (secret) return {409, R"({"message":"already exists"})"};
    CHECK(object.find("metadata")->find("name")->text() == "sluice-tls");
    secret = Secret{};
    take(object);
    return {201, written()};
  }

  void take(const json::Value& object) {
    for (const json::Member& each : object.find("data")->members()) {
      if (each.value.type() == json::Type::null) {
        secret->data.erase(std::string(each.name));
      } else {
        secret->data[std::string(each.name)] = plain(each.value.text());
      }
    }
    if (const json::Value* annotations = object.find("metadata")->find("annotations")) {
      for (const json::Member& each : annotations->members()) {
        if (each.value.type() == json::Type::null) {
          secret->annotations.erase(std::string(each.name));
        } else {
          secret->annotations[std::string(each.name)] = each.value.text();
        }
      }
    }
    secret->version = ++version_;
  }

  std::string written() const {
    json::Writer writer(json::Writer::Layout::compact);
    writer.begin_object();
    writer.key("metadata");
    writer.begin_object();
    writer.field("resourceVersion", std::to_string(secret->version));
    writer.key("annotations");
    writer.begin_object();
    for (const auto& [name, value] : secret->annotations) writer.field(name, value);
    writer.end_object();
    writer.end_object();
    writer.key("data");
    writer.begin_object();
    for (const auto& [name, value] : secret->data) writer.field(name, to_base64(as_bytes(value)));
    writer.end_object();
    writer.end_object();
    return writer.take();
  }

  ApiResponse of_webhooks(const std::string& method, const json::Value& patch, const std::string& content_type) {
    if (!has_webhooks) return {404, R"({"message":"not found"})"};
    if (method == "PATCH") {
      CHECK(content_type == "application/strategic-merge-patch+json");
      if (patch.find("metadata")->find("resourceVersion")->text() != std::to_string(webhooks_version_)) {
        return {409, R"({"message":"the object has been modified"})"};
      }
      const json::Value& hook = patch.find("webhooks")->items()[0];
      CHECK(hook.find("name")->text() == "injector.sluice.dev");
      bundle = plain(hook.find("clientConfig")->find("caBundle")->text());
      webhooks_version_ = ++version_;
    }
    return {200, R"({"metadata":{"resourceVersion":")" + std::to_string(webhooks_version_) +
                     R"("},"webhooks":[{"name":"injector.sluice.dev","clientConfig":{"caBundle":")" +
                     to_base64(as_bytes(bundle)) + R"("}}]})"};
  }

  boost::asio::io_context& loop_;
  std::int64_t version_ = 100;
  std::int64_t webhooks_version_ = 100;
};

}  // namespace sluice::server::kubernetes::test
