#include "server/injector/webhook.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <string>

#include "tests/unit/http_asker.hpp"
#include "tests/unit/server/injector/fixture.hpp"
#include "tests/unit/server/injector/review.hpp"

namespace sluice::server::injector {
namespace {

struct Rig {
  InjectorSettings with = settings();
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};
  Webhook webhook{[this]() -> const InjectorSettings& { return with; }, log};
  sluice::http::Asker asker{webhook};

  sluice::http::Answer ask(const std::string& body, const std::string& method = "POST",
                           const std::string& path = "/v1/inject", const std::string& type = "application/json") {
    return asker.answers[asker.send(method, path, body, {{"content-type", type}})];
  }
  double counted(const telemetry::CounterVector& counters, const std::string& value) const {
    const auto families = counters.Collect();
    for (const auto& sample : families.front().metric) {
      if (sample.label.front().value == value) return sample.counter.value;
    }
    return -1;
  }
};

}  // namespace

TEST_CASE("a pod the API server asks about is answered and counted by what became of it") {
  Rig rig;
  CHECK(rig.ask(Review{.object = pod()}.text()).status == 200);
  CHECK(rig.ask(Review{.object = text_of(run(pod()).after)}.text()).status == 200);
  CHECK(rig.ask(Review{.object = pod(R"("hostNetwork":true)")}.text()).status == 200);
  CHECK(rig.counted(rig.webhook.reviews, "injected") == 1);
  CHECK(rig.counted(rig.webhook.reviews, "unchanged") == 1);
  CHECK(rig.counted(rig.webhook.reviews, "skipped") == 1);
  CHECK(rig.counted(rig.webhook.skipped, "host_network") == 1);
  CHECK(rig.counted(rig.webhook.reviews, "refused") == 0);
  CHECK(rig.webhook.duration.Collect().front().metric.front().histogram.sample_count == 3);
}

TEST_CASE("what cannot be read is refused with a Status that says why, and counted") {
  Rig rig;
  const sluice::http::Answer answer = rig.ask("{");
  CHECK(answer.status == 400);
  CHECK(answer.type == "application/json");
  CHECK(answer.has(R"("kind":"Status")"));
  CHECK(answer.has("The injector cannot read this AdmissionReview: the body is not valid JSON"));
  CHECK(rig.ask("{}", "GET").status == 405);
  CHECK(rig.ask("{}", "POST", "/v1/other").status == 404);
  CHECK(rig.ask("{}", "POST", "/v1/inject", "text/plain").status == 415);
  CHECK(rig.ask(Review{.object = pod()}.text(), "POST", "/v1/inject", "application/json; charset=utf-8").status == 200);
  CHECK(rig.counted(rig.webhook.reviews, "refused") == 4);
}

TEST_CASE("settings count from the next pod on") {
  Rig rig;
  const std::string review = Review{.object = pod()}.text();
  const std::string before = rig.ask(review).body;
  rig.with.server_ca = "another";
  CHECK(rig.ask(review).body != before);
}

}  // namespace sluice::server::injector
