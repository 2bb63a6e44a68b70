#include "tests/integration/equivalence/both_stores.hpp"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "common/limiter/algorithms/lease_set.hpp"
#include "common/limiter/memory_judge.hpp"
#include "tests/integration/equivalence/outcome_text.hpp"

namespace sluice::test {

using limiter::Call;
using limiter::LeaseOutcome;
using limiter::LeaseRef;
using limiter::Outcome;
using limiter::Script;

namespace {

// A Monday's midnight: every window up to a week starts here. Each test's time line starts some weeks after the last
// one's.
constexpr std::int64_t kMonday = 1'800'230'400'000'000;

int tests_so_far = 0;

}  // namespace

SharedServer& SharedServer::instance() {
  static SharedServer shared;
  return shared;
}

SharedServer::SharedServer()
    : clock_(folder_.path() / "clock", kMonday),
      server_({.tcp = false, .config = {"enable-debug-command local"}, .environment = clock_.environment()}),
      link_(std::make_unique<RedisLink>(server_.unix_path())) {
  link_->ask({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
  for (std::size_t i = 0; i < limiter::kScripts; ++i) {
    link_->ask({"SCRIPT", "LOAD", limiter::script_text(static_cast<Script>(i))});
  }
}

BothStores::BothStores(std::vector<Limit> limits, std::optional<Micros> max_delay)
    : start_(kMonday), memory_(clock(), 1), key_("sl:{t|test=" + std::to_string(++tests_so_far) + "}:p=x") {
  clock().set(start_);
  replace_plan(std::move(limits), max_delay);
}

void BothStores::at(double seconds) { at_us(std::llround(seconds * 1e6)); }

void BothStores::replace_plan(std::vector<Limit> limits, std::optional<Micros> max_delay) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i].name.empty()) limits[i].name = "limit" + std::to_string(i);
  }
  program_ = limiter::compile(limits, max_delay);
}

const redis::Reply& BothStores::exchange(const std::string& command) {
  link().send(command);
  const redis::Reply* found = nullptr;
  link().receive(1, [&](std::size_t, const redis::Reply& reply) { found = &reply; });
  return *found;
}

Outcome BothStores::check(std::uint32_t cost) { return check(std::vector<std::uint32_t>(program_.rules.size(), cost)); }

Outcome BothStores::check(const std::vector<std::uint32_t>& costs) { return check(program_, costs); }

Outcome BothStores::check_bringing(const std::vector<std::int64_t>& limits, std::uint32_t cost) {
  return check(limiter::with_limits(program_, limits), std::vector<std::uint32_t>(program_.rules.size(), cost));
}

Outcome BothStores::check(const limiter::Program& program, const std::vector<std::uint32_t>& costs) {
  Call call;
  call.program = &program;
  call.explain = true;
  for (std::size_t g = 0; g < program.groups.size(); ++g) call.keys.push_back(group_key(g));
  std::copy(costs.begin(), costs.end(), call.costs.begin());
  ++draws_;
  std::memcpy(call.draw.data(), &draws_, sizeof draws_);
  last_ = call;

  std::array<PeriodBounds, kMaxLimitsPerPlan> periods;
  limiter::quota_periods(program, clock().now_us(), periods);
  std::string command;
  redis::CommandWriter writer(command);
  limiter::write_check(writer, call, periods);
  const redis::Reply& reply = exchange(command);
  if (reply.is_error()) throw std::runtime_error(std::string(reply.text));
  const auto read = limiter::read_check(reply, call);
  if (!read || !read->outcome) throw std::runtime_error("the script's reply cannot be read");
  Outcome outcome = *memory_.judge(call);
  const std::string differs = difference(outcome, *read->outcome);
  if (!differs.empty()) throw std::runtime_error("memory | server:\n" + differs);
  return outcome;
}

LeaseRef BothStores::lease(std::size_t rule) const {
  const std::string_view draw(reinterpret_cast<const char*>(last_.draw.data()), last_.draw.size());
  return {last_.keys[program_.rules[rule].group], program_.limits[rule].name,
          limiter::lease_member(draw, last_.costs[rule], program_.rules[rule].p)};
}

LeaseOutcome BothStores::release(const LeaseRef& lease) {
  std::string command;
  redis::CommandWriter writer(command);
  limiter::write_leases(writer, Script::release, {&lease, 1});
  const LeaseOutcome server = limiter::read_leases(exchange(command), Script::release).value();
  const LeaseOutcome memory = memory_.release({&lease, 1});
  if (server.live != memory.live) throw std::runtime_error("memory and server released differently");
  return memory;
}

LeaseOutcome BothStores::renew(const LeaseRef& lease) {
  std::string command;
  redis::CommandWriter writer(command);
  limiter::write_leases(writer, Script::renew, {&lease, 1});
  const LeaseOutcome server = limiter::read_leases(exchange(command), Script::renew).value();
  const LeaseOutcome memory = memory_.renew({&lease, 1});
  if (server.live != memory.live || server.expires_at_us != memory.expires_at_us) {
    throw std::runtime_error("memory and server renewed differently");
  }
  return memory;
}

void BothStores::put_overrides(const std::vector<limiter::OverrideEntry>& entries) {
  std::string command;
  redis::CommandWriter writer(command);
  limiter::write_overrides(writer, key_, entries);
  const redis::Reply& reply = exchange(command);
  if (reply.integer != 1) throw std::runtime_error("overrides: " + std::string(reply.text));
  memory_.put_overrides(key_, entries);
}

void BothStores::reset() {
  for (std::size_t g = 0; g < program_.groups.size(); ++g) {
    const std::string key = group_key(g);
    std::string command;
    redis::CommandWriter writer(command);
    limiter::write_reset(writer, key, limiter::collection_keys(program_, g, key));
    const redis::Reply& reply = exchange(command);
    if (reply.integer != 1) throw std::runtime_error("reset: " + std::string(reply.text));
    memory_.reset(key);
  }
}

std::string BothStores::group_key(std::size_t group) const {
  const limiter::Group& compiled = program_.groups[group];
  return compiled.added.empty() ? key_ : key_ + ":k=" + program_.limits[compiled.first].name + "|method=GET";
}

Limit bucket(std::int64_t capacity, std::int64_t units, std::int64_t per_us, Algorithm algorithm) {
  Limit limit;
  limit.algorithm = algorithm;
  limit.limit = capacity;
  limit.rate = {units, per_us};
  return limit;
}

Limit window(Algorithm algorithm, std::int64_t count, Micros length) {
  Limit limit;
  limit.algorithm = algorithm;
  limit.limit = count;
  limit.window = length;
  return limit;
}

Limit quota(std::int64_t count, Period period, std::optional<WallTime> anchor) {
  Limit limit;
  limit.algorithm = Algorithm::quota;
  limit.limit = count;
  limit.period = period;
  limit.anchor = anchor;
  return limit;
}

Limit leases(std::int64_t count, Micros ttl) {
  Limit limit;
  limit.algorithm = Algorithm::concurrency;
  limit.limit = count;
  limit.lease_ttl = ttl;
  return limit;
}

}  // namespace sluice::test
