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

// The text fits into the string object, so it needs no memory.
v1::Status stopped() noexcept { return {v1::Code::stopped, "engine closed"}; }

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
class RedisLane::Job final : public decide::CheckListener {
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
    clear(*ticket_->decision);
    ticket_->decision->status = status_of(refusal);
    if (!check_.is_lost()) return end();
    std::exchange(ticket_, nullptr)->ended();  // Redis may still answer to this object
  }

 private:
  void end() noexcept {
    caller_ = {};
    Ticket& ticket = *std::exchange(ticket_, nullptr);
    lane_.jobs_.give_back(*this);
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
  AsyncTicket(RedisLane& its_lane, const v1::Request& its_request, v1::Engine::Callback its_callback)
      : lane(its_lane), asked(its_request), callback(std::move(its_callback)) {
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
  const v1::Engine::Callback callback;
};

struct RedisLane::LeaseTicket final : limiter::LeaseListener {
  LeaseTicket(Loop& its_loop, Loop::Waiter& its_waiter) : loop(its_loop), waiter(its_waiter) {}
  void settled(const limiter::StoreResult<limiter::LeaseOutcome>& its_result) override {
    if (is_lost) return;
    result = its_result;
    loop.finish(waiter);
  }

  Loop& loop;
  Loop::Waiter& waiter;
  limiter::StoreResult<limiter::LeaseOutcome> result{};
  bool is_lost = false;  // an allocation failed while Redis was asked, which may still answer
};

RedisLane::RedisLane(std::size_t index, engine::Shared& shared, const std::string& tenant,
                     const v1::DecisionHook& on_decision)
    : on_decision_(on_decision),
      lane_(index, loop_.context(), shared, [this] { callers_.set_snapshot(lane_.in_force().snapshot); }),
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
  while (!given_up_.empty()) {
    AsyncTicket* const ticket = given_up_.back();
    given_up_.pop_back();
    ticket->call();
  }
}

void RedisLane::start_thread() {
  thread_ = std::thread([this] { loop_.run(); });
}

void RedisLane::tick() {
  lane_.tick();
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
    job = &jobs_.take(*this);
    return job->start(ticket);
  } catch (const std::bad_alloc&) {
    decision.status = out_of_memory();
  } catch (...) {  // of Options::clock_us
    decision.status = hook_failed();
  }
  clear(decision);
  if (job != nullptr) jobs_.give_back(*job);
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

void RedisLane::check_async(const v1::Request& request, v1::Engine::Callback callback) {
  auto ticket = std::make_unique<AsyncTicket>(*this, request, std::move(callback));
  if (closing_) return begin(*ticket.release());  // a callback asks again
  boost::asio::post(loop_.context(), [this, &ticket = *ticket] { begin(ticket); });
  static_cast<void>(ticket.release());  // it owns itself now
}

// `ask(leases, origin, listener)` asks Redis.
template <class Ask>
v1::Status RedisLane::change_lease(std::string_view tenant, std::string_view lease_id, limiter::LeaseOutcome& outcome,
                                   Ask ask) {
  Loop::Waiter waiter;
  auto ticket = std::make_unique<LeaseTicket>(loop_, waiter);
  std::vector<limiter::LeaseRef> leases;
  v1::Status status;
  bool asked = false;
  const auto begin = [&] {
    if (closing_) return stopped();
    if (lane_.decider().snapshot() == nullptr) return status_of({.kind = decide::Refusal::Kind::no_policies});
    v1::Status found_status;
    const Callers::Found found = callers_.find(tenant, found_status);
    if (found.caller == nullptr) return found_status;
    auto known = lane_.decider().find_leases(*found.caller, lease_id);
    if (!known) return status_of(known.error());
    leases = *std::move(known);
    asked = true;
    ask(leases, found.origin, *ticket);
    return v1::Status();
  };
  loop_.run_until_finished(waiter, [&] {
    try {
      status = begin();
    } catch (const std::bad_alloc&) {
      status = out_of_memory();
      if (asked) ticket.release()->is_lost = true;
    }
    if (!status.ok()) loop_.finish(waiter);
  });
  if (!status.ok()) return status;
  if (!ticket->result) return {v1::Code::unreachable, std::string(limiter::describe(ticket->result.error().fault))};
  outcome = *ticket->result;
  return status;
}

// A lease that has ended by itself has given its place back.
v1::Status RedisLane::release(std::string_view tenant, std::string_view lease_id) {
  limiter::LeaseOutcome outcome;
  return change_lease(tenant, lease_id, outcome, [this](const auto& leases, const auto& origin, auto& listener) {
    lane_.decider().release(leases, origin, listener);
  });
}

v1::Status RedisLane::renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us) {
  limiter::LeaseOutcome outcome;
  v1::Status status =
      change_lease(tenant, lease_id, outcome, [this](const auto& leases, const auto& origin, auto& listener) {
        lane_.decider().renew(leases, origin, listener);
      });
  if (!status.ok()) return status;
  if (!outcome.live) return {v1::Code::unknown_lease, "lease_id: the lease has ended"};
  if (expires_us != nullptr) *expires_us = outcome.expires_at_us;
  return status;
}

}  // namespace sluice::lib
