#include "server/http/refusal.hpp"

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/http/media_type.hpp"
#include "common/http/problem.hpp"
#include "common/http/problem_table.hpp"

namespace sluice::server::http {

void refuse_faults(unsigned status, Faults faults) {
  const std::string detail = faults.size() == 1 ? "One field breaks a rule; see errors."
                                                : fmt::format("{} fields break a rule; see errors.", faults.size());
  throw Refusal(status, "invalid", detail, std::move(faults));
}

void refuse_fault(unsigned status, std::string pointer, std::string text) {
  refuse_faults(status, {{std::move(pointer), std::move(text)}});
}

void refuse_unknown(std::string_view kind, std::string_view id) {
  throw Refusal(404, "not-found", fmt::format("There is no {} {}.", kind, quoted(id)));
}

void refuse_coded_body(const sluice::http::Request& request) {
  if (sluice::http::is_uncoded(request.content_encoding)) return;
  throw Refusal(415, "unsupported-media-type", sluice::http::coded_body_detail(request.content_encoding), {},
                std::string(sluice::http::kUncodedOnly));
}

Refusal too_many_failures(std::chrono::seconds wait) {
  return {429,
          "too-many-failures",
          "Too many authentications have failed, from this address or in total. A valid token is still accepted.",
          {},
          fmt::format("Retry-After: {}\r\n", wait.count())};
}

Answer problem(const Refusal& refusal, std::string_view request_id) {
  Answer answer;
  answer.status = refusal.status;
  answer.content_type = sluice::http::kProblemType;
  answer.headers = refusal.headers;
  const std::string type = std::string(sluice::http::kProblemPath) + refusal.type;
  sluice::http::write_problem({.status = refusal.status,
                               .type = type,
                               .code = refusal.code,
                               .detail = refusal.detail,
                               .request_id = request_id,
                               .errors = refusal.faults},
                              answer.body);
  return answer;
}

}  // namespace sluice::server::http
