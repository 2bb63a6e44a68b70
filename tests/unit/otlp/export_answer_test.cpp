#include "common/otlp/export_answer.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice;
using namespace sluice::otlp;
using namespace std::chrono_literals;
using Verdict = ExportAnswer::Verdict;

namespace {

ExportAnswer judge_status(unsigned status, const std::string& retry_after = {}) {
  http_client::Response response{.status = status, .fields = {}, .body = {}};
  if (!retry_after.empty()) response.fields.emplace_back("retry-after", retry_after);
  return judge(response);
}

}  // namespace

TEST_CASE("A batch is taken when the collector says so") {
  CHECK(judge_status(200).verdict == Verdict::taken);
  CHECK(judge_status(202).verdict == Verdict::taken);
}

TEST_CASE("A collector that is busy or away is asked again, one that does not want the spans is not") {
  for (const unsigned status : {429U, 502U, 503U, 504U}) CHECK(judge_status(status).verdict == Verdict::retry);
  for (const unsigned status : {301U, 400U, 401U, 404U, 413U, 500U, 501U})
    CHECK(judge_status(status).verdict == Verdict::refused);
  for (const char* code : {"refused", "resolve", "unreachable", "tls", "timeout", "disconnected", "framing"})
    CHECK(judge(failure(code, "")).verdict == Verdict::retry);
  CHECK(judge(failure("request", "")).verdict == Verdict::refused);
}

TEST_CASE("Retry-After is obeyed, up to five minutes; a date counts as absent") {
  CHECK(judge_status(429, "7").retry_after == 7s);
  CHECK(judge_status(503, "100000").retry_after == 300s);
  CHECK_FALSE(judge_status(503, "Wed, 21 Oct 2015 07:28:00 GMT").retry_after);
  CHECK_FALSE(judge_status(503, "-1").retry_after);
  CHECK_FALSE(judge_status(503).retry_after);
}

TEST_CASE("The reason names the status, so that a reader of the log can act") {
  CHECK(judge_status(401).why.text == "the collector answered with status 401");
}
