#include "tests/integration/worker_memory/worker_rig.hpp"

#include <doctest/doctest.h>

#include "common/domain/credential.hpp"
#include "common/objects/bundle_json.hpp"
#include "engine/core/metrics.hpp"

namespace sluice::agent {
namespace {

using namespace std::chrono_literals;

telemetry::MetricsOptions metrics_options() {
  telemetry::MetricsOptions options = engine::metrics_options(1, false, true);
  options.routes = api::route_templates();
  for (const api::RefusalCause& cause : api::refusal_causes()) options.refusal_codes.push_back(cause.code);
  return options;
}

engine::CoreOptions core_options(const std::string& redis) {
  const auto target = redis::parse_target(redis);
  REQUIRE(target);
  redis::Options options;
  options.target = *target;
  options.deadline = options.queue_wait = 300ms;  // the machine may be busy
  return {.redis = options, .memory_limit = std::size_t{64} << 20, .lanes = {.lanes = 1}};
}

}  // namespace

Policies::Policies(std::int64_t limit) : key(mint_key("shop-key")) {
  const auto presented = parse_key(key);
  REQUIRE(presented);
  const auto bundle = parse_bundle(
      R"({"format":"sluice/v1","tenants":[{"id":"shop"}],"keys":[{"tenant_id":"shop","id":")" +
      std::string(presented->id) + R"(","key_hash":")" + hash_secret(presented->secret) +
      R"("}],"policies":[{"tenant_id":"shop","id":"counted","scope":{"resource":"counted"},"key_by":["subject"],"limits":[)" +
      R"({"name":"window","algorithm":"fixed_window","limit":)" + std::to_string(limit) + R"(,"window":"1d"}]}]})");
  REQUIRE(bundle);
  auto built = policy::build_snapshot(*bundle, 1, SystemClock().now_us());
  REQUIRE(built);
  snapshot = *built;
}

RunningWorker::RunningWorker(const std::string& redis, const Policies& policies)
    : metrics_(metrics_options(), clock_),
      core_(core_options(redis), clock_, metrics_, log_, decision_log_),
      shared_{.engine = core_.shared(), .options = {}, .http = {}, .grpc = &grpc_metrics_} {
  worker_.emplace(0, shared_);
  core_.add(worker_->lane());
  const auto http = worker_->listen_tcp("127.0.0.1:0", false);
  REQUIRE(http);
  http_port_ = *http;
  const auto grpc = worker_->listen_grpc("127.0.0.1:0", false, nullptr, nullptr);
  REQUIRE(grpc);
  grpc_port_ = *grpc;
  publish(policies.snapshot);
  std::promise<test::ThreadMemory*> memory;
  thread_ = std::thread([this, &memory] {
    memory.set_value(&test::ThreadMemory::here());
    worker_->run();
  });
  memory_ = memory.get_future().get();
}

RunningWorker::~RunningWorker() {
  worker_->stop();
  thread_.join();
}

bool RunningWorker::await_redis() {
  return wait_until([this] { return worker_->lane().redis_ready(); });
}

bool RunningWorker::await_tick() {
  const auto now = std::chrono::steady_clock::now();
  return wait_until([&] { return worker_->last_turn() > now; });
}

}  // namespace sluice::agent
