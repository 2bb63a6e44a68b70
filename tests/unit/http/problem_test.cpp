#include "common/http/problem.hpp"

#include <string>

#include <doctest/doctest.h>

namespace sluice::http {
namespace {

std::string written(const Problem& problem) {
  std::string out;
  write_problem(problem, out);
  return out;
}

TEST_CASE("a problem has type, title, status and code, and what else is known") {
  CHECK(written({.status = 404, .type = "/problems/not-found"}) ==
        R"({"type":"/problems/not-found","title":"Not Found","status":404,"code":"not_found"})");
  const Faults faults = {{"/a", "bad"}, {"/b/0", "worse"}};
  CHECK(written({.status = 400,
                 .type = "/problems/framing",
                 .code = "two_lengths",
                 .title = "T",
                 .detail = "D",
                 .request_id = "r1",
                 .errors = faults}) ==
        R"({"type":"/problems/framing","title":"T","status":400,"code":"two_lengths","detail":"D","request_id":"r1",)"
        R"("errors":[{"pointer":"/a","detail":"bad"},{"pointer":"/b/0","detail":"worse"}]})");
}

TEST_CASE("a fault has the place that is known of it: none, a line, or a line and a column") {
  const Faults faults = {{"/a", "bad"}, {"/b", "bad", 3}, {"/c", "bad", 3, 7}};
  CHECK(written({.status = 422, .type = "/problems/invalid", .errors = faults})
            .ends_with(R"("errors":[{"pointer":"/a","detail":"bad"},{"pointer":"/b","detail":"bad","line":3},)"
                       R"({"pointer":"/c","detail":"bad","line":3,"column":7}]})"));
}

TEST_CASE("a problem is appended to what is there") {
  std::string out = "x";
  write_problem({.status = 404, .type = "/problems/not-found"}, out);
  CHECK(out.starts_with("x{"));
}

TEST_CASE("a problem's texts cannot break out of their JSON strings") {
  const Faults faults = {{"/\"", "\r\n"}};
  CHECK(written({.status = 400,
                 .type = "/problems/invalid",
                 .detail = "\"},{\"\x01\xff\\",
                 .request_id = "\n",
                 .errors = faults}) ==
        R"({"type":"/problems/invalid","title":"Bad Request","status":400,"code":"invalid","detail":"\"},{\"\u0001)"
        "\xEF\xBF\xBD"
        R"(\\","request_id":"\n","errors":[{"pointer":"/\"","detail":"\r\n"}]})");
}

TEST_CASE("statuses have their reason phrases") {
  CHECK(reason_phrase(200) == "OK");
  CHECK(reason_phrase(422) == "Unprocessable Content");
  CHECK(reason_phrase(431) == "Request Header Fields Too Large");
  CHECK(reason_phrase(799) == "Unknown");
}

}  // namespace
}  // namespace sluice::http
