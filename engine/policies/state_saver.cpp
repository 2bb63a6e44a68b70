#include "engine/policies/state_saver.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engine/policies/bundle_file.hpp"

namespace sluice::policies {
namespace {

using std::chrono::steady_clock;

constexpr int kSaverNiceness = 15;  // decisions and following the server go first
constexpr int kPauseFactor = 10;    // the pause after a save is at least this many times as long as the save

}  // namespace

Result<StateSaver::LoadedState> StateSaver::load(
    const std::function<std::optional<std::string>(const sync::SavedState&)>& check) {
  LoadedState saved;
  auto loaded = files_.load([&](std::string_view content) -> std::optional<std::string> {
    const auto state = sync::read_state(content);
    if (!state) return state.error().text;
    saved.head = state->head;
    return check(*state);
  });
  if (!loaded) return std::unexpected(loaded.error());
  for (const std::string& damage : loaded->damage) {
    log_.warn("last_known_good_damaged", "A file of the last good state cannot be used; the agent uses the other one.",
              {{"file", path_}, {"reason", damage}});
  }
  on_disk_ = loaded->damage.empty();
  saved.content = std::move(loaded->content);
  saved.confirmed = loaded->written;
  return saved;
}

void StateSaver::start() {
  thread_ = std::jthread([this] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kSaverNiceness);
    run();
  });
}

void StateSaver::save(sync::ScopeState state) {
  {
    const std::lock_guard lock(mutex_);
    to_save_ = std::move(state);
  }
  changed_.notify_one();
}

void StateSaver::confirmed() {
  {
    const std::lock_guard lock(mutex_);
    to_confirm_ = true;
  }
  changed_.notify_one();
}

void StateSaver::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::optional<std::string> StateSaver::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void StateSaver::run() {
  auto save_at = steady_clock::time_point::min();
  auto confirm_at = save_at;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || to_save_ || to_confirm_; });
    // If only a confirmation is to be written, a new state ends the wait below.
    const auto at = to_save_ ? save_at : confirm_at;
    if (!stopping_ && at > steady_clock::now()) {
      changed_.wait_until(lock, at,
                          [this, saving = to_save_.has_value()] { return stopping_ || (!saving && to_save_); });
      if (!stopping_) {
        if ((to_save_ ? save_at : confirm_at) > steady_clock::now()) continue;
      }
    }
    const auto state = std::exchange(to_save_, std::nullopt);
    const bool confirm = std::exchange(to_confirm_, false);
    const bool last = stopping_;
    lock.unlock();
    const auto began = steady_clock::now();
    if (state) {
      const auto saved = files_.save(sync::write_state(*state));
      on_disk_ = saved.has_value();
      note_result(saved);
    } else if (confirm && on_disk_) {
      note_result(files_.confirm());
    }
    const auto now = steady_clock::now();
    if (state) save_at = now + std::max<steady_clock::duration>(kEvery, (now - began) * kPauseFactor);
    confirm_at = now + kConfirmEvery;
    lock.lock();
    if (last) return;
  }
}

void StateSaver::note_result(const Result<>& saved) {
  const std::lock_guard lock(mutex_);
  if (saved) {
    if (problem_) log_.info("last_known_good_saved", "The last good state can be saved again.", {{"file", path_}});
    problem_.reset();
    return;
  }
  errors_.fetch_add(1, std::memory_order_relaxed);
  if (!problem_) {
    log_.error("last_known_good_failed",
               "The last good state cannot be saved: a start without the server would find older policies, or none.",
               {{"file", path_}, {"code", saved.error().code}, {"reason", saved.error().text}});
  }
  problem_ = "the last good state cannot be saved: " + saved.error().text;
}

}  // namespace sluice::policies
