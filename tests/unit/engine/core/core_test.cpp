// An engine in a program that has its own loops: no thread of the engine runs here.
#include "engine/core/core.hpp"

#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

#include "common/domain/check_request.hpp"
#include "common/telemetry/line_writer.hpp"
#include "engine/core/metrics.hpp"
#include "engine/decide/check.hpp"

namespace sluice::engine {
namespace {

class BundleFile {
 public:
  explicit BundleFile(std::string_view text) {
    char name[] = "/tmp/sluice-core-XXXXXX";
    const int file = ::mkstemp(name);
    REQUIRE(file >= 0);
    ::close(file);
    path = name;
    std::ofstream(path) << text;
  }
  ~BundleFile() { std::filesystem::remove(path); }
  BundleFile(const BundleFile&) = delete;

  std::string path;
};

constexpr std::string_view kTwoADay = R"({"format":"sluice/v1","tenants":[{"id":"acme"}],"policies":[
  {"tenant_id":"acme","id":"orders","scope":{"resource":"GET:/orders"},"key_by":["subject"],
   "limits":[{"name":"day","algorithm":"fixed_window","limit":2,"window":"1d"}]}]})";

// An engine with lanes, each on a loop that the test runs.
class Program {
 public:
  explicit Program(CoreOptions options)
      : metrics_(metrics_options(options.lanes.lanes, false, false), clock_),
        core(with_memory(std::move(options)), clock_, metrics_, log_, decision_log_) {
    for (std::size_t i = 0; i < core.shared().options.lanes; ++i) {
      loops.emplace_back(1);
      lanes.emplace_back(i, loops.back(), core.shared(), [this] { ++changes; });
      core.add(lanes.back());
      lanes.back().start();
    }
  }

  void run_loops() {
    for (boost::asio::io_context& loop : loops) {
      loop.restart();
      loop.poll();
    }
  }

  // nullopt if it was refused. Counters are in memory, so the answer comes at once.
  std::optional<Decision> check(std::size_t lane, std::string_view subject) {
    struct Listener final : decide::CheckListener {
      void decided(std::size_t, const Decision& decision) override { answer = decision; }
      void refused(std::size_t, const decide::Refusal&) override {}
      std::optional<Decision> answer;
    } listener;
    decide::Decider& decider = lanes.at(lane).decider();
    auto place = decider.admit();
    if (!place) return place.error();
    // The lane keeps the snapshot as long as the call lasts.
    const std::shared_ptr<const policy::Snapshot> snapshot(std::shared_ptr<void>(), decider.snapshot());
    const decide::Caller caller{.snapshot = snapshot, .tenant = snapshot->tenants.find("acme"), .key_id = {}};
    std::string body = R"({"resource":"GET:/orders","subject":")" + std::string(subject) + "\"}";
    CheckRequest request;
    REQUIRE(parse_check(body, request).empty());
    decide::Check one(decider);
    one.start(std::move(*place), caller, caller.origin(), request, {}, listener);
    return listener.answer;
  }
  bool allows(std::size_t lane, std::string_view subject) {
    const auto decision = check(lane, subject);
    REQUIRE(decision);
    CHECK(decision->policy_id == "orders");
    return decision->allowed;
  }

 private:
  static CoreOptions with_memory(CoreOptions options) {
    options.memory_limit = std::size_t{1} << 20;
    return options;
  }

  SystemClock clock_;
  telemetry::LineWriter lines_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  telemetry::Log log_{lines_, telemetry::LogLevel::error};
  telemetry::DecisionLog decision_log_{{}, lines_, clock_};
  telemetry::Metrics metrics_;

 public:
  Core core;
  int changes = 0;
  std::deque<boost::asio::io_context> loops;
  std::deque<Lane> lanes;
};

}  // namespace

