#include "common/redis/handshake.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace sluice::redis {
namespace {

std::string bulk(std::string_view text) {
  std::string out;
  CommandWriter(out).bulk(text);
  return out;
}

const std::string kServer = bulk("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n");
const std::string kReplication = bulk("# Replication\r\nrole:master\r\nconnected_slaves:0\r\n");
const std::string kMemory = bulk("# Memory\r\nused_memory:1\r\nmaxmemory_policy:noeviction\r\n");
const std::string kInfo = kServer + kReplication + kMemory;

std::string error_code(const Login& login, std::string_view bytes) {
  Handshake handshake(login);
  const auto result = handshake.feed(bytes);
  return result ? "none" : result.error().code;
}

TEST_CASE("the greeting says only what is configured") {
  const std::string info =
      "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n*2\r\n$"
      "4\r\nINFO"
      "\r\n$6\r\nmemory\r\n";
  CHECK(Handshake({}).request() == info);
  CHECK(Handshake({.user = "", .password = "p\r\n", .database = 0, .client_name = ""}).request() ==
        "*2\r\n$4\r\nAUTH\r\n$3\r\np\r\n\r\n" + info);
  CHECK(Handshake({.user = "ann", .password = "pw", .database = 12, .client_name = "me"}).request() ==
        "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$2\r\npw\r\n*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n"
        "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$2\r\nme\r\n" +
            info);
  CHECK(Handshake({.user = "ann", .password = "", .database = 0, .client_name = ""})
            .request()
            .starts_with("*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$0\r\n\r\n"));
}

TEST_CASE("the answers make a ServerInfo, however they are cut") {
  const std::string bytes = "+OK\r\n+OK\r\n+OK\r\n+PONG\r\n" + kInfo;
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Handshake handshake({.user = "", .password = "pw", .database = 1, .client_name = "me"});
    const auto first = handshake.feed(std::string_view(bytes).substr(0, cut));
    REQUIRE(first);
    REQUIRE_FALSE(first->has_value());
    const auto second = handshake.feed(std::string_view(bytes).substr(cut));
    REQUIRE(second);
    REQUIRE(second->has_value());
    const ServerInfo& info = **second;
    REQUIRE(info.product == "redis");
    REQUIRE(info.version == "7.0.15");
    REQUIRE(info.role == "master");
    REQUIRE(info.maxmemory_policy == "noeviction");
  }
}

TEST_CASE("Valkey is known by its own version, in either order") {
  for (const std::string_view text : {"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.0\r\n",
                                      "valkey_version:9.1.0\r\nredis_version:7.2.4\r\n"}) {
    ServerInfo info;
    read_info(text, info);
    CHECK(info.product == "valkey");
    CHECK(info.version == "9.1.0");
    CHECK(check_version(info));
  }
}

TEST_CASE("a Redis before 7 is refused, with its version and what is needed") {
  for (const std::string_view version : {"6.2.14", "6.3.4", "5.0.0", "2.8", "6"}) {
    ServerInfo info;
    read_info("redis_version:" + std::string(version) + "\r\n", info);
    const Result<> checked = check_version(info);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == "too_old");
    CHECK(checked.error().text.find(version) != std::string::npos);
    CHECK(checked.error().text.find("7.0") != std::string::npos);
  }
  for (const std::string_view version : {"7.0.0", "7.4.1", "8.0.0", "10.1", "255.255.255"}) {
    ServerInfo info;
    read_info("redis_version:" + std::string(version) + "\n", info);
    CHECK(check_version(info));
  }
  CHECK(error_code({}, "+PONG\r\n" + bulk("redis_version:6.2.14\r\n") + kReplication + kMemory) == "too_old");
}

TEST_CASE("other products are known by what they say of themselves") {
  ServerInfo dragonfly;
  read_info("redis_version:6.2.11\r\ndragonfly_version:df-v1.21.1\r\n", dragonfly);
  CHECK(dragonfly.product == "dragonfly");
  CHECK(dragonfly.version == "df-v1.21.1");
  CHECK(check_version(dragonfly));  // its version says nothing: the trial of a script does
  ServerInfo keydb;
  read_info("redis_version:6.3.4\r\nexecutable:/usr/local/bin/keydb-server\r\n", keydb);
  const Result<> checked = check_version(keydb);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().text.find("keydb 6.3.4") != std::string::npos);
}

TEST_CASE("a login that calls functions tries no script") {
  Login login{.user = "", .password = "", .database = 0, .client_name = "", .runs_scripts = true};
  CHECK(Handshake(login).request().find("EVALSHA") != std::string::npos);
  login.calls_functions = true;
  Handshake handshake(login);
  CHECK(handshake.request().find("EVALSHA") == std::string::npos);
  CHECK(handshake.request().find("SCRIPT") == std::string::npos);
  CHECK(handshake.feed("+PONG\r\n" + kInfo).value());
}

