// The authorities of a listener's clients: which flags go together, and how long the file is watched.
#include "common/program/client_ca.hpp"

#include <array>
#include <string>

#include "tests/unit/program/invocation.hpp"
#include "tests/unit/program/watched_files.hpp"

namespace sluice::program {
namespace {

using http::make_pair;

struct Watched : WatchedFiles {
  Watched() { write("one"); }
  void write(const std::string& name) { folder.write("ca.crt", make_pair(name).certificate); }

  ClientCa client_ca{loop, log, kEvery};
};

TEST_CASE("Renewed authorities are used without a restart, and a refused renewal is logged and does not end that") {
  Watched watched;
  REQUIRE(watched.client_ca.load(watched.folder.path("ca.crt")));
  REQUIRE(watched.client_ca.get());
  watched.write("two");
  REQUIRE(watched.run_until([&] { return watched.logged("client_ca_renewed") == 1; }));
  watched.folder.write("ca.crt", "no certificate");
  REQUIRE(watched.run_until([&] { return watched.logged("client_ca_refused") == 1; }));
  watched.write("three");
  REQUIRE(watched.run_until([&] { return watched.logged("client_ca_renewed") == 2; }));
}

TEST_CASE("A faulty file of authorities at the start is a failure that is logged, and no file demands nothing") {
  Watched watched;
  watched.folder.write("ca.crt", "no certificate");
  CHECK_FALSE(watched.client_ca.load(watched.folder.path("ca.crt")));
  REQUIRE(watched.run_until([&] { return watched.logged("client_ca_failed") == 1; }));
  CHECK(watched.client_ca.load(""));
  CHECK(watched.client_ca.get() == nullptr);
}

TEST_CASE("Authorities of clients need a listener with TLS") {
  static constexpr std::array kFlags{FlagSpec{"tls-client-ca", "Serving", "FILE", "", "The authorities."}};
  static constexpr std::array kCommands{Command{"", "Serves.", "", kFlags}};
  static constexpr Program kServes{"serves", "SERVES_", kCommands};
  const http::Folder folder;
  folder.write("ca.crt", make_pair("one").certificate);
  const auto faults_of = [&](const Texts& arguments, bool encrypted) {
    const Invocation invocation(arguments);
    const Flags flags = read_flags(kServes, invocation.argc(), invocation.argv(), invocation.environment());
    ConfigReader reader(flags);
    read_client_ca(reader, "tls-client-ca", encrypted, "add --tls-cert");
    return std::move(reader).take_faults();
  };
  CHECK(faults_of({}, false).empty());
  CHECK(faults_of({"--tls-client-ca", folder.path("ca.crt")}, true).empty());
  const Faults clear = faults_of({"--tls-client-ca", folder.path("ca.crt")}, false);
  REQUIRE(clear.size() == 1);
  CHECK(clear[0].pointer == "--tls-client-ca");
  CHECK(mentions(clear[0].text, "add --tls-cert"));
  CHECK(faults_of({"--tls-client-ca", "/nowhere/ca.crt"}, true).size() == 1);
}

}  // namespace
}  // namespace sluice::program
