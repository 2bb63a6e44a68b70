// Where an agent listens, and whom it trusts.
#include "agent/config.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "tests/unit/agent/config_reading.hpp"

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using program::mentions;

TEST_CASE("Checks are served to others only where that was said in so many words") {
  for (const std::string address : {"0.0.0.0:8088", "10.0.0.1:8088", "[::]:8088", "[2001:db8::1]:8088",
                                    "[::ffff:10.0.0.1]:8088", "128.0.0.1:8088"}) {
    CAPTURE(address);
    CHECK(mentions(only_fault("--listen", {"--listen", address}), "--insecure-listen"));
    CHECK(good({"--listen", address, "--insecure-listen"}).listen == address);
  }
  for (const std::string address : {"127.0.0.1:8088", "127.8.9.1:1", "[::1]:8088", "[::ffff:127.0.0.1]:8088"}) {
    CAPTURE(address);
    CHECK(good({"--listen", address}).listen == address);
  }
}

TEST_CASE("Checks and the admin plane are served at numeric addresses") {
  CHECK(mentions(only_fault("--listen", {"--listen", "localhost:8088"}), "must be ADDRESS:PORT"));
  CHECK(mentions(only_fault("--admin", {"--admin", "localhost:9088"}), "must be ADDRESS:PORT"));
  CHECK(good({"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}).listen == "127.0.0.1:0");
}

TEST_CASE("One port cannot serve both checks and the admin plane") {
  CHECK(mentions(only_fault("--admin", {"--listen", "127.0.0.1:7000", "--admin", "0.0.0.0:7000"}), "port of --listen"));
}

TEST_CASE("A Unix socket's path is short enough, in a folder that is there, and hides no other file") {
  const Folder folder;
  CHECK(mentions(only_fault("--listen-unix", {"--listen-unix", "/tmp/" + std::string(120, 'x')}), "107 bytes"));
  CHECK(mentions(only_fault("--listen-unix", {"--listen-unix", folder.path("none/s.sock")}), "folder"));
  CHECK(mentions(only_fault("--listen-unix", {"--listen-unix", folder.file("data")}), "not a socket"));
  CHECK(good({"--listen-unix", folder.path("s.sock")}).listen_unix == folder.path("s.sock"));
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un stale{.sun_family = AF_UNIX, .sun_path = {}};
  folder.path("stale.sock").copy(stale.sun_path, sizeof stale.sun_path - 1);
  REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&stale), sizeof stale) == 0);
  ::close(descriptor);
  CHECK(good({"--listen-unix", folder.path("stale.sock")}).listen_unix == folder.path("stale.sock"));
}

TEST_CASE("A Unix socket's mode is octal, and lets its owner connect") {
  const Folder folder;
  const std::string path = folder.path("s.sock");
  CHECK(good({"--listen-unix", path}).listen_unix_mode == 0660);
  CHECK(good({"--listen-unix", path, "--listen-unix-mode", "0666"}).listen_unix_mode == 0666);
  CHECK(good({"--listen-unix", path, "--listen-unix-mode", "600"}).listen_unix_mode == 0600);
  for (const char* mode : {"66", "0066", "0468", "1666", "00666", "rw-rw----", "0x1ff"}) {
    CAPTURE(mode);
    CHECK(mentions(only_fault("--listen-unix-mode", {"--listen-unix", path, "--listen-unix-mode", mode}), "octal"));
  }
  CHECK(mentions(only_fault("--listen-unix-mode", {"--listen-unix-mode", "0666"}), "--listen-unix"));
}

TEST_CASE("Metrics have a listener and a token of their own, where that is asked for") {
  const Folder folder;
  const Config config = good({"--metrics-listen", "127.0.0.1:9099", "--metrics-token-file", folder.file("token")});
  CHECK(config.metrics_listen == "127.0.0.1:9099");
  CHECK(config.metrics_token_file == folder.path("token"));
  CHECK(mentions(only_fault("--metrics-listen", {"--metrics-listen", "127.0.0.1:8088"}), "the port of --listen"));
  CHECK(mentions(only_fault("--metrics-listen", {"--metrics-listen", "127.0.0.1:9088"}), "the port of --admin"));
  CHECK(mentions(only_fault("--metrics-listen", {"--metrics-listen", "somewhere"}), "ADDRESS:PORT"));
  CHECK(mentions(only_fault("--metrics-token-file", {"--metrics-token-file", folder.path("none")}), "cannot be read"));
}

TEST_CASE("The machine itself is trusted as a proxy, unless the flag says otherwise") {
  const api::TrustedProxies standard = good({}).authz.proxies;
  CHECK(standard.unix_socket);
  CHECK(standard.contains(*parse_ip("127.0.0.1")));
  CHECK_FALSE(standard.contains(*parse_ip("10.0.0.1")));
  const Config named = good({"--trusted-proxies", "10.0.0.0/8", "--authz-map", "x-user-id=subject"});
  CHECK_FALSE(named.authz.proxies.unix_socket);
  CHECK_FALSE(named.authz.proxies.contains(*parse_ip("127.0.0.1")));
  CHECK(named.authz.map.at(0).header == "x-user-id");
}

TEST_CASE("Faulty flags about proxies are named") {
  CHECK(mentions(only_fault("--trusted-proxies", {"--trusted-proxies", "localhost"}), "must be a list of loopback"));
  CHECK(mentions(only_fault("--authz-map", {"--authz-map", "x-user"}), "must be a list of HEADER=FIELD"));
  CHECK(mentions(only_fault("--authz-map", {"--trusted-proxies", "none", "--authz-map", "x-a=user"}), "has no use"));
}
