// Passwords, ACL users, TLS.
#include <doctest/doctest.h>

#include <array>
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

TEST_CASE("a Redis that runs our scripts is taken, and one that cannot is refused with what it lacks") {
  constexpr std::array<std::string_view, 1> kScripts{"#!lua\nreturn 1"};
  const auto attempt = [&](const RedisServer& server, std::string_view user = "") {
    Options options = options_for("redis://" + std::string(user) + server.tcp_url().substr(8));
    options.scripts = kScripts;
    Rig rig(options);
    return connects(rig) ? "taken" : rig.failures[0].code + ": " + rig.failures[0].text;
  };
  CHECK(attempt(RedisServer()) == "taken");
  const std::string without = attempt(RedisServer({.config = {"rename-command EVALSHA \"\""}}));
  CHECK(without.starts_with("no_scripts: "));
  CHECK(without.find("unknown command 'EVALSHA'") != std::string::npos);
  CHECK(attempt(RedisServer({.config = {"rename-command SCRIPT \"\""}})).starts_with("no_scripts: "));
  // It says nothing about a server that it may not try, or that refuses all scripts now.
  CHECK(attempt(RedisServer({.config = {"user blind on >x ~* -@all +info"}}), "blind:x@") == "taken");
  CHECK(attempt(RedisServer({.config = {"min-replicas-to-write 1"}})) == "taken");
  CHECK(attempt(RedisServer({.config = {"replicaof 127.0.0.1 1", "replica-serve-stale-data yes"}})) == "taken");
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
}

// Sends commands one after the other on several lanes, until it is destroyed, and counts those that fail.
class Load {
 public:
  explicit Load(Rig& rig) : rig_(rig), lanes_(8) {
    for (Recorder& lane : lanes_) {
      lane.then = [this, &lane] {
        ++answered;
        wrong += lane.text == "in" ? 0 : 1;
        if (!stopped_) again(lane);
      };
      again(lane);
    }
  }
  void stop() {
    stopped_ = true;
    REQUIRE(run_until(rig_.context, [this] { return rig_.client.unfinished() == 0; }));
  }

  int answered = 0;
  int wrong = 0;

 private:
  void again(Recorder& lane) { rig_.begin(lane, {"ECHO", "in"}); }

  Rig& rig_;
  bool stopped_ = false;
  std::deque<Recorder> lanes_;
};

TEST_CASE("a login that changes is used without a restart and without a command that fails") {
  const std::string rights = " ~* resetchannels -@all +info +echo +client|id";
  RedisServer server({.config = {"user old on >first" + rights, "user new on >second" + rights}});
  TemporaryFolder folder;
  Options options = options_for(server.tcp_url());
  options.login_file = (folder.path() / "login").string();
  write_file(options.login_file, "old\nfirst\n");
  Rig rig(options);
  REQUIRE(rig.connect());
  const std::string id = rig.ask({"CLIENT", "ID"});
  Load load(rig);

  // A login that does not work yet: the old connection serves on.
  write_file(options.login_file, "new\nmistyped\n");
  REQUIRE(run_until(rig.context, [&] { return !rig.failed_rotations.empty(); }));
  CHECK(rig.failed_rotations[0].code == "authentication");
  CHECK(rig.failed_rotations[0].text.find("mistyped") == std::string::npos);
  CHECK(rig.ask({"CLIENT", "ID"}) == id);

  write_file(options.login_file, "new\nsecond\n");
  REQUIRE(run_until(rig.context, [&] { return !rig.rotations.empty(); }));
  CHECK(std::stoll(rig.ask({"CLIENT", "ID"})) > std::stoll(id));
  Rig admin(options_for(server.tcp_url()));
  REQUIRE(admin.connect());
  CHECK(admin.ask({"ACL", "DELUSER", "old"}) == "1");  // Redis closes all connections of a user that it deletes
  CHECK(rig.ask({"ECHO", "in"}) == "in");
  load.stop();

  CHECK(load.answered > 100);
  CHECK(load.wrong == 0);
  CHECK(rig.losses.empty());
  CHECK(rig.failures.empty());
  // Two rotations if an attempt with the mistyped login happens to read the next one before the change is noticed.
  CHECK(rig.rotations.size() <= 2);
  CHECK(rig.infos.size() == 1 + rig.rotations.size());
  CHECK(rig.failed_rotations.size() == 1);  // told once, though it was tried several times
}

