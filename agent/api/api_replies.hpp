// Sends the replies of the agent's API: decisions, problems and small JSON documents.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/domain/decision.hpp"
#include "common/http/problem.hpp"
#include "common/http/server.hpp"
#include "common/telemetry/counters.hpp"
#include "common/tracing/tracer.hpp"

namespace sluice::agent::api {

// Answers one request, once, and counts the answer. The answer has the request's id, if the caller chose one.
class RouteReply {
 public:
  // `route` is an index of route_templates() (check_api.hpp). `request_id`: the caller's X-Request-Id, or "". It is a
  // view: whoever answers after the handler has returned calls keep_request_id().
  RouteReply(http::Reply reply, telemetry::HttpCounters& counters, telemetry::CounterVector& refusals,
             std::size_t route, std::string_view request_id)
      : reply_(std::move(reply)), counters_(&counters), refusals_(&refusals), route_(route), request_id_(request_id) {}

  // Copies the id into `owner`, which must outlive this object.
  void keep_request_id(std::string& owner) {
    owner.assign(request_id_);
    request_id_ = owner;
  }
  telemetry::CounterVector& refusals() const { return *refusals_; }
  std::string_view request_id() const { return request_id_; }

  // The span of the request; it ends with the reply.
  void trace(tracing::ActiveSpan span) { span_ = std::move(span); }
  const tracing::ActiveSpan& span() const { return span_; }

  bool watch_peer(http::PeerWatcher& watcher) { return reply_.watch_peer(watcher); }

  void send(http::Response response) {
    counters_->count(route_, response.status);
    response.request_id = request_id_;
    reply_.send(response);
    if (span_) [[unlikely]]
      end_span(response.status);
  }

 private:
  void end_span(unsigned status);

  http::Reply reply_;
  telemetry::HttpCounters* counters_;
  telemetry::CounterVector* refusals_;
  std::size_t route_;
  std::string_view request_id_;
  tracing::ActiveSpan span_;
};

// The decision `overload`, and the answer to a check for which an allocation failed. They are written out here, so that
// making them needs no memory.
inline constexpr std::string_view kOverloadDecision =
    R"({"allowed":false,"action":"deny","reason":"overload","retry_after_ms":1000,"delay_ms":0,"shadow":false})";
inline const http::Response kOverloadResponse{
    .status = 503, .headers = "Retry-After: 1\r\n", .body = kOverloadDecision};

void send_json(RouteReply& reply, unsigned status, std::string_view body);

inline constexpr std::string_view kInvalid = "/problems/invalid";

// `headers`: complete header lines, each with its CRLF. A problem without a request id gets the reply's.
void send_problem(RouteReply& reply, http::Problem problem, std::string_view headers = {});

// Answers 404 if `allow` is "": the path is unknown. Otherwise answers 405; `allow` lists the methods of the path.
void send_no_route(RouteReply& reply, std::string_view path, std::string_view allow);

void send_health(RouteReply& reply);

// Sends the page that shows /openapi.json.
void send_docs(RouteReply& reply);

// Sends the page of the problem with this type, or 404.
void send_problem_page(RouteReply& reply, std::string_view type);

// How a decision is written in a body. Status and headers are the same in all forms.
struct DecisionForm {
  bool as_text = false;  // a short text instead of JSON
  // Proxies pass the body of a denial on to their clients, who must not see names of policies and plans. They drop the
  // body of an admission, so it is empty.
  bool for_clients = false;
};

// Keeps its buffers, so that it does not allocate for each decision.
class DecisionWriter {
 public:
  explicit DecisionWriter(HeaderFamilies families) : families_(families) {}
  // The answer over HTTP. Its views are valid until the next call.
  http::Response write(const Decision& decision, DecisionForm form);
  void send(RouteReply& reply, const Decision& decision, DecisionForm form);

 private:
  const HeaderFamilies families_;
  std::string headers_;
  std::string body_;
};

// True if the Accept header names text/plain but not JSON.
bool wants_text(std::string_view accept);

}  // namespace sluice::agent::api
