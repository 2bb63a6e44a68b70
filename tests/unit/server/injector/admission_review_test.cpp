#include "server/injector/admission_review.hpp"

#include <doctest/doctest.h>

#include <string>

#include "common/base/crypto.hpp"
#include "server/injector/admission_response.hpp"
#include "tests/unit/server/injector/fixture.hpp"
#include "tests/unit/server/injector/review.hpp"

namespace sluice::server::injector {
namespace {

// The error a body is refused with; fails the test where it is not.
Error refusal(const std::string& body) {
  json::Tree tree;
  const auto review = read_review(body, tree);
  REQUIRE_MESSAGE(!review.has_value(), body);
  return review.error();
}

Node answer(const Review& review, const InjectorSettings& with = settings()) {
  json::Tree tree;
  const std::string body = review.text();
  const auto read = read_review(body, tree);
  REQUIRE_MESSAGE(read.has_value(), body);
  return parse_node(write_review(read->uid, decide(*read, with)));
}

std::string patch_in(const Node& answer) {
  const auto bytes = from_base64(answer.at("/response/patch").text);
  REQUIRE(bytes.has_value());
  return {bytes->begin(), bytes->end()};
}

}  // namespace

TEST_CASE("a review is answered under its uid, allowed, with the patch in base64") {
  const Node out = answer({.object = pod()});
  CHECK(out.at("/kind").text == "AdmissionReview");
  CHECK(out.at("/apiVersion").text == "admission.k8s.io/v1");
  CHECK(out.at("/response/uid").text == "705ab4f5-6393-11e8-b7cc-42010a800002");
  CHECK(out.at("/response/allowed").text == "true");
  CHECK(out.at("/response/patchType").text == "JSONPatch");
  CHECK(patch_in(out) == run(pod()).made.patch);
  CHECK(out.at("/response/auditAnnotations/result").text == "injected");
  CHECK(out.at("/response").find("warnings") == nullptr);
}

TEST_CASE("a pod with nothing to change is allowed without a patch") {
  const Node out = answer({.object = text_of(run(pod()).after)});
  CHECK(out.at("/response/allowed").text == "true");
  CHECK(out.at("/response").find("patch") == nullptr);
  CHECK(out.at("/response").find("patchType") == nullptr);
  CHECK(out.at("/response/auditAnnotations/result").text == "unchanged");
}

TEST_CASE("a pod that is skipped is allowed, with the reason in the audit log, in the pod and as a warning") {
  const Node out = answer({.object = pod(R"("hostNetwork":true)")});
  CHECK(out.at("/response/allowed").text == "true");
  CHECK(patch_in(out) == run(pod(R"("hostNetwork":true)")).made.patch);
  CHECK(out.at("/response/auditAnnotations/reason").text == "host_network");
  CHECK(out.at("/response/warnings/0").text.starts_with("Sluice: the pod gets no agent: it uses the node's network"));
}

TEST_CASE("whoever opted out, or makes pods of the system, is not warned") {
  CHECK(answer({.object = pod("", R"("labels":{"sluice.dev/inject":"disabled"})")}).at("/response").find("warnings") ==
        nullptr);
  CHECK(answer({.namespace_ = R"("kube-system")", .object = pod()}).at("/response").find("warnings") == nullptr);
}

TEST_CASE("warnings are as long as the API server takes them, and end between characters") {
  const std::string value(300, 'x');
  const Node out = answer({.object = annotated(R"("sluice.dev/log-level":"äöü)" + value + "\"")});
  const std::string& warning = out.at("/response/warnings/0").text;
  CHECK(warning.size() <= 256);
  CHECK(warning.starts_with("Sluice: sluice.dev/log-level is \"äöü"));
}

TEST_CASE("a dry run is answered as if it were none") {
  const Node dry = answer({.more = R"(,"dryRun":true)", .object = pod()});
  CHECK(patch_in(dry) == run(pod()).made.patch);
}