// Says how scripts are called.
class Manner final : public Command {
 public:
  void write(CommandWriter& out, CallBy by) override {
    out.array(2).bulk("ECHO").bulk(by == CallBy::function ? "function" : by == CallBy::hash ? "hash" : "text");
  }
  void on_reply(const Reply& reply) override { text = reply.text; }
  void on_failure(Failure) override { text = "failed"; }
  std::string text;
};

std::string manner(Rig& rig) {
  Manner command;
  rig.client.submit(command, "", {});
  return run_until(rig.context, [&] { return !command.text.empty(); }) ? command.text : "no answer within the limit";
}

TEST_CASE("a change to a login that calls functions loads no scripts and loses no command") {
  RedisServer server({.config = {"user old on >first ~* resetchannels -@all +info +echo +script|load +evalsha",
                                 "user new on >second ~* resetchannels -@all +info +echo"}});
  TemporaryFolder folder;
  constexpr std::array<std::string_view, 1> kScripts{"#!lua\nreturn 1"};
  Options options = options_for(server.tcp_url());
  options.scripts = kScripts;
  options.login_file = (folder.path() / "login").string();
  write_file(options.login_file, "old\nfirst\n");
  Rig rig(options);
  REQUIRE(rig.connect());
  CHECK(manner(rig) == "hash");
  Load load(rig);
  write_file(options.login_file, "new\nsecond\nfunctions\n");
  REQUIRE(run_until(rig.context, [&] { return !rig.rotations.empty(); }));
  CHECK(manner(rig) == "function");
  write_file(options.login_file, "old\nfirst\n");
  REQUIRE(run_until(rig.context, [&] { return rig.rotations.size() > 1; }));
  CHECK(manner(rig) == "hash");
  load.stop();
  CHECK(load.answered > 100);
  CHECK(load.wrong == 0);
  CHECK(rig.losses.empty());
  CHECK(rig.failures.empty());
  CHECK(rig.failed_rotations.empty());
}

Options with_password_file(const RedisServer& server, const TemporaryFolder& folder, std::string_view password) {
  Options options = options_for(server.tcp_url());
  options.password_file = (folder.path() / "password").string();
  write_file(options.password_file, password);
  return options;
}

// How many logins Redis has refused since it started.
int refused_logins(Rig& rig) {
  constexpr std::string_view kField = "errorstat_WRONGPASS:count=";
  const std::string stats = rig.ask({"INFO", "errorstats"});
  const std::size_t at = stats.find(kField);
  return at == std::string::npos ? 0 : std::atoi(stats.c_str() + at + kField.size());
}

TEST_CASE("a new login that Redis does not know yet is tried until it does, and told once") {
  RedisServer server({.config = {"requirepass hunter2"}});
  TemporaryFolder folder;
  const Options options = with_password_file(server, folder, "hunter2");
  Rig rig(options);
  REQUIRE(rig.connect());
  write_file(options.password_file, "hunter3");
  REQUIRE(run_until(rig.context, [&] { return refused_logins(rig) >= 3; }));
  CHECK(rig.failed_rotations.size() == 1);
  CHECK(rig.ask({"CONFIG", "SET", "requirepass", "hunter3"}) == "OK");
  REQUIRE(run_until(rig.context, [&] { return !rig.rotations.empty(); }));
  CHECK(rig.losses.empty());
}

TEST_CASE("a connection that is lost while a new login does not work yet is made with the new login") {
  RedisServer server({.config = {"requirepass hunter2"}});
  TemporaryFolder folder;
  const Options options = with_password_file(server, folder, "hunter2");
  Rig rig(options);
  REQUIRE(rig.connect());
  write_file(options.password_file, "hunter3");
  REQUIRE(run_until(rig.context, [&] { return !rig.failed_rotations.empty(); }));
  Recorder change;
  Recorder kill;  // in the same write, so that no attempt succeeds in between
  rig.begin(change, {"CONFIG", "SET", "requirepass", "hunter3"});
  rig.begin(kill, {"CLIENT", "KILL", "SKIPME", "no", "TYPE", "normal"});
  REQUIRE(run_until(rig.context, [&] { return rig.infos.size() > 1; }));
  CHECK(change.text == "OK");
  CHECK(rig.ask({"BLPOP", "nothing", "1.2"}) == "nil");  // longer than the back-off between attempts
  CHECK(rig.ask({"ECHO", "in"}) == "in");
  CHECK(rig.rotations.empty());
}

