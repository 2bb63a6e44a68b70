// Passwords, ACL users, TLS.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "tests/integration/redis/harness.hpp"

namespace sluice::redis::test {
namespace {

using sluice::test::RedisServer;
using sluice::test::TemporaryFolder;

void write_file(const std::filesystem::path& path, std::string_view text) {
  // In one step, as a mounted secret changes.
  const std::filesystem::path next = path.string() + ".next";
  std::ofstream(next, std::ios::binary) << text;
  std::filesystem::rename(next, path);
}

bool connects(Rig& rig) {
  rig.client.start();
  REQUIRE(run_until(rig.context, [&] { return rig.client.ready() || !rig.failures.empty(); }));
  return rig.client.ready();
}

std::string first_code(const Rig& rig) { return rig.failures.empty() ? "" : rig.failures[0].code; }

TEST_CASE("a password is demanded, refused or accepted, and never told") {
  RedisServer server({.config = {"requirepass hunter2"}});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  Rig good(options_for("redis://:hunter2@" + address));
  REQUIRE(connects(good));
  CHECK(good.ask({"ECHO", "in"}) == "in");

  Rig none(options_for("redis://" + address));
  CHECK_FALSE(connects(none));
  CHECK(first_code(none) == "authentication");

  Rig wrong(options_for("redis://:hunter3@" + address));
  CHECK_FALSE(connects(wrong));
  CHECK(first_code(wrong) == "authentication");
  CHECK(wrong.failures[0].text.find("hunter3") == std::string::npos);
}

TEST_CASE("a password given to a server that has none is told") {
  RedisServer server;
  Rig rig(options_for("redis://:hunter2@127.0.0.1:" + std::to_string(server.port())));
  CHECK_FALSE(connects(rig));
  CHECK(first_code(rig) == "authentication");
}

TEST_CASE("an ACL user connects with no more rights than it needs") {
  RedisServer server({.config = {"user agent on >p@ss/word ~* resetchannels -@all +info +evalsha +echo",
                                 "user blind on >x ~* -@all +evalsha"}});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  Rig agent(options_for("redis://agent:p%40ss%2Fword@" + address));
  REQUIRE(connects(agent));
  CHECK(agent.ask({"ECHO", "in"}) == "in");
  CHECK(agent.ask({"GET", "k"}).starts_with("-NOPERM"));

  Rig blind(options_for("redis://blind:x@" + address));
  CHECK_FALSE(connects(blind));
  CHECK(first_code(blind) == "permission");
  CHECK(blind.failures[0].text.find("+info") != std::string::npos);
}

TEST_CASE("the password file is read at each connect: missing, empty, wrong, then right") {
  RedisServer server({.config = {"requirepass hunter2"}});
  TemporaryFolder folder;
  Options options = options_for(server.tcp_url());
  options.target.password = "overridden by the file";
  options.password_file = (folder.path() / "password").string();
  Rig rig(options);
  const auto next_failure = [&] {
    rig.failures.clear();
    REQUIRE(run_until(rig.context, [&] { return !rig.failures.empty(); }));
    return rig.failures.back().code + ": " + rig.failures.back().text;
  };
  rig.client.start();
  CHECK(next_failure().starts_with("credentials"));
  write_file(options.password_file, "\n");
  next_failure();  // an attempt under way may have read the file before
  CHECK(next_failure().find("empty") != std::string::npos);
  write_file(options.password_file, std::string(5000, 'x'));
  next_failure();
  CHECK(next_failure().find("larger") != std::string::npos);
  write_file(options.password_file, "hunter3\n");
  next_failure();
  CHECK(next_failure().starts_with("authentication"));
  write_file(options.password_file, "hunter2\r\n");
  REQUIRE(run_until(rig.context, [&] { return rig.client.ready(); }, 5s));

  // Rotated: the connection stays until it is told otherwise, and the next one uses the new file.
  CHECK(rig.ask({"CONFIG", "SET", "requirepass", "hunter4"}) == "OK");
  write_file(options.password_file, "hunter4");
  rig.infos.clear();
  rig.client.reconnect();
  REQUIRE(run_until(rig.context, [&] { return rig.client.ready(); }, 5s));
  CHECK(rig.infos.size() == 1);
}

// A certificate authority and what it signed, made by the openssl program.
class Certificates {
 public:
  Certificates() {
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out "
        "ca.crt");
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other-ca -keyout other.key "
        "-out "
        "other.crt");
    make("server", "subjectAltName=DNS:localhost,IP:127.0.0.1");
    make("stranger", "subjectAltName=DNS:redis.elsewhere.example");
    make("client", "subjectAltName=DNS:client");
  }
  std::string operator[](const std::string& name) const { return (folder_.path() / name).string(); }
  std::vector<std::string> server_config(std::uint16_t port, const std::string& name,
                                         const std::string& clients) const {
    return {"tls-port " + std::to_string(port), "tls-cert-file " + (*this)[name + ".crt"],
            "tls-key-file " + (*this)[name + ".key"], "tls-ca-cert-file " + (*this)["ca.crt"],
            "tls-auth-clients " + clients};
  }

