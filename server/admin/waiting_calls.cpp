#include "server/admin/waiting_calls.hpp"

#include <algorithm>
#include <utility>

namespace sluice::server::admin {

using std::chrono::steady_clock;

bool WaitingCalls::keep_waiting(const std::shared_ptr<PendingCall>& call, const FinishedAnswer& answer) {
  const auto now = steady_clock::now();
  const auto until = call->arrived + answer.wait;
  if (ended_ || call->answered || now >= until || calls_.size() >= kMaxCalls) return false;
  const auto due = std::min(now + kRepeatEvery, until);
  auto next = std::make_shared<PendingCall>(*call);
  next->call.resumed = answer.resume;
  calls_.emplace(due, Waiting{.call = std::move(next), .answer = answer});
  wake_at_next();
  return true;
}

void WaitingCalls::end() {
  ended_ = true;
  timer_.cancel();
  for (auto& [due, waiting] : std::exchange(calls_, {})) finish_(*waiting.call, waiting.answer);
}

void WaitingCalls::wake_at_next() {
  if (calls_.empty()) return;
  timer_.expires_at(calls_.begin()->first);
  timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) repeat_due();
  });
}

void WaitingCalls::repeat_due() {
  const auto now = steady_clock::now();
  while (!calls_.empty() && calls_.begin()->first <= now) {
    const std::shared_ptr<PendingCall> call = std::move(calls_.begin()->second.call);
    calls_.erase(calls_.begin());
    call->begin = now;
    repeat_(call);
  }
  wake_at_next();
}

}  // namespace sluice::server::admin