TEST_CASE("a connection that is never idle changes too") {
  RedisServer server({.config = {"requirepass hunter2"}});
  TemporaryFolder folder;
  const Options options = with_password_file(server, folder, "hunter2");
  Rig rig(options);
  REQUIRE(rig.connect());
  std::array<Recorder, 2> lanes;
  for (Recorder& lane : lanes) {  // one of them always waits behind the other
    lane.then = [&] {
      if (rig.rotations.empty()) rig.begin(lane, {"BLPOP", "nothing", "0.1"});
    };
    rig.begin(lane, {"BLPOP", "nothing", "0.1"});
  }
  write_file(options.password_file, "hunter2\n");
  REQUIRE(run_until(rig.context, [&] { return !rig.rotations.empty() && rig.client.unfinished() == 0; }));
  CHECK(rig.losses.empty());
}

TEST_CASE("replies that are owed arrive before the connection changes") {
  RedisServer server({.config = {"requirepass hunter2"}});
  TemporaryFolder folder;
  const Options options = with_password_file(server, folder, "hunter2");
  Rig rig(options);
  REQUIRE(rig.connect());
  Recorder slow;
  Recorder behind;
  rig.begin(slow, {"BLPOP", "nothing", "1.5"});  // longer than the client needs to notice the file and to connect
  REQUIRE(run_until(rig.context, [&] { return rig.client.writes() > 1; }));
  write_file(options.password_file, "hunter2\n");
  rig.begin(behind, {"ECHO", "behind"});
  REQUIRE(run_until(rig.context, [&] { return !rig.rotations.empty() && slow.done() && behind.done(); }));
  CHECK(slow.text == "nil");
  CHECK(behind.text == "behind");
  CHECK(rig.losses.empty());
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

TEST_CASE("TLS: a client certificate and the authorities that change are used without a restart") {
  const Certificates certificates;
  const std::uint16_t port = sluice::test::free_port();
  RedisServer server({.config = certificates.server_config(port, "server", "yes")});
  TemporaryFolder folder;
  const auto put = [&](const std::string& name, const std::string& from) {
    std::ifstream file(certificates[from], std::ios::binary);
    write_file(folder.path() / name, std::string(std::istreambuf_iterator<char>(file), {}));
  };
  put("ca.crt", "ca.crt");
  put("tls.crt", "client.crt");
  put("tls.key", "client.key");
  Options options = options_for("rediss://localhost:" + std::to_string(port), 5s);
  options.tls_ca_file = (folder.path() / "ca.crt").string();
  options.tls_cert_file = (folder.path() / "tls.crt").string();
  options.tls_key_file = (folder.path() / "tls.key").string();
  Rig rig(options);
  REQUIRE(rig.connect());

  // The certificate first, then its key: what is made in between fails.
  put("tls.crt", "server.crt");
  REQUIRE(run_until(rig.context, [&] { return !rig.failed_rotations.empty(); }));
  CHECK(rig.failed_rotations[0].code == "tls");
  CHECK(rig.ask({"ECHO", "in"}) == "in");
  put("tls.key", "server.key");
  REQUIRE(run_until(rig.context, [&] { return !rig.rotations.empty(); }));
  CHECK(rig.ask({"ECHO", "in"}) == "in");

  put("ca.crt", "other.crt");  // it did not sign the server's certificate
  REQUIRE(run_until(rig.context, [&] { return rig.failed_rotations.size() == 2; }));
  CHECK(rig.failed_rotations[1].code == "tls");
  CHECK(rig.ask({"ECHO", "in"}) == "in");
  const std::size_t before = rig.rotations.size();
  put("ca.crt", "ca.crt");
  REQUIRE(run_until(rig.context, [&] { return rig.rotations.size() > before; }));
  CHECK(rig.losses.empty());
}

}  // namespace
}  // namespace sluice::redis::test
