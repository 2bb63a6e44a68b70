// Traefik's middlewares rateLimit and inFlightReq.
#include "tests/unit/server/imports/imported.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kFile = R"(http:
  routers:
    shop:
      rule: Host(`shop.example.com`) && PathPrefix(`/api`)
      middlewares: [limits@file]
      service: shop
    odd:
      rule: HeaderRegexp(`X-A`, `^b`)
      middlewares: [per-key]
    plain: {rule: Host(`other.example.com`), service: shop}
  middlewares:
    limits:
      chain: {middlewares: [rate, flight]}
    rate:
      rateLimit:
        average: 100
        burst: 50
        sourceCriterion: {ipStrategy: {depth: 2, ipv6Subnet: 64}}
    flight:
      inFlightReq: {amount: 10}
    per-key:
      rateLimit: {average: 6, period: 1m30s, sourceCriterion: {requestHeaderName: X-Key}}
    none:
      rateLimit: {burst: 3}
    lonely:
      rateLimit: {average: 1, novel: 2}
    strip: {stripPrefix: {prefixes: [/x]}}
)";

constexpr const char* kResources = R"(apiVersion: traefik.io/v1alpha1
kind: Middleware
metadata: {name: rate, namespace: web}
spec:
  rateLimit: {average: 10, period: 1, burst: 2}
---
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: shop, namespace: web}
spec:
  routes:
    - kind: Rule
      match: Host(`a.example.com`) || Host(`b.example.com`)
      middlewares: [{name: rate}]
    - kind: Rule
      match: Path(`/only`)
      middlewares: [{name: rate, namespace: other}]
)";

}  // namespace

TEST_CASE("average=100 burst=50 admits 50 at once, and then 100 a second") {
  const Made made = import_text("traefik", "http: {middlewares: {m: {rateLimit: {average: 100, burst: 50}}}}");
  Counter counter(made.policy("traefik-middleware-m"));
  CHECK(counter.admitted_of(90, 0) == 50);
  CHECK_FALSE(counter.admits(9));
  CHECK(counter.admitted_of(90, 100) == 10);
}

TEST_CASE("a router becomes a policy of its hosts and paths, with the limits of its middlewares and chains") {
  const Made made = import_text("traefik", kFile);
  REQUIRE(made.policies.size() == 3);
  const Policy& shop = made.policy("traefik-shop");
  CHECK(scope(shop) == "service=shop.example.com endpoint=/api*");
  REQUIRE(shop.limits.size() == 2);
  CHECK(shop.enforcement.ipv6_prefix == 64);
  CHECK(dimensions(shop.limits[0].key_by) == "source_ip");
  CHECK(dimensions(shop.limits[1].key_by) == "service");
  CHECK(shop.limits[1].algorithm == Algorithm::concurrency);
}

TEST_CASE("a rule that no scope can say, and a middleware without a router, are found by an operation") {
  const Made made = import_text("traefik", kFile);
  CHECK(scope(made.policy("traefik-odd")) == "operation=odd");
  CHECK(scope(made.policy("traefik-middleware-lonely")) == "operation=lonely");
  CHECK(made.notes_line("file:7", "send the operation"));
  CHECK(made.notes_line("file:25", "no router"));
}

TEST_CASE("requests without the header are counted together, and a period may have minutes and seconds") {
  const Made made = import_text("traefik", kFile);
  const Policy& odd = made.policy("traefik-odd");
  CHECK(dimensions(odd.enforcement.key_by) == "attr.x-key");
  CHECK(odd.enforcement.required == RequiredDimensions::none);
  CHECK(odd.limits[0].rate == lowest_terms(6, std::chrono::seconds(90)));
  CHECK(odd.limits[0].limit == 1);
}

TEST_CASE("what Traefik has and a policy has not is a note with its line") {
  const Made made = import_text("traefik", kFile);
  CHECK(made.notes_line("file:18", "depth"));
  CHECK(made.notes_line("file:20", "release the lease"));
  CHECK(made.notes_line("file:24", "no limit"));
  CHECK(made.notes_line("file:26", "novel"));
  CHECK(made.notes.size() == 6);
}

TEST_CASE("the resources of Kubernetes refer to each other within their namespace") {
  const Made made = import_text("traefik", kResources);
  REQUIRE(made.policies.size() == 1);
  const Policy& shop = made.policy("traefik-web-shop-1");
  CHECK(scope(shop) == "service=a.example.com|b.example.com");
  CHECK(shop.limits[0].limit == 2);
  CHECK(shop.limits[0].rate == lowest_terms(10, std::chrono::seconds(1)));
}

TEST_CASE("a fault of Traefik's configuration has its line, the rule and the fix") {
  CHECK(import_text("traefik",
                    "http:\n  middlewares:\n    m:\n      rateLimit:\n        average: 1\n        period: soon\n")
            .faults_line("file:6", "such as 1s or 1m"));
  CHECK(import_text("traefik", "http:\n  middlewares:\n    m:\n      inFlightReq: {}\n")
            .faults_line("file:4", "amount is missing"));
  CHECK(import_text("traefik",
                    "http:\n  middlewares:\n    m:\n      rateLimit:\n        average: 1\n        sourceCriterion: "
                    "{requestHost: true, requestHeaderName: a}\n")
            .faults_line("file:6", "must have one of"));
}