TEST_CASE("what is no creation of a pod is let pass as it is") {
  for (const Review& review :
       {Review{.operation = R"("UPDATE")", .object = pod()}, Review{.operation = R"("DELETE")"},
        Review{.operation = R"("CONNECT")"},
        Review{.operation = R"("UPDATE")", .more = R"(,"subResource":"ephemeralcontainers")", .object = pod()},
        Review{.more = R"(,"subResource":"eviction")", .object = R"({"kind":"Eviction"})"}}) {
    const Node out = answer(review);
    CHECK(out.at("/response/allowed").text == "true");
    CHECK(out.at("/response").find("patch") == nullptr);
    CHECK(out.at("/response").find("warnings") == nullptr);
    CHECK(out.at("/response/auditAnnotations/reason").text == "not_a_create");
  }
}

TEST_CASE("what the reader does not know it lets pass: API servers add fields") {
  json::Tree tree;
  const std::string body = Review{.more = R"(,"futureField":{"a":[1]},"name":"cart")", .object = pod()}.text();
  CHECK(read_review(body, tree).has_value());
}

TEST_CASE("a review that cannot be read is refused, by a code and a text that names the field and the rule") {
  const struct {
    std::string body;
    const char* code;
    const char* says;
  } rows[] = {
      {"", "malformed", "not valid JSON"},
      {"{", "malformed", "line 1, column 2"},
      {"[]", "malformed", "must be an AdmissionReview object, not a list"},
      {"{}", "malformed", "/kind is missing"},
      {R"({"kind":"AdmissionReview"})", "malformed", "/apiVersion is missing"},
      {R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})", "malformed", "/request is missing"},
      {Review{.version = "admission.k8s.io/v1beta1", .object = pod()}.text(), "wrong_version",
       "must be admission.k8s.io/v1, not \"admission.k8s.io/v1beta1\""},
      {Review{.kind = "ConversionReview", .object = pod()}.text(), "wrong_kind", "must be AdmissionReview"},
      {Review{.pod_kind = R"({"group":"apps","version":"v1","kind":"Deployment"})", .object = pod()}.text(),
       "wrong_kind", "\"Deployment\" of \"apps/v1\""},
      {Review{.pod_kind = "1", .object = pod()}.text(), "malformed", "/request/kind"},
      {Review{.uid = R"("")", .object = pod()}.text(), "no_uid", "/request/uid must be a text of 1 to 256"},
      {Review{.uid = "7", .object = pod()}.text(), "malformed", "/request/uid must be a string, not a number"},
      {Review{.uid = "null", .object = pod()}.text(), "malformed", "/request/uid is missing"},
      {Review{.operation = R"("PATCH")", .object = pod()}.text(), "malformed", "CREATE, UPDATE, DELETE or CONNECT"},
      {Review{.namespace_ = R"("")", .object = pod()}.text(), "malformed", "/request/namespace is empty"},
      {Review{}.text(), "malformed", "/request/object is missing"},
      {Review{.object = "null"}.text(), "malformed", "/request/object is missing"},
      {Review{.object = R"({"metadata":{}})"}.text(), "malformed", "/request/object/spec is missing"},
      {Review{.object = R"({"metadata":[],"spec":{}})"}.text(), "malformed", "/request/object/metadata"},
      {Review{.object = R"({"metadata":{},"spec":{"containers":{}}})"}.text(), "malformed",
       "/request/object/spec/containers must be a list, not an object"},
      {Review{.object = R"({"metadata":{},"spec":{"initContainers":[1]}})"}.text(), "malformed", "a list of objects"},
      {Review{.object = pod("", "", R"("env":{"A":"1"})")}.text(), "malformed",
       "/request/object/spec/containers/…/env must be a list"},
      {Review{.object = pod("", R"("annotations":["a"])")}.text(), "malformed",
       "metadata/annotations is missing or is not an object"},
      {Review{.more = R"(,"dryRun":"yes")", .object = pod()}.text(), "malformed", "/request/dryRun"},
      {Review{.more = R"(,"subResource":1)", .object = pod()}.text(), "malformed", "/request/subResource"},
      {Review{.more = R"(,"uid":"2")", .object = pod()}.text(), "malformed", "has \"uid\" twice"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.body);
    const Error error = refusal(row.body);
    CHECK(error.code == row.code);
    CHECK_MESSAGE(error.text.find(row.says) != std::string::npos, error.text);
  }
}

TEST_CASE("a refusal is a Status object, whose message the API server passes on") {
  CHECK(write_status(413, "RequestEntityTooLarge", "too \"large\"") ==
        R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too \"large\"",)"
        R"("reason":"RequestEntityTooLarge","code":413})");
}

}  // namespace sluice::server::injector
