// Any bytes as policies that a program gives to the library, as JSON or as YAML: no crash; open() and load() say the
// same about them; what is refused is explained in one line and leaves the former policies in force; what is accepted
// decides soundly, and gives way to the next policies as if it had not been there; each line of the log is JSON.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/engine.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/fuzz/texts.hpp"

namespace {

namespace v1 = sluice::v1;
using sluice::fuzz::is_json;
using sluice::fuzz::is_line;

constexpr std::string_view kFormer = R"({"format":"sluice/v1","tenants":[{"id":"shop"}],"policies":[
{"tenant_id":"shop","id":"former","scope":{"resource":"GET:/former"},"key_by":["subject"],
 "limits":[{"name":"hourly","algorithm":"fixed_window","limit":1000,"window":"1h"}]}]})";
constexpr std::int64_t kNow = 1'800'230'400'000'000;

v1::Options options(std::string_view bundle) {
  return {.bundle = std::string(bundle),
          .concurrency = v1::Concurrency::one,
          .clock_us = [] { return kNow; },
          .log = [](v1::Level, std::string_view event,
                    std::string_view line) { REQUIRE_THAT(is_line(event) && is_line(line) && is_json(line)); }};
}

const v1::Decision& ask_former(v1::Engine& engine, v1::Decision& decision) {
  engine.check({.tenant = "shop", .resource = "GET:/former", .subject = "user:42"}, decision);
  REQUIRE_THAT(decision.status.ok());
  return decision;
}

void require_sound(const v1::Decision& decision) {
  if (!decision.status.ok()) {
    REQUIRE_THAT(!decision.allowed && is_line(decision.status.message));
    return;
  }
  REQUIRE_THAT(decision.reason != v1::Reason::no_snapshot);
  if (decision.has_limit) REQUIRE_THAT(decision.remaining >= 0 && decision.remaining <= decision.limit);
  REQUIRE_THAT(decision.retry_after >= v1::kNever && decision.reset_after.count() >= 0 && decision.delay.count() >= 0);
  REQUIRE_THAT(decision.sample_rate >= 0 && decision.sample_rate <= 1);
  REQUIRE_THAT(is_json(decision.explanation));
}

// Requests that policies of the corpus are about. Each is asked so often that small limits deny.
void ask_all(v1::Engine& engine, v1::Decision& decision) {
  constexpr std::array<v1::Named, 1> kTags{{{"env", "prod"}}};
  constexpr std::array<v1::Amount, 1> kCosts{{{"tokens", 7}}};
  const std::array<v1::Request, 4> requests{{{.resource = "GET:/orders",
                                              .subject = "user:42",
                                              .source_ip = "203.0.113.7",
                                              .severity = "INFO",
                                              .tags = kTags,
                                              .costs = kCosts,
                                              .request_id = "r1"},
                                             {.resource = "GET:/orders", .subject = "user:42", .plan = "pro"},
                                             {.subject = "user:42", .signal = "logs"},
                                             {.subject = "user:42", .job_type = "export"}}};
  for (const std::string_view tenant : {std::string_view(), std::string_view("shop")}) {
    for (v1::Request request : requests) {
      request.tenant = tenant;
      request.explain = true;
      for (int times = 0; times < 3; ++times) {
        engine.check(request, decision);
        require_sound(decision);
        const v1::Lease lease = engine.lease(request, decision);  // and back at once
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bundle(reinterpret_cast<const char*>(data), size);
  const auto opened = v1::Engine::open(options(kFormer));
  REQUIRE_THAT(opened);
  v1::Engine& engine = *opened.engine;
  v1::Decision decision;
  REQUIRE_THAT(ask_former(engine, decision).remaining == 999);

  const v1::Status status = engine.load(bundle);
  if (size > 0) {  // without a bundle, open() waits for one
    const v1::Status other = v1::Engine::open(options(bundle)).status;
    REQUIRE_THAT(other.code == status.code && other.message == status.message);
  }
  if (!status.ok()) {
    REQUIRE_THAT(status.code == v1::Code::invalid_policies && is_line(status.message));
    REQUIRE_THAT(engine.revision() == 1);
    REQUIRE_THAT(ask_former(engine, decision).remaining == 998);
    return 0;
  }
  REQUIRE_THAT(engine.revision() == 2);
  ask_all(engine, decision);
  REQUIRE_THAT(engine.load(bundle).ok());
  ask_all(engine, decision);

  REQUIRE_THAT(engine.load(kFormer).ok());
  REQUIRE_THAT(engine.revision() == 4);
  ask_former(engine, decision);
  REQUIRE_THAT(decision.policy == "former" && decision.limit == 1000 && decision.remaining <= 998);
  return 0;
}
