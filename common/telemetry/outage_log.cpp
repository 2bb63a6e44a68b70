#include "common/telemetry/outage_log.hpp"

#include <vector>

namespace sluice::telemetry {
namespace {

std::int64_t milliseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

}  // namespace

void OutageLog::failed(std::uint32_t party, std::string_view event, std::string_view message, const Error& why,
                       std::initializer_list<LogField> fields) {
  const std::lock_guard lock(mutex_);
  failing_.insert(party);
  if (lasts()) {
    newest_ = why;
    return add_failure();
  }
  began_ = logged_ = now_();
  failures_ = 1;
  failures_since_ = 0;
  newest_ = why;
  lasts_.store(true, std::memory_order_relaxed);
  std::vector<LogField> all(fields);
  all.emplace_back("code", why.code);
  all.emplace_back("reason", why.text);
  log_.write(LogLevel::warn, event, message, all);
}

bool OutageLog::count() {
  if (!lasts()) return false;
  const std::lock_guard lock(mutex_);
  if (failing_.empty()) return false;
  add_failure();
  return true;
}

void OutageLog::works(std::uint32_t party) {
  if (!lasts()) return;
  const std::lock_guard lock(mutex_);
  if (failing_.erase(party) > 0 && failing_.empty()) worked_ = now_();
}

void OutageLog::tick() {
  if (!lasts()) return;
  const std::lock_guard lock(mutex_);
  if (!failing_.empty()) return remind();
  if (!lasts() || now_() - worked_ < kSettled) return;
  lasts_.store(false, std::memory_order_relaxed);
  log_.info(lines_.ended_event, lines_.ended_message,
            {{"duration_ms", milliseconds(worked_ - began_)}, {"failures", failures_}});
}

void OutageLog::add_failure() {
  ++failures_;
  ++failures_since_;
  remind();
}

void OutageLog::remind() {
  const Time now = now_();
  if (now - logged_ < kRemindEvery) return;
  logged_ = now;
  log_.warn(lines_.lasts_event, lines_.lasts_message,
            {{"lasts_ms", milliseconds(now - began_)},
             {"failures", failures_},
             {"failures_since", failures_since_},
             {"code", newest_.code},
             {"reason", newest_.text}});
  failures_since_ = 0;
}

}  // namespace sluice::telemetry
