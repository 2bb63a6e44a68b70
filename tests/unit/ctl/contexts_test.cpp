#include "ctl/core/contexts.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

namespace sluice::ctl {
namespace {

namespace fs = std::filesystem;

struct Place {
  fs::path folder = fs::temp_directory_path() / "sluicectl_contexts_test";
  std::string path = (folder / "deep/contexts.yaml").string();
  Place() { fs::remove_all(folder); }
  ~Place() { fs::remove_all(folder); }
};

}  // namespace

TEST_CASE("contexts are stored for their owner only, and read again") {
  const Place place;
  auto contexts = Contexts::load(place.path);
  REQUIRE(contexts.has_value());
  CHECK(contexts->all().empty());
  contexts->put({.name = "prod", .server = "https://a", .token = "sla_1: #", .ca = "/ca", .tenant = "shop"});
  contexts->put({.name = "dev", .server = "http://b", .insecure = true});
  CHECK(contexts->use("prod"));
  CHECK_FALSE(contexts->use("none"));
  REQUIRE(contexts->save().has_value());
  struct stat status{};
  REQUIRE(::stat(place.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);

  auto again = Contexts::load(place.path);
  REQUIRE(again.has_value());
  CHECK(again->current() == "prod");
  REQUIRE(again->find("prod") != nullptr);
  CHECK(again->find("prod")->token == "sla_1: #");
  CHECK(again->find("prod")->tenant == "shop");
  CHECK(again->find("dev")->insecure);
  CHECK(again->remove("prod"));
  CHECK(again->current().empty());
}

TEST_CASE("a file that others may read, or that is broken, is refused") {
  const Place place;
  fs::create_directories(fs::path(place.path).parent_path());
  std::ofstream(place.path) << "contexts: []\n";
  REQUIRE(::chmod(place.path.c_str(), 0644) == 0);
  CHECK(Contexts::load(place.path).error().text.find("chmod 600") != std::string::npos);
  REQUIRE(::chmod(place.path.c_str(), 0600) == 0);
  CHECK(Contexts::load(place.path).has_value());
  std::ofstream(place.path) << "contexts: [{name: x}]\n";
  CHECK(Contexts::load(place.path).error().code == "contexts");
  std::ofstream(place.path) << "contexts: [\n";
  CHECK(Contexts::load(place.path).error().code == "contexts");
}

}  // namespace sluice::ctl
