#include "libsluice/impl.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "engine/policies/bundle_file.hpp"
#include "libsluice/decision_of.hpp"
#include "libsluice/server_options.hpp"

namespace sluice::v1 {
namespace {

constexpr std::size_t kMostLoggedFaults = 20;

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
      counters_(*clock_, options_.concurrency == Concurrency::one ? 1 : 64,
                options_.memory_limit == 0 ? limiter::MemoryBudget::kUnlimited : options_.memory_limit),
      lanes_(options_.concurrency == Concurrency::one,
             {.counters = counters_,
              .clock = *clock_,
              .in_flight = in_flight_,
              .waiting = waiting_,
              .tenant = options_.tenant,
              .allow_without_policies = options_.allow_without_policies},
             observing()) {}

lib::LaneObserving Engine::Impl::observing() {
  const bool server = !options_.server.url.empty();
  if (options_.metrics || server) counting_.emplace(*clock_, counters_, false);
  if (server) {
    usage_.emplace(lib::lane_count(options_.concurrency == Concurrency::one), usage::UsageBounds{}, wall_time(*clock_));
  }
  return {.counting = counting_ ? &*counting_ : nullptr, .usage = usage_ ? &*usage_ : nullptr};
}

Status Engine::Impl::start() {
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
      .collect = [this](sync::ReportQueue& queue) { usage_->collect(queue, wall_time(*clock_)); }};
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
  {
    lib::Lanes::Taken checker = lanes_.take();
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

void Engine::Impl::tell(const Request& request, const Decision& decision) noexcept {
  if (!decision.status.ok()) return;
  try {
    options_.on_decision(request, decision);
  } catch (...) {  // is the program's affair; the decision stands
  }
}

void Engine::Impl::check_batch(std::span<const Request> requests, std::span<Decision> decisions) noexcept {
  const std::size_t count = std::min(requests.size(), decisions.size());
  for (std::size_t i = 0; i < count; ++i) check(requests[i], decisions[i], true);
}

void Engine::Impl::check_async(const Request& request, const Callback& callback) {
  Decision decision;
  check(request, decision);
  callback(decision);
}

// A pause that ends after the deadline would find nothing new, so it is not begun. But leases may be released sooner
// than they end.
void Engine::Impl::wait(const Request& request, Micros at_most, Decision& decision) noexcept {
  using SteadyClock = std::chrono::steady_clock;
  const auto began = SteadyClock::now();
  for (;;) {
    bool sooner = false;
    Micros pause{0};
    {
      lib::Lanes::Taken checker = lanes_.take();
      check_in(*checker, request, decision, false);
      if (!decision.allowed && decision.status.ok()) pause = checker->pause(decision, sooner);
    }
    if (options_.on_decision) tell(request, decision);
    if (decision.allowed || !decision.status.ok() || pause == kNever) return;
    const auto left = std::chrono::duration_cast<Micros>(at_most - (SteadyClock::now() - began));
    if (left <= Micros(0) || (pause > left && !sooner)) return;
    std::this_thread::sleep_for(std::clamp(pause, Micros(1), left));
  }
}

Status Engine::Impl::release(std::string_view tenant, std::string_view lease_id) {
  return lanes_.take()->release(tenant, lease_id);
}

Status Engine::Impl::renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us) {
  return lanes_.take()->renew(tenant, lease_id, expires_us);
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
  for (const std::string& key : *removed_.keys()) counters_.put_overrides(key, {});
  for (const policy::KeyOverrides& each : snapshot->overrides) counters_.put_overrides(each.counter_key, each.entries);
  counters_.set_tenants(snapshot->tenants.size());
  lanes_.publish(snapshot);
  in_force_ = snapshot;
  if (counting_ && !server_)
    counting_->metrics().set_snapshot(static_cast<std::int64_t>(revision() + 1), snapshot->made_at_us);
  revision_.fetch_add(1, std::memory_order_release);
}

}  // namespace sluice::v1
