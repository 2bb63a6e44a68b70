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
  const bool begins = failing_.empty();
  failing_.insert(party);
  if (!begins) return remember(why);
  began_ = logged_ = now_();
  failures_ = 1;
  newest_ = why;
  failures_since_ = 0;
  lasts_.store(true, std::memory_order_relaxed);
  std::vector<LogField> all(fields);
  all.emplace_back("code", why.code);
  all.emplace_back("reason", why.text);
  log_.write(LogLevel::warn, event, message, all);
}

bool OutageLog::counted(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (failing_.empty()) return false;
  remember(why);
  return true;
}

void OutageLog::works(std::uint32_t party) {
  if (!lasts()) return;
  const std::lock_guard lock(mutex_);
  if (failing_.erase(party) == 0 || !failing_.empty()) return;
  lasts_.store(false, std::memory_order_relaxed);
  log_.info(lines_.ended_event, lines_.ended_message,
            {{"duration_ms", milliseconds(now_() - began_)}, {"failures", failures_}});
}

void OutageLog::remind() {
  if (!lasts()) return;
  const std::lock_guard lock(mutex_);
  if (!failing_.empty()) remind_locked();
}

void OutageLog::remember(const Error& why) {
  ++failures_;
  ++failures_since_;
  newest_ = why;
  remind_locked();
}

void OutageLog::remind_locked() {
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
