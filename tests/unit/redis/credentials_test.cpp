#include "common/redis/credentials.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

namespace sluice::redis {
namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/sluice-login-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(std::string_view text) const {
    const std::string file = path + "/login";
    std::ofstream(file, std::ios::trunc) << text;
    return file;
  }
  std::string path;
};

std::string error_of(const std::string& file) {
  Options options;
  options.login_file = file;
  const auto login = read_login(options);
  return login ? "" : login.error().code;
}

}  // namespace

TEST_CASE("a login file replaces the user and the password of the URL") {
  const Folder folder;
  Options options;
  options.target.user = "from-url";
  options.target.password = "from-url";
  options.target.database = 3;
  options.login_file = folder.write(*write_login_file("agent", "s3cret: with spaces "));
  const auto login = read_login(options);
  REQUIRE(login);
  CHECK(login->user == "agent");
  CHECK(login->password == "s3cret: with spaces ");
  CHECK(login->database == 3);
  folder.write(*write_login_file("", "default's"));
  CHECK(read_login(options)->user.empty());
  CHECK(read_login(options)->password == "default's");
}

TEST_CASE("a login file that is missing, empty or half a login is no login") {
  const Folder folder;
  CHECK(error_of(folder.path + "/none") == "no_login");
  CHECK(error_of(folder.path) == "credentials");
  CHECK(error_of(folder.write("")) == "credentials");
  CHECK(error_of(folder.write("agent")) == "credentials");
  CHECK(error_of(folder.write("agent\n")) == "credentials");
  CHECK(error_of(folder.write("agent\n" + std::string(5000, 'x'))) == "credentials");
}

TEST_CASE("the third line of a login file may say that its user calls functions, and nothing else") {
  const Folder folder;
  Options options;
  options.login_file = folder.write(*write_login_file("agent", "s3cret"));
  CHECK_FALSE(read_login(options)->calls_functions);
  folder.write(*write_login_file("agent", "s3cret", true));
  const auto login = read_login(options);
  REQUIRE(login);
  CHECK(login->user == "agent");
  CHECK(login->password == "s3cret");
  CHECK(login->calls_functions);
  CHECK(error_of(folder.write("agent\ns3cret\nscripts\n")) == "credentials");
  CHECK(error_of(folder.write("agent\n\nfunctions\n")) == "credentials");
}

TEST_CASE("what would not be read as it was written is not written") {
  CHECK_FALSE(write_login_file("agent", ""));
  CHECK_FALSE(write_login_file("agent", "two\nlines"));
  CHECK_FALSE(write_login_file("two\nlines", "x"));
  CHECK_FALSE(write_login_file("agent", "x\r"));
  CHECK_FALSE(write_login_file("agent", std::string(4096, 'x')));
}

}  // namespace sluice::redis
