#include "server/identity/token_review.hpp"

#include <doctest/doctest.h>

namespace sluice::server {
namespace {

using Outcome = identity::Review::Outcome;

identity::Review judged(std::string status, unsigned code = 201) {
  return identity::read_token_review(
      kubernetes::ApiResponse{.status = code, .body = R"({"kind":"TokenReview","status":)" + status + "}"}, "sluice");
}

constexpr const char* kGood = R"({"authenticated":true,"audiences":["sluice"],"user":{
  "username":"system:serviceaccount:shop:checkout","uid":"1","groups":["system:serviceaccounts"],
  "extra":{"authentication.kubernetes.io/pod-name":["checkout-5"],"authentication.kubernetes.io/pod-uid":["u-5"]}}})";

}  // namespace

TEST_CASE("the question names the token and the audience") {
  CHECK(
      identity::write_token_review("a.b.c", "sluice") ==
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"a.b.c","audiences":["sluice"]}})");
}

TEST_CASE("an accepted token says whose it is") {
  const identity::Review review = judged(kGood);
  CHECK(review.outcome == Outcome::accepted);
  CHECK(review.pod.namespace_ == "shop");
  CHECK(review.pod.service_account == "checkout");
  CHECK(review.pod.pod == "checkout-5");
  CHECK(review.pod.pod_uid == "u-5");
}

TEST_CASE("a token that is bound to no pod is one of its service account all the same") {
  const identity::Review review = judged(
      R"({"authenticated":true,"audiences":["sluice"],"user":{"username":"system:serviceaccount:shop:checkout"}})");
  CHECK(review.outcome == Outcome::accepted);
  CHECK(review.pod.pod.empty());
}

TEST_CASE("a refused token is bad, and the reason is told") {
  const identity::Review review =
      judged(R"({"error":"[invalid bearer token, service account token has expired]","user":{}})");
  CHECK(review.outcome == Outcome::refused);
  CHECK(review.why.find("has expired") != std::string::npos);
  for (const std::string authenticated : {"false", R"("true")", "1", "null"}) {
    CAPTURE(authenticated);
    CHECK(judged(R"({"authenticated":)" + authenticated +
                 R"(,"audiences":["sluice"],"user":{"username":"system:serviceaccount:shop:checkout"}})")
              .outcome == Outcome::refused);
  }
}

TEST_CASE("a token whose audience was not checked is bad") {
  CHECK(judged(R"({"authenticated":true,"user":{"username":"system:serviceaccount:shop:checkout"}})").outcome ==
        Outcome::refused);
  CHECK(
      judged(R"({"authenticated":true,"audiences":["api"],"user":{"username":"system:serviceaccount:shop:checkout"}})")
          .outcome == Outcome::refused);
}

TEST_CASE("who is no service account is bad, however good the token") {
  for (const std::string name : {"alice", "system:serviceaccount:", "system:serviceaccount::x",
                                 "system:serviceaccount:shop", "system:serviceaccount:shop:", "system:node:n1"}) {
    CAPTURE(name);
    CHECK(judged(R"({"authenticated":true,"audiences":["sluice"],"user":{"username":")" + name + R"("}})").outcome ==
          Outcome::refused);
  }
}

TEST_CASE("where Kubernetes does not say anything of the token, nobody knows") {
  CHECK(identity::read_token_review(failure("refused", "no connection"), "sluice").outcome == Outcome::failed);
  CHECK(judged(kGood, 500).outcome == Outcome::failed);
  CHECK(judged("7").outcome == Outcome::failed);
  CHECK(identity::read_token_review(kubernetes::ApiResponse{.status = 201, .body = "<html>"}, "sluice").outcome ==
        Outcome::failed);
  const identity::Review forbidden = judged(kGood, 403);
  CHECK(forbidden.outcome == Outcome::failed);
  CHECK(forbidden.why.find("system:auth-delegator") != std::string::npos);
}

}  // namespace sluice::server
