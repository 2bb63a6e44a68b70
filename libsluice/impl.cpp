#include "libsluice/impl.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <new>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/limiter/lease_id.hpp"
#include "engine/core/metrics.hpp"
#include "engine/policies/bundle_file.hpp"
#include "libsluice/decision_of.hpp"
#include "libsluice/redis_options.hpp"
#include "libsluice/server_options.hpp"

namespace sluice::v1 {
namespace {

constexpr std::size_t kMostLoggedFaults = 20;
constexpr std::size_t kShards = 64;
constexpr Micros kLongestWait = std::chrono::hours(24 * 365 * 100);  // longer ones do not fit into nanoseconds

// The program's clock. With a server, a thread of the engine reads it too, where nobody would catch what it throws:
// then the time stands still instead.
class HookClock final : public Clock {
 public:
  struct Threw {};

  HookClock(const std::function<std::int64_t()>& now_us, bool stands_still)
      : now_us_(now_us), stands_still_(stands_still) {}

  std::int64_t now_us() const override {
    try {
      const std::int64_t now = now_us_();
      if (stands_still_) last_.store(now, std::memory_order_relaxed);
      return now;
    } catch (...) {
      if (!stands_still_) throw Threw();
      return last_.load(std::memory_order_relaxed);
    }
  }

