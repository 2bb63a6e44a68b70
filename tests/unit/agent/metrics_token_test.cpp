// The token of --metrics-token-file, and what becomes of it when the file changes.
#include "agent/metrics_token.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "common/telemetry/line_writer.hpp"
#include "tests/unit/agent/config_reading.hpp"

namespace sluice::agent::test {
namespace {

const std::string kFirst = "first-0123456789abcdef";
const std::string kSecond = "second-0123456789abcdef";

struct TokenRig {
  // Replaces the file by renaming, as people should.
  void write(const std::string& text) {
    std::ofstream(folder.path("new")) << text;
    std::filesystem::rename(folder.path("new"), folder.path("token"));
  }
  Result<> loaded(const std::string& text) {
    write(text);
    return token.load();
  }

  Folder folder;
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};
  MetricsToken token{folder.path("token"), log};
};

TEST_CASE("A metrics token is what the file's one line says") {
  TokenRig rig;
  REQUIRE(rig.loaded(kFirst + "\n"));
  CHECK(rig.token.matches(kFirst));
  CHECK_FALSE(rig.token.matches(kFirst + "\n"));
  CHECK_FALSE(rig.token.matches(kSecond));
  CHECK_FALSE(rig.token.matches(""));
}

TEST_CASE("What is no metrics token is refused without being shown") {
  TokenRig rig;
  CHECK_FALSE(rig.token.load());  // there is no file
  for (const std::string& text : {std::string(), std::string("short"), kFirst + "\n" + kSecond, kFirst + " x",
                                  std::string(MetricsToken::kLongest + 1, 'a'), std::string(100'000, 'a')}) {
    const auto refused = rig.loaded(text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "metrics_token_file");
    CHECK(refused.error().text.find(rig.folder.path("token")) != std::string::npos);
    CHECK(refused.error().text.find(kFirst) == std::string::npos);
  }
  CHECK(rig.loaded(std::string(MetricsToken::kShortest, 'a')));
  CHECK(rig.loaded(std::string(MetricsToken::kLongest, 'a')));
}

TEST_CASE("A replaced metrics token counts at once, and a faulty one leaves the former in force") {
  TokenRig rig;
  REQUIRE(rig.loaded(kFirst));
  rig.write(kSecond);
  CHECK(rig.token.matches(kSecond));
  CHECK_FALSE(rig.token.matches(kFirst));
  rig.write("short");
  CHECK(rig.token.matches(kSecond));
  std::filesystem::remove(rig.folder.path("token"));
  CHECK(rig.token.matches(kSecond));
}

}  // namespace
}  // namespace sluice::agent::test
