#include "agent/policies/state_keeper.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/policies/bundle_file.hpp"

namespace sluice::agent::policies {
namespace {

using std::chrono::steady_clock;

constexpr int kKeeperNiceness = 15;  // behind decisions, and behind following the server
constexpr int kShareOfTime = 10;     // what takes long is done less often: a tenth of the time at most

}  // namespace

Result<StateKeeper::Kept> StateKeeper::load(
    const std::function<std::optional<std::string>(const sync::KeptState&)>& check) {
  Kept kept;
  auto loaded = files_.load([&](std::string_view content) -> std::optional<std::string> {
    const auto state = sync::read_state(content);
    if (!state) return state.error().text;
    kept.head = state->head;
    return check(*state);
  });
  if (!loaded) return std::unexpected(loaded.error());
  for (const std::string& damage : loaded->damage) {
    log_.warn("last_known_good_damaged", "A file of the last good policies is of no use; another one is.",
              {{"file", path_}, {"reason", damage}});
  }
  on_disk_ = loaded->damage.empty();
  kept.content = std::move(loaded->content);
  kept.confirmed = loaded->written;
  return kept;
}

void StateKeeper::start() {
  thread_ = std::jthread([this] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kKeeperNiceness);
    run();
  });
}

void StateKeeper::keep(sync::ScopeState state) {
  {
    const std::lock_guard lock(mutex_);
    to_keep_ = std::move(state);
  }
  changed_.notify_one();
}

void StateKeeper::confirmed() {
  {
    const std::lock_guard lock(mutex_);
    to_confirm_ = true;
  }
  changed_.notify_one();
}

void StateKeeper::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::optional<std::string> StateKeeper::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void StateKeeper::run() {
  auto save_at = steady_clock::time_point::min();
  auto confirm_at = save_at;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || to_keep_ || to_confirm_; });
    // Not before its time, unless it is the last time.
    const auto at = to_keep_ ? save_at : confirm_at;
    if (!stopping_ && at > steady_clock::now()) {
      changed_.wait_until(lock, at,
                          [this, saving = to_keep_.has_value()] { return stopping_ || (!saving && to_keep_); });
      if (!stopping_) {
        if ((to_keep_ ? save_at : confirm_at) > steady_clock::now()) continue;
      }
    }
    const auto state = std::exchange(to_keep_, std::nullopt);
    const bool confirm = std::exchange(to_confirm_, false);
    const bool last = stopping_;
    lock.unlock();
    const auto began = steady_clock::now();
    if (state) {
      const auto saved = files_.save(sync::write_state(*state));
      on_disk_ = saved.has_value();
      tell(saved);
    } else if (confirm && on_disk_) {
      tell(files_.confirm());
    }
    const auto now = steady_clock::now();
    if (state) save_at = now + std::max<steady_clock::duration>(kEvery, (now - began) * kShareOfTime);
    confirm_at = now + kConfirmEvery;
    lock.lock();
    if (last) return;
  }
}

void StateKeeper::tell(const Result<>& saved) {
  const std::lock_guard lock(mutex_);
  if (saved) {
    if (problem_) log_.info("last_known_good_saved", "The last good policies are kept again.", {{"file", path_}});
    problem_.reset();
    return;
  }
  errors_.fetch_add(1, std::memory_order_relaxed);
  if (!problem_) {
    log_.error("last_known_good_failed",
               "The last good policies cannot be kept: a start without the server would find older ones, or none.",
               {{"file", path_}, {"code", saved.error().code}, {"reason", saved.error().text}});
  }
  problem_ = "the last good policies cannot be kept: " + saved.error().text;
}

}  // namespace sluice::agent::policies
