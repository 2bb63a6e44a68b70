// The admin API over HTTP: finds the route, checks what can be checked without PostgreSQL (also the token,
// caller_gate), hands the call to the pool of PostgreSQL connections, and sends the answer.
//
// libpq waits without limit for a PostgreSQL that does not answer. So a call that exceeds the time limit is answered
// 503, although it may still succeed.
//
// Thread: the server's loop. Calls run on the pool's threads.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/clock.hpp"
#include "common/http/server.hpp"
#include "common/telemetry/log.hpp"
#include "common/tracing/tracer.hpp"
#include "server/admin/caller_gate.hpp"
#include "server/admin/event_streams.hpp"
#include "server/admin/executor.hpp"
#include "server/admin/metrics.hpp"
#include "server/admin/openapi.hpp"
#include "server/admin/pending_call.hpp"
#include "server/admin/waiting_calls.hpp"
#include "server/playground/agent_calls.hpp"
#include "server/postgres/pool.hpp"
#include "server/sessions/request_check.hpp"

namespace sluice::server::admin {

class AdminService final : public sluice::http::Handler {
 public:
  AdminService(boost::asio::io_context& loop, postgres::Pool& pool, http::RequestMemory& memory, CallerGate& gate,
               Executor& executor, CallMetrics& metrics, telemetry::Log& log, std::chrono::milliseconds call_timeout,
               tracing::Tracer* tracer)
      : loop_(loop),
        pool_(pool),
        memory_(memory),
        gate_(gate),
        executor_(executor),
        metrics_(metrics),
        log_(log),
        call_timeout_(call_timeout),
        tracer_(tracer),
        waiting_(
            loop,
            [this](std::shared_ptr<Pending> call) {
              track_deadline(call);
              submit(std::move(call));
            },
            [this](Pending& call, FinishedAnswer answer) { finish(call, std::move(answer)); }),
        streams_(loop,
                 [this](std::shared_ptr<Pending> call) {
                   track_deadline(call);
                   submit(std::move(call));
                 }),
        timer_(loop) {
    openapi_document();  // assembles the document before the first call needs it
  }

  // How browsers reach the server. REQUIRES: called before the first call.
  void set_site(sessions::Site site) { site_ = std::move(site); }

  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  bool answers(std::string_view method, std::string_view path) const override;
  // Reads a large body only if the caller has the permission for the call.
  void admit(sluice::http::Request& head, sluice::http::Admission admission) override;
  void handle(sluice::http::Request& request, sluice::http::Reply reply) override;

  // REQUIRES: called before the first call. `agent` outlives this object's calls.
  void set_agent(playground::AgentCalls& agent) { agent_ = &agent; }

  // Answers all calls that wait for a condition (WaitingCalls) and ends all event streams, because the server drains.
  void end_waiting() {
    waiting_.end();
    streams_.end();
  }

  const EventStreams::Statistics& streams() const { return streams_.statistics(); }

 private:
  using Pending = PendingCall;

  void begin(sluice::http::Request& request, std::shared_ptr<Pending> pending);
  void begin_span(const sluice::http::Request& request, const Route* route, Pending& pending);
  void submit(std::shared_ptr<Pending> pending);
  void track_deadline(const std::shared_ptr<Pending>& pending);
  void wake_at_next_deadline();
  void give_up_late_calls();
  void set_aside(const sluice::http::Request& request, Pending& pending);
  std::optional<http::Refusal> read_body(Pending& pending);
  void ask_agent(std::shared_ptr<Pending> pending, const playground::AgentCheck& check);
  void finish(Pending& pending, FinishedAnswer answer);
  void count(Pending& pending, unsigned status);

  boost::asio::io_context& loop_;
  postgres::Pool& pool_;
  http::RequestMemory& memory_;
  CallerGate& gate_;
  Executor& executor_;
  CallMetrics& metrics_;
  telemetry::Log& log_;
  const std::chrono::milliseconds call_timeout_;
  tracing::Tracer* const tracer_;  // nullptr: no traces
  sessions::Site site_;
  // In the order of PendingCall::begin. May contain answered calls.
  std::deque<std::weak_ptr<Pending>> calls_;
  WaitingCalls waiting_;
  EventStreams streams_;
  playground::AgentCalls* agent_ = nullptr;  // nullptr: no playground
  boost::asio::steady_timer timer_;
  bool timer_runs_ = false;
};

}  // namespace sluice::server::admin
