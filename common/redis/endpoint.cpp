#include "common/redis/endpoint.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace sluice::redis {
namespace {

constexpr std::size_t kKeptBytes = std::size_t{1} << 20;  // clear() frees larger buffers

// `window_` limits the commands in flight so that a reply takes at most about deadline / kTargetDivisor.
constexpr int kTargetDivisor = 5;

void clear(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptBytes) buffer.shrink_to_fit();
}

// Moves the first `count` elements to the end, but drops those for which `keep` returns false.
template <class T, class Keep>
void rotate(Ring<T>& ring, std::size_t count, Keep keep) {
  for (; count > 0; --count) {
    const T element = ring.pop_front();
    if (keep(element)) ring.push_back(element);
  }
}

}  // namespace

// Loads one script. Commands that call the script are sent later on the same connection.
class Endpoint::Load final : public Command {
 public:
  explicit Load(std::string_view text) : text_(text) {}
  void write(CommandWriter& out, CallBy) override { out.array(3).bulk("SCRIPT").bulk("LOAD").bulk(text_); }
  void on_reply(const Reply&) override { under_way = false; }
  void on_failure(Failure) override { under_way = false; }

  bool under_way = false;

 private:
  std::string_view text_;
};

class Endpoint::Ping final : public Command {
 public:
  explicit Ping(Endpoint& endpoint) : endpoint_(endpoint) {}
  void write(CommandWriter& out, CallBy) override { out.array(1).bulk("PING"); }
  void on_reply(const Reply& reply) override {
    under_way = false;
    if (reply.is_error()) return endpoint_.breaker_.probe_failed(endpoint_.now_, endpoint_.settings_.random());
    endpoint_.breaker_.probe_succeeded();
  }
  void on_failure(Failure) override {
    under_way = false;
    endpoint_.breaker_.probe_failed(endpoint_.now_, endpoint_.settings_.random());
  }

  bool under_way = false;

 private:
  Endpoint& endpoint_;
};

// Makes a node accept the next command, although the command's slot is still being moved to that node.
class Endpoint::Asking final : public Command {
 public:
  void write(CommandWriter& out, CallBy) override { out.array(1).bulk("ASKING"); }
  void on_reply(const Reply&) override {}
  void on_failure(Failure) override {}
};

Endpoint::Endpoint(Settings settings)
    : settings_(std::move(settings)),
      pipeline_(2 * settings_.deadline, *this, settings_.max_reply_bytes),
      window_(settings_.deadline / kTargetDivisor),
      breaker_(settings_.probe_every),
      ping_(std::make_unique<Ping>(*this)),
      asking_(std::make_unique<Asking>()) {
  ping_->internal_ = asking_->internal_ = true;
  for (const std::string_view text : settings_.scripts) {
    loads_.push_back(std::make_unique<Load>(text));
    loads_.back()->internal_ = true;
  }
}

Endpoint::~Endpoint() = default;

void Endpoint::submit(Command& command, const Terms& terms) {
  command.terms_ = terms;
  command.answer_by_ = terms.answer_by.value_or(TimePoint{});
  command.misses_ = command.redirects_ = 0;
  command.retried_ = command.asking_ = false;
  if (!passes(command)) return;
  if (terms.answer_by) return hurry(command);
  try {
    arrivals_.push_back(&command);
  } catch (const std::bad_alloc&) {
    end_trial(command, false);
    throw;
  }
}

void Endpoint::resubmit(Command& command, bool asking) {
  command.misses_ = 0;
  command.retried_ = false;
  command.asking_ = asking;
  if (passes(command)) hurry(command);
}

// Returns false if the command has failed, because of the breaker or for lack of a connection.
bool Endpoint::passes(Command& command) {
  if (breaker_.state() != Breaker::State::closed) {
    const bool tried = breaker_.state() == Breaker::State::half_open && trial_ == nullptr;
    if (!tried) {
      fail(command, {FailureKind::breaker_open, false});
      return false;
    }
    trial_ = &command;
  }
  if (phase_ != Phase::closed) return true;
  fail(command, {FailureKind::unavailable, false});
  return false;
}

