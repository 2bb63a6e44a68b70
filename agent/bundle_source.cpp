#include "agent/bundle_source.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "common/base/timestamp.hpp"

namespace sluice::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kFaultsLogged = 20;   // of a reloaded file; a start logs all
constexpr milliseconds kRetiredEvery{100};  // how often former policies are looked at: does anybody use them?
constexpr int kNiceness = 10;               // decisions come first where processors are few

milliseconds since(steady_clock::time_point began) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - began);
}

// What was read, parsed and freed goes back to the system: it is more than what stays.
void give_memory_back() { ::malloc_trim(0); }

bool unused(const Publication& publication) {
  return publication.snapshot.use_count() == 1 && (!publication.removed || publication.removed.use_count() == 1);
}

struct Counts {
  std::int64_t tenants = 0;
  std::int64_t plans = 0;
  std::int64_t policies = 0;
  std::int64_t keys = 0;
  std::int64_t overridden_counters = 0;
};

Counts counts_of(const policy::Snapshot& snapshot) {
  auto count = [](std::size_t size) { return static_cast<std::int64_t>(size); };
  return {count(snapshot.tenants.size()), count(snapshot.plan_count), count(snapshot.policy_count),
          count(snapshot.keys.size()), count(snapshot.overrides.size())};
}

}  // namespace

struct BundleSource::Swap {
  std::uint64_t revision = 0;
  std::string chain;
  Counts before;
  Counts now;
  std::size_t warnings = 0;
  milliseconds load_time{0};  // validate and compile
  Time published;
  Time taken;               // by the last so far
  std::size_t to_take = 0;  // parties that do not decide by it yet
};

std::string describe_refusal(const std::string& path, const Faults& faults, std::int64_t since_us,
                             std::uint64_t revision) {
  std::chrono::sys_time<std::chrono::microseconds> when{std::chrono::microseconds(since_us)};
  return fmt::format(
      "the bundle {} is refused since {} ({} fault{}; the first: {}): the policies of revision {} decide", path,
      format_timestamp(std::chrono::floor<std::chrono::seconds>(when)), faults.size(), faults.size() == 1 ? "" : "s",
      describe(faults.front()), revision);
}

BundleSource::BundleSource(std::string path, const Clock& clock, telemetry::Metrics& metrics, telemetry::Log& log,
                           Publish publish, std::size_t parties)
    : path_(std::move(path)),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      publish_(std::move(publish)),
      parties_(parties),
      watch_(context_, path_, [this](FileWatch::Event event) { on_event(event); }),
      hangups_(context_),
      look_timer_(context_),
      retired_timer_(context_) {}

bool BundleSource::load_first() {
  auto began = steady_clock::now();
  auto watching = watch_.start();  // before it is read: no change goes unheard in between
  FileIdentity which;
  auto loaded = load_bundle_file(path_, clock_.now_us(), &which);
  if (!loaded) {
    log_faults(log_, path_, loaded.error(), loaded.error().size());
    return false;
  }
  publish(std::move(*loaded), began);
  give_memory_back();
  hangups_.add(SIGHUP);
  on_hangup();
  if (!which.regular) {
    log_.warn("bundle_not_watched", "The bundle is no regular file: it is not read again.", {{"file", path_}});
    return true;
  }
  if (!watching) {
    log_.warn("bundle_not_watched", "Changes of the bundle are noticed by looking at it every few seconds.",
              {{"file", path_}, {"reason", watching.error().text}});
  }
  schedule_.emplace(which, steady_clock::now());
  plan_next_look();
  return true;
}

void BundleSource::start() {
  thread_ = std::jthread([this] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
    auto keep_running = boost::asio::make_work_guard(context_);
    context_.run();
  });
}

void BundleSource::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

void BundleSource::on_event(FileWatch::Event event) {
  if (!schedule_) return;
  auto now = steady_clock::now();
  switch (event) {
    case FileWatch::Event::replaced:
      schedule_->replaced(now);
      break;
    case FileWatch::Event::modified:
      schedule_->modified(now);
      break;
    case FileWatch::Event::moved_nearby:
      schedule_->moved_nearby(now);
      break;
  }
  plan_next_look();
}

// SIGHUP: now, and whatever the file looks like.
void BundleSource::on_hangup() {
  hangups_.async_wait([this](const boost::system::error_code& stopped, int) {
    if (stopped) return;
    if (schedule_) {
      load();
      plan_next_look();
    }
    on_hangup();
  });
}

