// Finding the policy among few and among very many, and a key among few and very many.
//
//   bench_policy SMALL LARGE [--rounds N]      prints JSON; the bundles are those of policies.py
//
// match     the index and the walk over what it finds; "one" asks the same request again and again, "many" goes
//           through thousands in random order, among many policies each about other ones: nothing is in the caches
// load      parsing the bundle, and compiling it into a snapshot (once each)
// authenticate   one API key among 100 and among 100,000
// delta     from one snapshot to the next with one object changed, the former one freed
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/domain/credential.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/policy/match.hpp"
#include "common/policy/snapshot.hpp"
#include "common/policy/snapshot_delta.hpp"
#include "engine/decide/decision.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/program.hpp"

namespace sluice::bench {
namespace {

constexpr std::int64_t kNow = 1'800'000'000'000'000;
constexpr int kTagNames = 20;

using SnapshotPtr = std::shared_ptr<const policy::Snapshot>;

SnapshotPtr compiled(const Bundle& bundle) {
  auto snapshot = policy::build_snapshot(bundle, 1, kNow);
  if (!snapshot) stop("the bundle is refused: " + snapshot.error().front().text);
  return *snapshot;
}

struct Loaded {
  Bundle bundle;
  SnapshotPtr snapshot;
  double parse_ms = 0, build_ms = 0;
};

Loaded load(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  Loaded loaded;
  const std::int64_t begin = thread_cpu_ns();
  auto bundle = parse_bundle(text.view());
  if (!bundle) stop(fmt::format("{} is refused: {}", path, bundle.error().front().text));
  const std::int64_t parsed = thread_cpu_ns();
  loaded.snapshot = compiled(*bundle);
  loaded.parse_ms = static_cast<double>(parsed - begin) / 1e6;
  loaded.build_ms = static_cast<double>(thread_cpu_ns() - parsed) / 1e6;
  loaded.bundle = std::move(*bundle);
  return loaded;
}

// Requests of policies.py, parsed: about the first `about` policies of each kind, in random order.
class Requests {
 public:
  Requests(std::size_t count, std::size_t about) : bodies_(count), requests_(count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::shuffle(order, std::mt19937(1));  // NOLINT(bugprone-random-generator-seed): the same each time
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t k = order[i] % about;
      bodies_[i] = fmt::format(
          R"({{"endpoint":"/v1/things/{0}","user":"user-{0}","tags":{{"t{1}":"value-{0}"}},"service":"billing","region":"eu-0","method":"GET"}})",
          k, k % kTagNames);
      if (!parse_check(bodies_[i], requests_[i]).empty()) stop("a request is refused");
    }
  }
  const CheckRequest& next() { return requests_[at_ = (at_ + 1) % requests_.size()]; }