TEST_CASE("lanes of one engine decide on the program's own loops, and share their counters") {
  const BundleFile file(kTwoADay);
  Program program({.policies_file = file.path, .lanes = {.lanes = 2}});
  REQUIRE(program.core.load());
  CHECK_FALSE(program.core.had_policies());  // no loop has run yet
  program.run_loops();
  CHECK(program.core.had_policies());
  CHECK(program.changes == 2);
  CHECK(program.allows(0, "ann"));
  CHECK(program.allows(1, "ann"));
  CHECK_FALSE(program.allows(0, "ann"));
  CHECK_FALSE(program.allows(1, "ann"));
  CHECK(program.allows(1, "bob"));
  CHECK(program.core.counters().size() == 2);
}

TEST_CASE("two engines of one program have nothing in common") {
  const BundleFile file(kTwoADay);
  Program one({.policies_file = file.path});
  Program other({.policies_file = file.path});
  for (Program* const program : {&one, &other}) {
    REQUIRE(program->core.load());
    program->run_loops();
  }
  CHECK(one.allows(0, "ann"));
  CHECK(one.allows(0, "ann"));
  CHECK_FALSE(one.allows(0, "ann"));
  CHECK(other.allows(0, "ann"));
}

TEST_CASE("an engine without a source takes policies from its owner, and says until then why it has none") {
  Program program({.without_source = "the program has not loaded any yet"});
  REQUIRE(program.core.load());
  CHECK_FALSE(program.core.has_source());
  const auto before = program.check(0, "ann");
  REQUIRE(before);
  CHECK(before->reason == Reason::no_snapshot);
  CHECK_FALSE(before->allowed);

  const BundleFile file(kTwoADay);
  Program maker({.policies_file = file.path});
  REQUIRE(maker.core.load());
  maker.run_loops();
  const std::shared_ptr<const policy::Snapshot> made(std::shared_ptr<void>(), maker.lanes.front().decider().snapshot());
  bool used = false;
  program.core.publish({.snapshot = made, .removed = nullptr}, [&] { used = true; });
  CHECK_FALSE(used);
  program.run_loops();
  CHECK(used);
  CHECK(program.allows(0, "ann"));
  program.core.publish({});  // taken away again
  program.run_loops();
  CHECK(program.check(0, "ann")->reason == Reason::no_snapshot);
  CHECK(program.core.had_policies());
}

TEST_CASE("an owner with lanes of its own takes policies by a function, from a source too") {
  const BundleFile file(kTwoADay);
  Program program({.policies_file = file.path, .lanes = {.lanes = 2}});
  std::vector<std::string> taken;
  program.core.add([&](const policies::Publication& publication, const std::function<void()>& on_used) {
    for (const auto* tenant : {"acme", "none"}) {
      if (publication.snapshot && publication.snapshot->tenants.find(tenant) != nullptr) taken.emplace_back(tenant);
    }
    on_used();
  });
  REQUIRE(program.core.load());
  CHECK(taken == std::vector<std::string>{"acme"});
  program.run_loops();
  CHECK(program.allows(0, "a"));

  Program owner({.lanes = {.lanes = 2}});
  owner.core.add([](const policies::Publication&, const std::function<void()>& on_used) { on_used(); });
  int used = 0;
  owner.core.publish({}, [&] { ++used; });
  owner.run_loops();
  CHECK(used == 3);  // by two lanes and the function
}

TEST_CASE("a faulty file is refused at the start") {
  const BundleFile file(R"({"format":"sluice/v1","policies":[{}]})");
  Program program({.policies_file = file.path});
  CHECK_FALSE(program.core.load());
  program.run_loops();
  CHECK_FALSE(program.core.had_policies());
}

TEST_CASE("what lanes hold is freed if an engine ends before its loops have run") {
  const BundleFile file(kTwoADay);
  Program program({.policies_file = file.path, .lanes = {.lanes = 2}});
  REQUIRE(program.core.load());
  CHECK(program.changes == 0);
}

}  // namespace sluice::engine
