#include "engine/policies/override_publisher.hpp"

#include <map>

#include <doctest/doctest.h>
#include <unistd.h>

namespace sluice::policies {
namespace {

struct FixedClock final : Clock {
  std::int64_t now_us() const override { return 1'800'000'000'000'000; }
};

// Remembers what was put where; answers at once, or when it is told to.
struct RecordingStore final : limiter::CounterStore {
  void judge(const limiter::Call&, limiter::JudgeListener&) override { FAIL("not asked for here"); }
  void judge_all(std::span<const limiter::RulebookCall>) override { FAIL("not asked for here"); }
  void release(std::span<const limiter::LeaseRef>, const limiter::Origin&, limiter::LeaseListener&) override {
    FAIL("not asked for here");
  }
  void renew(std::span<const limiter::LeaseRef>, const limiter::Origin&, limiter::LeaseListener&) override {
    FAIL("not asked for here");
  }
  void put_overrides(std::string_view key, std::span<const limiter::OverrideEntry> entries,
                     limiter::OverrideListener& listener) override {
    ++writes;
    order.emplace_back(key);
    limits[std::string(key)] = entries.empty() ? 0 : entries[0].limit;
    if (hold) return held.push_back(&listener);
    answer(listener);
  }
  void answer(limiter::OverrideListener& listener) {
    if (failing) return listener.stored(std::unexpected(limiter::StoreError{}));
    listener.stored({});
  }
  void let_go() {
    for (auto* listener : std::exchange(held, {})) answer(*listener);
  }

  bool hold = false;
  bool failing = false;
  std::size_t writes = 0;
  std::vector<std::string> order;
  std::map<std::string, double> limits;  // 0: none
  std::vector<limiter::OverrideListener*> held;
};

struct Rig {
  FixedClock clock;
  telemetry::Metrics metrics{{}, clock};
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};
  boost::asio::io_context loop;
  RecordingStore store;
  int tries = 0;
  OverridePublisher publisher{loop, store, metrics, log, [this] { ++tries; }};
};

// A snapshot in which these keys are overridden, with this limit.
std::shared_ptr<policy::Snapshot> overriding(const std::vector<std::string>& keys, double limit = 1) {
  auto snapshot = std::make_shared<policy::Snapshot>();
  for (const std::string& key : keys) {
    snapshot->overrides.push_back({key, {limiter::OverrideEntry{.name_id = 1, .limit = limit}}});
  }
  return snapshot;
}

std::vector<std::string> many(const std::string& prefix, std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

std::shared_ptr<const std::vector<std::string>> removed(std::vector<std::string> keys) {
  return std::make_shared<const std::vector<std::string>>(std::move(keys));
}

}  // namespace

TEST_CASE("what is removed is taken out and what is there is written") {
  Rig rig;
  rig.store.limits = {{"gone", 5}, {"kept", 5}};
  rig.publisher.publish({overriding({"kept", "new"}, 9), removed({"gone"})});
  rig.loop.run();
  CHECK(rig.store.limits == std::map<std::string, double>{{"gone", 0}, {"kept", 9}, {"new", 9}});
}

TEST_CASE("removals are written also where nothing is overridden any more") {
  Rig rig;
  rig.publisher.publish({overriding({}), removed({"gone"})});
  CHECK(rig.store.order == std::vector<std::string>{"gone"});
}

TEST_CASE("a store that answers at once does not keep the loop from others") {
  Rig rig;
  rig.publisher.publish({overriding(many("k", 200)), nullptr});
  CHECK(rig.store.writes == OverridePublisher::kPerTurn);
  rig.loop.poll_one();
  CHECK(rig.store.writes == 2 * OverridePublisher::kPerTurn);
  rig.loop.run();
  CHECK(rig.store.writes == 200);
}

TEST_CASE("few writes wait for the store at a time") {
  Rig rig;
  rig.store.hold = true;
  rig.publisher.publish({overriding(many("k", 40)), nullptr});
  CHECK(rig.store.writes == OverridePublisher::kAtOnce);
  while (!rig.store.held.empty()) {
    rig.store.let_go();
    CHECK(rig.store.held.size() <= OverridePublisher::kAtOnce);
  }
  CHECK(rig.store.writes == 40);
}

TEST_CASE("a new pass begins once the old one's writes are answered, and the old one ends there") {
  Rig rig;
  rig.store.hold = true;
  rig.publisher.publish({overriding(many("k", 40), 1), nullptr});
  rig.publisher.publish({overriding({"k0"}, 2), removed(many("k", 3))});
  rig.publisher.publish({overriding({"k0"}, 3), removed({"k1"})});  // the last one counts
  CHECK(rig.store.writes == OverridePublisher::kAtOnce);
  rig.store.let_go();
  rig.store.let_go();
  CHECK(rig.store.writes == OverridePublisher::kAtOnce + 2);
  CHECK(rig.store.limits["k0"] == 3);
  CHECK(rig.store.limits["k1"] == 0);
  CHECK(rig.store.limits["k2"] == 1);
}

TEST_CASE("writes that failed are tried again after a while") {
  Rig rig;
  rig.store.failing = true;
  rig.publisher.publish({overriding({"a"}), nullptr});
  CHECK(rig.tries == 0);
  CHECK(rig.loop.run_one_for(std::chrono::seconds(10)) == 1);
  CHECK(rig.tries == 1);
}

TEST_CASE("a pass that all went well is not repeated") {
  Rig rig;
  rig.publisher.publish({overriding({"a"}), nullptr});
  rig.loop.run();  // nothing is left to do
  CHECK(rig.tries == 0);
}

TEST_CASE("a pass under way does not outlive its publisher") {
  auto snapshot = overriding(many("k", 200));
  {
    Rig rig;
    rig.publisher.publish({snapshot, nullptr});
    CHECK(snapshot.use_count() > 1);
  }
  CHECK(snapshot.use_count() == 1);
}

TEST_CASE("removed overrides are those of any former snapshot that the new one lacks") {
  RemovedOverrides overrides;
  overrides.change(*overriding({"a", "b"}), *overriding({"b", "c"}));
  CHECK(*overrides.keys() == std::vector<std::string>{"a"});
  overrides.change(*overriding({"b", "c"}), *overriding({"c"}));
  CHECK(*overrides.keys() == std::vector<std::string>{"a", "b"});
  overrides.change(*overriding({"c"}), *overriding({"c", "a"}));  // one of them is back
  CHECK(*overrides.keys() == std::vector<std::string>{"b"});
}

TEST_CASE("the oldest removed overrides are forgotten where there are too many, never those of the last change") {
  RemovedOverrides overrides;
  auto all = many("k", RemovedOverrides::kMaxKeys + 10);
  overrides.change(*overriding(all), *overriding({}));
  CHECK(overrides.keys()->size() == RemovedOverrides::kMaxKeys + 10);
  overrides.change(*overriding({"last"}), *overriding({}));
  CHECK(overrides.keys()->size() == RemovedOverrides::kMaxKeys + 1);
  CHECK(overrides.keys()->front() == "k10");
  CHECK(overrides.keys()->back() == "last");
}

}  // namespace sluice::policies
