// nginx's configuration.
#include "server/imports/nginx_syntax.hpp"
#include "tests/unit/server/imports/imported.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kFile = R"(events {}
http {
  limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s;
  limit_req_zone $http_x_api_key zone=perkey:10m rate=30r/m;
  limit_conn_zone $binary_remote_addr zone=conns:10m;
  limit_req_status 503;
  server {
    server_name api.example.com www.*;
    limit_req zone=perip burst=20 nodelay;
    location / { proxy_pass http://app; }
    location /login/ {
      limit_req zone=perip burst=5;
      limit_conn conns 4;
    }
    location = /health { return 200; }
    location ~* \.(gif|png)$ { limit_req zone=perip; }
    location @fallback { limit_req zone=perip; }
  }
  server {
    listen 81;
    location /keys/ { limit_req zone=perkey; limit_req zone=perip burst=1 nodelay; }
    location /keys/free/ { limit_conn conns 2; limit_req zone=perkey delay=3 burst=9; }
  }
}
)";

Counter bucket(std::string_view use) {
  return Counter(
      import_text("nginx", "limit_req_zone $binary_remote_addr zone=z:1m rate=10r/s;\nserver { limit_req zone=z " +
                               std::string(use) + "; }")
          .policy("nginx-default"));
}

}  // namespace

TEST_CASE("burst=20 nodelay admits 21 at once, and then one for each period of the rate") {
  Counter counter = bucket("burst=20 nodelay");
  CHECK(counter.admitted_of(40, 0) == 21);
  CHECK_FALSE(counter.admits(99));
  CHECK(counter.admits(100));
  CHECK_FALSE(counter.admits(199));
  CHECK(counter.admitted_of(40, 10'000) == 21);
}

TEST_CASE("without a burst a request passes for each period of the rate") {
  Counter counter = bucket("");
  CHECK(counter.admitted_of(3, 0) == 1);
  CHECK(counter.admits(100));
}

TEST_CASE("a burst without nodelay spaces the requests") {
  const Made made = import_text("nginx", kFile);
  const Limit& limit = made.policy("nginx-api.example.com-login").limits[0];
  CHECK(limit.algorithm == Algorithm::leaky_bucket);
  CHECK(limit.limit == 6);
  CHECK(made.notes_line("file:12", "delay_ms"));
}

TEST_CASE("servers and locations with limits become policies of their hosts and paths") {
  const Made made = import_text("nginx", kFile);
  CHECK(scope(made.policy("nginx-api.example.com")) == "service=api.example.com|www.*");
  const Policy& login = made.policy("nginx-api.example.com-login");
  CHECK(scope(login) == "service=api.example.com|www.* endpoint=/login/*");
  CHECK(dimensions(login.enforcement.key_by) == "source_ip");
  CHECK(login.enforcement.ipv6_prefix == 128);
  REQUIRE(login.limits.size() == 2);
  CHECK(login.limits[1].algorithm == Algorithm::concurrency);
  CHECK(login.limits[1].limit == 4);
}

TEST_CASE("a location that a regex would catch keeps the limits that it inherits") {
  const Made made = import_text("nginx", kFile);
  const Policy& images = made.policy("nginx-api.example.com-regex-.-gif-png");
  CHECK(images.match_expr == R"(endpoint =~ '(?i)\.(gif|png)$')");
  const Policy& health = made.policy("nginx-api.example.com-exact-health");
  CHECK(health.priority > images.priority);
  CHECK(health.limits[0].limit == 21);
}

TEST_CASE("an empty key is not counted: requests without the header have a policy with the other limits") {
  const Made made = import_text("nginx", kFile);
  const Policy& with = made.policy("nginx-default-keys");
  CHECK(scope(with) == "endpoint=/keys/* attr.x-api-key=*");
  CHECK(with.limits.size() == 2);
  CHECK(with.limits[0].rate == lowest_terms(30, std::chrono::minutes(1)));
  const Policy& without = made.policy("nginx-default-keys-without");
  CHECK(scope(without) == "endpoint=/keys/*");
  CHECK(without.limits.size() == 1);
}

TEST_CASE("what nginx has and a policy has not is a note with its line") {
  const Made made = import_text("nginx", kFile);
  CHECK(made.notes_line("file:3", "have counters of their own"));
  CHECK(made.notes_line("file:6", "429, not 503"));
  CHECK(made.notes_line("file:13", "release the lease"));
  CHECK(made.notes_line("file:17", "named location"));
  CHECK(made.notes_line("file:22", "delay=3"));
  CHECK(import_text("nginx", "include sites/*;").notes_line("file:1", "nginx -T"));
  CHECK(import_text("nginx", "# configuration file /etc/nginx/nginx.conf:\ninclude sites/*;").notes.empty());
  CHECK(import_text("nginx", "limit_req_zone $jwt_x zone=z:1m rate=1r/s;\nserver { limit_req zone=z; }")
            .notes_line("file:1", "attr.jwt_x"));
}

TEST_CASE("a fault of nginx's configuration has its line, the rule and the fix") {
  CHECK(import_text("nginx", "limit_req_zone $uri zone=z:1m rate=1r/h;").faults_line("file:1", "rate=10r/s"));
  CHECK(import_text("nginx", "http {\n server {\n  limit_req zone=none;\n }\n}").faults_line("file:3", "add it"));
  CHECK(import_text("nginx", "limit_req_zone $uri zone=z:1m rate=1r/s;\nserver {\nlimit_req zone=z burst=x;\n}")
            .faults_line("file:3", "burst must be a whole number"));
  CHECK(import_text("nginx", "http {\n").faults_line("file:1", "write } behind it"));
  CHECK(import_text("nginx", "}").faults_line("file:1", "remove it"));
  CHECK(import_text("nginx", "a\nb \"c").faults_line("file:2", "in quotes does not end"));
}

TEST_CASE("words of nginx may be quoted, have escapes, braces of variables, and code between them") {
  const auto parsed = server::imports::parse_nginx(
      "a \"b \\\"c\" 'd' ${e}f \\.g; # no {\ncontent_by_lua_block { if x then { } end }\nh { i; }");
  REQUIRE(parsed);
  REQUIRE(parsed->size() == 3);
  CHECK((*parsed)[0].words == std::vector<std::string>{"a", "b \"c", "d", "${e}f", "\\.g"});
  CHECK((*parsed)[1].block.empty());
  CHECK((*parsed)[2].line == 3);
  CHECK((*parsed)[2].block[0].name() == "i");
}
