#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/redis/target.hpp"

namespace sluice::redis {
namespace {

using Transport = Target::Transport;

Target parsed(std::string_view url) {
  const Result<Target> target = parse_target(url);
  REQUIRE_MESSAGE(target, url);
  return *target;
}

std::string fault(std::string_view url) {
  const Result<Target> target = parse_target(url);
  if (target) return "";
  CHECK(target.error().code == "invalid_url");
  return target.error().text;
}

TEST_CASE("a URL says host, port and database, with defaults") {
  const Target plain = parsed("redis://cache.example");
  CHECK(plain.transport == Transport::tcp);
  CHECK(plain.host == "cache.example");
  CHECK(plain.port == 6379);
  CHECK(plain.database == 0);
  CHECK(plain.user.empty());
  CHECK(plain.password.empty());

  const Target full = parsed("rediss://ann:secret@10.0.0.1:7000/12");
  CHECK(full.transport == Transport::tls);
  CHECK(full.host == "10.0.0.1");
  CHECK(full.port == 7000);
  CHECK(full.database == 12);
  CHECK(full.user == "ann");
  CHECK(full.password == "secret");

  CHECK(parsed("redis://h/").database == 0);
  CHECK(parsed("redis://h:1/2147483647").database == 2147483647);
}

TEST_CASE("user and password are percent-decoded") {
  const Target target = parsed("redis://a%40b:p%2F%3a%25%00%ff@h");
  CHECK(target.user == "a@b");
  CHECK(target.password == std::string("p/:%\0\xff", 6));
  CHECK(parsed("redis://:only@h").user.empty());
  CHECK(parsed("redis://:only@h").password == "only");
  CHECK(parsed("redis://ann:@h").user == "ann");
  CHECK(parsed("redis://:p@ss:word@h").password == "p@ss:word");
}

TEST_CASE("an IPv6 address stands in brackets") {
  const Target target = parsed("redis://[2001:db8::1]:6380/1");
  CHECK(target.host == "2001:db8::1");
  CHECK(target.port == 6380);
  CHECK(parsed("redis://[::1]").port == 6379);
  CHECK(to_string(target) == "redis://[2001:db8::1]:6380/1");
}

TEST_CASE("unix: names a path and perhaps a database") {
  CHECK(parsed("unix:/run/redis.sock").transport == Transport::unix_socket);
  CHECK(parsed("unix:/run/redis.sock").path == "/run/redis.sock");
  CHECK(parsed("unix:run/r.sock?db=3").path == "run/r.sock");
  CHECK(parsed("unix:run/r.sock?db=3").database == 3);
  CHECK(to_string(parsed("unix:/r?db=3")) == "unix:/r?db=3");
  CHECK(to_string(parsed("unix:/r")) == "unix:/r");
  CHECK(fault("unix:").find("path") != std::string::npos);
  CHECK(fault("unix:?db=1").find("path") != std::string::npos);
  CHECK(fault("unix:/r?x=1").find("db=N") != std::string::npos);
  CHECK(fault("unix:/r?db=").find("database") != std::string::npos);
  CHECK(fault("unix:/" + std::string(107, 'x')).find("107") != std::string::npos);
}

TEST_CASE("a URL of sentinels names them, the primary and the database") {
  const Target plain = parsed("redis+sentinel://a.example/mymaster");
  CHECK(plain.transport == Transport::tcp);
  CHECK(plain.sentinels == std::vector<HostPort>{{"a.example", 26379}});
  CHECK(plain.primary_name == "mymaster");
  CHECK(plain.database == 0);
  CHECK(parsed("redis://h").sentinels.empty());

  const Target full = parsed("rediss+sentinel://ann:secret@a:1,[::1],10.0.0.3:65535,[fd00::2]:7/my.master-1_x/12");
  CHECK(full.transport == Transport::tls);
  CHECK(full.sentinels == std::vector<HostPort>{{"a", 1}, {"::1", 26379}, {"10.0.0.3", 65535}, {"fd00::2", 7}});
  CHECK(full.primary_name == "my.master-1_x");
  CHECK(full.database == 12);
  CHECK(full.user == "ann");
  CHECK(full.password == "secret");
  CHECK(parsed("redis+sentinel://a/m/").database == 0);
  CHECK(parsed("redis+sentinel://:p%2C%40@a,b/m").password == "p,@");
}

TEST_CASE("a faulty URL of sentinels is refused, with the part that is wrong") {
  const auto says = [](const std::string& url, std::string_view part) {
    const std::string text = fault(url);
    CHECK_MESSAGE(text.find(part) != std::string::npos, url, ": ", text);
  };
  for (const std::string scheme : {"redis+sentinel://", "rediss+sentinel://"}) {
    says(scheme, "sentinel 1: the host is missing");
    says(scheme + "/m", "sentinel 1: the host is missing");
    says(scheme + "a,/m", "sentinel 2: the host is missing");
    says(scheme + ",a/m", "sentinel 1: the host is missing");
    says(scheme + "a,,b/m", "sentinel 2: the host is missing");
    says(scheme + "a", "name of the primary is missing");
    says(scheme + "a/", "name of the primary is missing");
    says(scheme + "a//1", "name of the primary is missing");
    says(scheme + "a/my master", "name of the primary may contain");
    says(scheme + "a/m%41", "name of the primary may contain");
    says(scheme + "a/m\n", "name of the primary may contain");
    says(scheme + "a/m/x", "database must be");
    says(scheme + "a/m/-1", "database must be");
    says(scheme + "a/m/1/2", "database must be");
    says(scheme + "a,b:0/m", "sentinel 2: the port must be");
    says(scheme + "a:65536/m", "sentinel 1: the port must be");
    says(scheme + "a:/m", "sentinel 1: the port must be");
    says(scheme + "a, b/m", "sentinel 2: the host contains an invalid character");
    says(scheme + "a,::1/m", "sentinel 2: several ':'");
    says(scheme + "[::1/m", "sentinel 1: an IPv6 address");
    says(scheme + "[::1]6/m", "sentinel 1: after the ']'");
    says(scheme + "a,b,a/m", "sentinel 3 is there twice");
    says(scheme + "a,a:26379/m", "sentinel 2 is there twice");
    says(scheme + "word@a/m", "USER:PASSWORD");
    says(scheme + "a/m?db=1", "%3F");
  }
  says("redis://a,b", "redis+sentinel://");
  says("sentinel://a/m", "redis+sentinel://");
  says("redis+sentinel:a/m", "redis+sentinel://");
  for (const char* url : {"redis+sentinel://ann:hunter2@a", "redis+sentinel://a:hunter2@,/m",
                          "redis+sentinel://a:hunter2/b@h/m", "redis+sentinel://hunter2@h/m"}) {
    CHECK(fault(url).find("hunter2") == std::string::npos);
  }
  CHECK(to_string(parsed("redis+sentinel://ann:hunter2@a/m")) == "redis+sentinel://ann@a:26379/m/0");
}

TEST_CASE("nodes of a Cluster") {
  const Target target = parsed("rediss+cluster://ann:p%40ss@a,b:7001,[fd00::7]");
  CHECK(target.transport == Target::Transport::tls);
  CHECK(target.user == "ann");
  CHECK(target.password == "p@ss");
  CHECK(target.cluster == std::vector<HostPort>{{"a", 6379}, {"b", 7001}, {"fd00::7", 6379}});
  CHECK(target.sentinels.empty());
  CHECK_FALSE(target.in_cluster);
  CHECK(to_string(target) == "rediss+cluster://ann@a:6379,b:7001,[fd00::7]:6379");
  CHECK(parsed("redis+cluster://one").cluster.size() == 1);
  CHECK(parsed("redis+cluster://one/").cluster.size() == 1);

  const Target node = node_of(target, {"b", 7001});
  CHECK(node.in_cluster);
  CHECK(node.cluster.empty());
  CHECK(node.password == "p@ss");
  CHECK(to_string(node) == "rediss://ann@b:7001/0");

  const auto says = [](const std::string& url, const char* part) {
    const std::string text = fault(url);
    CHECK_MESSAGE(text.find(part) != std::string::npos, url, ": ", text);
  };
  says("redis+cluster://", "node 1: the host is missing");
  says("redis+cluster://a,", "node 2: the host is missing");
  says("redis+cluster://a,a:6379", "node 2 is there twice");
  says("redis+cluster://a,b/1", "database 0 only");
  says("redis+cluster://word@a", "USER:PASSWORD");
  says("redis://a,b", "redis+cluster://");
  CHECK(fault("redis+cluster://a:hunter2@b/1").find("hunter2") == std::string::npos);
}

TEST_CASE("a host is made of the characters of names and addresses") {
  CHECK(is_host("redis-0.redis_x"));
  CHECK(is_host("fd00::1"));
  CHECK(is_host(std::string(255, 'a')));
  for (const std::string& host : {std::string(), std::string(256, 'a'), std::string("a b"), std::string("a/"),
                                  std::string("a\0", 2), std::string("[::1]"), std::string("a@b")}) {
    CHECK_FALSE(is_host(host));
  }
}

TEST_CASE("a faulty URL is refused, with what to write instead") {
  CHECK(fault("").find("redis://") != std::string::npos);
  CHECK(fault("localhost:6379").find("redis://") != std::string::npos);
  CHECK(fault("http://h").find("redis://") != std::string::npos);
  CHECK(fault("redis://").find("host") != std::string::npos);
  CHECK(fault("redis://:p@").find("host") != std::string::npos);
  CHECK(fault("redis:///1").find("host") != std::string::npos);
  for (const char* port : {"0", "65536", "x", "-1", "+1", "6379x", ""}) {
    CHECK(fault(std::string("redis://h:") + port).find("port must be") != std::string::npos);
  }
  for (const char* database : {"x", "-1", "2147483648", "1/2", "99999999999999999999"}) {
    CHECK(fault(std::string("redis://h/") + database).find("database must be") != std::string::npos);
  }
  CHECK(fault("redis://::1:6379").find("brackets") != std::string::npos);
  CHECK(fault("redis://[::1").find("brackets") != std::string::npos);
  CHECK(fault("redis://[]").find("brackets") != std::string::npos);
  CHECK(fault("redis://[::1]6379").find(":PORT") != std::string::npos);
  CHECK(fault("redis://h?db=1").find("%3F") != std::string::npos);
  CHECK(fault("redis://h ost").find("invalid character") != std::string::npos);
  CHECK(fault("redis://h\nost").find("invalid character") != std::string::npos);
}

TEST_CASE("a lone word before the '@' is not guessed to be a user or a password") {
  CHECK(fault("redis://word@h").find(":PASSWORD") != std::string::npos);
}

TEST_CASE("no text holds a password") {
  for (const char* url :
       {"redis://ann:hunter2@h:0", "redis://ann:hunter2%@h", "redis://hunter2@h", "redis://a:hunter2@h/x",
        "redis://a:hunter2/b@h", "redis://a:hunter2?@h", "http://a:hunter2@h", "redis://a:hunter2@"}) {
    CAPTURE(url);
    const std::string text = fault(url);
    CHECK_FALSE(text.empty());
    CHECK(text.find("hunter2") == std::string::npos);
  }
  CHECK(to_string(parsed("redis://ann:hunter2@h/1")) == "redis://ann@h:6379/1");
  CHECK(to_string(parsed("rediss://:hunter2@h")) == "rediss://h:6379/0");
  CHECK(to_string(parsed("redis://a%0Ab:hunter2@h")) == "redis://a%0Ab@h:6379/0");
}

TEST_CASE("what to_string writes without a password is read back as the same") {
  for (const char* url : {"redis://h:6379/0", "rediss://[::1]:7/3", "unix:/a/b.sock?db=9",
                          "redis+sentinel://a:1,[::1]:26379/m/2", "rediss+sentinel://a:26379/m/0"}) {
    CHECK(to_string(parsed(url)) == url);
  }
}

}  // namespace
}  // namespace sluice::redis