void BundleSource::plan_next_look() {
  look_timer_.expires_at(schedule_->next_look());
  look_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) look();
  });
}

void BundleSource::look() {
  watch_.refresh();
  FileIdentity found = look_at(path_);
  if (schedule_->look(found, steady_clock::now())) {
    load();
  } else if (found != schedule_->last_read()) {
    log_.debug("bundle_changing", "The bundle has changed and is read once it is whole.", {{"file", path_}});
  }
  plan_next_look();
}

void BundleSource::load() {
  auto file = read_whole(path_, true);
  if (!file) {
    schedule_->read(look_at(path_));
    return refuse({file.error()});
  }
  if (!*file) return;  // it is being written: looked at again
  schedule_->read((*file)->as);
  apply(**file);
  file = std::nullopt;
  if (untaken_ == 0) give_memory_back();  // else once it is taken
}

void BundleSource::apply(const FileText& file) {
  auto began = steady_clock::now();
  std::string digest = digest_of(file.text);
  if (digest == in_force_.snapshot->chain) {
    metrics_.set_snapshot(static_cast<std::int64_t>(in_force_.snapshot->revision), clock_.now_us());
    log_.info("bundle_unchanged", "The bundle is what is in force.", {{"file", path_}, {"chain", digest}});
    return accept(telemetry::BundleLoad::unchanged);
  }
  auto loaded = load_bundle(file.text, std::move(digest), in_force_.snapshot->revision + 1, clock_.now_us());
  if (!loaded) return refuse(loaded.error());
  publish(std::move(*loaded), began);
}

void BundleSource::publish(BundleContent content, Time began) {
  auto& snapshot = content.snapshot;
  auto swap = std::make_shared<Swap>();
  swap->load_time = since(began);
  swap->revision = snapshot->revision;
  swap->chain = snapshot->chain;
  swap->now = counts_of(*snapshot);
  swap->to_take = parties_;
  if (in_force_.snapshot) {
    swap->before = counts_of(*in_force_.snapshot);
    removed_.change(*in_force_.snapshot, *snapshot);
    retired_.push_back(std::move(in_force_));
  }
  in_force_ = {std::move(snapshot), removed_.keys()};
  metrics_.set_snapshot(static_cast<std::int64_t>(swap->revision), in_force_.snapshot->made_at_us);
  log_warnings(log_, path_, content.warnings, kFaultsLogged);
  swap->warnings = content.warnings.size();
  swap->published = steady_clock::now();
  ++untaken_;
  publish_(in_force_,
           [this, swap] { boost::asio::post(context_, [this, swap, at = steady_clock::now()] { taken(*swap, at); }); });
  accept(telemetry::BundleLoad::loaded);
}

// Memory is given back only now: while that goes on, nobody can free what this thread has allocated, and a worker does
// when it takes what it was sent.
void BundleSource::taken(Swap& swap, Time at) {
  swap.taken = std::max(swap.taken, at);
  if (--swap.to_take > 0) return;
  log_in_force(swap);
  if (--untaken_ == 0) give_memory_back();
  free_retired();
}

void BundleSource::log_in_force(const Swap& swap) const {
  log_.info("snapshot_loaded", "Policies are in force.",
            {{"file", path_},
             {"revision", swap.revision},
             {"chain", swap.chain},
             {"tenants", swap.now.tenants},
             {"tenants_change", swap.now.tenants - swap.before.tenants},
             {"plans", swap.now.plans},
             {"plans_change", swap.now.plans - swap.before.plans},
             {"policies", swap.now.policies},
             {"policies_change", swap.now.policies - swap.before.policies},
             {"keys", swap.now.keys},
             {"keys_change", swap.now.keys - swap.before.keys},
             {"overridden_counters", swap.now.overridden_counters},
             {"overridden_counters_change", swap.now.overridden_counters - swap.before.overridden_counters},
             {"warnings", swap.warnings},
             {"load_ms", swap.load_time.count()},
             {"swap_ms", std::chrono::duration<double, std::milli>(swap.taken - swap.published).count()}});
}

// Whoever uses a former snapshot lets go of it soon: a request in flight, a pass over overrides.
void BundleSource::free_retired() {
  if (std::erase_if(retired_, unused) > 0) give_memory_back();
  if (retired_.empty()) return;
  retired_timer_.expires_after(kRetiredEvery);
  retired_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) free_retired();
  });
}

void BundleSource::refuse(const Faults& faults) {
  std::uint64_t revision = in_force_.snapshot->revision;
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

}  // namespace sluice::agent
