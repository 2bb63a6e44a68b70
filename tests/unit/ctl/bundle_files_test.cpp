#include "ctl/core/bundle_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace sluice::ctl {
namespace {

namespace fs = std::filesystem;

// A folder of files, gone with the object.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / "sluicectl_bundle_files_test") {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("the files of a folder are one bundle, and a fault of it leads to its file and line") {
  const Folder folder;
  folder.write("a.yaml", "format: sluice/v1\nplans:\n  - {id: one}\n  - id: two\n    capacity: x\n");
  folder.write("b.json", "{\"format\":\"sluice/v1\",\n \"plans\":[\n  {\"id\":\"three\"}]}");
  folder.write("notes.txt", "no bundle");
  auto files = BundleFiles::read({folder.path()});
  REQUIRE(files.has_value());
  CHECK(files->joined().value() ==
        R"({"format":"sluice/v1","plans":[{"id":"one"},{"id":"two","capacity":"x"},{"id":"three"}]})");
  CHECK(files->describe("/plans/1/capacity", "is wrong") ==
        folder.path() + "/a.yaml:5:15: /plans/1/capacity: is wrong");
  CHECK(files->describe("/plans/2/id", "is wrong") == folder.path() + "/b.json:3:9: /plans/0/id: is wrong");
  REQUIRE(files->find("plans", "demo", "three") != nullptr);
  CHECK(files->find("plans", "", "four") == nullptr);
}

TEST_CASE("files that disagree, broken files and files that are not there are refused by name") {
  const Folder folder;
  const std::string one = folder.write("one.yaml", "format: sluice/v1\nmode: shadow\n");
  const std::string two = folder.write("two.yaml", "format: sluice/v1\nmode: enforce\n");
  auto files = BundleFiles::read({one, two});
  REQUIRE(files.has_value());
  CHECK(files->joined().error().text.find("two.yaml has \"mode\" \"enforce\"") != std::string::npos);

  const std::string broken = folder.write("broken.yaml", "plans:\n\t- id: x\n");
  CHECK(BundleFiles::read({broken}).error().text.find("broken.yaml:2:") != std::string::npos);
  CHECK(BundleFiles::read({folder.write("list.json", "[]")}).error().code == "bundle");
  CHECK(BundleFiles::read({folder.path() + "/none.yaml"}).error().code == "file");
  const fs::path empty = fs::path(folder.path()) / "empty";
  fs::create_directories(empty);
  CHECK(BundleFiles::read({empty.string()}).error().text.find("has no *.json") != std::string::npos);
}

TEST_CASE("a mounted ConfigMap is read once, and a link that leads nowhere is not left out in silence") {
  const Folder folder;
  const fs::path root(folder.path());
  fs::create_directories(root / "..2026");
  folder.write("..2026/a.yaml", "format: sluice/v1\nplans: [{id: one}]\n");
  fs::create_directory_symlink("..2026", root / "..data");
  fs::create_symlink("..data/a.yaml", root / "a.yaml");
  for (const bool recursive : {false, true}) {
    auto files = BundleFiles::read({folder.path()}, recursive);
    REQUIRE(files.has_value());
    CHECK(files->joined().value() == R"({"format":"sluice/v1","plans":[{"id":"one"}]})");
  }
  fs::create_symlink("nowhere", root / "b.yaml");
  CHECK(BundleFiles::read({folder.path()}).error().text.find("b.yaml") != std::string::npos);
}

}  // namespace sluice::ctl
