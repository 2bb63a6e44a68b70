// The admin API with a Redis of its own, and an agent that counts in it.
//
//   CounterRig rig;
//   rig.put_override("vip",
//   R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"u"},"set":{"limit":50})");
//   CHECK(rig.ask_agent("orders", "u", 0).report.limit == 50);
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/limiter/redis_store.hpp"
#include "server/counters/publisher.hpp"
#include "tests/integration/server/admin_rig.hpp"
#include "tests/integration/support/redis_server.hpp"

namespace sluice::server::test {

using sluice::test::RedisServer;

// The organization acme with the tenants shop and bank; of shop: the plan pro (burst: 10 a minute; daily: 100 a day),
// the policy orders with the same limits as its own, the policies paid and free on pro, free counting by user instead.
class CounterRig : public AdminRig {
 public:
  explicit CounterRig(std::chrono::milliseconds lock_timeout = std::chrono::seconds(2));  // as AdminRig's

  // A publisher as a server has one; the one before ends first. Does the API say what it wrote? From now on to this
  // one.
  Result<> start_publisher(bool allow_evicting = false);
  std::unique_ptr<counters::Publisher> make_publisher(const std::string& redis_url, bool allow_evicting = false);
  counters::Publisher& publisher() { return *publisher_; }
  void end_publisher() { publisher_.reset(); }

  // PUT of an override of the tenant shop; `members` of its body.
  admin::FinishedAnswer put_override(std::string_view id, std::string_view members);
  admin::FinishedAnswer get_override(std::string_view id);

  // One decision as an agent makes it: by a policy, or by a plan where the name begins with "plan:".
  limiter::Outcome ask_agent(const std::string& judge, const std::string& subject, std::uint32_t cost);
  // The limit called burst, as the agent finds it now.
  std::int64_t burst(const std::string& judge, const std::string& subject);

  RedisServer redis{{.tcp = false}};

 private:
  telemetry::LineWriter lines_{STDERR_FILENO};
  telemetry::Log log_{lines_, telemetry::LogLevel::error};
  SystemClock clock_;
  std::unique_ptr<counters::Publisher> publisher_;
};

// The number that a text begins with.
std::int64_t count(const std::string& text);

// Waits until it is so; false where `limit` passes first.
[[nodiscard]] bool eventually(const std::function<bool()>& so,
                              std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace sluice::server::test
