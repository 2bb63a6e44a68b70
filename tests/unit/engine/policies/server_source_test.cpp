#include "engine/policies/server_source.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>
#include <utime.h>

#include "common/domain/credential.hpp"
#include "engine/policies/server_snapshot.hpp"
#include "tests/unit/engine/follow/fake_server.hpp"

namespace sluice::policies {
namespace {

using namespace std::chrono_literals;
using follow::test::FakeServer;

sync::ObjectPtr policy_on(std::string_view resource) { return sync::policy("shop", "orders", "pro", resource); }

// A source beside a server that this thread drives; the source has its own.
struct Rig {
  explicit Rig(bool server_is_there = true) {
    if (server_is_there) url = server().url;
    std::ofstream(folder / "token") << token << '\n';
  }
  ~Rig() {
    stop();
    fake.reset();
    loop.restart();
    loop.poll();
    std::filesystem::remove_all(folder);
  }

  FakeServer& server() {
    if (!fake) {
      fake.emplace(loop);
      fake->token = token;
    }
    return *fake;
  }

  void start(std::chrono::milliseconds max_age = 0ms) {
    ServerOptions options{.sync = {.server = *http_client::parse_url(url), .agent_id = "a1", .version = "1"},
                          .token_file = folder / "token",
                          .cache = folder / "kept",
                          .max_age = max_age};
    options.sync.refusal_retry = 50ms;
    options.sync.last_report_timeout = 50ms;
    source.emplace(
        options, ServerHooks{.head = [this](const sync::Position& at, std::int64_t) { set(head, at.revision); }}, clock,
        metrics, log,
        [this](const Publication& publication, const std::function<void()>& taken) {
          {
            const std::lock_guard lock(mutex);
            published = publication.snapshot;
          }
          taken();
        },
        1);
    source->load_first();
    started_with = in_force();
    source->start();
  }
  // The server answers while the source says last_report_timeout.
  void stop() {
    if (!source) return;
    std::atomic<bool> stopped = false;
    std::jthread stopping([&] {
      source->stop();
      stopped = true;
    });
    CHECK(until([&] { return stopped.load(); }));
    stopping.join();
    source.reset();
    published.reset();
  }

  static void set(std::atomic<std::int64_t>& to, std::int64_t value) { to = value; }
  static std::filesystem::path make_folder() {
    char name[] = "/tmp/sluice-source-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    return name;
  }
  std::shared_ptr<const policy::Snapshot> in_force() {
    const std::lock_guard lock(mutex);
    return published;
  }
  bool enforces(std::uint64_t revision) {
    return until([&] {
      const auto snapshot = in_force();
      return snapshot && snapshot->revision == revision;
    });
  }
  bool says(std::string_view text) {
    return until([&] {
      const auto reasons = source->degraded();
      return std::ranges::any_of(reasons, [&](const std::string& reason) { return reason.find(text) != reason.npos; });
    });
  }
  template <class Condition>
  bool until(Condition done) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      loop.restart();
      loop.run_one_for(5ms);
    }
    return true;
  }

  const std::string token = mint_key("agents", CredentialKind::agent_token);
  std::string url = "http://127.0.0.1:1";
  std::filesystem::path folder = make_folder();
  boost::asio::io_context loop;
  std::optional<FakeServer> fake;
  SystemClock clock;
  telemetry::Metrics metrics{{}, clock};
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};
  std::mutex mutex;
  std::shared_ptr<const policy::Snapshot> published;
  std::shared_ptr<const policy::Snapshot> started_with;
  std::atomic<std::int64_t> head = 0;
  std::optional<ServerSource> source;
};

std::string faulty(std::string_view resource) {
  return R"({"tenant_id":"shop","id":"orders","scope":{"resource":[")" + std::string(resource) +
         R"("]},"match_expr":"(((","plan_id":"pro"})";
}

}  // namespace

