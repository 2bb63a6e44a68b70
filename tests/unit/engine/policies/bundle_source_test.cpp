#include "engine/policies/bundle_source.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

namespace sluice::policies {
namespace {

// Polls, because the loader has a thread of its own.
template <class Condition>
bool comes_true(Condition condition) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

struct Rig {
  explicit Rig(const std::string& text) {
    write(text);
    REQUIRE(source.load_first());
    source.start();
  }
  ~Rig() {
    source.stop();
    std::filesystem::remove_all(folder);
  }

  void write(const std::string& text) const {
    std::ofstream(folder / "new") << text;
    std::filesystem::rename(folder / "new", folder / "bundle.json");
  }
  static std::filesystem::path make_folder() {
    char name[] = "/tmp/sluice-source-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    return name;
  }
  std::shared_ptr<const policy::Snapshot> in_force() {
    std::lock_guard lock(mutex);
    return published;
  }

  std::filesystem::path folder = make_folder();
  SystemClock clock;
  telemetry::Metrics metrics{{}, clock};
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};
  std::mutex mutex;
  std::shared_ptr<const policy::Snapshot> published;  // as the one who decides keeps it
  BundleSource source{folder / "bundle.json",
                      Mode::enforce,
                      clock,
                      metrics,
                      log,
                      [this](const Publication& publication, const std::function<void()>& taken) {
                        std::lock_guard lock(mutex);
                        former.push_back(std::exchange(published, publication.snapshot));
                        taken();
                      },
                      1};
  std::vector<std::shared_ptr<const policy::Snapshot>> former;  // requests in flight hold them
};

std::string bundle(const std::string& tenant) {
  return R"({"format":"sluice/v1","tenants":[{"id":")" + tenant + R"("}]})";
}

}  // namespace

TEST_CASE("a file that is replaced is published as the next revision") {
  Rig rig(bundle("one"));
  CHECK(rig.in_force()->revision == 1);
  rig.write(bundle("two"));
  REQUIRE(comes_true([&] { return rig.in_force()->revision == 2; }));
  CHECK(rig.in_force()->tenants.contains("two"));
  CHECK_FALSE(rig.source.refusal());
}

TEST_CASE("former policies are freed once nobody uses them, by nobody but the loader") {
  Rig rig(bundle("one"));
  std::weak_ptr<const policy::Snapshot> first = rig.in_force();
  rig.write(bundle("two"));
  REQUIRE(comes_true([&] { return rig.in_force()->revision == 2; }));
  std::shared_ptr<const policy::Snapshot> in_use;
  {
    std::lock_guard lock(rig.mutex);
    in_use = std::move(rig.former.back());
    rig.former.clear();
  }
  CHECK(in_use.use_count() == 2);  // the loader's is the other one: this thread frees nothing
  in_use.reset();
  CHECK(comes_true([&] { return first.expired(); }));
}

TEST_CASE("a refused file leaves what is in force, and says so until it is good again") {
  Rig rig(bundle("one"));
  rig.write("{");
  REQUIRE(comes_true([&] { return rig.source.refusal().has_value(); }));
  CHECK(rig.in_force()->revision == 1);
  std::string first = *rig.source.refusal();
  CHECK(first.find("the policies of revision 1 stay in force") != std::string::npos);
  rig.write(bundle("two"));
  REQUIRE(comes_true([&] { return !rig.source.refusal(); }));
  CHECK(rig.in_force()->revision == 2);
}

}  // namespace sluice::policies
