// Counting by several workers while others take: every count is taken once. And what happens at the bounds.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <fmt/core.h>

#include "engine/usage/usage.hpp"

namespace sluice::usage {
namespace {

constexpr std::uint64_t kNearShare = 8'001;
constexpr std::uint64_t kFarShare = 8'000;

using Sums = std::map<std::string, std::int64_t>;  // by outcome

struct Totals {
  void add(const TakenUsage& taken) {
    for (const sync::UsageCount& each : taken.counts) {
      REQUIRE(each.count > 0);
      by_tenant[each.tenant_id] += each.count;
      by_policy[each.policy_id] += each.count;
    }
    for (const sync::ThrottledSubject& each : taken.subjects) by_subject[each.subject] += each.count;
    for (const sync::Utilization& each : taken.utilization) {
      REQUIRE(each.decisions > 0);
      REQUIRE(each.near_limit <= each.decisions);
      REQUIRE(each.used <= each.decisions * sync::Utilization::kWhole);
      judged += each.decisions;
      near_limit += each.near_limit;
      used += each.used;
    }
  }
  std::int64_t judged = 0;
  std::int64_t near_limit = 0;
  std::int64_t used = 0;
  Sums by_tenant, by_policy, by_subject;
};

TEST_CASE("each decision is in exactly one take, with several workers, takers, snapshots and too few rows") {
  constexpr std::size_t kWorkers = 3;
  constexpr int kDecisions = 60'000;
  constexpr std::size_t kRows = 16;
  Usage usage(kWorkers, {.rows = kRows, .subjects = 64, .subjects_taken = 1'000});
  std::atomic<std::size_t> working{kWorkers};
  std::array<Totals, 2> totals;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      threads.emplace_back([&usage, &working, i] {
        std::mt19937 random(static_cast<unsigned>(i));
        WorkerUsage& worker = usage.worker(i);
        std::map<unsigned, UsageCounters*> rows;  // as the checks remember them
        for (int made = 0; made < kDecisions; ++made) {
          if (random() % 500 == 0) {
            rows.clear();
            worker.forget_rows();
          }
          const unsigned policy = static_cast<unsigned>(made / 1000) + random() % 12;  // they come and go
          UsageCounters*& row = rows[policy];
          if (!row) row = &worker.row(fmt::format("t{}", policy % 3), fmt::format("p{}", policy));
          row->count(static_cast<UsageOutcome>(random() % kUsageOutcomes));
          row->observe(made % 2 == 0 ? kNearShare : kFarShare);
          if (made % 10 == 0) worker.throttled("t0", "p", fmt::format("u{}", random() % 20), ReportSubjects::named);
        }
        --working;
      });
    }
    for (Totals& mine : totals) {
      threads.emplace_back([&usage, &working, &mine] {
        while (working > 0) mine.add(usage.take());
      });
    }
  }
  totals[0].add(usage.take());
  std::int64_t counted = 0;
  std::int64_t throttled = 0;
  std::int64_t judged = 0;
  std::int64_t near_limit = 0;
  std::int64_t used = 0;
  std::set<std::string> policies;
  for (const Totals& each : totals) {
    judged += each.judged;
    near_limit += each.near_limit;
    used += each.used;
    for (const auto& [policy, count] : each.by_policy) policies.insert(policy);
    for (const auto& [tenant, count] : each.by_tenant) counted += count;
    for (const auto& [subject, count] : each.by_subject) throttled += count;
  }
  CHECK(counted == kWorkers * kDecisions);
  CHECK(throttled == kWorkers * kDecisions / 10);
  CHECK(judged == kWorkers * kDecisions);
  CHECK(near_limit == kWorkers * kDecisions / 2);
  CHECK(used == kWorkers * kDecisions / 2 * static_cast<std::int64_t>(kNearShare + kFarShare));
  CHECK(usage.dropped() == 0);
  CHECK(policies.size() > kRows);  // rows of policies long gone made room
  CHECK(usage.take().counts.empty());
}

TEST_CASE("policies over the bound are counted for their tenant, until another snapshot makes room") {
  Usage usage(1, {.rows = 2});
  WorkerUsage& worker = usage.worker(0);
  for (int i = 0; i < 4; ++i) worker.row("shop", fmt::format("p{}", i)).count(UsageOutcome::denied);
  Totals totals;
  totals.add(usage.take());
  CHECK(totals.by_policy == Sums{{"p0", 1}, {"p1", 1}, {"", 2}});
  worker.row("shop", "p1").count(UsageOutcome::denied);
  worker.forget_rows();
  worker.row("shop", "p2").count(UsageOutcome::denied);
  worker.row("shop", "p3").count(UsageOutcome::denied);
  totals.add(usage.take());
  CHECK(totals.by_policy == Sums{{"p0", 1}, {"p1", 2}, {"p2", 1}, {"p3", 1}, {"", 2}});
  CHECK(usage.dropped() == 0);
}

TEST_CASE("decisions of more tenants than there are rows for are dropped and counted") {
  Usage usage(1, {.rows = 1});
  for (int i = 0; i < 5; ++i) usage.worker(0).row(fmt::format("t{}", i), "").count(UsageOutcome::denied);
  usage.worker(0).row("t9", "").count(UsageOutcome::shadow_denied);
  CHECK(usage.take().counts.size() == 2);
  CHECK(usage.dropped() == 3);
}

TEST_CASE("what was counted is queued by intervals that follow each other, also where the clock is set back") {
  constexpr WallTime kStart{std::chrono::seconds(1'900'000'000)};
  Usage usage(1, {}, kStart);
  sync::ReportQueue queue;
  for (const int second : {5, 3, 10}) {
    usage.worker(0).row("shop", "p").count(UsageOutcome::denied);
    usage.collect(queue, kStart + std::chrono::seconds(second));
  }
  usage.collect(queue, kStart + std::chrono::seconds(15));  // nothing: no report
  const auto reports = queue.to_send();
  REQUIRE(reports.size() == 3);
  CHECK(reports[0].from == kStart);
  CHECK(reports[1].from == kStart + std::chrono::seconds(5));
  CHECK(reports[1].to == reports[1].from);
  CHECK(reports[2].from == reports[1].to);
  CHECK(reports[2].to == kStart + std::chrono::seconds(10));
  CHECK(reports[2].counts == std::vector<sync::UsageCount>{{"shop", "p", "denied", 1}});
}

TEST_CASE("what the queue of reports has no room for is told as dropped too") {
  Usage usage(1);
  sync::ReportQueue queue(1);
  for (const char* policy : {"a", "b", "c"}) usage.worker(0).row("shop", policy).count(UsageOutcome::denied);
  usage.collect(queue, WallTime(std::chrono::seconds(1)));
  CHECK(usage.dropped() == 2);
}

TEST_CASE("a tenant that reaches many quotas leaves room for others, and what has no room is counted") {
  Usage usage(2, {.quotas = 4, .quotas_of_tenant = 3});
  WorkerUsage& worker = usage.worker(0);
  std::uint64_t name = 0;
  const auto reached_by = [](const char* tenant, std::uint64_t counter) {
    sync::QuotaReached quota;
    quota.tenant_id = tenant;
    quota.counter = std::to_string(counter);
    return quota;
  };
  const auto reach = [&](const char* tenant) {
    if (!worker.wants_mark(tenant, ++name)) return;
    worker.reached(reached_by(tenant, name));
  };
  for (int i = 0; i < 5; ++i) reach("shop");
  for (int i = 0; i < 2; ++i) reach("bank");
  CHECK_FALSE(worker.wants_mark("shop", 1));  // known: not counted as dropped
  CHECK(usage.dropped_quotas() == 3);
  usage.worker(1).wants_mark("shop", 1);
  usage.worker(1).reached(reached_by("shop", 1));
  CHECK(usage.take().quotas.size() == 4);  // the same mark of two workers is one
  for (int i = 0; i < 3; ++i) reach("shop");
  CHECK(usage.take().quotas.size() == 3);
}

TEST_CASE("the foremost unmatched resources of all workers are taken, each tenant's first, and then counted anew") {
  Usage usage(2, {.unmatched_taken = 3});
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 100; ++i) usage.worker(0).unmatched("shop", fmt::format("GET:/scan/{}", i));
  }
  for (std::size_t i = 0; i < 2; ++i) usage.worker(i).unmatched("bank", "GET:/carts");
  usage.worker(1).unmatched("bank", "");
  const auto taken = usage.take().unmatched;
  REQUIRE(taken.size() == 3);
  CHECK(taken[0].tenant_id == "shop");
  CHECK(taken[1] == sync::UnmatchedResource{"bank", "GET:/carts", 2});
  CHECK(taken[2].tenant_id == "shop");
  CHECK(usage.take().unmatched.empty());
}

TEST_CASE("one policy under attack does not hide whom the others throttle") {
  Usage usage(2, {.subjects_taken = 5});
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 100; ++i)
      usage.worker(0).throttled("shop", "attacked", fmt::format("bot{}", i), ReportSubjects::named);
  }
  for (std::size_t i = 0; i < 2; ++i) usage.worker(i).throttled("shop", "quiet", "one", ReportSubjects::named);
  usage.worker(1).throttled("bank", "quiet", "two", ReportSubjects::named);
  const auto taken = usage.take().subjects;
  REQUIRE(taken.size() == 5);
  CHECK(taken[0].policy_id == "attacked");
  CHECK(taken[1] == sync::ThrottledSubject{"shop", "quiet", "one", 2});
  CHECK(taken[2] == sync::ThrottledSubject{"bank", "quiet", "two", 1});
  CHECK(taken[4].policy_id == "attacked");
}

}  // namespace
}  // namespace sluice::usage