TEST_CASE("policies of a server are put in force, and what changes in them") {
  Rig rig;
  rig.start();
  REQUIRE(rig.enforces(1));
  CHECK(rig.in_force()->tenants.contains("shop"));
  rig.server().write(sync::tenant("other", "acme"));
  rig.server().invalidate();
  REQUIRE(rig.enforces(2));
  CHECK(rig.in_force()->tenants.contains("other"));
  CHECK(rig.in_force()->policy_count == 1);
  REQUIRE(rig.until([&] { return rig.source->degraded().empty(); }));
  const std::string metrics = rig.metrics.render();
  CHECK(metrics.find("sluice_sync_connected 1") != std::string::npos);
  CHECK(metrics.find(R"(sluice_sync_fetches_total{result="full"} 1)") != std::string::npos);
  REQUIRE(rig.until([&] {
    const auto& reports = rig.server().reports;
    return !reports.empty() && reports.back().agent.enforced == rig.server().head();
  }));
}

TEST_CASE("a head that moves without a change is shown") {
  Rig rig;
  rig.start();
  REQUIRE(rig.until([&] { return rig.head == 1 && rig.server().streams() == 1; }));
  rig.server().move_head();
  rig.server().beat();
  CHECK(rig.until([&] { return rig.head == 2; }));
  CHECK(rig.in_force()->revision == 1);
}

TEST_CASE("a faulty state is refused and named, the former stays in force until a good one comes") {
  Rig rig;
  rig.start();
  REQUIRE(rig.enforces(1));
  REQUIRE(rig.until([&] { return rig.server().streams() == 1; }));
  rig.server().write(sync::make_object({Kind::policy, "shop", "orders"}, faulty("x")));
  rig.server().invalidate();
  REQUIRE(rig.says("the policies of revision 2 are refused (invalid_snapshot: "));
  CHECK(rig.in_force()->revision == 1);
  REQUIRE(rig.until([&] { return rig.server().reports.back().agent.refusal.has_value(); }));
  CHECK(rig.server().reports.back().agent.refusal->text.find("policy orders of tenant shop") != std::string::npos);
  CHECK(rig.server().reports.back().agent.enforced->revision == 1);
  rig.server().write(policy_on("y"));
  rig.server().invalidate();
  REQUIRE(rig.enforces(3));
  CHECK(rig.until([&] { return rig.source->degraded().empty(); }));
}

TEST_CASE("an agent that starts without its server serves what was in force, and says so") {
  Rig rig;
  rig.start();
  REQUIRE(rig.enforces(1));
  REQUIRE(rig.until([&] { return std::filesystem::exists(rig.folder / "kept.state" / "1"); }));
  rig.server().write(policy_on("y"));
  rig.server().invalidate();
  REQUIRE(rig.enforces(2));
  rig.stop();  // the last is kept
  rig.fake.reset();
  SUBCASE("the last") {
    rig.start();
    REQUIRE(rig.started_with);
    CHECK(rig.started_with->revision == 2);
    CHECK(rig.says("the server has not been reached yet: the policies of revision 2 decide, last confirmed at "));
    CHECK(rig.says("cannot be followed since"));
  }
  SUBCASE("that before, where the last is damaged") {
    std::ofstream(rig.folder / "kept.state" / "2", std::ios::trunc) << "damaged";
    rig.start();
    REQUIRE(rig.started_with);
    CHECK(rig.started_with->revision == 1);
  }
  SUBCASE("nothing, where nothing is whole; the agent runs all the same") {
    std::filesystem::remove(rig.folder / "kept.state" / "1");
    std::ofstream(rig.folder / "kept.state" / "2", std::ios::trunc) << "damaged";
    rig.start();
    CHECK_FALSE(rig.started_with);
    CHECK(rig.says("no policies are loaded"));
  }
}

TEST_CASE("policies that nobody confirms for too long are taken away, and given back once they are confirmed") {
  Rig rig;
  rig.start(300ms);
  REQUIRE(rig.until([&] { return rig.head == 1 && rig.server().streams() == 1; }));
  rig.server().hold = true;
  REQUIRE(rig.until([&] { return !rig.in_force(); }));
  CHECK(rig.says("older than --max-snapshot-age"));
  rig.server().beat();
  REQUIRE(rig.enforces(1));
  rig.stop();
  rig.fake.reset();
  // What was confirmed too long ago is not begun with.
  const utimbuf old{.actime = 1'000, .modtime = 1'000};
  REQUIRE(::utime((rig.folder / "kept.state" / "1").c_str(), &old) == 0);
  rig.start(10min);
  CHECK_FALSE(rig.started_with);
}

