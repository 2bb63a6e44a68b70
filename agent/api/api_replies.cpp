#include "agent/api/api_replies.hpp"

#include <fmt/core.h>

#include "agent/api/refusals.hpp"
#include "common/base/version.hpp"
#include "common/domain/decision_time.hpp"
#include "common/http/problem_page.hpp"
#include "common/json/text.hpp"
#include "common/openapi/page.hpp"
#include "common/tracing/attribute_names.hpp"

namespace sluice::agent::api {
namespace {

void write_for_clients(const Decision& decision, std::string& out) {
  if (decision.allowed) return;
  out.append(R"({"allowed":false,"reason":")").append(to_string(decision.reason)).append(R"(","retry_after_ms":)");
  if (const std::int64_t wait = wait_us(decision); wait == kNever) {
    out += "null";
  } else {
    json::append_integer(out, round_up(wait, kMicrosPerMilli));
  }
  out += '}';
}

// Says where the path is, if another listener or the server has it.
std::string unknown_path(std::string_view path) {
  if (path == "/metrics") {
    return "Metrics are not on a listener for checks: get /metrics at the address of --metrics-listen, or of --admin "
           "if that flag is not set.";
  }
  if (path == "/livez" || path == "/readyz" || path == "/startupz") {
    return fmt::format("Probes are not on a listener for checks: get {} at the address of --admin.", path);
  }
  if (path.starts_with("/v1/admin") || path.starts_with("/v1/sync")) {
    return fmt::format(
        "This is an agent, which answers checks. {} is of the server: ask it at the address of its "
        "--listen, by default port 8080.",
        path);
  }
  return fmt::format("There is nothing at {}; see /openapi.json.", path);
}

}  // namespace

void RouteReply::end_span(unsigned status) {
  span_->set(tracing::attribute::kHttpStatus, status);
  if (status >= 500) span_->fail(std::to_string(status));
  span_.end();
}

void send_json(RouteReply& reply, unsigned status, std::string_view body) {
  reply.send({.status = status, .content_type = "application/json", .headers = {}, .body = body});
}

void send_problem(RouteReply& reply, http::Problem problem, std::string_view headers) {
  count_refusal(reply.refusals(), problem);
  if (problem.request_id.empty()) problem.request_id = reply.request_id();
  std::string body;
  http::write_problem(problem, body);
  reply.send({.status = problem.status, .content_type = http::kProblemType, .headers = headers, .body = body});
}

void send_no_route(RouteReply& reply, std::string_view path, std::string_view allow) {
  if (allow.empty()) {
    return send_problem(reply, {.status = 404, .type = "/problems/not-found", .detail = unknown_path(path)});
  }
  const std::string detail = fmt::format("{} answers {} only.", path, allow);
  send_problem(reply, {.status = 405, .type = "/problems/method-not-allowed", .detail = detail},
               fmt::format("Allow: {}\r\n", allow));
}

void send_health(RouteReply& reply) {
  send_json(reply, 200, fmt::format(R"({{"status":"ok","version":"{}"}})", version()));
}

void send_docs(RouteReply& reply) {
  const openapi::Page page = openapi::make_page();
  reply.send({.status = 200, .content_type = openapi::kPageType, .headers = page.headers, .body = page.body});
}

void send_problem_page(RouteReply& reply, std::string_view type) {
  const std::string body = http::problem_page(type);
  if (body.empty()) return send_no_route(reply, type, {});
  reply.send(
      {.status = 200, .content_type = http::kProblemPageType, .headers = http::kProblemPageHeaders, .body = body});
}

http::Response DecisionWriter::write(const Decision& decision, DecisionForm form) {
  headers_.clear();
  body_.clear();
  write_decision_headers(decision, families_, headers_);
  if (form.as_text) {
    if (!form.for_clients || !decision.allowed) body_ = text_of(decision);
  } else if (form.for_clients) {
    write_for_clients(decision, body_);
  } else {
    write_decision(decision, body_);
  }
  std::string_view content_type = form.as_text ? "text/plain; charset=utf-8" : "application/json";
  if (body_.empty()) content_type = {};
  return {.status = status_of(decision), .content_type = content_type, .headers = headers_, .body = body_};
}

void DecisionWriter::send(RouteReply& reply, const Decision& decision, DecisionForm form) {
  reply.send(write(decision, form));
}

bool wants_text(std::string_view accept) {
  return accept.find("text/plain") != std::string_view::npos && accept.find("json") == std::string_view::npos;
}

}  // namespace sluice::agent::api
