// The certificate of a TLS listener: which flags go together, and how long its files are watched.
#include "common/program/certificate.hpp"

#include <array>
#include <string>

#include <openssl/ssl.h>

#include "tests/unit/program/invocation.hpp"
#include "tests/unit/program/watched_files.hpp"

namespace sluice::program {
namespace {

using http::make_pair;
using http::PemPair;

// The pair "one" in files.
struct Watched : WatchedFiles {
  Watched() { folder.write(make_pair("one")); }

  bool load() { return certificate.load({folder.path("tls.crt"), folder.path("tls.key")}, exposed); }
  std::string name() const {
    const http::SessionPtr session = certificate.get()->new_session();
    std::array<char, 64> text{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get_certificate(session.get())), NID_commonName, text.data(),
                              text.size());
    return text.data();
  }

  telemetry::Registry exposed;
  Certificate certificate{loop, log, kEvery};
};

TEST_CASE("A renewed certificate is used without a restart, and the log says so each time") {
  Watched watched;
  REQUIRE(watched.load());
  CHECK(
      watched.exposed.render().contains(R"(sluice_tls_certificate_expiry_timestamp_seconds{certificate="serving"} )"));
  CHECK(watched.name() == "one");
  watched.folder.write(make_pair("two"));
  REQUIRE(watched.run_until([&] { return watched.name() == "two"; }));
  watched.folder.write(make_pair("three"));
  REQUIRE(watched.run_until([&] { return watched.name() == "three"; }));
  REQUIRE(watched.run_until([&] { return watched.logged("tls_renewed") == 2; }));
}

TEST_CASE("A refused renewal leaves the former certificate in force, and the next one is taken all the same") {
  Watched watched;
  REQUIRE(watched.load());
  for (const std::string name : {"two", "three"}) {
    const int refused = watched.logged("tls_refused");
    watched.folder.write("tls.crt", "no certificate, instead of " + name);
    REQUIRE(watched.run_until([&] { return watched.logged("tls_refused") > refused; }));
    CHECK(watched.name() != name);
    watched.folder.write(make_pair(name));
    REQUIRE(watched.run_until([&] { return watched.name() == name; }));
  }
}

TEST_CASE("A faulty certificate at the start is a failure that is logged, and no flags are no TLS") {
  Watched watched;
  watched.folder.write("tls.key", "no key");
  CHECK_FALSE(watched.load());
  REQUIRE(watched.run_until([&] { return watched.logged("tls_failed") == 1; }));
  CHECK(watched.certificate.load({}, watched.exposed));
  CHECK(watched.certificate.get() == nullptr);
  CHECK_FALSE(watched.exposed.render().contains("sluice_tls_certificate_expiry_timestamp_seconds"));
}

TEST_CASE("A certificate needs its key, and a key its certificate") {
  static constexpr std::array kFlags{FlagSpec{"tls-cert", "Serving", "FILE", "", "The chain."},
                                     FlagSpec{"tls-key", "Serving", "FILE", "", "Its key."}};
  static constexpr std::array kCommands{Command{"", "Serves.", "", kFlags}};
  static constexpr Program kServes{"serves", "SERVES_", kCommands};
  const http::Folder folder;
  folder.write(make_pair("one"));
  const std::string chain = folder.path("tls.crt");
  const std::string key = folder.path("tls.key");
  const auto faults_of = [](const Texts& arguments) {
    const Invocation invocation(arguments);
    const Flags flags = read_flags(kServes, invocation.argc(), invocation.argv(), invocation.environment());
    ConfigReader reader(flags);
    read_certificate(reader);
    return std::move(reader).take_faults();
  };
  CHECK(faults_of({}).empty());
  CHECK(faults_of({"--tls-cert", chain, "--tls-key", key}).empty());
  const Faults no_key = faults_of({"--tls-cert", chain});
  REQUIRE(no_key.size() == 1);
  CHECK(no_key[0].pointer == "--tls-cert");
  CHECK(mentions(no_key[0].text, "add --tls-key"));
  const Faults no_chain = faults_of({"--tls-key", key});
  REQUIRE(no_chain.size() == 1);
  CHECK(no_chain[0].pointer == "--tls-key");
  CHECK(mentions(no_chain[0].text, "add --tls-cert"));
}

}  // namespace
}  // namespace sluice::program