 private:
  const std::function<std::int64_t()>& now_us_;
  const bool stands_still_;
  mutable std::atomic<std::int64_t> last_{0};
};

std::unique_ptr<const Clock> make_clock(const Options& options) {
  if (options.clock_us) return std::make_unique<HookClock>(options.clock_us, !options.server.url.empty());
  return std::make_unique<SystemClock>();
}

telemetry::Log::Take take_lines(const LogHook& hook) {
  if (!hook) return {};
  static_assert(static_cast<int>(telemetry::LogLevel::debug) == static_cast<int>(Level::debug));
  static_assert(static_cast<int>(telemetry::LogLevel::error) == static_cast<int>(Level::error));
  return [&hook](telemetry::LogLevel level, std::string_view event, std::string_view line) {
    try {
      hook(static_cast<Level>(level), event, line);
    } catch (...) {  // is the program's affair
    }
  };
}

// The program trusts itself: nothing is held, and no tenant is kept from what it asks for.
engine::CoreOptions core_options(const Options& options) {
  const bool one = options.concurrency == Concurrency::one;
  const bool redis = !options.redis.url.empty();
  engine::LaneOptions lanes{.lanes = redis ? lib::redis_lane_count(options) : lib::lane_count(one),
                            .max_waiting = 0,
                            .max_wait = {},
                            .matching_budget = std::chrono::seconds(1),
                            .redis_budget = std::chrono::seconds(1),
                            .allow_without_snapshot = options.allow_without_policies};
  if (!redis) lanes.max_in_flight = SIZE_MAX;  // the program itself bounds how much it asks
  return {.memory_limit = options.memory_limit == 0 ? limiter::MemoryBudget::kUnlimited : options.memory_limit,
          .counter_shards = one ? std::size_t{1} : kShards,
          // Overrides of a watched file are written on its thread. A server brings none.
          .one_thread = one && !options.watch_file && !redis,
          .lanes = lanes};
}

// No bundle is one word.
bool looks_like_path(std::string_view text) {
  return !text.empty() && text.size() < PATH_MAX && text.find_first_of(" \n:{[") == std::string_view::npos;
}

telemetry::MetricsOptions metrics_options(const Options& options) {
  const bool redis = !options.redis.url.empty();
  return engine::metrics_options(redis ? lib::redis_lane_count(options) : 1, false, redis);
}

// One sentence: the first fault, and how many there are. `path`: of the file that has them; "": the program's text.
Status refused(const std::string& path, std::string_view text, const Faults& faults) {
  std::string message = path.empty() ? std::string("bundle: ") : fmt::format("bundle_file: {}: ", visible(path));
  message += policies::describe(faults.front());
  if (faults.size() > 1)
    message += fmt::format(" (and {} more {})", faults.size() - 1, faults.size() == 2 ? "fault" : "faults");
  if (path.empty() && looks_like_path(text)) message += "; a path belongs into bundle_file";
  return {Code::invalid_policies, std::move(message)};
}

}  // namespace

Engine::Impl::Impl(Options options)
    : options_(std::move(options)),
      clock_(make_clock(options_)),
      log_(take_lines(options_.log)),
      metrics_(metrics_options(options_), *clock_),
      decision_log_(*clock_) {}

// Callbacks of checks that are given up may still use the engine, so nothing is gone by then.
Engine::Impl::~Impl() {
  file_.reset();
  if (core_) core_->stop();
  if (redis_) redis_->close();
}

Status Engine::Impl::start() {
  if (Status status = open_core(); !status.ok()) return status;
  open_lanes();
  core_->add([this](const policies::Publication& publication, const std::function<void()>& on_used) {
    take(publication, on_used);
  });
  core_->load();
  core_->start();
  if (!options_.bundle_file.empty()) return start_file();
  return options_.bundle.empty() ? Status() : load(options_.bundle);
}

Status Engine::Impl::open_core() {
  engine::CoreOptions options = core_options(options_);
  if (!options_.redis.url.empty()) {
    auto redis = lib::redis_options(options_.redis);
    if (!redis) return std::move(redis.error());
    options.redis = *std::move(redis);
  }
  if (!options_.server.url.empty()) {
    auto server = lib::server_options(options_.server);
    if (!server) return std::move(server.error());
    options.server = *std::move(server);
  }
  core_.emplace(std::move(options), *clock_, metrics_, log_, decision_log_);
  return {};
}

void Engine::Impl::open_lanes() {
  engine::Shared& shared = core_->shared();
  if (shared.redis) {
    redis_.emplace(options_, *core_);
    return;
  }
  const lib::CheckerParts parts{.counters = core_->counters(),
                                .clock = *clock_,
                                .in_flight = shared.in_flight,
                                .waiting = shared.waiting,
                                .tenant = options_.tenant,
                                .allow_without_policies = options_.allow_without_policies};
  const lib::LaneObserving observing{.metrics = metrics_, .log = decision_log_, .usage = shared.usage};
  const bool observed = options_.metrics || shared.usage != nullptr;
  lanes_.emplace(options_.concurrency == Concurrency::one, parts, observed ? &observing : nullptr);
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
    decision.status = lib::clock_failed();
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
  at_most = std::clamp(at_most, Micros(0), kLongestWait);
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

// A check with an API key names no tenant. So the program may not know to which tenant its lease belongs.
Status Engine::Impl::find_tenant(std::string_view& tenant, std::string_view lease_id, std::string& memory) const {
  if (!tenant.empty() || !options_.tenant.empty()) return {};
  auto decoded = limiter::decode_lease_id(lease_id);
  if (!decoded) return lib::status_of({.kind = decide::Refusal::Kind::malformed_lease});
  memory = std::move(decoded->tenant);
  tenant = memory;
  return {};
}

Status Engine::Impl::release(std::string_view tenant, std::string_view lease_id) {
  std::string memory;
  if (Status status = find_tenant(tenant, lease_id, memory); !status.ok()) return status;
  if (redis_) return redis_->lane().release(tenant, lease_id);
  return lanes_->take()->release(tenant, lease_id);
}

Status Engine::Impl::renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us) {
  std::string memory;
  if (Status status = find_tenant(tenant, lease_id, memory); !status.ok()) return status;
  if (redis_) return redis_->lane().renew(tenant, lease_id, expires_us);
  return lanes_->take()->renew(tenant, lease_id, expires_us);
}

Status Engine::Impl::load(std::string_view bundle) {
  if (core_->has_source())
    return {Code::invalid_options, "load(): policies come from Options::server, which would replace them"};
  const std::lock_guard lock(mutex_);
  return load_text(bundle, {});
}

Status Engine::Impl::reload() {
  const std::string& path = options_.bundle_file;
  if (path.empty()) return {Code::invalid_options, "reload() reads Options::bundle_file, which is not set: use load()"};
  const std::lock_guard lock(mutex_);
  const auto file = policies::read_whole(path, false);
  if (!file) return {Code::unreachable, "bundle_file: " + policies::describe(file.error())};
  if (!*file) {
    return {Code::unreachable,
            fmt::format("bundle_file: {} changes while it is read: write another file, and rename it to this path",
                        visible(path))};
  }
  return load_text((*file)->text, path);
}

// `path`: of the file that the text is from; "": none.
Status Engine::Impl::load_text(std::string_view text, const std::string& path) {
  const std::string name = path.empty() ? "Engine::load()" : path;
  const auto loaded = policies::load_bundle(text, policies::format_of(path, text), policies::digest_of(text),
                                            revision() + 1, clock_->now_us(), Mode::enforce);
  if (!loaded) {
    policies::log_faults(log_, name, loaded.error(), kMostLoggedFaults);
    return refused(path, text, loaded.error());
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

// REQUIRES: mutex_ is locked.
void Engine::Impl::put_in_force(const std::shared_ptr<const policy::Snapshot>& snapshot) {
  if (in_force_) removed_.change(*in_force_, *snapshot);
  core_->publish({snapshot, removed_.keys()});
  in_force_ = snapshot;
  metrics_.set_snapshot(static_cast<std::int64_t>(revision()), snapshot->made_at_us);
}

// The core hands on all policies, whether they come from the program or from a server.
void Engine::Impl::take(const policies::Publication& publication, const std::function<void()>& on_used) {
  if (lanes_) {
    limiter::MemoryCounters& counters = core_->counters();
    if (publication.removed) {
      for (const std::string& key : *publication.removed) counters.put_overrides(key, {});
    }
    if (publication.snapshot) {
      for (const auto& each : publication.snapshot->overrides) counters.put_overrides(each.counter_key, each.entries);
    }
    lanes_->publish(publication.snapshot);
  }
  if (publication.snapshot) revision_.fetch_add(1, std::memory_order_release);
  if (on_used) on_used();
}

void Engine::Impl::run() {
  if (redis_ && redis_->loop() != nullptr) redis_->loop()->run();
}

std::size_t Engine::Impl::poll() { return redis_ && redis_->loop() != nullptr ? redis_->loop()->poll() : 0; }

void Engine::Impl::stop() {
  if (redis_ && redis_->loop() != nullptr) redis_->loop()->stop();
}

}  // namespace sluice::v1
