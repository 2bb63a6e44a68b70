#include "engine/policies/bundle_source.hpp"

#include <fmt/core.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "common/base/timestamp.hpp"

namespace sluice::policies {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kFaultsLogged = 20;  // per reload
constexpr int kReloadNiceness = 10;        // when CPUs are busy, the workers run first

}  // namespace

std::string describe_refusal(const std::string& path, const Faults& faults, std::int64_t since_us,
                             std::uint64_t revision) {
  std::chrono::sys_time<std::chrono::microseconds> when{std::chrono::microseconds(since_us)};
  return fmt::format(
      "the bundle {} is refused since {} ({} fault{}; the first: {}): the policies of revision {} stay in force", path,
      format_timestamp(std::chrono::floor<std::chrono::seconds>(when)), faults.size(), faults.size() == 1 ? "" : "s",
      describe(faults.front()), revision);
}

BundleSource::BundleSource(std::string path, Mode mode, const Clock& clock, telemetry::Metrics& metrics,
                           telemetry::Log& log, Publish publish, std::size_t workers)
    : path_(std::move(path)),
      mode_(mode),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      file_(context_, path_,
            {.read =
                 [this](FileText file) {
                   apply(file);
                   file = {};
                   swap_.give_memory_back();
                 },
             .unreadable = [this](const Fault& fault) { refuse({fault}); },
             .changing =
                 [this] {
                   log_.debug("bundle_changing", "The bundle has changed; the agent reads it once it is complete.",
                              {{"file", path_}});
                 }}),
      hangups_(context_),
      swap_(context_, metrics, log, std::move(publish), workers, {"file", path_}) {}

bool BundleSource::load_first() {
  auto began = steady_clock::now();
  auto watching = file_.watch();  // before the first read, so that no later change is missed
  FileIdentity identity;
  auto loaded = load_bundle_file(path_, clock_.now_us(), mode_, &identity);
  if (!loaded) {
    log_faults(log_, path_, loaded.error(), loaded.error().size());
    return false;
  }
  publish(std::move(*loaded), began);
  ::malloc_trim(0);
  hangups_.add(SIGHUP);
  wait_for_hangup();
  if (!identity.regular) {
    log_.warn("bundle_not_watched", "The bundle is not a regular file: changes need a restart.", {{"file", path_}});
    return true;
  }
  if (!watching) {
    log_.warn("bundle_not_watched", "The bundle cannot be watched: the agent checks it for changes every 2 s.",
              {{"file", path_}, {"reason", watching.error().text}});
  }
  file_.follow(identity);
  return true;
}

void BundleSource::start() {
  thread_ = std::jthread([this] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kReloadNiceness);
    auto keep_running = boost::asio::make_work_guard(context_);
    context_.run();
  });
}

void BundleSource::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

// After a SIGHUP the agent reads a regular file again, even if the file seems unchanged.
void BundleSource::wait_for_hangup() {
  hangups_.async_wait([this](const boost::system::error_code& stopped, int) {
    if (stopped) return;
    file_.read_now();
    wait_for_hangup();
  });
}

void BundleSource::apply(const FileText& file) {
  auto began = steady_clock::now();
  std::string digest = digest_of(file.text);
  if (digest == swap_.in_force()->chain) {
    metrics_.set_snapshot(static_cast<std::int64_t>(swap_.in_force()->revision), clock_.now_us());
    log_.info("bundle_unchanged", "The bundle has not changed; its policies stay in force.",
              {{"file", path_}, {"chain", digest}});
    return accept(telemetry::BundleLoad::unchanged);
  }
  auto loaded = load_bundle(file.text, format_of(path_, file.text), std::move(digest), swap_.in_force()->revision + 1,
                            clock_.now_us(), mode_);
  if (!loaded) return refuse(loaded.error());
  publish(std::move(*loaded), began);
}

void BundleSource::publish(BundleContent content, Time began) {
  if (const auto& before = swap_.in_force()) removed_.change(*before, *content.snapshot);
  std::ranges::move(content.shared_names, std::back_inserter(content.warnings));
  log_warnings(log_, path_, content.warnings, kFaultsLogged);
  swap_.publish({std::move(content.snapshot), removed_.keys()}, content.warnings.size(), began);
  accept(telemetry::BundleLoad::loaded);
}

void BundleSource::refuse(const Faults& faults) {
  std::uint64_t revision = swap_.in_force()->revision;
  log_faults(log_, path_, faults, kFaultsLogged);
  log_.error("policies_kept", "The bundle is refused; the former policies stay in force.",
             {{"file", path_},
              {"faults", faults.size()},
              {"faults_logged", std::min(faults.size(), kFaultsLogged)},
              {"revision", revision}});
  if (!refused_since_us_) refused_since_us_ = clock_.now_us();
  {
    std::lock_guard lock(mutex_);
    refusal_ = describe_refusal(path_, faults, *refused_since_us_, revision);
  }
  metrics_.count_bundle_load(telemetry::BundleLoad::refused);
}

void BundleSource::accept(telemetry::BundleLoad result) {
  refused_since_us_.reset();
  {
    std::lock_guard lock(mutex_);
    refusal_.reset();
  }
  metrics_.count_bundle_load(result);
}

std::optional<std::string> BundleSource::refusal() const {
  std::lock_guard lock(mutex_);
  return refusal_;
}

}  // namespace sluice::policies
