#include "server/admin/service.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <malloc.h>
#include <boost/asio/post.hpp>

#include "common/base/version.hpp"
#include "common/http/problem_page.hpp"
#include "common/openapi/page.hpp"
#include "server/admin/read_call.hpp"
#include "server/admin/route_match.hpp"
#include "server/admin/runbook_page.hpp"
#include "server/http/headers.hpp"
#include "server/http/refusal.hpp"
#include "server/http/request_span.hpp"

namespace sluice::server::admin {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kDefaultBody = 1 << 20;  // bytes, for paths without a route
constexpr std::size_t kChunkedBody = 8 << 20;  // bytes, for bodies that do not announce their length
constexpr std::size_t kShared = 64 << 10;      // answers with more bytes are not copied
constexpr std::size_t kTrimFrom = 4 << 20;     // calls that weigh more bytes give memory back to the system

constexpr std::string_view kHealth = "/v1/health";
constexpr std::string_view kDescription = "/openapi.json";
constexpr std::string_view kDocs = "/docs";

// Whether the path needs no token.
bool is_open(std::string_view path) {
  return path == kHealth || path == kDescription || path == kDocs || path == kRunbooks;
}

// REQUIRES: is_open(path).
void send_open(std::string_view path, sluice::http::Reply reply) {
  if (path == kDocs) {
    const openapi::Page page = openapi::make_page();
    const std::string headers = page.headers + std::string(http::kCommonHeaders);
    return reply.send({.content_type = openapi::kPageType, .headers = headers, .body = page.body});
  }
  if (path == kRunbooks) {
    const std::string headers = fmt::format("{}{}", sluice::http::kProblemPageHeaders, http::kCommonHeaders);
    return reply.send({.content_type = sluice::http::kProblemPageType, .headers = headers, .body = runbooks()});
  }
  if (path == kDescription) return reply.send({.headers = http::kCommonHeaders, .body = openapi_document()});
  reply.send({.headers = http::kCommonHeaders, .body = fmt::format(R"({{"status":"ok","version":"{}"}})", version())});
}

// Frees what a call that has run needs no more. What is left of its share is for the answer.
void free_memory(Call& call, FinishedAnswer& answer) {
  const bool large = call.memory->bytes() > kTrimFrom;
  std::string().swap(call.body);
  std::string().swap(answer.replay_body);
  if (large) malloc_trim(0);
  call.memory->lower_to(answer.body.size());
}

// A large body, which keeps its share until it is sent.
sluice::http::SharedBody shared_body(Call& call, std::string body) {
  struct Kept {
    std::string body;
    http::RequestMemory::SharePtr memory;
  };
  const auto kept = std::make_shared<Kept>(std::move(body), std::move(call.memory));
  return {kept, &kept->body};
}

}  // namespace

std::size_t AdminService::body_limit(std::string_view method, std::string_view path) const {
  const RouteMatch found = find_route(method, path);
  return found.route == nullptr ? kDefaultBody : found.route->max_body;
}

bool AdminService::answers(std::string_view method, std::string_view path) const {
  return find_route(method, path).route != nullptr;
}

void AdminService::handle(sluice::http::Request& request, sluice::http::Reply reply) {
  const bool reading = request.method == "GET" || request.method == "HEAD";
  if (reading && is_open(request.path)) return send_open(request.path, std::move(reply));
  if (sluice::http::send_problem_page(request, reply, http::kCommonHeaders)) return;
  begin(request, std::make_shared<Pending>(std::move(reply)));
}

void AdminService::admit(sluice::http::Request& head, sluice::http::Admission admission) {
  begin(head, std::make_shared<Pending>(std::move(admission)));
}

