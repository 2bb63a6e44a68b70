#include "common/program/probes.hpp"

#include <fmt/core.h>

#include "common/base/version.hpp"
#include "common/http/problem.hpp"
#include "common/http/problem_page.hpp"
#include "common/json/text.hpp"

namespace sluice::program {
namespace {

void send_json(http::Reply& reply, unsigned status, std::string_view body) {
  reply.send(
      {.status = status, .content_type = "application/json", .headers = "Cache-Control: no-store\r\n", .body = body});
}

void send_problem(http::Reply& reply, unsigned status, std::string_view type, std::string_view detail,
                  std::string_view headers = {}) {
  std::string body;
  http::write_problem({.status = status, .type = type, .detail = detail}, body);
  reply.send({.status = status, .content_type = http::kProblemType, .headers = headers, .body = body});
}

}  // namespace

void Probes::handle(http::Request& request, http::Reply reply) {
  if (http::send_problem_page(request, reply)) return;
  const bool starts = sources_.starting != nullptr;
  const bool known = request.path == "/v1/health" || request.path == "/livez" || request.path == "/readyz" ||
                     (metrics_ != nullptr && request.path == "/metrics") || (starts && request.path == "/startupz");
  if (!known) {
    return send_problem(
        reply, 404, "/problems/not-found",
        fmt::format("{} has /v1/health, /livez{}{}.{}", port_, starts ? ", /startupz" : "",
                    metrics_ == nullptr ? " and /readyz; another port has /metrics" : ", /readyz and /metrics",
                    request.path.starts_with("/v1/") ? " The API is at the address of --listen." : ""));
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return send_problem(reply, 405, "/problems/method-not-allowed", "This path takes GET and HEAD only.",
                        "Allow: GET, HEAD\r\n");
  }
  if (request.path == "/metrics") return metrics_->handle(request, std::move(reply));
  if (request.path == "/readyz") return show_readiness(reply);
  if (request.path == "/startupz") return show_start(reply);
  if (request.path == "/livez" && !sources_.alive()) {
    return send_json(reply, 503, R"({"status":"stuck"})");
  }
  send_json(reply, 200, fmt::format(R"({{"status":"ok","version":"{}"}})", version()));
}

namespace {

void append_texts(std::string& body, const std::vector<std::string>& texts) {
  std::string_view separator;
  body += '[';
  for (const std::string& text : texts) {
    body += separator;
    json::append_string(body, text);
    separator = ",";
  }
  body += ']';
}

}  // namespace

void Probes::show_start(http::Reply& reply) const {
  std::vector<std::string> waits_for = sources_.starting();
  if (!ready_) waits_for.emplace_back("the listeners");
  std::string body = fmt::format(R"({{"status":"{}","waits_for":)", waits_for.empty() ? "started" : "starting");
  append_texts(body, waits_for);
  body += '}';
  send_json(reply, waits_for.empty() ? 200 : 503, body);
}

void Probes::show_readiness(http::Reply& reply) const {
  const bool ready = ready_ && !draining_ && (!sources_.equipped || sources_.equipped());
  std::string body = fmt::format(R"({{"status":"{}","degraded":)", draining_ ? "draining"
                                                                   : ready   ? "ready"
                                                                             : "starting");
  append_texts(body, sources_.degraded());
  body += '}';
  send_json(reply, ready ? 200 : 503, body);
}

}  // namespace sluice::program
