#include "server/identity/token_review.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::identity {
namespace {

constexpr std::size_t kMaxQuoted = 300;  // bytes of the API server's text that an error quotes
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";

Review refused(std::string why) { return {.outcome = Review::Outcome::refused, .pod = {}, .why = std::move(why)}; }
Review failed(std::string why) { return {.outcome = Review::Outcome::failed, .pod = {}, .why = std::move(why)}; }

std::string_view text(const json::Value& value) {
  return value.type() == json::Type::string ? value.text() : std::string_view();
}

bool contains(std::span<const json::Value> list, std::string_view wanted) {
  return std::ranges::find(list, wanted, text) != list.end();
}

std::string_view extra(const json::Value& user, std::string_view name) {
  const auto list = user.get("extra").items_of(name);
  return list.empty() ? std::string_view() : text(list.front());
}

// Returns false unless the user name is like "system:serviceaccount:shop:default".
bool read_account(std::string_view user, PodIdentity& pod) {
  if (!user.starts_with(kServiceAccountPrefix)) return false;
  user.remove_prefix(kServiceAccountPrefix.size());
  const std::size_t colon = user.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == user.size()) return false;
  pod.namespace_ = user.substr(0, colon);
  pod.service_account = user.substr(colon + 1);
  return true;
}

Review read_status(const json::Value& status, std::string_view audience) {
  const json::Value user = status.get("user");
  if (!status.is_true("authenticated")) {
    const std::string_view error = status.text_of("error").substr(0, kMaxQuoted);
    return refused(fmt::format("Kubernetes does not accept this token{}{}", error.empty() ? "" : ": ", error));
  }
  // An API server that ignores audiences would also accept tokens that were made for other services.
  if (!contains(status.items_of("audiences"), audience)) {
    return refused(fmt::format("Kubernetes has not checked that this token is for the audience {}", quoted(audience)));
  }
  Review review{.outcome = Review::Outcome::accepted, .pod = {}, .why = {}};
  const std::string_view name = user.text_of("username");
  if (!read_account(name, review.pod)) {
    return refused(
        fmt::format("this token belongs to {}, not to a service account", quoted(name.substr(0, kMaxQuoted))));
  }
  review.pod.pod = extra(user, "authentication.kubernetes.io/pod-name");
  review.pod.pod_uid = extra(user, "authentication.kubernetes.io/pod-uid");
  return review;
}

}  // namespace

std::string write_token_review(std::string_view token, std::string_view audience) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("apiVersion", "authentication.k8s.io/v1");
  out.field("kind", "TokenReview");
  out.key("spec");
  out.begin_object();
  out.field("token", token);
  out.key("audiences");
  out.texts({std::string(audience)});
  out.end_object();
  out.end_object();
  return out.take();
}

Review read_token_review(const Result<kubernetes::ApiResponse>& answer, std::string_view audience) {
  if (!answer) return failed(fmt::format("Kubernetes could not be reached: {}", answer.error().text));
  if (answer->status == 401 || answer->status == 403) {
    return failed(
        fmt::format("Kubernetes does not let this server review tokens; bind the ClusterRole "
                    "system:auth-delegator to its service account ({})",
                    kubernetes::error_text(*answer).substr(0, kMaxQuoted)));
  }
  if (answer->status != 201 && answer->status != 200) {
    return failed(
        fmt::format("Kubernetes did not review the token: {}", kubernetes::error_text(*answer).substr(0, kMaxQuoted)));
  }
  json::Tree tree;
  const json::Value status = tree.parse(answer->body).value_or(json::Value()).get("status");
  if (status.type() != json::Type::object) return failed("the answer of Kubernetes is not a TokenReview");
  return read_status(status, audience);
}

}  // namespace sluice::server::identity
