#include "server/postgres/url.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

namespace sluice::server {
namespace {

// libpq reads the environment of the process.
class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> set) : set_(std::move(set)) {
    for (const auto& [name, value] : set_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : set_) ::unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  const std::map<std::string, std::string> set_;
};

using Hosts = std::vector<std::string>;

Hosts hosts_of(const std::string& url) {
  const auto route = postgres::route_of(url);
  REQUIRE(route);
  return route->hosts;
}

std::string sslmode_of(const std::string& url) {
  const auto route = postgres::route_of(url);
  REQUIRE(route);
  return route->sslmode;
}

bool demands_tls(const std::string& url) {
  const auto route = postgres::route_of(url);
  REQUIRE(route);
  return route->demands_tls();
}

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

TEST_CASE("a route has every host of a URL, and no Unix socket") {
  CHECK(hosts_of("postgresql://app@db/sluice") == Hosts{"db"});
  CHECK(hosts_of("host=db user=app") == Hosts{"db"});
  CHECK(hosts_of("postgresql://app@[::1]:5433/sluice") == Hosts{"::1"});
  CHECK(hosts_of("postgresql://app@127.0.0.1:1,db:2/sluice") == Hosts{"127.0.0.1", "db"});
  CHECK(hosts_of("postgresql://app@/sluice?host=a,/run,b") == Hosts{"a", "b"});
  for (const char* url :
       {"postgresql:///sluice?user=app", "postgresql:///sluice?host=/run/postgresql&user=app",
        "postgresql://%2Frun%2Fpostgresql/sluice", "postgresql:///sluice?host=@abstract", "host=''"}) {
    CAPTURE(url);
    CHECK(hosts_of(url).empty());
  }
}

TEST_CASE("a route goes to the address where there is one, whatever the name says") {
  CHECK(hosts_of("host=localhost hostaddr=10.0.0.1") == Hosts{"10.0.0.1"});
  CHECK(hosts_of("host=db.example hostaddr=127.0.0.1") == Hosts{"127.0.0.1"});
  CHECK(hosts_of("host=a,b hostaddr=10.0.0.1,") == Hosts{"10.0.0.1", "b"});
  CHECK(hosts_of("hostaddr=10.0.0.1") == Hosts{"10.0.0.1"});
  CHECK(hosts_of("host=/run hostaddr=10.0.0.1") == Hosts{"10.0.0.1"});
  // libpq refuses lists of different lengths; each host counts all the same.
  CHECK(hosts_of("host=127.0.0.1,b hostaddr=127.0.0.1") == Hosts{"127.0.0.1", "b"});
}

TEST_CASE("what the URL leaves out comes from the environment") {
  CHECK(sslmode_of("postgresql://app@db/sluice") == "prefer");
  {
    const Variables set({{"PGHOST", "db.example"}, {"PGSSLMODE", "verify-full"}});
    CHECK(hosts_of("postgresql:///sluice") == Hosts{"db.example"});
    CHECK(hosts_of("postgresql://other/sluice") == Hosts{"other"});
    CHECK(demands_tls("postgresql:///sluice"));
    CHECK_FALSE(demands_tls("postgresql:///sluice?sslmode=prefer"));
  }
  {
    const Variables set({{"PGHOSTADDR", "10.0.0.1"}});
    CHECK(hosts_of("postgresql://localhost/sluice") == Hosts{"10.0.0.1"});
  }
  CHECK(hosts_of("postgresql:///sluice").empty());
}

TEST_CASE("only the modes that never send anything without TLS demand it") {
  for (const char* mode : {"require", "verify-ca", "verify-full"}) {
    CHECK(demands_tls(std::string("postgresql://db/sluice?sslmode=") + mode));
  }
  for (const char* mode : {"disable", "allow", "prefer", "sometimes"}) {
    CHECK_FALSE(demands_tls(std::string("postgresql://db/sluice?sslmode=") + mode));
  }
}

TEST_CASE("a service is looked up, and one that is missing gives no route") {
  const std::string file = std::filesystem::temp_directory_path() / ("sluice-service-" + std::to_string(::getpid()));
  std::ofstream(file) << "[limits]\nhost=db.example\nsslmode=require\n[local]\nhost=/run\n";
  {
    const Variables set({{"PGSERVICEFILE", file}});
    CHECK(hosts_of("postgresql:///sluice?service=limits") == Hosts{"db.example"});
    CHECK(demands_tls("postgresql:///sluice?service=limits"));
    CHECK_FALSE(demands_tls("postgresql:///sluice?service=limits&sslmode=allow"));
    CHECK(hosts_of("postgresql:///sluice?service=local").empty());
    CHECK_FALSE(postgres::route_of("postgresql:///sluice?service=none"));
  }
  {
    const Variables set({{"PGSERVICEFILE", file}, {"PGSERVICE", "limits"}});
    CHECK(hosts_of("postgresql:///sluice") == Hosts{"db.example"});
  }
  std::filesystem::remove(file);
}

TEST_CASE("the password of a client certificate's key is found") {
  CHECK(postgres::url_key_password("postgresql://db/sluice?sslpassword=hunter2") == "hunter2");
  CHECK(postgres::url_key_password("postgresql://app:x@db/sluice").empty());
}

}  // namespace
}  // namespace sluice::server
