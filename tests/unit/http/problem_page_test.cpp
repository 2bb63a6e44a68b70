#include "common/http/problem_page.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "common/http/problem_table.hpp"

namespace sluice::http {
namespace {

bool has(const std::string& page, std::string_view part) { return page.find(part) != std::string::npos; }

TEST_CASE("each type of problem has a page that says when it happens and what to do") {
  for (const ProblemKind& kind : problem_table()) {
    CAPTURE(kind.type);
    const std::string page = problem_page(kind.type);
    CHECK(has(page, std::to_string(kind.status)));
    CHECK(has(page, kind.when.substr(0, kind.when.find_first_of("`<&"))));
    CHECK(has(page, kind.fix.substr(0, kind.fix.find_first_of("`<&"))));
    CHECK(std::ranges::count(page, '`') == 0);
  }
}

TEST_CASE("a type with two statuses has both on its page") {
  const std::string page = problem_page("/problems/invalid");
  CHECK(has(page, "<h2>400 Bad Request</h2>"));
  CHECK(has(page, "<h2>422 Unprocessable Content</h2>"));
}

TEST_CASE("a page marks code up and names the program that answers so") {
  const std::string page = problem_page("/problems/idempotency-key-reused");
  CHECK(has(page, "The <code>Idempotency-Key</code> was used"));
  CHECK(has(page, "Answered by sluice-server."));
}

TEST_CASE("what is no type has no page") {
  for (const std::string_view type : {"", "/problems/", "/problems/nothing", "/problems/invalid/", "invalid"}) {
    CHECK(problem_page(type).empty());
  }
}

}  // namespace
}  // namespace sluice::http
