// Serves the routes of policy sync from memory: snapshot, watch, report, the login to the counters' Redis, and answers
// to questions of what-if.
//
// If an agent names a revision above the server's, another chain or an unknown token, the server queries PostgreSQL
// before it answers, because the state in its memory may be outdated.
//
// Thread: the loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/base/clock.hpp"
#include "common/http/server.hpp"
#include "common/telemetry/log.hpp"
#include "common/tracing/tracer.hpp"
#include "server/auth/throttle.hpp"
#include "server/auth/token_lookups.hpp"
#include "server/http/refusal.hpp"
#include "server/sync/agent_authenticator.hpp"
#include "server/sync/call.hpp"
#include "server/sync/counters_login.hpp"
#include "server/sync/documents.hpp"
#include "server/sync/feed.hpp"
#include "server/sync/fleet_port.hpp"
#include "server/sync/questions.hpp"
#include "server/sync/request.hpp"
#include "server/sync/statistics.hpp"
#include "server/sync/watches.hpp"

namespace sluice::server::sync {

class SyncService final : public sluice::http::Handler {
 public:
  static constexpr std::string_view kPrefix = "/v1/sync/";

  struct Options {
    WatchOptions watch;
    std::chrono::milliseconds query_timeout{2'000};  // for PostgreSQL
    const CountersLogin* counters = nullptr;         // nullptr: agents get no login
    AnswerPort* answers = nullptr;                   // nullptr: agents are asked nothing
    tracing::Tracer* tracer = nullptr;               // nullptr: no traces
    // Called for each answer; nullopt: the path is no route, or its method is another. A watch is answered once it
    // begins.
    std::function<void(std::optional<SyncRoute> route, unsigned status, std::chrono::nanoseconds took)> answered = {};
  };

  SyncService(boost::asio::io_context& loop, Feed& feed, FleetPort& fleet, http::RequestMemory& memory,
              auth::FailureThrottle& throttle, auth::TokenLookups& lookups, const Clock& clock, telemetry::Log& log,
              Options options);

  // Accepts tokens of service accounts, which Kubernetes verifies. REQUIRES: called before start().
  void review_through(identity::Reviewer& reviewer);
  // `use` gets each new state, on the loop, before any look-up that the state answers is done. REQUIRES: called before
  // start().
  void follow(std::function<void(const SyncStatePtr&)> use) { use_state_ = std::move(use); }
  void start();
  // Returns false if a thread still waits for PostgreSQL after `patience`.
  bool stop_within(std::chrono::milliseconds patience);
  void tidy() { documents_.tidy(); }

  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  // Authenticates the agent before the server reads the body of a large report.
  void admit(sluice::http::Request& head, sluice::http::Admission admission) override;
  void handle(sluice::http::Request& request, sluice::http::Reply reply) override;

  const SyncStatistics& statistics() const { return statistics_; }

 private:
  using CallPtr = std::shared_ptr<SyncCall>;

  // Throws Refusal if there is no memory for a body of so many bytes.
  void set_aside(SyncCall& call, const sluice::http::Request& request, std::size_t bytes);
  void resume(const CallPtr& call);
  void answer_call(const CallPtr& call);
  std::shared_ptr<const AgentToken> authenticate(const CallPtr& call);
  using Done = std::function<void(bool succeeded)>;
  bool query_first(const CallPtr& call);
  bool look_up_first(const CallPtr& call);
  bool await_query(const CallPtr& call, const std::function<void(Done)>& begin);
  bool query_history(const CallPtr& call);
  void answer_snapshot(const CallPtr& call, const AgentToken& token);
  void answer_watch(const CallPtr& call, std::shared_ptr<const AgentToken> token);
  void answer_report(const CallPtr& call, const std::shared_ptr<const AgentToken>& token);
  void answer_counters(const CallPtr& call, const AgentToken& token);
  void take_answer(const CallPtr& call, const AgentToken& token);
  [[noreturn]] void refuse_old_agent(const SyncCall& call, const AgentToken& token);
  void take_report(SyncCall& call, const AgentToken& token, std::expected<sluice::sync::ReportDocument, Faults> report);
  void begin_span(SyncCall& call, const sluice::http::Request& request) const;
  void answered(SyncCall& call, unsigned status) const;
  void send_document(SyncCall& call, const Documents::Answer& document);
  void send(SyncCall& call, const sluice::http::Response& response);
  void refuse(SyncCall& call, const http::Refusal& why);

  boost::asio::io_context& loop_;
  Feed& feed_;
  FleetPort& fleet_;
  http::RequestMemory& memory_;
  auth::TokenLookups& lookups_;
  telemetry::Log& log_;
  const Options options_;
  SyncStatistics statistics_;
  AgentAuthenticator authenticator_;
  Documents documents_;
  Watches watches_;
  std::function<void(const SyncStatePtr&)> use_state_;
  std::optional<std::chrono::steady_clock::time_point> too_old_logged_at_;
  SyncStatePtr state_;  // nullptr: PostgreSQL was not read yet
};

}  // namespace sluice::server::sync