 private:
  void make(const std::string& name, const std::string& names) {
    run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " + name + ".key -out " +
        name + ".csr");
    std::ofstream((folder_.path() / (name + ".ext"))) << names << '\n';
    run("x509 -req -in " + name + ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile " + name +
        ".ext -out " + name + ".crt");
  }
  void run(const std::string& arguments) {
    const std::string line = "cd '" + folder_.path().string() + "' && openssl " + arguments + " >>log 2>&1";
    REQUIRE_MESSAGE(std::system(line.c_str()) == 0, line);
  }
  TemporaryFolder folder_;
};

TEST_CASE("TLS: the right authority and name are taken, all else is refused") {
  const Certificates certificates;
  const std::uint16_t port = sluice::test::free_port();
  RedisServer server({.config = certificates.server_config(port, "server", "no")});
  const auto options = [&](const std::string& host, const std::string& ca) {
    Options made = options_for("rediss://" + host + ":" + std::to_string(port) + "/1", 5s);
    made.tls_ca_file = ca.empty() ? "" : certificates[ca];
    return made;
  };
  for (const std::string host : {"localhost", "127.0.0.1"}) {
    Rig rig(options(host, "ca.crt"));
    REQUIRE(connects(rig));
    CHECK(rig.ask({"ECHO", "secret"}) == "secret");
    std::deque<Recorder> handlers(2000);  // many TLS records in one write, and in many reads
    const std::string filler(100, 'x');
    for (std::size_t i = 0; i < handlers.size(); ++i) rig.begin(handlers[i], {"ECHO", filler + std::to_string(i)});
    REQUIRE(run_until(rig.context, [&] { return rig.client.unfinished() == 0; }));
    for (std::size_t i = 0; i < handlers.size(); ++i) REQUIRE(handlers[i].text == filler + std::to_string(i));
  }
  for (const std::string ca : {"other.crt", ""}) {
    Rig rig(options("localhost", ca));
    CHECK_FALSE(connects(rig));
    CHECK(first_code(rig) == "tls");
  }
  Rig missing(options("localhost", "no-such-file"));
  CHECK_FALSE(connects(missing));
  CHECK(first_code(missing) == "tls");
  CHECK(missing.failures[0].text.find("no-such-file") != std::string::npos);

  Rig plain(options_for(server.tcp_url().replace(0, 5, "rediss")));  // TLS spoken to the plain port
  CHECK_FALSE(connects(plain));
}

TEST_CASE("TLS: a certificate for another host is refused") {
  const Certificates certificates;
  const std::uint16_t port = sluice::test::free_port();
  RedisServer server({.config = certificates.server_config(port, "stranger", "no")});
  for (const std::string host : {"localhost", "127.0.0.1"}) {
    Options options = options_for("rediss://" + host + ":" + std::to_string(port));
    options.tls_ca_file = certificates["ca.crt"];
    Rig rig(options);
    CHECK_FALSE(connects(rig));
    CHECK(first_code(rig) == "tls");
  }
}

TEST_CASE("TLS: a client certificate is shown where one is demanded") {
  const Certificates certificates;
  const std::uint16_t port = sluice::test::free_port();
  RedisServer server({.config = certificates.server_config(port, "server", "yes")});
  Options options = options_for("rediss://localhost:" + std::to_string(port), 5s);
  options.tls_ca_file = certificates["ca.crt"];
  Rig without(options);
  CHECK_FALSE(connects(without));

  options.tls_cert_file = certificates["client.crt"];
  options.tls_key_file = certificates["client.key"];
  Rig with(options);
  REQUIRE(connects(with));
  CHECK(with.ask({"ECHO", "known"}) == "known");
}

}  // namespace
}  // namespace sluice::redis::test
