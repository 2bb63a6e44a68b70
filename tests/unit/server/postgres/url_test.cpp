#include "server/postgres/url.hpp"

#include <doctest/doctest.h>

namespace sluice::server {
namespace {

TEST_CASE("a parameter is added, or replaces what the URL says") {
  CHECK(postgres::with_parameter("postgresql://app@db/sluice", "connect_timeout", "3") ==
        "user='app' dbname='sluice' host='db' connect_timeout='3'");
  CHECK(postgres::with_parameter("host=db connect_timeout=9", "connect_timeout", "3") ==
        "host='db' connect_timeout='3'");
}

TEST_CASE("a default gives way to what the URL says") {
  CHECK(postgres::with_default("host=db", "keepalives_idle", "15") == "host='db' keepalives_idle='15'");
  CHECK(postgres::with_default("host=db keepalives_idle=60", "keepalives_idle", "15") == "host=db keepalives_idle=60");
  CHECK(postgres::url_user(postgres::with_default("postgresql://app@db?keepalives_idle=60", "keepalives_idle", "15")) ==
        "app");
}

TEST_CASE("values with quotes and backslashes stay what they are") {
  const std::string url = postgres::with_parameter(R"(host=db password='it\'s a \\')", "connect_timeout", "3");
  CHECK(postgres::url_password(url) == R"(it's a \)");
  CHECK_FALSE(postgres::url_fault(url));
}

}  // namespace
}  // namespace sluice::server
