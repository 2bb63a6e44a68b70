#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "server/admin/route_match.hpp"
#include "server/http/headers.hpp"

namespace sluice::server {

TEST_CASE("a route is found by method and path, with what its variables stand for") {
  const admin::RouteMatch found = admin::find_route("GET", "/v1/admin/plans/pro");
  REQUIRE(found.route != nullptr);
  CHECK(found.route->path == "/v1/admin/plans/{id}");
  CHECK(found.route->method == "GET");
  CHECK(found.path_values == std::vector<std::string>{"pro"});
  const admin::RouteMatch list = admin::find_route("GET", "/v1/admin/plans");
  REQUIRE(list.route != nullptr);
  CHECK(list.route->path == "/v1/admin/plans");
  CHECK(list.path_values.empty());
}

TEST_CASE("every route is found by its own template, and by no other method") {
  for (const admin::Route& route : admin::routes()) {
    CAPTURE(route.path);
    CAPTURE(route.method);
    std::string path(route.path);
    for (std::size_t begin; (begin = path.find('{')) != std::string::npos;) {
      path.replace(begin, path.find('}') - begin + 1, "x-1");
    }
    CHECK(admin::find_route(route.method, path).route == &route);
    const admin::RouteMatch other = admin::find_route("TRACE", path);
    CHECK(other.route == nullptr);
    CHECK((", " + other.allow + ", ").find(", " + std::string(route.method) + ", ") != std::string::npos);
  }
}

TEST_CASE("a method that the path does not have is told what it has") {
  const admin::RouteMatch found = admin::find_route("POST", "/v1/admin/plans/pro");
  CHECK(found.route == nullptr);
  CHECK(found.allow == "GET, PUT, PATCH, DELETE");
  CHECK(admin::find_route("get", "/v1/admin/plans").route == nullptr);  // methods are what they are written
  CHECK(admin::find_route("", "/v1/admin/plans").allow == "GET, POST");
}

TEST_CASE("a path that a route has in full is nobody's id") {
  CHECK(admin::find_route("GET", "/v1/admin/overrides/vip").route != nullptr);
  const admin::RouteMatch found = admin::find_route("GET", "/v1/admin/overrides/clear");
  CHECK(found.route == nullptr);
  CHECK(found.allow == "POST");
  CHECK(admin::find_route("POST", "/v1/admin/overrides/clear").route != nullptr);
}

TEST_CASE("escapes of a segment are resolved within it") {
  CHECK(admin::find_route("GET", "/v1/admin/plans/a%2Fb").path_values == std::vector<std::string>{"a/b"});
  CHECK(admin::find_route("GET", "/v1/admin/plans/a+b%20c").path_values == std::vector<std::string>{"a+b c"});
}

TEST_CASE("what is no path of ours fits nothing") {
  for (const char* const path :
       {"", "/", "v1/admin/plans", "/v1/admin", "/v1/admin/", "/v1/admin/plans/", "/v1/admin/plans//",
        "//v1/admin/plans", "/v1/admin/plans/a/b", "/v1/admin/Plans", "/v1/admin/plan", "/v1/admin/plans/%zz",
        "/v1/admin/plans/%ff", "/v1/admin/plans/a%00b", "/v1/admin/pl%61ns", "*"}) {
    CAPTURE(path);
    const admin::RouteMatch found = admin::find_route("GET", path);
    CHECK(found.route == nullptr);
    CHECK(found.allow.empty());
  }
}

TEST_CASE("no two routes have the same method and path") {
  std::set<std::string> seen;
  for (const admin::Route& route : admin::routes()) {
    CAPTURE(route.path);
    CHECK(seen.insert(std::string(route.method) + " " + std::string(route.path)).second);
  }
}

TEST_CASE("a caller's request id is taken where it is safe to write anywhere, else one is made") {
  for (const std::string& good : {std::string("a"), std::string("Az09._:-"), std::string(128, 'x')}) {
    CHECK(http::request_id_of(good) == good);
  }
  std::set<std::string> made;
  for (const std::string& bad :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\nb"), std::string("a/b"),
        std::string("\xc3\xa9"), std::string("a\0b", 3), std::string("a,b")}) {
    CAPTURE(bad);
    const std::string id = http::request_id_of(bad);
    CHECK(id.size() == 24);
    CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(made.insert(id).second);
  }
}

}  // namespace sluice::server
