#include "common/http/problem_page.hpp"

#include <fmt/core.h>

#include "common/http/problem.hpp"
#include "common/http/problem_table.hpp"

namespace sluice::http {
namespace {

std::string_view programs_of(AnsweredBy by) {
  switch (by) {
    case AnsweredBy::agent:
      return "sluice-agent";
    case AnsweredBy::server:
      return "sluice-server";
    case AnsweredBy::both:
      break;
  }
  return "sluice-agent and sluice-server";
}

// The table's texts have code between backticks.
std::string marked_up(std::string_view text) {
  std::string out;
  bool code = false;
  for (const char c : text) {
    switch (c) {
      case '`':
        code = !code;
        out += code ? "<code>" : "</code>";
        break;
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string problem_page(std::string_view type) {
  std::string rows;
  for (const ProblemKind& kind : problem_table()) {
    if (kind.type != type) continue;
    rows += fmt::format(
        "<h2>{} {}</h2>\n<p>{}</p>\n<p><strong>What to do:</strong> {}</p>\n<p><small>Answered by {}.</small></p>\n",
        kind.status, reason_phrase(kind.status), marked_up(kind.when), marked_up(kind.fix), programs_of(kind.by));
  }
  if (rows.empty()) return rows;
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{0} · Sluice</title>\n<h1>{0}</h1>\n{1}"
      "<p><code>detail</code>, <code>code</code> and <code>errors</code> of the answer say more.</p>\n</html>\n",
      type.substr(kProblemPath.size()), rows);
}

bool send_problem_page(const Request& request, Reply& reply, std::string_view headers) {
  if (!request.path.starts_with(kProblemPath) || (request.method != "GET" && request.method != "HEAD")) return false;
  const std::string body = problem_page(request.path);
  if (body.empty()) return false;
  const std::string all_headers = fmt::format("{}{}", kProblemPageHeaders, headers);
  reply.send({.content_type = kProblemPageType, .headers = all_headers, .body = body});
  return true;
}

}  // namespace sluice::http
