// What the rate limit service decides.
#include "agent/rls/call.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/unit/agent/rls/rig.hpp"

namespace sluice::agent::rls {
namespace {

Descriptor with_hits(Descriptor descriptor, std::uint64_t hits) {
  descriptor.hits_addend = hits;
  return descriptor;
}

Descriptor with_limit(Descriptor descriptor, std::uint32_t requests, rls_config::Unit unit) {
  descriptor.limit = LimitOverride{.requests_per_unit = requests, .unit = static_cast<std::uint64_t>(unit)};
  return descriptor;
}

TEST_CASE("a window admits its number of requests, and the next window again") {
  Rig rig(rule("key: user", 2, "minute"));
  rig.clock.advance(std::chrono::seconds(45));
  const Request ada = request({of({{"user", "ada"}})});
  Response response = rig.ask(ada);
  CHECK(response.code == Code::ok);
  REQUIRE(response.statuses.size() == 1);
  CHECK(response.statuses[0].limit->requests_per_unit == 2);
  CHECK(response.statuses[0].limit->unit == rls_config::Unit::minute);
  CHECK(response.statuses[0].remaining == 1);
  CHECK(response.statuses[0].reset_seconds == 15);
  CHECK(rig.ask(ada).statuses[0].remaining == 0);
  response = rig.ask(ada);
  CHECK(response.code == Code::over_limit);
  CHECK(response.statuses[0].code == Code::over_limit);
  CHECK(response.statuses[0].remaining == 0);
  CHECK(rig.ask(request({of({{"user", "bob"}})})).code == Code::ok);
  rig.clock.advance(std::chrono::seconds(15));
  CHECK(rig.ask(ada).statuses[0].remaining == 1);
}

TEST_CASE("every unit has windows that begin at its multiples since 1970") {
  for (std::uint64_t number = 1; number <= 7; ++number) {
    const auto unit = *rls_config::unit_from(number);
    Rig rig("  []\n");
    const Request asked = request({with_limit(of({{"k", "v"}}), 1, unit)});
    const std::int64_t length = rls_config::length_of(unit).count();
    const std::int64_t now = rig.clock.now / 1'000'000;
    CHECK(rig.ask(asked).statuses[0].reset_seconds == length - now % length);
    CHECK(rig.ask(asked).code == Code::over_limit);
    rig.clock.advance(std::chrono::seconds(length - now % length));
    CHECK(rig.ask(asked).code == Code::ok);
  }
}

TEST_CASE("what no rule is for has no limit") {
  Rig rig(rule("key: user", 1));
  const Response response = rig.ask(request({of({{"other", "x"}}), of({{"user", "a"}, {"deeper", "b"}}), of({})}));
  CHECK(response.code == Code::ok);
  CHECK(response.statuses.size() == 3);
  for (const Status& status : response.statuses) {
    CHECK(status.code == Code::ok);
    CHECK_FALSE(status.limit);
    CHECK(status.remaining == 0);
  }
  CHECK(rig.store.keys.empty());
  CHECK(rig.ask(request({of({{"user", "a"}})}, 0, "unknown")).statuses[0].limit == std::nullopt);
  CHECK(rig.counted(DescriptorOutcome::no_limit) == 4);
}

TEST_CASE("a rule of 0 requests denies everything but a look") {
  Rig rig(rule("key: banned", 0));
  const Descriptor banned = of({{"banned", "x"}});
  CHECK(rig.ask(request({banned})).code == Code::over_limit);
  CHECK(rig.ask(request({with_hits(banned, 0)})).code == Code::ok);
}

TEST_CASE("hits of the request and of a descriptor") {
  Rig rig(rule("key: user", 10));
  const Descriptor ada = of({{"user", "ada"}});
  CHECK(rig.ask(request({ada}, 3)).statuses[0].remaining == 7);
  CHECK(rig.ask(request({ada}, 0)).statuses[0].remaining == 6);                // 0 of the request is 1
  CHECK(rig.ask(request({with_hits(ada, 0)}, 5)).statuses[0].remaining == 6);  // 0 of a descriptor only looks
  CHECK(rig.ask(request({with_hits(ada, 2)}, 5)).statuses[0].remaining == 4);
  CHECK(rig.ask(request({ada}, 5)).code == Code::over_limit);
  CHECK(rig.ask(request({ada}, 4)).code == Code::ok);  // what was denied has taken nothing
}

TEST_CASE("a limit of the request decides instead of the rule") {
  Rig rig(rule("key: user", 1, "hour", "name: mine"));
  const Request asked = request({with_limit(of({{"user", "ada"}}), 3, rls_config::Unit::day)});
  const Response response = rig.ask(asked);
  CHECK(response.statuses[0].limit->requests_per_unit == 3);
  CHECK(response.statuses[0].limit->unit == rls_config::Unit::day);
  CHECK(rig.heard.names == std::vector<std::string>{""});
  CHECK(rig.ask(asked).statuses[0].remaining == 1);
  // Its counter is that of its unit.
  CHECK(rig.ask(request({of({{"user", "ada"}})})).code == Code::ok);
  CHECK(rig.heard.names == std::vector<std::string>{"mine"});
}

TEST_CASE("a limit of the request means nothing in an unknown domain") {
  Rig rig("  []\n");
  const Request asked = request({with_limit(of({{"user", "ada"}}), 0, rls_config::Unit::day)}, 0, "unknown");
  CHECK(rig.ask(asked).code == Code::ok);
}

TEST_CASE("an unlimited rule answers without the counter store") {
  Rig rig("  - {key: free, rate_limit: {unlimited: true}}\n");
  const Response response = rig.ask(request({of({{"free", "x"}})}));
  CHECK(response.code == Code::ok);
  CHECK(response.statuses[0].remaining == 4294967295U);
  CHECK_FALSE(response.statuses[0].limit);
  CHECK(rig.store.keys.empty());
  CHECK(rig.counted(DescriptorOutcome::unlimited) == 1);
}

TEST_CASE("shadow_mode lets everything pass, and still counts") {
  Rig rig(rule("key: user, shadow_mode: true", 1));
  const Request asked = request({of({{"user", "ada"}})});
  CHECK(rig.ask(asked).code == Code::ok);
  const Response response = rig.ask(asked);
  CHECK(response.code == Code::ok);
  CHECK(response.statuses[0].code == Code::ok);
  CHECK(response.statuses[0].remaining == 0);
  CHECK(response.statuses[0].limit);
  CHECK(rig.counted(DescriptorOutcome::shadowed) == 1);
}

TEST_CASE("a rule that replaces another one decides alone, and the other one takes nothing") {
  Rig rig(rule("key: all", 1, "hour", "name: general") +
          rule("key: special", 10, "hour", "replaces: [{name: general}]"));
  const Descriptor all = of({{"all", "x"}});
  const Descriptor special = of({{"special", "y"}});
  for (int i = 0; i < 3; ++i) {
    const Response response = rig.ask(request({all, special}));
    CHECK(response.code == Code::ok);
    CHECK_FALSE(response.statuses[0].limit);
    CHECK(response.statuses[1].limit);
  }
  CHECK(rig.ask(request({all})).code == Code::ok);
  CHECK(rig.ask(request({all})).code == Code::over_limit);
}

TEST_CASE("an unlimited rule replaces others") {
  Rig rig(rule("key: all", 0, "hour", "name: general") +
          "  - {key: vip, rate_limit: {unlimited: true, replaces: [{name: general}]}}\n");
  CHECK(rig.ask(request({of({{"all", "x"}}), of({{"vip", "y"}})})).code == Code::ok);
}

TEST_CASE("per descriptor, one that is over the limit undoes no other one") {
  Rig rig(rule("key: small", 1) + rule("key: large", 100));
  const Request asked = request({of({{"large", "x"}}), of({{"small", "y"}})});
  CHECK(rig.ask(asked).code == Code::ok);
  const Response response = rig.ask(asked);
  CHECK(response.code == Code::over_limit);
  CHECK(response.statuses[0].code == Code::ok);
  CHECK(response.statuses[0].remaining == 98);
  CHECK(response.statuses[1].code == Code::over_limit);
  CHECK(rig.store.together == 0);
}

TEST_CASE("atomic, one that is over the limit keeps all from being charged") {
  Rig rig(rule("key: small", 2) + rule("key: large", 1000), {.atomic = true});
  const Request asked = request({of({{"large", "x"}}), of({{"small", "y"}})});
  int admitted = 0;
  for (int i = 0; i < 10; ++i) admitted += rig.ask(asked).code == Code::ok ? 1 : 0;
  CHECK(admitted == 2);
  CHECK(rig.ask(request({with_hits(of({{"large", "x"}}), 0)})).statuses[0].remaining == 998);
  CHECK(rig.ask(asked).statuses[0].code == Code::ok);
  CHECK(rig.store.together == 11);
}

TEST_CASE("atomic, the order of descriptors does not matter") {
  Rig rig(rule("key: small", 1) + rule("key: shadow, shadow_mode: true", 1) + rule("key: large", 1000),
          {.atomic = true});
  const Request asked = request({of({{"shadow", "z"}}), of({{"small", "y"}}), of({{"large", "x"}})});
  CHECK(rig.ask(asked).code == Code::ok);
  const Response response = rig.ask(asked);
  CHECK(response.code == Code::over_limit);
  CHECK(response.statuses[0].code == Code::ok);
  CHECK(response.statuses[0].limit->requests_per_unit == 1);
  CHECK(response.statuses[1].code == Code::over_limit);
  CHECK(response.statuses[2].remaining == 999);
}

TEST_CASE("atomic, a rule in shadow_mode keeps no other one from being charged") {
  Rig rig(rule("key: shadow, shadow_mode: true", 1) + rule("key: large", 1000), {.atomic = true});
  const Request asked = request({of({{"shadow", "z"}}), of({{"large", "x"}})});
  for (int i = 0; i < 5; ++i) CHECK(rig.ask(asked).code == Code::ok);
  CHECK(rig.heard.response->statuses[1].remaining == 995);
}

TEST_CASE("the same descriptor twice is charged twice") {
  for (const bool atomic : {false, true}) {
    Rig rig(rule("key: user", 3), {.atomic = atomic});
    const Request asked = request({of({{"user", "ada"}}), of({{"user", "ada"}})});
    CHECK(rig.ask(asked).code == Code::ok);
    CHECK(rig.ask(asked).code == Code::over_limit);
    CHECK(rig.ask(request({of({{"user", "ada"}})})).statuses[0].remaining == 0);
  }
}

TEST_CASE("share_threshold has one counter for all values of its pattern") {
  Rig rig(rule("key: path, value: files/*, share_threshold: true", 2));
  CHECK(rig.ask(request({of({{"path", "files/a"}})})).code == Code::ok);
  CHECK(rig.ask(request({of({{"path", "files/b"}})})).code == Code::ok);
  CHECK(rig.ask(request({of({{"path", "files/c"}})})).code == Code::over_limit);
}

TEST_CASE("different descriptors have different counters, and those of a domain can share a slot") {
  const std::vector<Descriptor> all{of({{"a", "1"}, {"b", "2"}}),
                                    of({{"a", "1|b=2"}}),
                                    of({{"a", "1"}}),
                                    of({{"a=1", ""}}),
                                    of({{"A", "1"}}),
                                    of({{"a", ""}}),
                                    of({{"a", "1}"}}),
                                    of({})};
  for (const bool atomic : {false, true}) {
    Rig rig("  []\n", {.tenant = "acme", .atomic = atomic});
    std::vector<Descriptor> limited;
    for (const Descriptor& each : all) limited.push_back(with_limit(each, 5, rls_config::Unit::hour));
    rig.ask(request(limited));
    CHECK(std::set(rig.store.keys.begin(), rig.store.keys.end()).size() == all.size());
    for (const std::string& key : rig.store.keys)
      CHECK(key.starts_with(atomic ? "sl:{acme|rls:d}:r=HOUR|" : "sl:{acme|rls:d|"));
  }
  Rig rig("  []\n");
  rig.ask(request({with_limit(of({{"user", "a b"}}), 5, rls_config::Unit::hour)}));
  CHECK(rig.store.keys.back() == "sl:{default|rls:d|user=a%20b}:r=HOUR");
  rig.ask(request({with_limit(of({{"user", std::string_view("a b")}}), 5, rls_config::Unit::day)}));
  CHECK(rig.store.keys.back() == "sl:{default|rls:d|user=a%20b}:r=DAY");
}

TEST_CASE("a long descriptor has a short counter name of its own") {
  const std::string one(5000, 'x');
  const std::string two = one + "y";
  Rig rig("  []\n");
  rig.ask(request({with_limit(of({{"user", one}}), 1, rls_config::Unit::hour)}));
  rig.ask(request({with_limit(of({{"user", two}}), 1, rls_config::Unit::hour)}));
  CHECK(rig.heard.response->code == Code::ok);
  CHECK(rig.store.keys[0].size() < 120);
  CHECK(rig.store.keys[0] != rig.store.keys[1]);
}

TEST_CASE("a request that breaks a rule is refused, and takes nothing") {
  Rig rig(rule("key: user", 10));
  const Descriptor ada = of({{"user", "ada"}});
  const auto text = [&rig](const Request& asked) {
    const Refusal refusal = rig.refusal_of(asked);
    CHECK(refusal.kind == Refusal::Kind::invalid);
    return refusal.text;
  };
  CHECK(text(request({ada}, 0, "")).find("domain") != std::string::npos);
  CHECK(text(request({})).find("at least one descriptor") != std::string::npos);
  Descriptor negative = ada;
  negative.is_negative_hits = true;
  CHECK(text(request({ada, negative})).find("Descriptor 1: is_negative_hits") == 0);
  CHECK(text(request({with_hits(ada, 2'147'483'648)})).find("hits_addend") != std::string::npos);
  CHECK(text(request({ada}, 4'000'000'000)).find("hits_addend") != std::string::npos);
  Descriptor no_unit = ada;
  no_unit.limit = LimitOverride{.requests_per_unit = 5, .unit = 0};
  CHECK(text(request({no_unit})).find("unit") != std::string::npos);
  CHECK(rig.store.keys.empty());
  CHECK(rig.counted(RequestOutcome::invalid) == 6);
  CHECK(rig.in_flight().count() == 0);
}

TEST_CASE("atomic, too many hits of equal descriptors are refused") {
  Rig rig(rule("key: user", 10), {.atomic = true});
  const Descriptor many = with_hits(of({{"user", "ada"}}), 2'000'000'000);
  CHECK(rig.refusal_of(request({many, many})).kind == Refusal::Kind::invalid);
  CHECK(rig.store.together == 0);
}

TEST_CASE("if the store fails for one descriptor, the request has no answer") {
  Rig rig(rule("key: user", 10));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  const Refusal refusal = rig.refusal_of(request({of({{"user", "ada"}})}));
  CHECK(refusal.kind == Refusal::Kind::store_unavailable);
  CHECK_FALSE(refusal.text.empty());
  rig.store.failing = limiter::StoreError{limiter::StoreFault::overload, false};
  CHECK(rig.refusal_of(request({of({{"user", "ada"}})})).kind == Refusal::Kind::overload);
  CHECK(rig.counted(RequestOutcome::unavailable) == 1);
  CHECK(rig.counted(RequestOutcome::overload) == 1);
  CHECK(rig.in_flight().count() == 0);
}

TEST_CASE("a request takes a place in flight until it is answered") {
  Rig rig(rule("key: user", 10), {}, 1);
  rig.store.hold = true;
  const Request asked = request({of({{"user", "ada"}})});
  rig.start(asked);
  CHECK(rig.heard.count == 0);
  CHECK(rig.in_flight().count() == 1);
  CHECK_FALSE(rig.in_flight().enter());
  rig.store.hold = false;
  rig.store.answer_held();
  CHECK(rig.heard.response->code == Code::ok);
  CHECK(rig.in_flight().count() == 0);
  const auto taken = rig.in_flight().enter();
  CHECK(rig.refusal_of(request({of({{"user", "ada"}})})).kind == Refusal::Kind::overload);
}

TEST_CASE("a request that waits for the store keeps the rules it began with") {
  Rig rig(rule("key: user", 10, "hour", "name: old"));
  rig.store.hold = true;
  const Request asked = request({of({{"user", "ada"}})});
  rig.start(asked);
  rig.load("  []\n");
  rig.store.hold = false;
  rig.store.answer_held();
  CHECK(rig.heard.names == std::vector<std::string>{"old"});
  CHECK_FALSE(rig.ask(asked).statuses[0].limit);
}

TEST_CASE("a changed number keeps the counter, a changed unit begins a new one") {
  Rig rig(rule("key: user", 2));
  const Request asked = request({of({{"user", "ada"}})});
  rig.ask(asked);
  rig.ask(asked);
  rig.load(rule("key: user", 3));
  CHECK(rig.ask(asked).statuses[0].remaining == 0);
  rig.load(rule("key: user", 3, "day"));
  CHECK(rig.ask(asked).statuses[0].remaining == 2);
}

}  // namespace
}  // namespace sluice::agent::rls
