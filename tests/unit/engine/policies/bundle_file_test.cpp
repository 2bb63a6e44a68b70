#include "engine/policies/bundle_file.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/policies/bundle_source.hpp"

namespace sluice::policies {
namespace {

// A folder that is gone with the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/sluice-bundle-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
  std::filesystem::path path;
};

constexpr std::string_view kGood = R"({"format":"sluice/v1","tenants":[{"id":"shop"}]})";

}  // namespace

TEST_CASE("a file is read whole, with which file it is") {
  Folder folder;
  std::string text(200'000, 'x');
  std::string path = folder.write("b.json", text);
  auto read = read_whole(path, true);
  REQUIRE(read);
  REQUIRE(*read);
  CHECK((*read)->text == text);
  CHECK((*read)->identity == current_identity(path));
}

TEST_CASE("a file that is rewritten or replaced is another") {
  Folder folder;
  std::string path = folder.write("b.json", "one");
  FileIdentity first = current_identity(path);
  CHECK(current_identity(path) == first);
  folder.write("b.json", "three");
  CHECK(current_identity(path) != first);
  std::filesystem::rename(folder.write("c.json", "one"), path);
  CHECK(current_identity(path) != first);
  std::filesystem::remove(path);
  CHECK(current_identity(path) == FileIdentity{});
}

TEST_CASE("a file is another one when only who may read it changed") {
  Folder folder;
  std::string path = folder.write("b.json", "one");
  FileIdentity first = current_identity(path);
  REQUIRE(::chmod(path.c_str(), 0600 ^ (first.mode & 0777)) == 0);
  CHECK(current_identity(path) != first);
}

TEST_CASE("what cannot be read is said with its reason") {
  Folder folder;
  auto missing = read_whole(folder.path / "none.json", true);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text == (folder.path / "none.json").string() + " cannot be read: No such file or directory");
}

TEST_CASE("a pipe nobody writes to is refused at a reload and not waited for") {
  Folder folder;
  std::string path = folder.path / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  auto read = read_whole(path, true);
  REQUIRE_FALSE(read);
  CHECK(read.error().text.find("is not a regular file") != std::string::npos);
}

TEST_CASE("a snapshot's chain is the digest of the bytes it was made of") {
  auto one = load_bundle(kGood, BundleFormat::json, digest_of(kGood), 7, 0, Mode::enforce);
  REQUIRE(one);
  CHECK(one->snapshot->revision == 7);
  CHECK(one->snapshot->chain == digest_of(kGood));
  CHECK(digest_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("a bundle is YAML by its name, or under another name by how it begins") {
  CHECK(format_of("p.yaml", "{}") == BundleFormat::yaml);
  CHECK(format_of("/a.b/p.yml", "{}") == BundleFormat::yaml);
  CHECK(format_of("p.json", "format: sluice/v1") == BundleFormat::json);
  CHECK(format_of("policies", " \n{\"format\":1}") == BundleFormat::json);
  CHECK(format_of("/dev/stdin", "# a comment\nformat: sluice/v1") == BundleFormat::yaml);
  CHECK(format_of("policies", "") == BundleFormat::json);
}

TEST_CASE("YAML and JSON make the same snapshot and have the same faults, each at its place") {
  constexpr std::string_view kYaml =
      "format: sluice/v1\ntenants:\n  - id: shop\nplans:\n  - id: pro\n    tenant_id: shop\n    limits:\n"
      "      - {name: a, algorithm: fixed_window, limit: 5, window: 1m}\n";
  const auto good = load_bundle(kYaml, BundleFormat::yaml, "d", 1, 0, Mode::enforce);
  REQUIRE(good);
  CHECK(good->snapshot->plan_count == 1);
  const std::string wrong = std::string(kYaml) + "  - id: bad\n    tenant_id: nobody\n    limit: no\n";
  const auto bad = load_bundle(wrong, BundleFormat::yaml, "d", 1, 0, Mode::enforce);
  REQUIRE_FALSE(bad);
  bool found = false;
  for (const Fault& fault : bad.error()) {
    if (fault.pointer != "/plans/1/tenant_id") continue;
    found = true;
    CHECK(fault.line == 10);
    CHECK(fault.column == 16);
  }
  CHECK(found);
  const auto broken = load_bundle("format: [", BundleFormat::yaml, "d", 1, 0, Mode::enforce);
  REQUIRE_FALSE(broken);
  CHECK(broken.error().front().text.find("not YAML") != std::string::npos);
}

TEST_CASE("a fault is described with as much of its place as is known") {
  CHECK(describe(Fault{"/plans/0/id", "is wrong", 3, 12}) == "/plans/0/id, line 3, column 12: is wrong");
  CHECK(describe(Fault{"", "is wrong", 3, 12}) == "line 3, column 12: is wrong");
  CHECK(describe(Fault{"/plans/0/id", "is wrong"}) == "/plans/0/id: is wrong");
  CHECK(describe(Fault{"", "is wrong"}) == "is wrong");
}

TEST_CASE("a refusal says since when, how many faults, the first one and what decides instead") {
  constexpr std::int64_t kSince = 1'800'000'000'123'456;
  CHECK(describe_refusal("b.json", {{"/a", "is wrong", 2, 5}}, kSince, 4) ==
        "the bundle b.json is refused since 2027-01-15T08:00:00Z (1 fault; the first: /a, line 2, column 5: is wrong): "
        "the policies of revision 4 stay in force");
  CHECK(describe_refusal("b.json", {{"/a", "x"}, {"/b", "y"}}, kSince, 4).find("(2 faults; the first: /a: x)") !=
        std::string::npos);
}

}  // namespace sluice::policies