TEST_CASE("policies that cannot be kept are in force all the same, and it is said") {
  Rig rig;
  std::filesystem::create_directories(rig.folder / "kept.state" / "lock");
  rig.start();
  REQUIRE(rig.enforces(1));
  CHECK(rig.says("the last good state cannot be saved"));
  CHECK(rig.metrics.render().find("sluice_sync_last_good_state_errors_total 1") != std::string::npos);
}

TEST_CASE("what is compiled from a change is what is compiled from the whole") {
  sync::ScopeState before{{1, sync::kChainA}, sync::set_of(sync::small_shop())};
  for (int i = 0; i < 20; ++i) {
    before.objects = before.objects.with({sync::policy("shop", "p" + std::to_string(i), "pro", "r")});
  }
  sync::NewerFields newer;
  const auto compiled = compile_full(before, 1, newer);
  REQUIRE(compiled);
  sync::Applied applied{.state = {{2, sync::kChainB}, {}}, .changes = {}};
  applied.state.objects = before.objects.with(
      {sync::settings("enforce"), sync::plan("shop", "pro", 9), sync::Edit::removal({Kind::policy, "shop", "p3"}),
       sync::policy("shop", "p4", "pro", "other")},
      &applied.changes);
  const auto next = compile_next(**compiled, applied, 2, newer);
  const auto whole = compile_full(applied.state, 2, newer);
  REQUIRE(next);
  REQUIRE(whole);
  CHECK((*next)->mode == (*whole)->mode);
  CHECK((*next)->mode == Mode::enforce);
  CHECK((*next)->policy_count == (*whole)->policy_count);
  CHECK((*next)->revision == 2);
  CHECK((*next)->chain == sync::kChainB);
  CHECK((*next)->tenants.find("shop")->plans.find("pro")->limits ==
        (*whole)->tenants.find("shop")->plans.find("pro")->limits);
  CHECK_FALSE((*next)->tenants.find("shop")->policies.find("p3"));
}

TEST_CASE("a token file is read again when it changes, and says what is wrong with it") {
  const auto folder = Rig::make_folder();
  const std::string path = folder / "token";
  TokenFile file(path);
  CHECK(file.read().error().code == "token_file");
  const std::string first = mint_key("a", CredentialKind::agent_token);
  std::ofstream(path) << first << "\n";
  CHECK(file.read() == first);
  const std::string second = mint_key("another", CredentialKind::agent_token);
  std::ofstream(folder / "new") << second;
  std::filesystem::rename(folder / "new", path);
  CHECK(file.read() == second);
  std::ofstream(folder / "new") << mint_key("a", CredentialKind::api_key);
  std::filesystem::rename(folder / "new", path);
  REQUIRE_FALSE(file.read());
  CHECK(file.read().error().text.find("slk_") == std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a service account's token is followed as the kubelet replaces it") {
  const auto folder = Rig::make_folder();
  // A folder for each token, and one link that is renamed over: the file itself is a link through it.
  const auto rotate = [&](const std::string& name, const std::string& token) {
    std::filesystem::create_directory(folder / name);
    std::ofstream(folder / name / "token") << token;
    std::filesystem::create_symlink(name, folder / "..new");
    std::filesystem::rename(folder / "..new", folder / "..data");
  };
  std::filesystem::create_symlink("..data/token", folder / "token");
  rotate("..1", "eyJhbGciOiJ.eyJzdWIiO-_.c2ln");
  TokenFile file(folder / "token");
  CHECK(file.read() == "eyJhbGciOiJ.eyJzdWIiO-_.c2ln");
  rotate("..2", "eyJhbGciOiJ.eyJzdWIiTw.c2ln");
  CHECK(file.read() == "eyJhbGciOiJ.eyJzdWIiTw.c2ln");
  for (const char* text : {"a.b", "a.b.", ".b.c", "a..c", "a.b.c.d", "a.b.c d", "a.b=.c"}) {
    CAPTURE(text);
    std::filesystem::remove_all(folder / "..3");
    rotate("..3", text);
    CHECK(file.read().error().code == "token_file");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace sluice::policies