 private:
  std::vector<std::string> bodies_;
  std::vector<CheckRequest> requests_;
  std::size_t at_ = 0;
};

Timed match_in(std::string name, SnapshotPtr snapshot, std::size_t requests, std::size_t about) {
  auto asked = std::make_shared<Requests>(requests, about);
  const policy::TenantView& tenant = *snapshot->tenants.find("bench");
  std::vector<policy::Candidate> all;
  for (std::size_t i = 0; i < requests; ++i) {
    policy::match(*snapshot, tenant, asked->next(), kNow, &all);
    const auto applying = std::ranges::count(all, policy::Applicability::applies, &policy::Candidate::applicability);
    if (applying != 5) stop(fmt::format("{} candidates apply, not five", applying));
  }
  auto run = [snapshot, asked, &tenant](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) keep(policy::match(*snapshot, tenant, asked->next(), kNow).decides);
  };
  return {std::move(name), requests == 1 ? "one" : "many", run, 100'000};
}

// One true key among `count`, and its text.
std::pair<Bundle, std::string> keys(std::size_t count) {
  Bundle bundle;
  bundle.tenants = {{.id = "bench", .name = "", .organization_id = ""}};
  const std::string secret = mint_key("true");
  bundle.keys.push_back({"bench", "true", "", hash_secret(split_key(secret)->secret), {}});
  for (std::size_t i = 1; i < count; ++i) {
    bundle.keys.push_back({"bench", fmt::format("key{}", i), "", bundle.keys[0].key_hash, {}});
  }
  return {std::move(bundle), secret};
}

Timed authenticate_among(std::size_t count) {
  const auto [bundle, secret] = keys(count);
  SnapshotPtr snapshot = compiled(bundle);
  auto run = [snapshot, secret](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      const policy::KeyView* key = decide::authenticate(*snapshot, secret, kNow).value_or(nullptr);
      if (key == nullptr) stop("the key is not known");
      keep(key);
    }
  };
  return {"authenticate", fmt::format("{}", count), run, 50'000};
}

// One object after the other is changed by `change`, each in a delta of its own.
Timed delta_of(std::string name, SnapshotPtr snapshot, std::size_t times,
               std::function<void(policy::SnapshotDelta&, std::size_t)> change) {
  auto now = std::make_shared<SnapshotPtr>(std::move(snapshot));
  auto run = [now, change = std::move(change), at = std::size_t{0}](std::size_t count) mutable {
    for (std::size_t i = 0; i < count; ++i) {
      policy::SnapshotDelta delta;
      change(delta, ++at);
      auto next = policy::next_snapshot(**now, delta, (*now)->revision + 1, kNow, "");
      if (!next) stop("a delta is refused: " + next.error().front().text);
      *now = std::move(*next);
    }
  };
  return {std::move(name), "delta", run, times};
}

std::vector<Timed> deltas(const Loaded& large) {
  constexpr std::size_t kStep = 7'919;  // all over the place
  auto all_keys = std::make_shared<Bundle>(keys(100'000).first);
  auto policy = [&large](policy::SnapshotDelta& delta, std::size_t i) {
    Policy changed = large.bundle.policies[i * kStep % large.bundle.policies.size()];
    changed.version = static_cast<std::int64_t>(i + 1);
    changed.priority = static_cast<std::int64_t>(i % 3);
    delta.objects.policies.push_back(std::move(changed));
  };
  auto key = [all_keys](policy::SnapshotDelta& delta, std::size_t i) {
    delta.objects.keys.push_back(all_keys->keys[i * kStep % all_keys->keys.size()]);
    delta.objects.keys[0].expires_at = WallTime(Micros(kNow + static_cast<std::int64_t>(i)));
  };
  auto plan = [&large](policy::SnapshotDelta& delta, std::size_t i) {
    delta.objects.plans.push_back(large.bundle.plans[0]);
    delta.objects.plans[0].limits[0].limit += static_cast<std::int64_t>(i);
  };
  return {delta_of("one policy", large.snapshot, 1'000, policy), delta_of("one key", compiled(*all_keys), 1'000, key),
          delta_of("the plan of all policies", large.snapshot, 1, plan)};
}

double least(const std::vector<double>& ns) { return *std::ranges::min_element(ns); }

double median(std::vector<double> ns) {
  std::ranges::nth_element(ns, ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2));
  return ns[ns.size() / 2];
}

void print(const Loaded& large, const std::vector<Timed>& all, const std::vector<Timed>& deltas) {
  fmt::print("{{\"policies\":{},\"parse_ms\":{:.1f},\"build_ms\":{:.1f},\"rows\":[", large.snapshot->policy_count,
             large.parse_ms, large.build_ms);
  const char* separator = "";
  for (const Timed& timed : all) {
    fmt::print("{}{{\"name\":\"{}\",\"keys\":\"{}\",\"ns_min\":{:.1f},\"ns_median\":{:.1f},\"allocations\":{:.4f}}}",
               separator, timed.name, timed.keys, least(timed.ns), median(timed.ns), timed.allocations);
    separator = ",";
  }
  fmt::print("],\"deltas\":[");
  separator = "";
  for (const Timed& timed : deltas) {
    fmt::print("{}{{\"name\":\"{}\",\"us_min\":{:.1f},\"us_median\":{:.1f},\"allocations\":{:.1f}}}", separator,
               timed.name, least(timed.ns) / 1e3, median(timed.ns) / 1e3, timed.allocations);
    separator = ",";
  }
  fmt::print("]}}\n");
}

int run(int count, char** words) {
  if (count != 3 && count != 5) stop("usage: bench_policy SMALL LARGE [--rounds N]");
  const std::size_t rounds = count == 5 ? std::strtoul(words[4], nullptr, 10) : 5;
  Loaded small = load(words[1]), large = load(words[2]);
  constexpr std::size_t kMany = 10'000;
  std::vector<Timed> all{match_in("match, few policies", small.snapshot, 1, 1),
                         match_in("match, many policies", large.snapshot, 1, 1),
                         match_in("match, few policies", small.snapshot, kMany, 1),
                         match_in("match, many policies", large.snapshot, kMany, kMany),
                         authenticate_among(100),
                         authenticate_among(100'000)};
  measure(all, rounds);
  std::vector<Timed> changes = deltas(large);
  measure(changes, rounds);
  print(large, all, changes);
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int count, char** words) { return sluice::bench::run(count, words); }
