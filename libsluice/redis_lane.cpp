#include "libsluice/redis_lane.hpp"

#include <chrono>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "engine/decide/check.hpp"
#include "libsluice/decision_of.hpp"
#include "libsluice/request_of.hpp"

namespace sluice::lib {
namespace {

constexpr std::chrono::milliseconds kTick{250};

// How many ticks Redis may be asked at most, with all waits. Not a time, because a loop that nobody runs does not tick,
// and finds answers later.
std::uint64_t patience(const redis::Options& redis) {
  return static_cast<std::uint64_t>(2 * (redis.deadline + redis.batch_queue_wait) / kTick) + 4;
}

}  // namespace

// What a check is asked for, and where its decision goes.
struct RedisLane::Ticket {
  const v1::Request* request = nullptr;
  v1::Decision* decision = nullptr;
  bool batch = false;
  Pause pause{};  // of a check that was denied

  virtual void ended() noexcept = 0;  // on the loop; the decision is written

 protected:
  ~Ticket() = default;
};

// One check on its way. Thread: the loop's.
class RedisLane::Job final : public OpenAsks::Ask, public decide::CheckListener {
 public:
  explicit Job(RedisLane& lane) : lane_(lane), check_(lane.lane_.decider()) {}

  void start(Ticket& ticket) {
    ticket_ = &ticket;
    v1::Decision& decision = *ticket.decision;
    decide::Decider& decider = lane_.lane_.decider();
    auto place = decider.admit();
    if (!place) {
      convert(place.error(), *ticket.request, decision);
      return end();
    }
    const Callers::Found found = lane_.callers_.find(*ticket.request, decision.status);
    if (found.caller == nullptr || !reader_.read(*ticket.request, request_, decision.status)) {
      clear(decision);
      place->leave();
      return end();
    }
    caller_ = *found.caller;  // other policies may come while Redis is asked
    limiter::Origin origin = found.origin;
    origin.batch = ticket.batch;
    check_.start(*std::move(place), caller_, origin, request_, {}, *this);
  }

  void decided(std::size_t, const Decision& decision) override {
    if (ticket_ == nullptr) return;  // given up
    v1::Decision& to = *ticket_->decision;
    if (lane_.closing_) {
      clear(to);
      to.status = stopped();
    } else {
      convert(decision, *ticket_->request, to);
      if (!to.allowed) ticket_->pause = pause_after(to, caller_.tenant);
    }
    end();
  }
  void refused(std::size_t, const decide::Refusal& refusal) override {
    if (ticket_ == nullptr) return;
    clear(*ticket_->decision);
    ticket_->decision->status = status_of(refusal);
    end();
  }
  void give_up(v1::Status why) noexcept override {
    Ticket& ticket = *std::exchange(ticket_, nullptr);
    lane_.asks_.lose(*this);
    clear(*ticket.decision);
    ticket.decision->status = std::move(why);
    ticket.ended();
  }
  void retire() noexcept {
    ticket_ = nullptr;
    lane_.asks_.remove(*this);
    lane_.jobs_.give_back(*this);
  }

 private:
  void end() noexcept {
    caller_ = {};
    Ticket& ticket = *std::exchange(ticket_, nullptr);
    retire();
    ticket.ended();
  }

  RedisLane& lane_;
  Ticket* ticket_ = nullptr;
  decide::Caller caller_;
  RequestReader reader_;
  CheckRequest request_;
  decide::Check check_;
};

// Checks that their thread waits for.
struct RedisLane::SyncTickets {
  struct One final : Ticket {
    void ended() noexcept override {
      if (--all->open == 0) all->loop.finish(all->waiter);
    }
    SyncTickets* all = nullptr;
  };

  Loop& loop;
  std::size_t open = 0;
  Loop::Waiter waiter{};
};

struct RedisLane::AsyncTicket final : Ticket {
  AsyncTicket(RedisLane& its_lane, const v1::Request& its_request) : lane(its_lane), asked(its_request) {
    request = &asked;
    decision = &made;
  }

  // The callback is no part of what the loop does now: it may ask the engine again.
  void ended() noexcept override {
    try {
      if (lane.closing_) return lane.given_up_.push_back(this);
      boost::asio::post(lane.loop_.context(), [this] { call(); });
    } catch (const std::bad_alloc&) {
      call();
    }
  }
  void call() noexcept {
    const std::unique_ptr<AsyncTicket> self(this);
    try {
      if (lane.on_decision_ && made.status.ok()) lane.on_decision_(asked, made);
    } catch (...) {  // is the program's affair
    }
    try {
      callback(made);
    } catch (...) {  // likewise
    }
  }

