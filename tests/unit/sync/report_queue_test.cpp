#include "common/sync/report_queue.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include <fmt/core.h>

namespace sluice::sync {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kStart{std::chrono::seconds(1'900'000'000)};

std::vector<UsageCount> counts(std::string_view policy, std::int64_t count) {
  return {{"shop", std::string(policy), "denied", count}};
}

void add(ReportQueue& queue, int interval, std::vector<UsageCount> of) {
  queue.add(kStart + interval * 10s, kStart + (interval + 1) * 10s, std::move(of));
}

std::vector<UsageReport> sent(ReportQueue& queue) {
  const auto reports = queue.to_send();
  return {reports.begin(), reports.end()};
}

TEST_CASE("reports are numbered from 1 and sent again unchanged until they are stored") {
  ReportQueue queue;
  CHECK(queue.to_send().empty());
  add(queue, 0, counts("a", 1));
  add(queue, 1, counts("b", 2));
  const auto first = sent(queue);
  REQUIRE(first.size() == 2);
  CHECK(first[0].number == 1);
  CHECK(first[1].number == 2);
  CHECK(first[1].from == kStart + 10s);
  CHECK(first[1].to == kStart + 20s);
  add(queue, 2, counts("c", 3));
  // What came since goes along.
  const auto next = sent(queue);
  REQUIRE(next.size() == 3);
  CHECK(next[0] == first[0]);
  CHECK(next[1] == first[1]);
  CHECK(queue.confirm_stored(1));
  REQUIRE(queue.to_send().size() == 2);
  CHECK(queue.to_send()[0] == first[1]);
  CHECK(queue.confirm_stored(2));
  REQUIRE(queue.to_send().size() == 1);
  CHECK(queue.to_send()[0].number == 3);
  CHECK(queue.to_send()[0].counts == counts("c", 3));
  CHECK(queue.confirm_stored(3));
  CHECK(queue.empty());
  CHECK(queue.last_stored() == 3);
}

TEST_CASE("answers that overtake each other and answers of another boot take nothing for stored") {
  ReportQueue queue;
  add(queue, 0, counts("a", 1));
  add(queue, 1, counts("a", 1));
  CHECK(!queue.confirm_stored(1));
  CHECK(sent(queue).size() == 2);
  CHECK(!queue.confirm_stored(3));
  CHECK(sent(queue).size() == 2);
  CHECK(queue.confirm_stored(2));
  CHECK(queue.confirm_stored(1));
  CHECK(queue.last_stored() == 2);
  CHECK(queue.empty());
}

TEST_CASE("within an interval counts of the same are added up, and nothing is no report") {
  ReportQueue queue;
  add(queue, 0, {});
  add(queue, 0, counts("a", 0));
  CHECK(queue.empty());
  add(queue, 0,
      {{"shop", "b", "denied", 1}, {"shop", "a", "denied", 2}, {"shop", "b", "denied", 4}, {"shop", "a", "denied", 0}});
  CHECK(sent(queue)[0].counts == std::vector<UsageCount>{{"shop", "a", "denied", 2}, {"shop", "b", "denied", 5}});
}

TEST_CASE(
    "when too many intervals wait the newest are put together, what was sent is not touched, and the sum is exact") {
  ReportQueue queue;
  add(queue, 0, counts("a", 1));
  const auto first = sent(queue);
  for (int i = 1; i <= 1000; ++i) add(queue, i, counts("a", 1));
  CHECK(queue.waiting_counts() == ReportQueue::kMaxWaitingIntervals);
  CHECK(sent(queue).size() == ReportQueue::kMaxSentReports);
  CHECK(sent(queue).front() == first.front());
  CHECK(queue.confirm_stored(1));
  std::int64_t sum = 1;
  WallTime last = kStart + 10s;
  while (!queue.empty()) {
    for (const UsageReport& report : queue.to_send()) {
      CHECK(report.from == last);
      last = report.to;
      for (const UsageCount& count : report.counts) sum += count.count;
    }
    REQUIRE(queue.confirm_stored(queue.to_send().back().number));
  }
  CHECK(sum == 1001);
  CHECK(last == kStart + 1001 * 10s);
  CHECK(queue.dropped() == 0);
}

TEST_CASE("an interval with many counts is sent in parts with numbers of their own") {
  ReportQueue queue(1000, 10);
  std::vector<UsageCount> many;
  for (int i = 0; i < 25; ++i) many.push_back({"shop", fmt::format("p{}", i), "denied", 1});
  add(queue, 0, many);
  std::vector<std::size_t> sizes;
  std::int64_t number = 0;
  while (!queue.empty()) {
    REQUIRE(queue.to_send().size() == 1);
    CHECK(queue.to_send()[0].number == ++number);
    CHECK(queue.to_send()[0].from == kStart);
    sizes.push_back(queue.to_send()[0].counts.size());
    queue.confirm_stored(number);
  }
  CHECK(sizes == std::vector<std::size_t>{10, 10, 5});
}

TEST_CASE("what goes over the bound is dropped and counted") {
  ReportQueue queue(10, 100);
  for (int i = 0; i < 25; ++i) add(queue, i, counts(fmt::format("p{:02}", i), 2));
  CHECK(queue.waiting_counts() == 10);
  CHECK(queue.dropped() == 30);
  for (int i = 0; i < 25; ++i) add(queue, 30 + i, counts("p09", 1));
  CHECK(queue.dropped() == 30);
}

std::vector<ThrottledSubject> subjects(int first, int end, std::int64_t count) {
  std::vector<ThrottledSubject> out;
  for (int i = first; i < end; ++i) out.push_back({"shop", "a", fmt::format("u{:04}", i), count});
  return out;
}

TEST_CASE("throttled subjects go along with their interval, once, whatever parts its counts are sent in") {
  ReportQueue queue(1000, 2);
  queue.add(kStart, kStart + 10s, {{"shop", "a", "denied", 1}, {"shop", "b", "denied", 1}, {"shop", "c", "denied", 1}},
            {{"shop", "a", "x", 1}, {"shop", "a", "y", 2}, {"shop", "a", "x", 4}, {"shop", "a", "z", 0}});
  const auto first = sent(queue);
  REQUIRE(first.size() == 1);
  CHECK(first[0].subjects == std::vector<ThrottledSubject>{{"shop", "a", "x", 5}, {"shop", "a", "y", 2}});
  queue.confirm_stored(1);
  REQUIRE(sent(queue).size() == 1);
  CHECK(sent(queue)[0].subjects.empty());
  queue.confirm_stored(2);
  queue.add(kStart, kStart + 10s, {}, subjects(0, 1, 1));
  REQUIRE(sent(queue).size() == 1);
  CHECK(sent(queue)[0].subjects == subjects(0, 1, 1));
}

TEST_CASE("unmatched resources go along with their interval, once, and are added up") {
  ReportQueue queue(1000, 2);
  queue.add(kStart, kStart + 10s, counts("a", 1), {},
            {{"shop", "x", 1}, {"shop", "y", 2}, {"shop", "x", 4}, {"bank", "x", 1}});
  const auto first = sent(queue);
  REQUIRE(first.size() == 1);
  CHECK(first[0].unmatched == std::vector<UnmatchedResource>{{"bank", "x", 1}, {"shop", "x", 5}, {"shop", "y", 2}});
  queue.confirm_stored(1);
  CHECK(queue.empty());
}

TEST_CASE("a request has no more unmatched resources than the server takes, and the next has the rest") {
  ReportQueue queue;
  for (int i = 0; i < 3; ++i) {
    std::vector<UnmatchedResource> unmatched;
    for (int n = 0; n < 400; ++n) unmatched.push_back({"shop", fmt::format("GET:/{}", n), 1});
    queue.add(kStart + i * 10s, kStart + (i + 1) * 10s, {}, {}, std::move(unmatched));
  }
  CHECK(sent(queue).size() == 2);
  queue.confirm_stored(2);
  CHECK(sent(queue).size() == 1);
  queue.confirm_stored(3);
  CHECK(queue.empty());
}

TEST_CASE("reached quotas are sent once, also without counts, and no more at once than the server takes") {
  ReportQueue queue;
  for (int i = 0; i < 3; ++i) {
    queue.add(kStart + i * 10s, kStart + (i + 1) * 10s, {}, {}, {}, std::vector<QuotaReached>(400));
  }
  REQUIRE(sent(queue).size() == 2);
  CHECK(sent(queue)[0].quotas.size() == 400);
  queue.confirm_stored(2);
  CHECK(sent(queue).size() == 1);
  queue.confirm_stored(3);
  CHECK(queue.empty());
}

TEST_CASE("used keys make a report, each once, and keys without room are left out instead of delaying counts") {
  ReportQueue queue;
  queue.add(kStart, kStart + 10s, {}, {}, {}, {}, {"b", "a", "b"});
  REQUIRE(sent(queue).size() == 1);
  CHECK(sent(queue)[0].keys == std::vector<std::string>{"a", "b"});
  std::vector<std::string> many;
  for (std::size_t i = 0; i < kMaxKeysAtOnce; ++i) many.push_back(fmt::format("key-{:05}", i));
  queue.add(kStart + 10s, kStart + 20s, counts("a", 1), {}, {}, {}, many);
  REQUIRE(sent(queue).size() == 2);
  CHECK(sent(queue)[1].keys.size() == kMaxKeysAtOnce - 2);
  queue.confirm_stored(2);
  CHECK(queue.empty());
}

Utilization used(std::string_view policy, std::int64_t decisions, std::int64_t near_limit, std::int64_t share) {
  return {.tenant_id = "shop",
          .policy_id = std::string(policy),
          .decisions = decisions,
          .near_limit = near_limit,
          .used = share};
}

TEST_CASE("utilization is added up by policy, and sent once with its interval, also without counts") {
  ReportQueue queue;
  queue.add(kStart, kStart + 10s, {}, {}, {}, {}, {},
            {used("b", 1, 1, 9'000), used("a", 2, 0, 10), used("b", 4, 1, 90)});
  const std::vector<Utilization> sums{used("a", 2, 0, 10), used("b", 5, 2, 9'090)};
  REQUIRE(sent(queue).size() == 1);
  CHECK(sent(queue)[0].utilization == sums);
  CHECK(sent(queue)[0].utilization == sums);
  queue.confirm_stored(1);
  CHECK(queue.empty());
}

TEST_CASE("utilization of intervals that are put together is added up, and no more is kept than counts") {
  ReportQueue queue(3);
  for (int i = 0; i < 200; ++i) {
    queue.add(kStart + i * 10s, kStart + (i + 1) * 10s, {}, {}, {}, {}, {}, {used("a", 1, 1, 5), used("b", 1, 0, 1)});
  }
  std::int64_t decisions = 0;
  std::size_t entries = 0;
  for (std::int64_t number = 0; !queue.empty(); queue.confirm_stored(number)) {
    for (const UsageReport& report : sent(queue)) {
      number = report.number;
      entries += report.utilization.size();
      for (const Utilization& each : report.utilization) decisions += each.decisions;
    }
  }
  CHECK(entries == 3);
  CHECK(decisions >= 3);
}

TEST_CASE("a request has no more utilization than the server takes, and the next has the rest") {
  ReportQueue queue;
  for (int i = 0; i < 3; ++i) {
    std::vector<Utilization> many;
    for (int policy = 0; policy < 8'000; ++policy) many.push_back(used(fmt::format("p{}", policy), 1, 0, 1));
    queue.add(kStart + i * 10s, kStart + (i + 1) * 10s, {}, {}, {}, {}, {}, std::move(many));
  }
  REQUIRE(sent(queue).size() == 2);
  queue.confirm_stored(2);
  REQUIRE(sent(queue).size() == 1);
  CHECK(sent(queue)[0].utilization.size() == 8'000);
}

TEST_CASE("a request has no more subjects than the server takes, and the next has the rest") {
  ReportQueue queue;
  for (int i = 0; i < 5; ++i) queue.add(kStart + i * 10s, kStart + (i + 1) * 10s, counts("a", 1), subjects(0, 400, 1));
  AgentState agent;
  agent.agent_id = agent.boot_id = agent.version = "a";
  std::vector<std::size_t> requests;
  while (!queue.empty()) {
    std::size_t together = 0;
    for (const UsageReport& report : queue.to_send()) together += report.subjects.size();
    CHECK(parse_report(write_report(agent, queue.to_send())));
    requests.push_back(together);
    queue.confirm_stored(queue.to_send().back().number);
  }
  CHECK(requests == std::vector<std::size_t>{800, 800, 400});
}

TEST_CASE("of the subjects of intervals that are put together the most frequent stay") {
  ReportQueue queue;
  for (int i = 0; i < static_cast<int>(ReportQueue::kMaxWaitingIntervals); ++i) add(queue, i, counts("a", 1));
  queue.add(kStart + 900s, kStart + 910s, counts("a", 1), subjects(0, 900, 2));
  queue.add(kStart + 910s, kStart + 920s, counts("a", 1), subjects(800, 1500, 3));
  while (!queue.empty()) {
    const auto reports = sent(queue);
    queue.confirm_stored(reports.back().number);
    if (!queue.empty()) continue;
    const auto& kept = reports.back().subjects;
    REQUIRE(kept.size() == kMaxSubjectsAtOnce);
    std::map<std::int64_t, int> by_count;
    for (const ThrottledSubject& subject : kept) ++by_count[subject.count];
    CHECK(by_count == std::map<std::int64_t, int>{{5, 100}, {3, 600}, {2, 300}});
  }
}

TEST_CASE("a server that dies at any moment and stores what it is sent by number has every decision once") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    ReportQueue queue(ReportQueue::kMaxWaitingCounts, 7);
    std::map<std::string, std::int64_t> decided;
    std::map<std::string, std::int64_t> stored;
    std::int64_t last_stored = 0;
    const auto exchange = [&](bool may_fail) {
      const auto reports = queue.to_send();
      std::size_t rows = 0;
      if (may_fail && random() % 3 == 0) return;  // the request is lost
      for (const UsageReport& report : reports) {
        if (may_fail && random() % 5 == 0) break;  // killed in between
        rows += report.counts.size();
        if (report.number <= last_stored) continue;
        REQUIRE(report.number == last_stored + 1);
        last_stored = report.number;
        for (const UsageCount& count : report.counts) stored[count.policy_id] += count.count;
      }
      REQUIRE(rows <= 7);
      if (may_fail && random() % 3 == 0) return;  // the answer is lost
      REQUIRE(queue.confirm_stored(last_stored));
    };
    for (int i = 0; i < 300; ++i) {
      std::vector<UsageCount> made;
      for (unsigned n = random() % 5; n > 0; --n) {
        const std::string policy = fmt::format("p{}", random() % 30);
        const auto count = static_cast<std::int64_t>(random() % 4);
        made.push_back({"shop", policy, "denied", count});
        if (count > 0) decided[policy] += count;
      }
      add(queue, i, made);
      if (random() % 4 == 0) exchange(true);
    }
    for (int i = 0; !queue.empty(); ++i) {
      REQUIRE(i < 1000);
      exchange(false);
    }
    REQUIRE(queue.dropped() == 0);
    REQUIRE(stored == decided);
  }
}

}  // namespace
}  // namespace sluice::sync
