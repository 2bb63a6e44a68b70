// equivalence [--steps N] [--seed S] [--nightly] [--server PATH]
//
// Drives random histories through the production scripts in a real server (called by hash, or as functions) and through
// the C++ implementation, on one driven clock, and compares every field of every answer. Prints what it did; fails at
// the first difference, and where a branch of the scripts or of the C++ was not reached. A seed repeats a run; --world
// and --verbose show one history of it.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>

#include "common/limiter/function_library.hpp"
#include "common/limiter/traits.hpp"
#include "tests/integration/equivalence/cpp_coverage.hpp"
#include "tests/integration/equivalence/lua_coverage.hpp"
#include "tests/integration/equivalence/world.hpp"
#include "tests/integration/support/driven_clock/driven_clock.hpp"
#include "tests/integration/support/redis_server.hpp"

namespace sluice::test {
namespace {

using limiter::Script;

constexpr std::array<std::string_view, limiter::kScripts> kScriptNames{"check", "check_many", "release",
                                                                       "renew", "overrides",  "reset"};

// With fewer, a branch that needs a rare history may be missed; it is printed then, and no failure.
constexpr std::int64_t kStepsForAllBranches = 500'000;

struct Flags {
  std::int64_t steps = 1'000'000;
  std::uint64_t seed = 20'240'617;
  std::string server = "redis-server";
  std::optional<std::int64_t> world;  // only this one
  bool verbose = false;
};

// The scripts in the server, and the instrumented copies beside them.
struct LoadedScripts {
  InstrumentedShas shas;
  std::array<std::vector<LuaBranch>, limiter::kScripts> branches;
};

std::string hits_key(std::size_t script) { return fmt::format("hits:{}", kScriptNames[script]); }

LoadedScripts load_scripts(RedisLink& link) {
  LoadedScripts loaded;
  for (std::size_t i = 0; i < limiter::kScripts; ++i) {
    const std::string_view text = limiter::script_text(static_cast<Script>(i));
    const std::string_view sha = limiter::script_sha(static_cast<Script>(i));
    if (link.ask({"SCRIPT", "LOAD", text}).text != sha) throw std::runtime_error("another hash than the server's");
    InstrumentedScript copy = instrument(text, hits_key(i));
    loaded.shas[i] = link.ask({"SCRIPT", "LOAD", copy.text}).text;
    loaded.branches[i] = std::move(copy.branches);
  }
  const limiter::FunctionLibrary& library = limiter::function_library();
  if (link.ask({"FUNCTION", "LOAD", library.text}).text != library.name) throw std::runtime_error("another library");
  return loaded;
}

std::size_t report_lua(RedisLink& link, const LoadedScripts& loaded) {
  std::size_t missed = 0, all = 0;
  for (std::size_t i = 0; i < limiter::kScripts; ++i) {
    std::vector<bool> reached(loaded.branches[i].size());
    const std::string key = hits_key(i);
    for (const redis::Reply& branch : link.ask({"HKEYS", key}).elements) {
      reached[static_cast<std::size_t>(std::stoul(std::string(branch.text)))] = true;
    }
    all += reached.size();
    for (std::size_t b = 0; b < reached.size(); ++b) {
      if (reached[b]) continue;
      ++missed;
      fmt::print("  never reached: lua/{}.lua:{}: {}\n", kScriptNames[i], loaded.branches[i][b].line,
                 loaded.branches[i][b].what);
    }
  }
  fmt::print("branches of the scripts: {} of {} reached\n", all - missed, all);
  return missed;
}

std::size_t report_cpp() {
  const auto coverage = cpp_coverage();
  if (!coverage) {
    fmt::print("branches of the C++: not counted, as llvm-profdata-19 and llvm-cov-19 are not installed\n");
    return 0;
  }
  for (const std::string& branch : coverage->unreached) fmt::print("  never reached: {}\n", branch);
  fmt::print("branches of the C++: {} of {} reached\n", coverage->branches - coverage->unreached.size(),
             coverage->branches);
  return coverage->unreached.size();
}

void report(const Tally& t, double seconds) {
  fmt::print(
      "{} steps in {:.1f} s, {:.0f} a second: {} checks ({} also against the exact reference, {} also through the "
      "counting scripts), {} with another rulebook in the same call, {} lease calls on {} leases, {} writes of "
      "overrides, {} resets, {} edits of plans, {} steps "
      "back, {} "
      "wrong periods\n",
      t.steps, seconds, static_cast<double>(t.steps) / seconds, t.checks, t.referenced, t.counted, t.joint,
      t.releases + t.renewals, t.leases_taken, t.overrides, t.resets, t.edits, t.steps_back, t.wrong_periods);
  fmt::print(
      "{} denials: {} passed at retry_after as the next step, {} on copies; {} were denied 1 us before; {} can never "
      "pass; exempt: {} (an override ends first), {} (an edit left numbers that are not exact), the 1 us of {} "
      "(numbers changed, and "
      "the state's life was over first)\n",
      t.denials, t.passed_in_place, t.passed_on_copies, t.early_denied, t.never, t.exempt, t.inexact, t.early_exempt);
  for (const limiter::KindTraits& kind : limiter::all_kinds()) {
    const Tally::OfKind of_kind = t.kinds.contains(kind.kind) ? t.kinds.at(kind.kind) : Tally::OfKind{};
    fmt::print("  {:20} {:>9} judged {:>9} denied\n", kind.name, of_kind.judged, of_kind.denied);
  }
}

int run(const Flags& flags) {
  const TemporaryFolder folder;
  DrivenClock clock(folder.path() / "clock", DrivenClock::kFirst);
  RedisServer server({.binary = flags.server,
                      .tcp = false,
                      .config = {"enable-debug-command local", "slowlog-log-slower-than -1", "latency-tracking no"},
                      .environment = clock.environment()});
  RedisLink link(server.unix_path());
  link.ask({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
  const LoadedScripts loaded = load_scripts(link);

  fmt::print("seed {}, {} steps, {}\n", flags.seed, flags.steps, flags.server);
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  Tally tally;
  Pipeline pipeline(link);
  const Random seeds(flags.seed);
  for (std::int64_t world = flags.world.value_or(0); tally.steps < flags.steps; ++world) {
    const bool is_counted = world % 5 == 0 || world % 25 == 7 || world % 8 == 3;
    const InstrumentedShas* const counted = is_counted ? &loaded.shas : nullptr;
    World(seeds, world, pipeline, tally, counted, flags.verbose).run(world % 25 == 7 ? 600 : 150);
    if (flags.world) break;
  }
  pipeline.finish();
  report(tally, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  const std::size_t missed = report_lua(link, loaded) + report_cpp();
  if (flags.world || flags.steps < kStepsForAllBranches || missed == 0) return 0;
  fmt::print("FAILED: branches were not reached\n");
  return 1;
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  sluice::test::leave_no_profile();
  sluice::test::Flags flags;
  bool nightly = false;
  CLI::App app("The production scripts and the C++ give the same answers to the same histories");
  app.add_option("--steps", flags.steps, "at least this many steps")->capture_default_str();
  app.add_option("--seed", flags.seed, "repeats a run")->capture_default_str();
  app.add_option("--server", flags.server, "another server: a path to redis-server or valkey-server")
      ->capture_default_str();
  app.add_flag("--nightly", nightly, "20,000,000 steps from a seed of the day");
  app.add_option("--world", flags.world, "only this history of the seed");
  app.add_flag("--verbose", flags.verbose, "says every step");
  CLI11_PARSE(app, argc, argv);
  if (nightly) {
    flags.steps = 20'000'000;
    if (app.count("--seed") == 0) flags.seed = static_cast<std::uint64_t>(std::time(nullptr) / 86'400);
  }
  if (flags.server.find('/') != std::string::npos && ::access(flags.server.c_str(), X_OK) != 0) {
    fmt::print("skipped: there is no {} (scripts/setup test fetches Valkey)\n", flags.server);
    return 77;
  }
  try {
    return sluice::test::run(flags);
  } catch (const std::exception& error) {
    fmt::print("FAILED with seed {}: {}\nshow it: equivalence --seed {} --world <its number> --verbose\n", flags.seed,
               error.what(), flags.seed);
    return 1;
  }
}
