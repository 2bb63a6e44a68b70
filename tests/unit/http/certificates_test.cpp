// Which pairs of certificate and key are taken, what is said of the others, and when a new one counts.
#include "tests/unit/http/certificate_maker.hpp"

#include <chrono>

#include <openssl/ssl.h>
#include <sys/stat.h>

#include "common/http/tls.hpp"

namespace sluice::http {
namespace {

// "" or the error's text.
std::string check(const std::string& chain, const std::string& key) {
  const auto made = make_tls_context({"crt", chain}, {"key", key});
  if (made) return "";
  return made.error().code == "tls" ? made.error().text : made.error().code;
}

std::string name_in(const Certificates& certificates) {
  const SessionPtr session = certificates.new_session();
  X509* certificate = SSL_get_certificate(session.get());
  char text[64] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
  return text;
}

struct Loaded {
  Loaded() {
    folder.write(make_pair("one"));
    auto made = Certificates::load({folder.path("tls.crt"), folder.path("tls.key")});
    REQUIRE(made);
    certificates = *made;
  }
  // "one", or what went wrong; "" where nothing is new.
  std::string again() const {
    const Result<bool> done = certificates->reload_if_changed();
    if (!done) return done.error().text;
    return *done ? name_in(*certificates) : "";
  }

  Folder folder;
  std::shared_ptr<Certificates> certificates;
};

TEST_CASE("a certificate and its key are taken, with what else stands in the files") {
  const PemPair pair = make_pair("a");
  const PemPair rsa = make_pair("b", 86'400, EVP_RSA_gen(2048));
  CHECK(check(pair.certificate, pair.key) == "");
  CHECK(check(rsa.certificate, rsa.key) == "");
  CHECK(check(pair.certificate + rsa.certificate, pair.key) == "");
  CHECK(check("Subject: a\n" + pair.certificate + "\n\n", "# of a\n" + pair.key) == "");
  CHECK(check(pair.key + pair.certificate, pair.key + pair.certificate) == "");
  CHECK(check(pair.certificate,
              "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + pair.key) == "");
}

TEST_CASE("an expired certificate is taken: its end is told") {
  const PemPair pair = make_pair("a", -3'600);
  const auto made = make_tls_context({"crt", pair.certificate}, {"key", pair.key});
  REQUIRE(made);
  const auto ago = std::chrono::system_clock::now() - made->not_after;
  CHECK(ago > std::chrono::minutes(59));
  CHECK(ago < std::chrono::minutes(70));
}

TEST_CASE("a faulty pair is refused, with the file and what is wrong with it") {
  const PemPair pair = make_pair("a");
  const PemPair other = make_pair("b");
  const PemPair rsa = make_pair("c", 86'400, EVP_RSA_gen(2048));
  CHECK(check(pair.certificate, other.key) == "key is not the key of the first certificate in crt");
  CHECK(check(pair.certificate, rsa.key) == "key is not the key of the first certificate in crt");
  CHECK(check(other.certificate + pair.certificate, pair.key) == "key is not the key of the first certificate in crt");
  CHECK(check("", pair.key) == "crt holds no certificate in PEM form");
  CHECK(check(pair.key, pair.key) == "crt holds no certificate in PEM form");
  CHECK(check(pair.certificate, "") == "key holds no private key in PEM form");
  CHECK(check(pair.certificate, pair.certificate) == "key holds no private key in PEM form");
  const PemPair weak = make_pair("d", 86'400, EVP_RSA_gen(1024));
  CHECK(check(weak.certificate, weak.key).starts_with("crt holds a certificate that cannot be used: ee key too small"));
}

TEST_CASE("files that were cut off are refused, wherever that was") {
  const PemPair pair = make_pair("a");
  const PemPair next = make_pair("b");
  for (std::size_t size = 0; size + 2 < pair.certificate.size(); ++size) {
    CAPTURE(size);
    CHECK(check(pair.certificate.substr(0, size), pair.key).starts_with("crt holds "));
  }
  // From where its first line says that it is one. Signatures differ in length, and so do certificates.
  for (std::size_t size = 11; size + 2 < next.certificate.size(); ++size) {
    CAPTURE(size);
    CHECK(check(pair.certificate + next.certificate.substr(0, size), pair.key).starts_with("crt holds "));
  }
  for (std::size_t size = 0; size + 2 < pair.key.size(); ++size) {
    CAPTURE(size);
    CHECK(check(pair.certificate, pair.key.substr(0, size)).starts_with("key holds "));
  }
}

TEST_CASE("an encrypted key is refused without asking anybody for the passphrase") {
  const PemPair pair = make_pair("a");
  CHECK(check(pair.certificate, encrypted(pair.key)) ==
        "key holds a key that is encrypted; give it without a passphrase");
}

TEST_CASE("a file that cannot be read is named") {
  const Folder folder;
  const PemPair pair = make_pair("a");
  folder.write(pair);
  const auto error = [&](const std::string& chain, const std::string& key) {
    return Certificates::load({folder.path(chain), folder.path(key)}).error().text;
  };
  CHECK(error("none", "tls.key") == folder.path("none") + " cannot be read: No such file or directory");
  CHECK(error("tls.crt", "none") == folder.path("none") + " cannot be read: No such file or directory");
  CHECK(error(".", "tls.key") == folder.path(".") + " is not a regular file");
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  CHECK(error("pipe", "tls.key") == folder.path("pipe") + " is not a regular file");
  folder.write("large", std::string((1UL << 20) + 1, 'x'));
  CHECK(error("large", "tls.key") == folder.path("large") + " is larger than a certificate or key can be");
}

TEST_CASE("a renewed pair counts from the next connection on") {
  Loaded loaded;
  CHECK(loaded.again() == "");
  const SessionPtr before = loaded.certificates->new_session();
  const auto end = loaded.certificates->not_after();
  loaded.folder.write(make_pair("two", 86'400 * 90));
  CHECK(loaded.again() == "two");
  CHECK(loaded.again() == "");
  CHECK(loaded.certificates->not_after() - end >= std::chrono::hours(24 * 88));
  CHECK(SSL_get_SSL_CTX(before.get()) != SSL_get_SSL_CTX(loaded.certificates->new_session().get()));
}

TEST_CASE("a pair of which one file is new is refused once, until the other is there too") {
  Loaded loaded;
  const PemPair two = make_pair("two");
  loaded.folder.write("tls.crt", two.certificate);
  CHECK(loaded.again() ==
        loaded.folder.path("tls.key") + " is not the key of the first certificate in " + loaded.folder.path("tls.crt"));
  CHECK(loaded.again() == "");
  CHECK(name_in(*loaded.certificates) == "one");
  CHECK_FALSE(loaded.certificates->reload());
  loaded.folder.write("tls.key", two.key);
  CHECK(loaded.again() == "two");
}

TEST_CASE("files that are gone leave the former pair in force, and count again when they are back") {
  Loaded loaded;
  std::filesystem::remove(loaded.folder.path("tls.key"));
  CHECK(loaded.again().find("cannot be read") != std::string::npos);
  CHECK(loaded.again() == "");
  CHECK(name_in(*loaded.certificates) == "one");
  loaded.folder.write(make_pair("two"));
  CHECK(loaded.again() == "two");
}

TEST_CASE("without files there is no session until the first pair comes, and a faulty pair changes nothing") {
  const auto certificates = Certificates::without_files();
  CHECK_FALSE(certificates->in_force());
  CHECK(certificates->new_session() == nullptr);
  CHECK(certificates->not_after() == std::chrono::sys_seconds{});
  const PemPair one = make_pair("one");
  CHECK(certificates->renew({"crt", one.certificate}, {"key", make_pair("two").key}).error().text ==
        "key is not the key of the first certificate in crt");
  CHECK_FALSE(certificates->in_force());
  REQUIRE(certificates->renew({"crt", one.certificate}, {"key", one.key}));
  CHECK(certificates->in_force());
  CHECK(name_in(*certificates) == "one");
  CHECK_FALSE(certificates->renew({"crt", ""}, {"key", one.key}));
  CHECK(name_in(*certificates) == "one");
  CHECK(certificates->not_after() > std::chrono::sys_seconds{});
}

TEST_CASE("a mounted secret's swap of links is a change, a touch is none") {
  const Folder folder;
  for (const std::string name : {"one", "two"}) {
    std::filesystem::create_directory(folder.path(name));
    const PemPair pair = make_pair(name);
    folder.write(name + "/tls.crt", pair.certificate);
    folder.write(name + "/tls.key", pair.key);
  }
  std::filesystem::create_symlink("one", folder.path("..data"));
  auto loaded = Certificates::load({folder.path("..data/tls.crt"), folder.path("..data/tls.key")});
  REQUIRE(loaded);
  std::filesystem::last_write_time(folder.path("one/tls.crt"), std::filesystem::file_time_type::clock::now());
  CHECK((*loaded)->reload_if_changed() == false);
  std::filesystem::create_symlink("two", folder.path("..next"));
  std::filesystem::rename(folder.path("..next"), folder.path("..data"));
  CHECK((*loaded)->reload_if_changed() == true);
  CHECK(name_in(**loaded) == "two");
}

}  // namespace
}  // namespace sluice::http