bool Endpoint::postpone(Command& command, TimePoint now) {
  const TimePoint due = now + kPause;
  if (phase_ == Phase::closed || due >= command.answer_by_) return false;
  command.asking_ = false;
  try {
    postponed_.push_back({&command, due});
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// Sends the command with the next write.
void Endpoint::hurry(Command& command) {
  try {
    urgent_.push_back(&command);
  } catch (const std::bad_alloc&) {
    return fail_without_memory(command);
  }
  if (command.answer_by_ != TimePoint{}) urgent_until_ = std::min(urgent_until_, command.answer_by_);
}

bool Endpoint::turn(std::string* out, TimePoint now) {
  now_ = now;
  while (!postponed_.empty() && postponed_[0].due <= now) hurry(*postponed_.pop_front().command);
  if (phase_ != Phase::open) out = nullptr;
  if (out != nullptr) {
    clear(*out);
    pipeline_.begin_write();
    while (!urgent_.empty()) send(*urgent_.pop_front(), *out, now);
    urgent_until_ = TimePoint::max();
  }
  while (!arrivals_.empty()) {
    Command& command = *arrivals_.pop_front();
    if (out != nullptr && queue_.empty() && has_room()) {
      send(command, *out, now);
    } else {
      wait(command, now);
    }
  }
  if (out == nullptr) return false;
  while (has_room() && !queue_.empty()) send(*queue_.pop(now), *out, now);
  return !out->empty();
}

// Without memory for all of it, nothing of the command is sent.
void Endpoint::send(Command& command, std::string& out, TimePoint now) {
  const std::size_t before = out.size();
  const std::size_t owed = pipeline_.owed();
  try {
    append(command, out, now);
  } catch (const std::bad_alloc&) {
    while (pipeline_.owed() > owed) pipeline_.take_back();
    out.resize(before);
    fail_without_memory(command);
  }
}

void Endpoint::append(Command& command, std::string& out, TimePoint now) {
  if (command.answer_by_ == TimePoint{}) command.answer_by_ = now + settings_.deadline;
  CommandWriter writer(out);
  if (command.asking_) {
    asking_->write(writer, CallBy::hash);
    pipeline_.sent(*asking_, now, command.answer_by_);
  }
  command.write(writer, command.misses_ < 2 || call_by_ == CallBy::function ? call_by_ : CallBy::text);
  pipeline_.sent(command, now, command.answer_by_);
}

void Endpoint::wait(Command& command, TimePoint now) {
  const Terms& terms = command.terms_;
  const Duration most = terms.patience == Patience::single ? settings_.queue_wait : settings_.batch_queue_wait;
  try {
    queue_.push(command, terms.flow, terms.patience, now, now + most);
  } catch (const std::bad_alloc&) {
    fail_without_memory(command);
  }
}

void Endpoint::not_written() {
  const std::size_t before = urgent_.size();
  std::vector<Command*> unsent;
  unsent.reserve(pipeline_.owed());  // an allocation that fails later would lose a command
  while (Command* const command = pipeline_.take_back()) {
    if (command != asking_.get()) unsent.push_back(command);
  }
  for (auto command = unsent.rbegin(); command != unsent.rend(); ++command) hurry(**command);
  rotate(urgent_, before, [](const Command*) { return true; });  // the unsent commands now come first
}

Result<> Endpoint::feed(std::string_view bytes, TimePoint now) {
  now_ = heard_at_ = now;
  Result<> fed = pipeline_.feed(bytes, now);
  const Duration fastest = pipeline_.take_fastest();
  if (fastest != Duration::max()) window_.answered(fastest, !queue_.empty(), now);
  count_outcomes();
  return fed;
}

void Endpoint::on_reply(Command& command, const Reply& reply) {
  ++(is_unable(reply) ? outcomes_.failed : outcomes_.succeeded);
  if (reply.is_error() && !command.internal_ && heal(command, reply)) return;
  end_trial(command, !is_unable(reply));
  command.on_reply(reply);
}

void Endpoint::on_no_reply(Command& command, FailureKind kind) {
  if (&command == asking_.get()) return;  // the command that follows ASKING fails too, and is counted
  ++outcomes_.failed;
  fail(command, {kind, true});
}

// Returns whether the command will be sent again.
bool Endpoint::heal(Command& command, const Reply& reply) {
  const std::string_view code = reply.error_code();
  if (code == "NOSCRIPT" && command.terms_.script) {
    if (command.misses_++ == 0) load(*command.terms_.script);
  } else if ((code == "READONLY" || code == "MASTERDOWN") && !command.retried_) {
    command.retried_ = wishes_reconnect_ = true;
  } else if (code == "MOVED" || code == "ASK" || code == "CLUSTERDOWN") {
    return redirect(command, reply);
  } else {
    wishes_reconnect_ |= code == "NOAUTH" || code == "WRONGPASS" || code == "NOPERM";
    return false;
  }
  if (settings_.healed) settings_.healed(reply);
  hurry(command);
  return true;
}

// Returns whether another endpoint has taken the command.
bool Endpoint::redirect(Command& command, const Reply& reply) {
  if (!settings_.redirect || command.redirects_ == kMostRedirects) return false;
  ++command.redirects_;
  end_trial(command, true);
  try {
    return settings_.redirect(command, reply);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Endpoint::load(std::uint8_t script) {
  Load& load = *loads_[script];
  if (std::exchange(load.under_way, true)) return;
  load.answer_by_ = {};
  hurry(load);
}

void Endpoint::opened(CallBy by) {
  phase_ = Phase::open;
  call_by_ = by;
  if (by == CallBy::function) return;
  const std::size_t before = urgent_.size();
  for (std::size_t script = 0; script < loads_.size(); ++script) load(static_cast<std::uint8_t>(script));
  rotate(urgent_, before, [](const Command*) { return true; });  // the loads now come first
}

void Endpoint::taken_over(CallBy by) {
  pipeline_.disconnect(FailureKind::disconnected);  // forgets an incomplete reply
  opened(by);
}

void Endpoint::lost(FailureKind kind, Phase next, TimePoint now) {
  now_ = now;
  phase_ = next;
  pipeline_.disconnect(kind);
  rotate(urgent_, urgent_.size(), [&](Command* command) {
    if (command->internal_) fail(*command, {kind, false});
    return !command->internal_;
  });
  count_outcomes();
  if (phase_ == Phase::closed) fail_waiting(FailureKind::unavailable);
}

void Endpoint::connect_failed(TimePoint now) {
  now_ = now;
  if (breaker_.state() == Breaker::State::open) return breaker_.probe_failed(now, settings_.random());
  ++outcomes_.failed;
  count_outcomes();
}

void Endpoint::stop() {
  phase_ = Phase::closed;
  pipeline_.disconnect(FailureKind::disconnected);
  fail_waiting(FailureKind::disconnected);
}

bool Endpoint::expire(TimePoint now) {
  now_ = now;
  const std::size_t live = pipeline_.live();
  const bool alive = pipeline_.expire(now);
  if (pipeline_.live() < live) {
    window_.timed_out(now);
    late_at_ = now;
  }
  expire_urgent();
  expire_queue();
  count_outcomes();
  return alive;
}

void Endpoint::expire_urgent() {
  if (urgent_until_ > now_) return;
  urgent_until_ = TimePoint::max();
  rotate(urgent_, urgent_.size(), [this](Command* command) {
    if (command->answer_by_ != TimePoint{} && command->answer_by_ <= now_) {
      fail(*command, {FailureKind::timeout, false});
      return false;
    }
    if (command->answer_by_ != TimePoint{}) urgent_until_ = std::min(urgent_until_, command->answer_by_);
    return true;
  });
}

// Fails commands that waited too long. A tenant that had a turn during this wait asks for more than its share. But if
// Redis sent nothing in the second half of the wait, or a reply became overdue, Redis is too slow for everybody.
void Endpoint::expire_queue() {
  for (;;) {
    const auto [command, had_turn] = queue_.pop_overdue(now_);
    if (command == nullptr) return;
    const Duration half_the_wait = (command->send_by_ - command->queued_at_) / 2;
    const bool redis_answers = heard_at_ >= command->queued_at_ + half_the_wait && late_at_ < command->queued_at_;
    fail(*command, {had_turn && redis_answers ? FailureKind::overload : FailureKind::queue_timeout, false});
  }
}

Endpoint::TimePoint Endpoint::next_event() const {
  const TimePoint next_postponed = postponed_.empty() ? TimePoint::max() : postponed_[0].due;
  return std::min({pipeline_.next_event(), urgent_until_, next_postponed, queue_.next_overdue()});
}

// A command must not be lost: its handler waits for it.
void Endpoint::fail_without_memory(Command& command) { fail(command, {FailureKind::unavailable, false}); }

void Endpoint::fail(Command& command, Failure failure) {
  end_trial(command, false);
  failures_.add(command, failure);
}

void Endpoint::fail_waiting(FailureKind kind) {
  while (!urgent_.empty()) fail(*urgent_.pop_front(), {kind, false});
  urgent_until_ = TimePoint::max();
  while (!postponed_.empty()) fail(*postponed_.pop_front().command, {kind, false});
  while (!arrivals_.empty()) fail(*arrivals_.pop_front(), {kind, false});
  while (Command* const command = queue_.pop(now_)) fail(*command, {kind, false});
}

void Endpoint::count_outcomes() {
  if (breaker_.state() != Breaker::State::closed) {
    outcomes_ = {};
    return;
  }
  const Outcomes outcomes = std::exchange(outcomes_, {});
  breaker_.count(outcomes, now_, outcomes.failed > 0 ? settings_.random() : 0);
  if (breaker_.state() == Breaker::State::open) fail_waiting(FailureKind::breaker_open);
}

void Endpoint::probe() {
  if (std::exchange(ping_->under_way, true)) return;
  ping_->answer_by_ = {};
  hurry(*ping_);
}

void Endpoint::greeted(TimePoint now) {
  if (now >= breaker_.next_probe()) breaker_.probe_succeeded();
}

void Endpoint::end_trial(const Command& command, bool succeeded) {
  if (&command != trial_) return;
  trial_ = nullptr;
  breaker_.trial_ended(succeeded, now_, settings_.random());
}

std::size_t Endpoint::unfinished() const { return pipeline_.live() + waiting() + failures_.size(); }

}  // namespace sluice::redis