TEST_CASE("a server that cannot run scripts is refused, one whose state or rights forbid it now is not") {
  const Login login{.user = "", .password = "", .database = 0, .client_name = "", .runs_scripts = true};
  const auto refusal = [&](std::string_view load, std::string_view run) {
    Handshake handshake(login);
    const auto result = handshake.feed("+PONG\r\n" + kInfo + std::string(load) + std::string(run));
    return result ? "none" : result.error().code + ": " + result.error().text;
  };
  const std::string_view good = "$1\r\nx\r\n";
  CHECK(refusal(good, ":1\r\n") == "none");
  CHECK(refusal(good, ":0\r\n").find("no library struct") != std::string::npos);
  for (const std::string_view none : {"-ERR unknown command 'EVALSHA'\r\n", "-ERR unexpected engine in script\r\n"}) {
    CHECK(refusal(good, none).starts_with("no_scripts: the server (redis 7.0.15) cannot run"));
    CHECK(refusal(none, "-NOSCRIPT No matching script\r\n").find("SCRIPT LOAD with: ERR un") != std::string::npos);
  }
  for (const std::string_view now :
       {"-READONLY You can't write against a read only replica.\r\n", "-OOM command not allowed\r\n",
        "-NOREPLICAS Not enough good replicas\r\n", "-NOPERM no permissions\r\n", "-NOSCRIPT No matching script\r\n"}) {
    CHECK(refusal(good, now) == "none");
    CHECK(refusal(now, now) == "none");
  }
  Handshake old(login);  // what an old version cannot do is not told: the version is
  const auto result = old.feed("+PONG\r\n" + bulk("redis_version:6.2.14\r\n") + kReplication + kMemory +
                               "-ERR Error compiling script\r\n-NOSCRIPT No matching script\r\n");
  REQUIRE_FALSE(result);
  CHECK(result.error().code == "too_old");
}

TEST_CASE("what has no version is not taken for a Redis") {
  CHECK(error_code({}, "+PONG\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n") == "protocol");
  CHECK(error_code({}, "+PONG\r\n" + bulk("redis_version:x\r\n") + kReplication + kMemory) == "protocol");
  CHECK(error_code({}, "+PONG\r\n:1\r\n") == "protocol");
  CHECK(error_code({}, "HTTP/1.1 400 Bad Request\r\n") == "protocol");
}

TEST_CASE("each refusal has its code") {
  const Login password{.user = "", .password = "hunter2", .database = 0, .client_name = ""};
  CHECK(error_code(password, "-WRONGPASS invalid username-password pair or user is disabled.\r\n") == "authentication");
  CHECK(error_code(password, "-ERR AUTH <password> called without any password configured\r\n") == "authentication");
  CHECK(error_code({}, "-NOAUTH Authentication required.\r\n") == "authentication");
  CHECK(error_code({}, "-LOADING Redis is loading the dataset in memory\r\n") == "loading");
  CHECK(error_code({}, "-MASTERDOWN Link with MASTER is down\r\n") == "masterdown");
  CHECK(error_code({}, "-BUSY Redis is busy running a script.\r\n") == "busy");
  CHECK(error_code({}, "-DENIED Redis is running in protected mode\r\n") == "denied");
  CHECK(error_code({}, "-ERR max number of clients reached\r\n") == "refused");
  CHECK(error_code({}, "+PONG\r\n-NOPERM this user has no permissions to run the 'info' command\r\n") == "permission");
  CHECK(error_code({.user = "", .password = "", .database = 99, .client_name = ""},
                   "-ERR DB index is out of range\r\n") == "database");
  CHECK(error_code({}, "-ERR something new\r\n") == "protocol");
  CHECK(error_code({}, "+PONG\r\n" + kInfo + "+one too many\r\n") == "protocol");
}

TEST_CASE("rights that only decorate may be missing, but not a password") {
  const Login named{.user = "", .password = "", .database = 0, .client_name = "me"};
  CHECK(error_code(named, "-NOPERM no client|setname\r\n-NOPERM no ping\r\n" + kInfo) == "none");
  CHECK(error_code(named, "-ERR Client names cannot contain spaces\r\n+PONG\r\n" + kInfo) == "none");
  CHECK(error_code(named, "-NOAUTH Authentication required.\r\n") == "authentication");
  CHECK(error_code(named, "+OK\r\n-LOADING Redis is loading\r\n") == "loading");
}

TEST_CASE("the server's words are quoted without control characters, and the password never") {
  Handshake handshake({.user = "ann", .password = "hunter2", .database = 0, .client_name = ""});
  const auto result = handshake.feed("-WRONGPASS bad\x1b[31m\nnews " + std::string(1000, 'x') + "\r\n");
  REQUIRE_FALSE(result);
  CHECK(result.error().text.find("WRONGPASS bad [31m news") != std::string::npos);
  CHECK(result.error().text.find("ann") != std::string::npos);
  CHECK(result.error().text.find("hunter2") == std::string::npos);
  CHECK(result.error().text.size() < 400);
}

}  // namespace
}  // namespace sluice::redis
