// Which paths are the console's, and what is in it. What it answers is tested over HTTP, in
// tests/e2e_server/test_console.py.
#include "server/console/console.hpp"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <string>

#include "common/http/gzip.hpp"

namespace sluice::server {
namespace {

using console::is_view;

TEST_CASE("the path of a view is its pattern, with something in place of the id") {
  CHECK(is_view("/", "/"));
  CHECK(is_view("/policies", "/policies"));
  CHECK(is_view("/policies/:id", "/policies/orders"));
  CHECK(is_view("/policies/:id", "/policies/a%2Fb"));
  CHECK(is_view("/tenants/:id/keys", "/tenants/acme/keys"));
}

TEST_CASE("a path that is longer, shorter or empty in a part is no view") {
  CHECK_FALSE(is_view("/", ""));
  CHECK_FALSE(is_view("/", "//"));
  CHECK_FALSE(is_view("/", "/policies"));
  CHECK_FALSE(is_view("/policies", "/"));
  CHECK_FALSE(is_view("/policies", "/policies/"));
  CHECK_FALSE(is_view("/policies", "/policiesx"));
  CHECK_FALSE(is_view("/policies", "/Policies"));
  CHECK_FALSE(is_view("/policies", "policies"));
  CHECK_FALSE(is_view("/policies/:id", "/policies"));
  CHECK_FALSE(is_view("/policies/:id", "/policies/"));
  CHECK_FALSE(is_view("/policies/:id", "/policies/a/b"));
  CHECK_FALSE(is_view("/policies/:id", "/plans/a"));
  CHECK_FALSE(is_view("/tenants/:id/keys", "/tenants//keys"));
}

TEST_CASE("the console has its views and its files, and nothing else") {
  static constexpr std::array<std::string_view, 2> kViews{"/", "/policies/:id"};
  const std::string script = sluice::http::gzip("run()");
  const std::array files{console::File{
      .path = "/assets/console-1.js", .content_type = "text/javascript", .gzip = script, .brotli = script}};
  const console::Console served({.page = "<!doctype html>", .views = kViews, .files = files});
  for (const char* path : {"/", "/policies/a", "/assets/console-1.js"}) CHECK(served.has(path));
  for (const char* path : {"/policies", "/assets/", "/assets/console-2.js", "/assets/console-1.js/", "/v1/health",
                           "/docs", "/v1/admin/policies", "/v1/sync/watch"}) {
    CHECK_FALSE(served.has(path));
  }
}

TEST_CASE("a file that is not gzip, or is cut off, is refused at the start") {
  const std::string script = sluice::http::gzip("run()");
  for (const std::string_view faulty : {std::string_view("run()"), std::string_view(script).substr(0, 20)}) {
    const std::array files{console::File{.path = "/assets/a.js", .content_type = "", .gzip = faulty, .brotli = ""}};
    CHECK_THROWS_AS(console::Console({.page = "", .views = {}, .files = files}), std::logic_error);
  }
}

}  // namespace
}  // namespace sluice::server
