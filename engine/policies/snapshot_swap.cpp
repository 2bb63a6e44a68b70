#include "engine/policies/snapshot_swap.hpp"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::policies {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLongLoad{20};       // after a load this long, freed memory is returned to the system
constexpr milliseconds kRetiredEvery{100};  // how often the agent looks for former snapshots that are unused

milliseconds since(steady_clock::time_point began) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - began);
}

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

struct SnapshotSwap::Swap {
  bool log = true;
  std::uint64_t revision = 0;
  std::string chain;
  Counts before;
  Counts now;
  std::size_t warnings = 0;
  milliseconds load_time{0};
  Time published;
  Time last_used;                // when the last worker took the snapshot
  std::size_t workers_left = 0;  // workers that have not taken the snapshot yet
  std::function<void()> done;
};

SnapshotSwap::SnapshotSwap(boost::asio::io_context& context, telemetry::Metrics& metrics, telemetry::Log& log,
                           Publish publish, std::size_t workers, Source source)
    : context_(context),
      metrics_(metrics),
      log_(log),
      publish_(std::move(publish)),
      workers_(workers),
      source_(std::move(source)),
      retired_timer_(context) {}

void SnapshotSwap::publish(Publication publication, std::size_t warnings, Time began, std::function<void()> done) {
  const policy::Snapshot& snapshot = *publication.snapshot;
  auto swap = std::make_shared<Swap>();
  swap->load_time = since(began);
  load_was_long_ = load_was_long_ || swap->load_time >= kLongLoad;
  swap->revision = snapshot.revision;
  swap->chain = snapshot.chain;
  swap->now = counts_of(snapshot);
  swap->warnings = warnings;
  swap->done = std::move(done);
  if (in_force_.snapshot) {
    swap->before = counts_of(*in_force_.snapshot);
    retired_.push_back(std::move(in_force_));
  }
  in_force_ = std::move(publication);
  withdrawn_ = false;
  metrics_.set_snapshot(static_cast<std::int64_t>(swap->revision), snapshot.made_at_us);
  hand_out(in_force_, std::move(swap));
}

void SnapshotSwap::withdraw() {
  withdrawn_ = true;
  auto swap = std::make_shared<Swap>();
  swap->log = false;
  hand_out({}, std::move(swap));
}

void SnapshotSwap::restore() {
  withdrawn_ = false;
  auto swap = std::make_shared<Swap>();
  swap->log = false;
  hand_out(in_force_, std::move(swap));
}

void SnapshotSwap::hand_out(const Publication& publication, std::shared_ptr<Swap> swap) {
  swap->workers_left = workers_;
  swap->published = steady_clock::now();
  ++unfinished_;
  publish_(publication, [this, swap] {
    boost::asio::post(context_, [this, swap, at = steady_clock::now()] { on_used(*swap, at); });
  });
}

void SnapshotSwap::on_used(Swap& swap, Time at) {
  swap.last_used = std::max(swap.last_used, at);
  if (--swap.workers_left > 0) return;
  if (swap.log) log_in_force(swap);
  --unfinished_;
  if (load_was_long_) give_memory_back();
  free_retired();
  if (const auto done = std::exchange(swap.done, {})) done();
}

void SnapshotSwap::give_memory_back() {
  if (unfinished_ == 0) ::malloc_trim(0);
}

void SnapshotSwap::log_in_force(const Swap& swap) const {
  log_.info("snapshot_loaded", "Policies are in force.",
            {{source_.kind, source_.name},
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
             {"swap_ms", std::chrono::duration<double, std::milli>(swap.last_used - swap.published).count()}});
}

// Requests in flight and OverridePublisher can still use a former snapshot for some seconds.
void SnapshotSwap::free_retired() {
  if (std::erase_if(retired_, unused) > 0 && load_was_long_) give_memory_back();
  if (retired_.empty()) {
    load_was_long_ = false;
    return;
  }
  retired_timer_.expires_after(kRetiredEvery);
  retired_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) free_retired();
  });
}

}  // namespace sluice::policies
