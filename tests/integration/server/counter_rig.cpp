#include "tests/integration/server/counter_rig.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "common/domain/check_request.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/policy/counter_key.hpp"
#include "common/policy/match_expr.hpp"

namespace sluice::server::test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLimits =
    R"("limits":[{"name":"burst","algorithm":"fixed_window","limit":10,"window":"1m"},)"
    R"({"name":"daily","algorithm":"quota","limit":100,"period":"day"}])";

// The sanitizers and a busy machine slow us down: a deadline that only a dead server misses.
redis::Options redis_options(const std::string& url) {
  redis::Options options;
  options.target = *redis::parse_target(url);
  options.deadline = options.queue_wait = 1s;
  options.backoff_max = 200ms;
  return options;
}

}  // namespace

CounterRig::CounterRig(std::chrono::milliseconds lock_timeout) : AdminRig(lock_timeout) {
  found_acme();
  const auto make = [this](std::string_view target, const std::string& body) {
    const admin::FinishedAnswer made = ask("POST", target, body);
    if (made.status != 201) throw std::runtime_error(made.body);
  };
  make("/v1/admin/plans", fmt::format(R"({{"tenant_id":"shop","id":"pro","key_by":"subject",{}}})", kLimits));
  make("/v1/admin/policies", fmt::format(R"({{"tenant_id":"shop","id":"orders","scope":{{"resource":"orders"}},)"
                                         R"("key_by":"subject",{}}})",
                                         kLimits));
  make("/v1/admin/policies",
       R"({"tenant_id":"shop","id":"paid","scope":{"resource":"paid"},"key_by":"subject","plan_id":"pro"})");
  make("/v1/admin/policies",
       R"({"tenant_id":"shop","id":"free","scope":{"resource":"free"},"key_by":"user","plan_id":"pro"})");
  const auto started = start_publisher();
  if (!started) throw std::runtime_error(started.error().text);
  // The new Redis has no marker, so the publisher's thread writes all overrides once. During a test, that would hide a
  // write that another part of the server has failed to make.
  if (!eventually([this] { return publisher_->statistics().republished == 1; })) {
    throw std::runtime_error("the publisher did not write the marker");
  }
}

std::unique_ptr<counters::Publisher> CounterRig::make_publisher(const std::string& redis_url, bool allow_evicting) {
  return std::make_unique<counters::Publisher>(counters::Publisher::Options{.database = database_options(),
                                                                            .redis = redis_options(redis_url),
                                                                            .allow_evicting = allow_evicting,
                                                                            .check_every = 100ms,
                                                                            .survey_every = 0ms},
                                               clock_, log_);
}

Result<> CounterRig::start_publisher(bool allow_evicting) {
  end_publisher();
  publisher_ = make_publisher(redis.unix_url(), allow_evicting);
  set_publisher(*publisher_);
  return publisher_->start();
}

admin::FinishedAnswer CounterRig::put_override(std::string_view id, std::string_view members) {
  return ask("PUT", fmt::format("/v1/admin/overrides/{}?tenant_id=shop", id), fmt::format("{{{}}}", members));
}

admin::FinishedAnswer CounterRig::get_override(std::string_view id) {
  return ask("GET", fmt::format("/v1/admin/overrides/{}?tenant_id=shop", id));
}

// From the rules that are stored, with the keys that an agent makes of a request.
limiter::Outcome CounterRig::ask_agent(const std::string& judge, const std::string& subject, std::uint32_t cost) {
  std::string text =
      R"({"format":"sluice/v1","organizations":[{"id":"acme"}],"tenants":[{"id":"shop","organization_id":"acme"}])";
  for (const std::string_view list : {"plans", "policies"}) {
    std::string rows = execute(fmt::format("SELECT document FROM {} WHERE tenant_id = 'shop'", list));
    while (rows.ends_with('\n')) rows.pop_back();
    std::ranges::replace(rows, '\n', ',');
    text += fmt::format(R"(,"{}":[{}])", list, rows);
  }
  const auto bundle = parse_bundle(text + "}", &policy::check_expression);
  if (!bundle) throw std::runtime_error(text);
  const auto snapshot = policy::build_snapshot(*bundle, 1, clock_.now_us());
  const policy::TenantView& tenant = *(*snapshot)->tenants.find("shop");
  const policy::Rulebook* rulebook = nullptr;
  if (judge.starts_with("plan:")) {
    rulebook = tenant.find_plan(judge.substr(5));
  } else {
    rulebook = &tenant.policies.find(judge)->rulebook;
  }
  std::string body = fmt::format(R"({{"subject":"{0}","user":"{0}"}})", subject);
  CheckRequest request;
  if (!parse_check(body, request).empty()) throw std::runtime_error(body);

  limiter::Call call;
  call.program = rulebook->program.get();
  call.explain = true;
  policy::counter_keys(tenant.key_head, *rulebook, request, call.keys);
  call.costs.fill(cost);
  counters::RedisLink link(redis_options(redis.unix_url()), clock_, log_);
  link.start({});
  const auto outcome = link.judge(call);
  if (!outcome) throw std::runtime_error(std::string(to_string(outcome.error().fault)));
  return *outcome;
}

std::int64_t CounterRig::burst(const std::string& judge, const std::string& subject) {
  return ask_agent(judge, subject, 0).limits.at(0).limit;
}

std::int64_t count(const std::string& text) { return std::stoll(text); }

bool eventually(const std::function<bool()>& so, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!so()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

}  // namespace sluice::server::test
