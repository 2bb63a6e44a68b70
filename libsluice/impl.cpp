#include "libsluice/impl.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "engine/policies/bundle_file.hpp"
#include "libsluice/decision_of.hpp"
#include "libsluice/redis_options.hpp"
#include "libsluice/server_options.hpp"

namespace sluice::v1 {
namespace {

constexpr std::size_t kMostLoggedFaults = 20;
constexpr std::size_t kShards = 64;

class HookClock final : public Clock {
 public:
  explicit HookClock(std::function<std::int64_t()> now_us) : now_us_(std::move(now_us)) {}
  std::int64_t now_us() const override { return now_us_(); }

 private:
  const std::function<std::int64_t()> now_us_;
};

std::unique_ptr<const Clock> make_clock(const Options& options) {
  if (options.clock_us) return std::make_unique<HookClock>(options.clock_us);
  return std::make_unique<SystemClock>();
}

telemetry::Log::Take take_lines(const LogHook& hook) {
  if (!hook) return {};
  static_assert(static_cast<int>(telemetry::LogLevel::debug) == static_cast<int>(Level::debug));
  static_assert(static_cast<int>(telemetry::LogLevel::error) == static_cast<int>(Level::error));
  return [&hook](telemetry::LogLevel level, std::string_view event, std::string_view line) {
    hook(static_cast<Level>(level), event, line);
  };
}

// Overrides of a watched file are written on its thread. A server brings none.
limiter::MemoryCounters::UsedBy users_of_counters(const Options& options) {
  const bool one = options.concurrency == Concurrency::one && !options.watch_file && options.redis.url.empty();
  return one ? limiter::MemoryCounters::UsedBy::one_thread : limiter::MemoryCounters::UsedBy::any_thread;
}

WallTime wall_time(const Clock& clock) { return WallTime(Micros(clock.now_us())); }

// One sentence: the first fault, and how many there are.
Status refused(const Faults& faults) {
  std::string text = policies::describe(faults.front());
  if (faults.size() > 1) text += fmt::format(" (and {} more faults)", faults.size() - 1);
  return {Code::invalid_policies, std::move(text)};
}

}  // namespace

Engine::Impl::Impl(Options options)
    : options_(std::move(options)),
      clock_(make_clock(options_)),
      log_(take_lines(options_.log)),
      counters_(*clock_, options_.concurrency == Concurrency::one ? 1 : kShards,
                options_.memory_limit == 0 ? limiter::MemoryBudget::kUnlimited : options_.memory_limit,
                users_of_counters(options_)) {}

// Callbacks of checks that are given up may still use the engine, so nothing is gone by then.
Engine::Impl::~Impl() {
  file_.reset();
  server_.reset();
  if (redis_) redis_->close();
}

Status Engine::Impl::open_counters() {
  const bool one = options_.concurrency == Concurrency::one;
  const bool server = !options_.server.url.empty();
  const bool redis = !options_.redis.url.empty();
  const std::size_t lanes = redis ? lib::redis_lane_count(options_) : lib::lane_count(one);
  if (options_.metrics || server || redis) counting_.emplace(*clock_, counters_, redis ? lanes : 0);
  if (server) usage_.emplace(lanes, usage::UsageBounds{}, wall_time(*clock_));
  usage::Usage* const usage = usage_ ? &*usage_ : nullptr;
  if (!redis) {
    const lib::CheckerParts parts{.counters = counters_,
                                  .clock = *clock_,
                                  .in_flight = in_flight_,
                                  .waiting = waiting_,
                                  .tenant = options_.tenant,
                                  .allow_without_policies = options_.allow_without_policies};
    lanes_.emplace(one, parts, lib::LaneObserving{.counting = counting_ ? &*counting_ : nullptr, .usage = usage});
    return {};
  }
  auto target = lib::redis_options(options_.redis);
  if (!target) return std::move(target.error());
  redis_.emplace(options_, *std::move(target), *clock_, *counting_, log_, counters_, usage);
  return {};
}

Status Engine::Impl::start() {
  if (Status status = open_counters(); !status.ok()) return status;
  if (!options_.server.url.empty()) return start_server();
  if (!options_.bundle_file.empty()) return start_file();
  return options_.bundle.empty() ? Status() : load(options_.bundle);
}

Status Engine::Impl::start_file() {
  const std::string& path = options_.bundle_file;
  if (!options_.watch_file) return reload();
  file_.emplace(path, log_, [this](const std::string& text) { file_changed(text); });
  // A file that changes between the two is read again.
  const FileIdentity identity = current_identity(path);
  Status status = reload();
  if (status.ok()) file_->start(identity);
  return status;
}

// A file that is refused leaves the former policies in force, and a touched one changes nothing.
void Engine::Impl::file_changed(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (policies::digest_of(text) != in_force_->chain) load_text(text, options_.bundle_file);
}

Status Engine::Impl::start_server() {
  auto options = lib::server_options(options_.server);
  if (!options) return std::move(options.error());
  policies::ServerHooks hooks{
      .collect = [this](sync::ReportQueue& queue) { usage_->collect(queue, wall_time(*clock_)); },
      .live_agents =
          [this](const sync::LiveAgents& live) {
            if (redis_) redis_->set_live_agents(live);
          }};
  auto publish = [this](const policies::Publication& publication, const std::function<void()>& on_used) {
    {
      const std::lock_guard lock(mutex_);
      put_in_force(publication.snapshot);
    }
    on_used();
  };
  server_.emplace(*std::move(options), std::move(hooks), *clock_, counting_->metrics(), log_, std::move(publish), 1);
  server_->load_first();
  server_->start();
  return {};
}

void Engine::Impl::check(const Request& request, Decision& decision, bool batch) noexcept {
  if (redis_) [[unlikely]] {
    ask_redis({&request, 1}, {&decision, 1}, batch);
  } else {
    lib::Lanes::Taken checker = lanes_->take();
    check_in(*checker, request, decision, batch);
  }
  if (options_.on_decision) [[unlikely]]
    tell(request, decision);
}

void Engine::Impl::check_in(lib::Checker& checker, const Request& request, Decision& decision, bool batch) noexcept {
  try {
    checker.check(request, decision, batch);
  } catch (const std::bad_alloc&) {
    lib::clear(decision);
    decision.status = lib::out_of_memory();
  } catch (...) {  // of Options::clock_us, the only code of the program that is called
    lib::clear(decision);
    decision.status = lib::hook_failed();
  }
}

// No check has begun if this fails.
void Engine::Impl::ask_redis(std::span<const Request> requests, std::span<Decision> decisions, bool batch) noexcept {
  try {
    redis_->lane().check(requests, decisions, batch);
  } catch (const std::bad_alloc&) {
    for (Decision& decision : decisions) {
      lib::clear(decision);
      decision.status = lib::out_of_memory();
    }
  }
}

void Engine::Impl::tell(const Request& request, const Decision& decision) noexcept {
  if (!decision.status.ok()) return;
  try {
    options_.on_decision(request, decision);
  } catch (...) {  // is the program's affair; the decision stands
  }
}

void Engine::Impl::check_batch(std::span<const Request> requests, std::span<Decision> decisions) noexcept {
  const std::size_t count = std::min(requests.size(), decisions.size());
  if (!redis_) {
    for (std::size_t i = 0; i < count; ++i) check(requests[i], decisions[i], true);
    return;
  }
  ask_redis(requests.first(count), decisions.first(count), true);
  if (!options_.on_decision) return;
  for (std::size_t i = 0; i < count; ++i) tell(requests[i], decisions[i]);
}

void Engine::Impl::check_async(const Request& request, Callback callback) {
  Decision decision;
  if (redis_) {
    try {
      return redis_->lane().check_async(request, callback);
    } catch (const std::bad_alloc&) {
      decision.status = lib::out_of_memory();
      return callback(decision);
    }
  }
  check(request, decision);
  callback(decision);
}

// A pause that ends after the deadline would find nothing new, so it is not begun. But leases may be released sooner
// than they end.
void Engine::Impl::wait(const Request& request, Micros at_most, Decision& decision) noexcept {
  using SteadyClock = std::chrono::steady_clock;
  const auto began = SteadyClock::now();
  for (;;) {
    const lib::Pause pause = check_once(request, decision);
    if (options_.on_decision) tell(request, decision);
    if (decision.allowed || !decision.status.ok() || pause.retry_after == kNever) return;
    const auto left = std::chrono::duration_cast<Micros>(at_most - (SteadyClock::now() - began));
    if (left <= Micros(0) || (pause.retry_after > left && !pause.sooner)) return;
    std::this_thread::sleep_for(std::clamp(pause.retry_after, Micros(1), left));
  }
}

lib::Pause Engine::Impl::check_once(const Request& request, Decision& decision) noexcept {
  if (redis_) {
    try {
      return redis_->lane().check_once(request, decision);
    } catch (const std::bad_alloc&) {
      lib::clear(decision);
      decision.status = lib::out_of_memory();
      return {};
    }
  }
  lib::Lanes::Taken checker = lanes_->take();
  check_in(*checker, request, decision, false);
  return !decision.allowed && decision.status.ok() ? checker->pause(decision) : lib::Pause();
}

Status Engine::Impl::release(std::string_view tenant, std::string_view lease_id) {
  if (redis_) return redis_->lane().release(tenant, lease_id);
  return lanes_->take()->release(tenant, lease_id);
}

Status Engine::Impl::renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us) {
  if (redis_) return redis_->lane().renew(tenant, lease_id, expires_us);
  return lanes_->take()->renew(tenant, lease_id, expires_us);
}