  RedisLane& lane;
  const v1::Request asked;
  v1::Decision made;
  v1::Engine::Callback callback;
};

RedisLane::RedisLane(std::size_t index, engine::Shared& shared, const std::string& tenant,
                     const v1::DecisionHook& on_decision)
    : loop_([this] { mend(); }),
      on_decision_(on_decision),
      asks_(patience(*shared.redis)),
      lane_(index, loop_.context(), shared),
      callers_(lane_.decider(), tenant),
      ticker_(loop_.context()) {
  lane_.start();
  tick();
}

RedisLane::~RedisLane() { close(); }

void RedisLane::close() {
  if (closing_) return;
  if (thread_.joinable()) {
    loop_.stop();
    thread_.join();
  }
  closing_ = true;
  loop_.poll();   // checks that have not begun are given up,
  lane_.close();  // and those that wait for Redis
  asks_.give_up_all(&stopped);
  asks_.delete_lost();
  while (!given_up_.empty()) {
    AsyncTicket* const ticket = given_up_.back();
    given_up_.pop_back();
    ticket->call();
  }
}

void RedisLane::start_thread() {
  thread_ = std::thread([this] { loop_.run(); });
}

// After an allocation on the loop has failed: what was to happen next may be lost, a timer, a read or the answer to a
// check. So the connection is opened anew, and who waited for Redis is answered.
void RedisLane::mend() {
  if (closing_) return;
  lane_.stop();
  asks_.give_up_all(&out_of_memory);
  lane_.start();
  take_news();
  tick();
}

void RedisLane::tick() {
  lane_.tick();
  if (asks_.tick()) loop_.want_mending();
  ticker_.expires_after(kTick);
  ticker_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) tick();
  });
}

void RedisLane::begin(Ticket& ticket) noexcept {
  v1::Decision& decision = *ticket.decision;
  decision.status.code = v1::Code::ok;
  decision.status.message.clear();
  if (closing_) {
    clear(decision);
    decision.status = stopped();
    return ticket.ended();
  }
  Job* job = nullptr;
  try {
    if (has_news_.load(std::memory_order_acquire)) [[unlikely]]
      take_news();
    job = &jobs_.take(*this);
    asks_.add(*job);
    return job->start(ticket);
  } catch (const std::bad_alloc&) {
    decision.status = out_of_memory();
  } catch (...) {  // of Options::clock_us
    decision.status = clock_failed();
  }
  clear(decision);
  if (job != nullptr) job->retire();
  ticket.ended();
}

void RedisLane::check(std::span<const v1::Request> requests, std::span<v1::Decision> decisions, bool batch) {
  if (requests.empty()) return;
  SyncTickets all{.loop = loop_, .open = requests.size()};
  std::vector<SyncTickets::One> tickets(requests.size());
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    tickets[i].request = &requests[i];
    tickets[i].decision = &decisions[i];
    tickets[i].batch = batch;
    tickets[i].all = &all;
  }
  loop_.run_until_finished(all.waiter, [&] {
    for (SyncTickets::One& ticket : tickets) begin(ticket);
  });
}

Pause RedisLane::check_once(const v1::Request& request, v1::Decision& decision) {
  SyncTickets all{.loop = loop_, .open = 1};
  SyncTickets::One ticket;
  ticket.request = &request;
  ticket.decision = &decision;
  ticket.all = &all;
  loop_.run_until_finished(all.waiter, [&] { begin(ticket); });
  return ticket.pause;
}

void RedisLane::check_async(const v1::Request& request, v1::Engine::Callback& callback) {
  auto ticket = std::make_unique<AsyncTicket>(*this, request);
  ticket->callback.swap(callback);
  if (closing_) return begin(*ticket.release());  // a callback asks again
  try {
    boost::asio::post(loop_.context(), [this, &ticket = *ticket] { begin(ticket); });
  } catch (...) {
    ticket->callback.swap(callback);
    throw;
  }
  static_cast<void>(ticket.release());  // it owns itself now
}

// Without memory to wake the loop, the next check takes them.
void RedisLane::publish(policies::Publication publication, std::function<void()> on_used) noexcept {
  {
    const std::lock_guard lock(mutex_);
    news_ = std::move(publication);
    on_used_.swap(on_used);
    has_news_.store(true, std::memory_order_release);
  }
  if (on_used) on_used();  // of policies that were replaced before a check could use them
  try {
    boost::asio::post(loop_.context(), [this] {
      if (!closing_) take_news();
    });
  } catch (const std::bad_alloc&) {
  }
}

// If there is no memory for writing overrides, that is done again when the connection is opened anew.
void RedisLane::take_news() {
  policies::Publication news;
  std::function<void()> on_used;
  {
    const std::lock_guard lock(mutex_);
    if (!has_news_) return;
    news = std::exchange(news_, {});
    on_used.swap(on_used_);
    has_news_.store(false, std::memory_order_relaxed);
  }
  callers_.set_snapshot(news.snapshot);
  try {
    lane_.use(std::move(news), on_used);
  } catch (const std::bad_alloc&) {
    loop_.want_mending();
  }
}

}  // namespace sluice::lib