// Throws Refusal if there is no memory for the body. A call whose body was asked for brings its share along.
void AdminService::set_aside(const sluice::http::Request& request, Pending& pending) {
  Call& call = pending.call;
  call.memory = std::static_pointer_cast<http::RequestMemory::Share>(request.held);
  if (!call.memory) call.memory = memory_.share();
  call.body_bytes = pending.asks_for_body() ? http::announced_bytes(request) : request.body.size();
  if (!pending.asks_for_body()) call.memory->raise_to(http::weight_unread(call.body_bytes));
}

// A call with a body gets its span when the body has arrived, or when the call is refused before that.
void AdminService::begin_span(const sluice::http::Request& request, const Route* route, Pending& pending) {
  pending.span = http::start_request_span(tracer_, route == nullptr ? std::string_view() : route_name(*route), request);
  if (!pending.asks_for_body()) pending.call.trace = tracing::Parent(tracer_, pending.span);
}

void AdminService::begin(sluice::http::Request& request, std::shared_ptr<Pending> pending) {
  pending->call.request_id = http::request_id_of(request.header("x-request-id"));
  pending->call.source = request.peer;
  RouteMatch found = find_route(request.method, request.path);
  begin_span(request, found.route, *pending);
  if (is_open(request.path) || !sluice::http::problem_page(request.path).empty()) found.allow = "GET, HEAD";
  try {
    set_aside(request, *pending);
    read_call(request, site_, std::move(found), pending->call);
  } catch (const http::Refusal& refusal) {
    return finish(*pending, http::problem(refusal, pending->call.request_id));
  }
  track_deadline(pending);
  gate_.check(pending->call, request.held != nullptr, [this, pending](const std::optional<http::Refusal>& refusal) {
    if (pending->answered) return;  // the call timed out
    if (refusal) return finish(*pending, http::problem(*refusal, pending->call.request_id));
    submit(pending);
  });
}

void AdminService::submit(std::shared_ptr<Pending> pending) {
  pending->progress.set_deadline(pending->begin + call_timeout_);
  Pending& submitted = *pending;
  auto job = [this, pending = std::move(pending)](postgres::Session& session) mutable {
    FinishedAnswer answer;
    if (pending->progress.begin()) {
      answer = pending->asks_for_body() ? executor_.admit(session, pending->call, pending->progress)
                                        : executor_.run(session, pending->call, pending->progress);
      if (!pending->asks_for_body()) free_memory(pending->call, answer);
    }
    boost::asio::post(loop_, [this, pending = std::move(pending), answer = std::move(answer)]() mutable {
      if (answer.agent_check) return ask_agent(std::move(pending), *answer.agent_check);
      if (!waiting_.keep_waiting(pending, answer)) finish(*pending, std::move(answer));
    });
  };
  // If the pool refuses the job, `wrapped` still owns the call, so `submitted` stays valid.
  postgres::Pool::Job wrapped(std::move(job));
  if (pool_.submit(wrapped)) return;
  finish(submitted, http::problem(http::Refusal(503, "overload", "Too many calls are waiting; try again.", {},
                                                "Retry-After: 1\r\n"),
                                  submitted.call.request_id));
}

// The call holds no thread of the pool while the agent judges.
void AdminService::ask_agent(std::shared_ptr<Pending> pending, const playground::AgentCheck& check) {
  if (pending->answered) return;  // the call timed out, so nobody waits for the check
  const auto arrived = pending->arrived;
  const std::string request_id = pending->call.request_id;
  agent_->ask(check, request_id, arrived, [this, pending = std::move(pending)](http::Answer answer) {
    finish(*pending, FinishedAnswer(std::move(answer)));
  });
}

void AdminService::track_deadline(const std::shared_ptr<Pending>& pending) {
  while (!calls_.empty() && calls_.front().expired()) calls_.pop_front();
  calls_.push_back(pending);
  if (!timer_runs_) wake_at_next_deadline();
}