Status Engine::Impl::load(std::string_view bundle) {
  if (server_) return {Code::invalid_options, "load(): policies come from Options::server, which would replace them"};
  const std::lock_guard lock(mutex_);
  return load_text(bundle, {});
}

Status Engine::Impl::reload() {
  const std::string& path = options_.bundle_file;
  if (path.empty()) return {Code::invalid_options, "reload() reads Options::bundle_file, which is not set: use load()"};
  const std::lock_guard lock(mutex_);
  const auto file = policies::read_whole(path, false);
  if (!file) return {Code::unreachable, "bundle_file: " + policies::describe(file.error())};
  if (!*file) return {Code::unreachable, fmt::format("bundle_file: {} changes while it is read", path)};
  return load_text((*file)->text, path);
}

// `path`: of the file that the text is from; "": none.
Status Engine::Impl::load_text(std::string_view text, const std::string& path) {
  const std::string name = path.empty() ? "Engine::load()" : path;
  const auto loaded = policies::load_bundle(text, policies::format_of(path, text), policies::digest_of(text),
                                            revision() + 1, clock_->now_us(), Mode::enforce);
  if (!loaded) {
    policies::log_faults(log_, name, loaded.error(), kMostLoggedFaults);
    return refused(loaded.error());
  }
  policies::log_warnings(log_, name, loaded->warnings, kMostLoggedFaults);
  put_in_force(loaded->snapshot);
  log_.info("policies_in_force", "Other policies are in force.",
            {{"file", name},
             {"revision", revision()},
             {"tenants", loaded->snapshot->tenants.size()},
             {"policies", loaded->snapshot->policy_count}});
  return {};
}

void Engine::Impl::put_in_force(const std::shared_ptr<const policy::Snapshot>& snapshot) {
  if (in_force_) removed_.change(*in_force_, *snapshot);
  counters_.set_tenants(snapshot->tenants.size());
  if (redis_) {
    redis_->publish({snapshot, removed_.keys()});
  } else {
    for (const std::string& key : *removed_.keys()) counters_.put_overrides(key, {});
    for (const policy::KeyOverrides& each : snapshot->overrides)
      counters_.put_overrides(each.counter_key, each.entries);
    lanes_->publish(snapshot);
  }
  in_force_ = snapshot;
  if (counting_ && !server_)
    counting_->metrics().set_snapshot(static_cast<std::int64_t>(revision() + 1), snapshot->made_at_us);
  revision_.fetch_add(1, std::memory_order_release);
}

void Engine::Impl::run() {
  if (redis_ && redis_->loop() != nullptr) redis_->loop()->run();
}

std::size_t Engine::Impl::poll() { return redis_ && redis_->loop() != nullptr ? redis_->loop()->poll() : 0; }

void Engine::Impl::stop() {
  if (redis_ && redis_->loop() != nullptr) redis_->loop()->stop();
}

}  // namespace sluice::v1
