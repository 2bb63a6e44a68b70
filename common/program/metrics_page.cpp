#include "common/program/metrics_page.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/http/problem.hpp"
#include "common/http/problem_page.hpp"

namespace sluice::program {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

void refuse_scrape(http::Reply& reply, unsigned status, std::string_view type, std::string_view detail,
                   std::string_view headers = {}) {
  std::string body;
  http::write_problem({.status = status, .type = type, .detail = detail}, body);
  reply.send({.status = status, .content_type = http::kProblemType, .headers = headers, .body = body});
}

// "": the header has another form. The case of "Bearer" does not matter (RFC 9110).
std::string_view bearer_token(std::string_view authorization) {
  static constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  const bool matches = std::ranges::equal(
      authorization.substr(0, kScheme.size()), kScheme,
      [](char given, char wanted) { return (given >= 'A' && given <= 'Z' ? given + ('a' - 'A') : given) == wanted; });
  return matches ? authorization.substr(kScheme.size()) : std::string_view();
}

}  // namespace

void MetricsPage::handle(http::Request& request, http::Reply reply) {
  if (http::send_problem_page(request, reply)) return;
  if (request.path != "/metrics") {
    return refuse_scrape(reply, 404, "/problems/not-found", "The metrics port has /metrics only.");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return refuse_scrape(reply, 405, "/problems/method-not-allowed", "This path takes GET and HEAD only.",
                         "Allow: GET, HEAD\r\n");
  }
  if (admit_ && !admit_(bearer_token(request.header("authorization")))) {
    return refuse_scrape(reply, 401, "/problems/unauthorized", "Send the metrics token: Authorization: Bearer ….",
                         "WWW-Authenticate: Bearer realm=\"sluice-metrics\"\r\n");
  }
  waiting_.push_back(std::move(reply));
  if (waiting_.size() > 1) return;
  timer_.expires_at(std::max(rests_until_, steady_clock::now()));
  timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) answer_waiting();
  });
}

void MetricsPage::answer_waiting() {
  std::vector<http::Reply> waiting = std::exchange(waiting_, {});
  const auto begin = steady_clock::now();
  const auto body = std::make_shared<const std::string>(render_());
  const auto end = steady_clock::now();
  rests_until_ = end + std::max<steady_clock::duration>(kLeastRest, kRestShare * (end - begin));
  for (http::Reply& reply : waiting) {
    reply.send({.status = 200, .content_type = kMetricsType, .headers = {}, .body = {}, .shared_body = body});
  }
}

}  // namespace sluice::program