// All calls have the same time limit, counted from track_deadline(). So the call that was tracked first exceeds it
// first.
void AdminService::wake_at_next_deadline() {
  timer_runs_ = false;
  while (!calls_.empty()) {
    const auto first = calls_.front().lock();
    if (first != nullptr && !first->answered) {
      timer_runs_ = true;
      timer_.expires_at(first->begin + call_timeout_);
      timer_.async_wait([this](const boost::system::error_code& stopped) {
        if (!stopped) give_up_late_calls();
      });
      return;
    }
    calls_.pop_front();
  }
}

void AdminService::give_up_late_calls() {
  const auto now = steady_clock::now();
  for (; !calls_.empty(); calls_.pop_front()) {
    const auto call = calls_.front().lock();
    if (call == nullptr || call->answered) continue;
    if (call->begin + call_timeout_ > now) break;
    CallProgress::GivenUp given_up = call->progress.give_up();
    if (given_up.outcome == CallProgress::Outcome::finished) continue;
    if (given_up.to_cancel) pool_.cancel(std::move(given_up.to_cancel));
    const bool nothing_changed = given_up.outcome == CallProgress::Outcome::nothing_changed;
    finish(*call,
           http::problem(http::Refusal(503, nothing_changed ? "busy" : "in-doubt",
                                       nothing_changed
                                           ? "PostgreSQL did not answer in time; nothing was changed, and nothing will "
                                             "be changed by this call."
                                           : "The change was not confirmed in time: it may or may not be stored. "
                                             "Repeat the call with the same Idempotency-Key, or read the object.",
                                       {}, "Retry-After: 1\r\n"),
                         call->call.request_id));
  }
  wake_at_next_deadline();
}

// Has the body read of a call that may send it, unless there is no memory for it.
std::optional<http::Refusal> AdminService::read_body(Pending& pending) {
  const std::size_t bytes = pending.call.body_bytes > 0 ? pending.call.body_bytes : kChunkedBody;
  try {
    pending.call.memory->raise_to(http::weight_unread(bytes));
  } catch (const http::Refusal& refusal) {
    return refusal;
  }
  std::get<sluice::http::Admission>(pending.reply).read_body(std::move(pending.call.memory), bytes);
  return std::nullopt;
}

void AdminService::finish(Pending& pending, FinishedAnswer answer) {
  if (pending.answered) return;  // the call timed out and was answered
  pending.answered = true;
  if (pending.deliver) return pending.deliver(std::move(answer));
  if (answer.fleet) {
    const auto refusal = streams_.open(pending, answer);
    if (!refusal) return count(pending, answer.status);
    answer = http::problem(*refusal, pending.call.request_id);
  }
  if (answer.status == kAdmitted) {
    const auto refusal = read_body(pending);
    if (!refusal) return pending.span.discard();
    answer = http::problem(*refusal, pending.call.request_id);
  }
  const std::string headers = http::answer_headers(answer.headers + answer.secret_headers, pending.call.request_id);
  sluice::http::Response response{.status = answer.status, .content_type = answer.content_type, .headers = headers};
  if (auto* const admission = std::get_if<sluice::http::Admission>(&pending.reply)) {
    response.body = answer.body;
    admission->refuse(response);
  } else {
    if (answer.body.size() > kShared) {
      response.shared_body = shared_body(pending.call, std::move(answer.body));
    } else {
      response.body = answer.body;
    }
    std::get<sluice::http::Reply>(pending.reply).send(response);
  }
  count(pending, answer.status);
}

void AdminService::count(Pending& pending, unsigned status) {
  http::end_request_span(pending.span, status, pending.call.request_id);
  const auto took = steady_clock::now() - pending.arrived;
  const Route* const route = pending.call.route;
  metrics_.count(route, status, took);
  log_.debug("request", "A call was answered.",
             {{"method", route == nullptr ? "" : route->method},
              {"route", route == nullptr ? "" : route->path},
              {"status", status},
              {"request_id", pending.call.request_id},
              {"duration_us", std::chrono::duration_cast<std::chrono::microseconds>(took).count()}});
}

}  // namespace sluice::server::admin
