// Which files of authorities are taken, and what is said of the others.
#include "common/http/client_authorities.hpp"

#include <string>

#include "tests/unit/http/certificate_maker.hpp"

namespace sluice::http {
namespace {

// "" or the error's text, without the path of the file.
std::string check(const std::string& content) {
  const Folder folder;
  folder.write("ca.crt", content);
  const auto loaded = ClientAuthorities::load(folder.path("ca.crt"));
  if (loaded) return "";
  const std::string prefix = folder.path("ca.crt") + " ";
  REQUIRE(loaded.error().text.starts_with(prefix));
  return loaded.error().code == "tls" ? loaded.error().text.substr(prefix.size()) : loaded.error().code;
}

std::string many(std::size_t count) {
  std::string text;
  const std::string one = make_pair("ca").certificate;
  for (std::size_t i = 0; i < count; ++i) text += one;
  return text;
}

}  // namespace

TEST_CASE("a file of authorities has one or several certificates, and may say something between them") {
  const std::string one = make_pair("one").certificate;
  CHECK(check(one) == "");
  CHECK(check("# ours\n" + one + "# theirs\n" + make_pair("two").certificate) == "");
  CHECK(check(one + one) == "");
  CHECK(check(many(ClientAuthorities::kMost)) == "");
}

TEST_CASE("a faulty file of authorities is refused, with what is wrong with it") {
  const PemPair pair = make_pair("one");
  CHECK(check("") == "holds no certificate in PEM form");
  CHECK(check(pair.key) == "holds no certificate in PEM form");
  CHECK(check(pair.certificate + "-----BEGIN CERTIFICATE-----\nAAAA")
            .starts_with("holds a faulty or cut off certificate"));
  CHECK(check(many(ClientAuthorities::kMost + 1)) ==
        "holds 101 certificates: keep only the authorities of your clients, at most 100");
  CHECK(ClientAuthorities::load("/nowhere/ca.crt").error().text ==
        "/nowhere/ca.crt cannot be read: No such file or directory");
}

TEST_CASE("a file of authorities is read again when it has changed, and a fault is told once") {
  const Folder folder;
  folder.write("ca.crt", make_pair("one").certificate);
  const auto loaded = ClientAuthorities::load(folder.path("ca.crt"));
  REQUIRE(loaded);
  ClientAuthorities& authorities = **loaded;
  CHECK(authorities.reload_if_changed() == false);
  folder.write("ca.crt", make_pair("two").certificate);
  CHECK(authorities.reload_if_changed() == true);
  folder.write("ca.crt", "");
  CHECK_FALSE(authorities.reload_if_changed());
  CHECK(authorities.reload_if_changed() == false);
  std::filesystem::remove(folder.path("ca.crt"));
  CHECK(authorities.reload_if_changed().error().text.find("cannot be read") != std::string::npos);
  folder.write("ca.crt", make_pair("two").certificate);
  CHECK(authorities.reload_if_changed() == true);
}

}  // namespace sluice::http
