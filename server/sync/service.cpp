#include "server/sync/service.hpp"

#include <expected>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <boost/asio/post.hpp>

#include "common/base/text.hpp"
#include "common/sync/report.hpp"
#include "server/http/headers.hpp"
#include "server/http/refusal.hpp"
#include "server/http/request_span.hpp"
#include "server/sync/request.hpp"

namespace sluice::server::sync {
namespace {

constexpr std::size_t kSmallReport = std::size_t{64} << 10;  // bytes; larger reports are parsed on another thread
constexpr std::size_t kNoBody = 1024;                        // bytes; for routes without a body
constexpr std::chrono::seconds kQuotaRetry{60};
constexpr std::chrono::seconds kLogOldAgentEvery{10};
constexpr std::string_view kTryAgain = "Retry-After: 1\r\n";

std::string announced_field(const SyncCall& call) {
  return call.announced_is_foreign
             ? fmt::format("{}: {}\r\n", sluice::sync::kAnnouncedField, sluice::sync::kForeignPosition)
             : "";
}

http::Refusal quota_refusal(const QuotaExceeded& exceeded) {
  const bool has_owner = !exceeded.owner.empty();
  const std::string owner =
      has_owner ? fmt::format("{} {}", exceeded.owner_kind, quoted(exceeded.owner)) : std::string("this server");
  return {429,
          "quota",
          fmt::format("The quota {} of {} is used up: {} of {}. The report of this additional agent was not taken. "
                      "Agents that end, or send nothing for 10 minutes, make room{}.",
                      exceeded.quota, owner, exceeded.used, exceeded.limit,
                      has_owner ? "; a platform_admin can raise the quota" : ""),
          {},
          fmt::format("Retry-After: {}\r\n", kQuotaRetry.count())};
}

http::Refusal unavailable(std::string detail) {
  return {503, "unavailable", std::move(detail), {}, std::string(kTryAgain)};
}

}  // namespace

SyncService::SyncService(boost::asio::io_context& loop, Feed& feed, FleetPort& fleet, http::RequestMemory& memory,
                         auth::FailureThrottle& throttle, auth::TokenLookups& lookups, const Clock& clock,
                         telemetry::Log& log, Options options)
    : loop_(loop),
      feed_(feed),
      fleet_(fleet),
      memory_(memory),
      lookups_(lookups),
      log_(log),
      options_(std::move(options)),
      authenticator_(throttle, clock, statistics_),
      documents_(loop, statistics_),
      watches_(loop, fleet, options_.answers, statistics_, clock, options_.watch) {}

void SyncService::review_through(identity::Reviewer& reviewer) {
  authenticator_.review_through(reviewer);
  watches_.review_through(reviewer);
}

void SyncService::start() {
  if (options_.answers != nullptr) {
    feed_.listen_for_questions([this](OpenQuestions open) {
      boost::asio::post(loop_, [this, open = std::move(open)] { watches_.ask(open); });
    });
  }
  feed_.start([this](const SyncStatePtr& state) {
    boost::asio::post(loop_, [this, state] {
      state_ = state;
      if (use_state_) use_state_(state);
      watches_.announce(state);
    });
  });
}

bool SyncService::stop_within(std::chrono::milliseconds patience) {
  documents_.stop();
  return feed_.stop_within(patience);
}

std::size_t SyncService::body_limit(std::string_view /*method*/, std::string_view path) const {
  if (path == "/v1/sync/report") return sluice::sync::kMaxReportBytes;
  return path == "/v1/sync/whatif" ? sluice::sync::kMaxWhatIfAnswerBytes : kNoBody;
}

void SyncService::handle(sluice::http::Request& request, sluice::http::Reply reply) {
  const auto call = std::make_shared<SyncCall>(loop_, std::move(reply));
  try {
    call->read(request);
    begin_span(*call, request);
    set_aside(*call, request, request.body.size());
    call->body.assign(request.body.data(), request.body.size());
  } catch (const http::Refusal& refusal) {
    return refuse(*call, refusal);
  }
  resume(call);
}

void SyncService::admit(sluice::http::Request& head, sluice::http::Admission admission) {
  const auto call = std::make_shared<SyncCall>(loop_, std::move(admission));
  try {
    call->read(head);
    const std::size_t bytes = http::announced_bytes(head);
    set_aside(*call, head, bytes > 0 ? bytes : sluice::sync::kMaxReportBytes);
  } catch (const http::Refusal& refusal) {
    return refuse(*call, refusal);
  }
  resume(call);
}

void SyncService::set_aside(SyncCall& call, const sluice::http::Request& request, std::size_t bytes) {
  call.memory = std::static_pointer_cast<http::RequestMemory::Share>(request.held);
  if (!call.memory) call.memory = memory_.share();
  call.memory->raise_to(http::weight_unread(bytes));
}

void SyncService::resume(const CallPtr& call) {
  try {
    answer_call(call);
  } catch (const http::Refusal& refusal) {
    refuse(*call, refusal);
  }
}

void SyncService::answer_call(const CallPtr& call) {
  if (!state_) {
    if (query_first(call)) return;
    throw unavailable("The server has not read its policies from PostgreSQL yet.");
  }
  auto token = authenticate(call);
  if (!token) return;
  if (auto* const admission = std::get_if<sluice::http::Admission>(&call->answer)) {
    return admission->read_body(std::move(call->memory));
  }
  switch (call->route) {
    case SyncRoute::snapshot:
      return answer_snapshot(call, *token);
    case SyncRoute::watch:
      return answer_watch(call, std::move(token));
    case SyncRoute::report:
      return answer_report(call, token);
    case SyncRoute::counters:
      return answer_counters(call, *token);
    case SyncRoute::whatif:
      return take_answer(call, *token);
  }
}

// Returns nullptr if the call must first query PostgreSQL or Kubernetes. The call continues after the query.
std::shared_ptr<const AgentToken> SyncService::authenticate(const CallPtr& call) {
  call->credentials.queried_postgres = call->query != SyncCall::DatabaseQuery::not_sent;
  call->credentials.postgres_answered = call->query == SyncCall::DatabaseQuery::done;
  AgentAuthenticator::AuthResult result = authenticator_.authenticate(*state_, call->credentials);
  if (result.query == AgentAuthenticator::Query::postgres) look_up_first(call);
  if (result.query == AgentAuthenticator::Query::kubernetes) {
    authenticator_.review(call->credentials, [this, call](identity::CachedReviewPtr review) {
      call->credentials.review = std::move(review);
      resume(call);
    });
  }
  return std::move(result.token);
}

// Lets the feed query PostgreSQL for an agent that is ahead of this server, or before the first state.
bool SyncService::query_first(const CallPtr& call) {
  return await_query(call, [this](Done done) {
    feed_.poll([this, done = std::move(done)](bool succeeded) {
      boost::asio::post(loop_, [done, succeeded] { done(succeeded); });
    });
  });
}

// Lets the feed query PostgreSQL for a caller that is not in memory. Such queries are limited, because anybody can
// cause them.
bool SyncService::look_up_first(const CallPtr& call) {
  return await_query(call, [this](Done done) { lookups_.request(std::move(done)); });
}

// `begin` begins a query. The call continues when the query is done, at the latest after query_timeout. Returns false
// if the call has already queried PostgreSQL.
bool SyncService::await_query(const CallPtr& call, const std::function<void(Done)>& begin) {
  if (call->query != SyncCall::DatabaseQuery::not_sent) return false;
  call->query = SyncCall::DatabaseQuery::pending;
  ++statistics_.delayed;
  const auto done = [this](const CallPtr& waiting, bool succeeded) {
    if (waiting->query != SyncCall::DatabaseQuery::pending) return;  // the call has timed out
    waiting->query = succeeded ? SyncCall::DatabaseQuery::done : SyncCall::DatabaseQuery::failed;
    waiting->timer.cancel();
    resume(waiting);
  };
  call->timer.expires_after(options_.query_timeout);
  call->timer.async_wait([done, call](const boost::system::error_code& stopped) {
    if (!stopped) done(call, false);
  });
  begin([done, call](bool succeeded) { done(call, succeeded); });
  return true;
}

void SyncService::answer_snapshot(const CallPtr& call, const AgentToken& token) {
  // The agent's watch may run on another server that is ahead of this one.
  const auto& announced = call->positions.announced;
  call->announced_is_foreign = announced && state_->history.excludes(*announced);
  if (call->announced_is_foreign && query_history(call)) return;
  std::optional<std::int64_t> since;
  if (call->positions.since) {
    switch (state_->history.locate(*call->positions.since)) {
      case History::Relation::head:
        ++statistics_.fetched_unchanged;
        return send(*call, {.status = 304, .headers = announced_field(*call)});
      case History::Relation::within:
        if (call->positions.since->revision >= token.scope_since) since = call->positions.since->revision;
        break;
      case History::Relation::too_old:  // a full snapshot is right for any position
        break;
      case History::Relation::ahead:
      case History::Relation::foreign:
        if (query_history(call)) return;
        ++statistics_.fetched_resync;
        throw http::Refusal(
            410, "resync",
            "This revision is not part of the server's history. Fetch a full snapshot, without `since`.");
    }
  }
  if (call->span) call->span->set("sluice.revision", state_->head().revision);
  documents_.get(state_, SyncScope::of(token.caller, call->reads_newer_fields), since, call->gzip,
                 [this, call](const Documents::Answer& document) { send_document(*call, document); });
}

// PostgreSQL's history may have a position that this server does not know. Returns true while the query runs, and false
// if the query succeeded. Throws Refusal if the query failed.
bool SyncService::query_history(const CallPtr& call) {
  if (query_first(call)) return true;
  if (call->query == SyncCall::DatabaseQuery::failed) {
    throw unavailable("PostgreSQL cannot be reached, so the server cannot check the revision in the request.");
  }
  return false;
}

void SyncService::send_document(SyncCall& call, const Documents::Answer& document) {
  if (!document.body) return refuse(call, unavailable("The snapshot could not be built."));
  ++(document.is_full ? statistics_.fetched_full : statistics_.fetched_delta);
  if (call.span) call.span->set("sluice.sync.full", document.is_full);
  statistics_.document_bytes += document.body->size();
  const std::string headers =
      http::answer_headers(fmt::format("{}{}Vary: Accept-Encoding, Sluice-Reads\r\n", announced_field(call),
                                       document.gzipped ? "Content-Encoding: gzip\r\n" : ""),
                           call.request_id);
  std::get<sluice::http::Reply>(call.answer)
      .send({.status = 200, .headers = headers, .body = {}, .shared_body = document.body});
  answered(call, 200);
}

void SyncService::answer_watch(const CallPtr& call, std::shared_ptr<const AgentToken> token) {
  bool changed = true;
  if (call->positions.since) {
    switch (state_->history.locate(*call->positions.since)) {
      case History::Relation::head:
        changed = false;
        break;
      case History::Relation::within:
        changed = call->positions.since->revision < token->scope_since ||
                  state_->history.changed_since(SyncScope::of(token->caller), call->positions.since->revision);
        break;
      case History::Relation::too_old:
        break;
      case History::Relation::ahead:
      case History::Relation::foreign:
        if (query_history(call)) return;
        break;
    }
  }
  const std::string headers = http::answer_headers("", call->request_id);
  watches_.open(std::move(std::get<sluice::http::Reply>(call->answer)),
                {.status = 200, .content_type = "application/x-ndjson", .headers = headers}, std::move(token),
                call->agent_id, call->positions.since, state_, changed, call->reads_whatif);
  answered(*call, 200);
}

void SyncService::answer_report(const CallPtr& call, const std::shared_ptr<const AgentToken>& token) {
  if (call->body.size() <= kSmallReport) return take_report(*call, *token, sluice::sync::parse_report(call->body));
  call->memory->raise_to(http::weight_of_json(call->body));
  documents_.run([this, call, token] {
    auto report =
        std::make_shared<std::expected<sluice::sync::ReportDocument, Faults>>(sluice::sync::parse_report(call->body));
    boost::asio::post(loop_, [this, call, token, report] {
      try {
        take_report(*call, *token, std::move(*report));
      } catch (const http::Refusal& refusal) {
        refuse(*call, refusal);
      }
    });
  });
}

void SyncService::take_report(SyncCall& call, const AgentToken& token,
                              std::expected<sluice::sync::ReportDocument, Faults> report) {
  if (!report) http::refuse_faults(400, std::move(report.error()));
  ++statistics_.reports;
  if (!token.caller.pod.empty()) report->agent.pod = token.caller.pod;  // as Kubernetes names the pod
  const auto stored = fleet_.report(token.caller, call.credentials.source, std::move(*report));
  if (!stored) throw quota_refusal(stored.error());
  send(call, {.status = 200, .body = sluice::sync::write_report_reply(*stored)});
}

void SyncService::answer_counters(const CallPtr& call, const AgentToken& token) {
  if (options_.counters == nullptr) {
    throw http::Refusal(404, "no-counters-login",
                        "This server has no Redis login for agents: start it with --agents-redis-password-file, or "
                        "start the agent with --redis-password-file.");
  }
  if (options_.counters->needs_functions() && !call->calls_functions) refuse_old_agent(*call, token);
  const auto login = options_.counters->document(token.caller);
  if (!login) {
    log_.error("counters_login_failed", "The Redis login for agents cannot be read; agents get 503.",
               {{"code", login.error().code}, {"reason", login.error().text}});
    throw unavailable("The login to the counters' Redis cannot be read; the server's log says why.");
  }
  send(*call, {.status = 200, .body = *login});
}

void SyncService::take_answer(const CallPtr& call, const AgentToken& token) {
  auto answer = sluice::sync::parse_answer(call->body);
  if (!answer) http::refuse_faults(400, std::move(answer.error()));
  if (options_.answers == nullptr) http::refuse_unknown("question", answer->question_id);
  options_.answers->store(token.caller, call->agent_id, *answer, [this, call](AnswerPort::Stored stored) {
    if (stored == AnswerPort::Stored::yes) return send(*call, {.status = 204});
    refuse(*call, stored == AnswerPort::Stored::unavailable
                      ? unavailable("PostgreSQL cannot be reached, so the answer was not stored.")
                      : http::Refusal(404, "not-found", "There is no such question for this agent, or it is over."));
  });
}

// An agent of an older release loads scripts. The login that could do that is good for the counters of all tenants.
void SyncService::refuse_old_agent(const SyncCall& call, const AgentToken& token) {
  const auto now = std::chrono::steady_clock::now();
  if (!too_old_logged_at_ || now - *too_old_logged_at_ >= kLogOldAgentEvery) {
    too_old_logged_at_ = now;
    log_.warn("agent_too_old", "An agent got no login to Redis, because its release cannot call functions of Redis.",
              {{"agent", call.agent_id}, {"token_id", token.caller.token_id}});
  }
  throw http::Refusal(403, "agent-too-old",
                      "This server gives each agent a Redis user that calls functions (--redis-users per-scope), and "
                      "this agent's release cannot do that: upgrade the agent.");
}

// Fleets send thousands of reports and watches, which say nothing by themselves. They have a span only below one of the
// agent's.
void SyncService::begin_span(SyncCall& call, const sluice::http::Request& request) const {
  if (call.route != SyncRoute::snapshot && request.header("traceparent").empty()) return;
  call.span = http::start_request_span(options_.tracer, kRouteNames[static_cast<std::size_t>(call.route)], request);
  if (call.span && !call.agent_id.empty()) call.span->set("sluice.agent_id", call.agent_id);
}

void SyncService::answered(SyncCall& call, unsigned status) const {
  http::end_request_span(call.span, status, call.request_id);
  if (!options_.answered) return;
  options_.answered(call.routed ? std::optional(call.route) : std::nullopt, status,
                    std::chrono::steady_clock::now() - call.arrived);
}

void SyncService::send(SyncCall& call, const sluice::http::Response& response) {
  const std::string headers = http::answer_headers(response.headers, call.request_id);
  sluice::http::Response complete = response;
  complete.headers = headers;
  answered(call, response.status);
  if (auto* const admission = std::get_if<sluice::http::Admission>(&call.answer)) return admission->refuse(complete);
  std::get<sluice::http::Reply>(call.answer).send(complete);
}

void SyncService::refuse(SyncCall& call, const http::Refusal& why) {
  const http::Answer answer = http::problem(why, call.request_id);
  log_.debug("sync_refused", "A request of policy sync was refused.",
             {{"status", answer.status}, {"type", why.type}, {"request_id", call.request_id}});
  send(call,
       {.status = answer.status, .content_type = answer.content_type, .headers = answer.headers, .body = answer.body});
}

}  // namespace sluice::server::sync
