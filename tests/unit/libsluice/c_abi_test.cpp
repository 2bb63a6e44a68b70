// The C interface: what it hands on, what it hands back, and structs of other versions.
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "sluice/engine.hpp"
#include "sluice/sluice.h"
#include "tests/unit/libsluice/bundles.hpp"

namespace sluice {
namespace {

sluice_text text(const char* value) { return sluice_text_of(value); }
std::string string_of(const sluice_text& value) { return {value.data, value.size}; }

sluice_request orders() {
  sluice_request request;
  sluice_request_init(&request, sizeof request);
  request.resource = text("GET:/orders");
  request.subject = text("user:42");
  return request;
}

struct CDecision {
  CDecision() { sluice_decision_init(&it, sizeof it); }
  ~CDecision() { sluice_decision_clear(&it); }
  CDecision(const CDecision&) = delete;
  CDecision& operator=(const CDecision&) = delete;

  sluice_decision it;
};

struct CEngine {
  explicit CEngine(const std::string& bundle, std::map<std::string, std::string> options = {}) {
    made = sluice_options_new();
    sluice_options_set(made, "bundle", bundle.c_str(), nullptr);
    for (const auto& [name, value] : options)
      CHECK(sluice_options_set(made, name.c_str(), value.c_str(), nullptr) == SLUICE_OK);
    sluice_options_set_clock(made, [](void* now) { return *static_cast<std::int64_t*>(now); }, &now_us);
  }
  ~CEngine() {
    sluice_options_free(made);
    sluice_close(engine);
  }
  CEngine(const CEngine&) = delete;
  CEngine& operator=(const CEngine&) = delete;

  CEngine& open() {
    engine = sluice_open(made, &error);
    REQUIRE_MESSAGE(engine != nullptr, std::string(error.message));
    return *this;
  }
  std::int32_t check(const sluice_request& request) { return sluice_check(engine, &request, &decision.it); }

  std::int64_t now_us = 1'800'230'400'000'000;
  sluice_options* made = nullptr;
  sluice_engine* engine = nullptr;
  sluice_error error;
  CDecision decision;
};

TEST_CASE("C: every member of a decision is that of the engine") {
  CEngine c(bundle_of(fixed_window(1), R"(,"version":7)"));
  c.open();
  sluice_request request = orders();
  request.explain = request.headers = true;
  CHECK(c.check(request) == SLUICE_OK);
  CHECK(c.check(request) == SLUICE_OK);

  auto opened =
      v1::Engine::open({.bundle = bundle_of(fixed_window(1), R"(,"version":7)"), .clock_us = [&] { return c.now_us; }});
  REQUIRE(opened);
  const v1::Request same{.resource = "GET:/orders", .subject = "user:42", .explain = true, .headers = true};
  opened.engine->check(same);
  const v1::Decision expected = opened.engine->check(same);

  const sluice_decision& got = c.decision.it;
  CHECK_FALSE(got.allowed);
  CHECK(got.allowed == expected.allowed);
  CHECK(got.action == static_cast<int>(expected.action));
  CHECK(got.reason == static_cast<int>(expected.reason));
  CHECK(got.has_limit == expected.has_limit);
  CHECK(got.shadow == expected.shadow);
  CHECK(got.would_allow == expected.would_allow);
  CHECK(got.limit == 1);
  CHECK(got.remaining == 0);
  CHECK(got.reset_after_us == expected.reset_after.count());
  CHECK(got.retry_after_us == 3'600'000'000);
  CHECK(got.delay_us == 0);
  CHECK(got.policy_version == 7);
  CHECK(string_of(got.policy) == "orders");
  CHECK(string_of(got.plan) == expected.plan);
  CHECK(string_of(got.limit_name) == "rate");
  CHECK(string_of(got.explanation) == expected.explanation);
  CHECK(string_of(got.headers) == expected.headers);
  CHECK(got.headers.size > 0);
  CHECK(got.headers.data[got.headers.size] == '\0');
  CHECK(got.message.size == 0);
}

TEST_CASE("C: each text of a request reaches the engine, and the hook sees it again") {
  CEngine c(bundle_of(fixed_window(100)));
  struct Seen {
    std::vector<std::string> texts;
    std::size_t tags = 0;
    std::string last_tag;
    std::int64_t amounts = 0;
  } seen;
  sluice_options_set_on_decision(
      c.made,
      [](void* context, const sluice_request* request, const sluice_decision* decision) {
        Seen& to = *static_cast<Seen*>(context);
        CHECK(request->struct_size == sizeof(sluice_request));
        CHECK(decision->memory == nullptr);
        for (const sluice_text* each : {&request->resource, &request->subject, &request->method, &request->priority,
                                        &request->region, &request->request_id})
          to.texts.push_back(each->data == nullptr ? "absent" : string_of(*each));
        to.tags = request->tag_count;
        if (to.tags > 0) to.last_tag = string_of(request->tags[to.tags - 1].value);
        for (std::size_t i = 0; i < request->cost_count; ++i) to.amounts += request->costs[i].value;
      },
      &seen);
  c.open();
  sluice_request request = orders();
  request.method = text("GET");
  request.priority = text("low");
  request.request_id = text("r1");
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) names.push_back("tag" + std::to_string(i));  // more than fit without memory
  std::vector<sluice_named> tags;
  for (const std::string& name : names) tags.push_back({text(name.c_str()), text(name.c_str())});
  request.tags = tags.data();
  request.tag_count = tags.size();
  const sluice_amount costs[] = {{text("tokens"), 40}, {text("bytes"), 2}};
  request.costs = costs;
  request.cost_count = 2;
  REQUIRE(c.check(request) == SLUICE_OK);
  CHECK(seen.texts == std::vector<std::string>{"GET:/orders", "user:42", "GET", "low", "absent", "r1"});
  CHECK(seen.tags == 12);
  CHECK(seen.last_tag == "tag11");
  CHECK(seen.amounts == 42);
}

TEST_CASE("C: the first wrong option is what open() says") {
  CEngine c("{}");
  CHECK(sluice_options_set(c.made, "threads", "many", &c.error) == SLUICE_INVALID_OPTIONS);
  CHECK(std::string(c.error.message) == R"(threads: must be a whole number from 0 to 1024; got "many")");
  CHECK(sluice_options_set(c.made, "thread", "1", &c.error) == SLUICE_INVALID_OPTIONS);
  CHECK(std::string(c.error.message) == R"("thread": there is no option of this name. Did you mean "threads"?)");
  CHECK(sluice_options_set(c.made, "metrics", "yes", nullptr) == SLUICE_INVALID_OPTIONS);
  CHECK(sluice_options_set(c.made, "tenant", nullptr, &c.error) == SLUICE_INVALID_OPTIONS);
  CHECK(std::string(c.error.message) ==
        R"("tenant": the value is NULL: bring a text, or leave the option at its default)");
  CHECK(sluice_options_set(c.made, "concurrency", "a\nb", &c.error) == SLUICE_INVALID_OPTIONS);
  CHECK(std::string(c.error.message) == R"(concurrency: must be many or one; got "a\nb")");
  CHECK(sluice_options_set(c.made, "a\nb", "1", &c.error) == SLUICE_INVALID_OPTIONS);
  CHECK(std::string(c.error.message) == R"("a\nb": there is no option of this name.)");
  CHECK(sluice_open(c.made, &c.error) == nullptr);
  CHECK(c.error.code == SLUICE_INVALID_OPTIONS);
  CHECK(std::string(c.error.message).starts_with("threads: "));
}

TEST_CASE("C: numbers have ranges") {
  CEngine c("{}");
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{{"threads", "1025"},
                                                                                    {"threads", "-1"},
                                                                                    {"threads", ""},
                                                                                    {"threads", "1 "},
                                                                                    {"redis_deadline_ms", "0"},
                                                                                    {"redis_deadline_ms", "10001"},
                                                                                    {"memory_limit", "1e6"},
                                                                                    {"concurrency", "two"}}) {
    CAPTURE(name);
    CAPTURE(value);
    CHECK(sluice_options_set(c.made, name, value, nullptr) == SLUICE_INVALID_OPTIONS);
  }
}

TEST_CASE("C: an error that is longer than its struct ends with a whole character") {
  sluice_options* const options = sluice_options_new();
  std::string name = "x";
  sluice_error error;
  std::memset(&error, 'x', sizeof error);
  CHECK(sluice_options_set(options, "bundle_file", ("/" + std::string(2001, 'a') + "é").c_str(), nullptr) == SLUICE_OK);
  CHECK(sluice_open(options, &error) == nullptr);
  CHECK(std::strlen(error.message) < sizeof error.message);
  sluice_options_free(options);

  // Two bytes a character, after prefixes of one and of two bytes: in one of both a cut would be within a character.
  for (const char* prefix : {"a", "ab"}) {
    sluice_options* const each = sluice_options_new();
    std::string path = prefix;
    for (int i = 0; i < 1000; ++i) path += "é";
    sluice_options_set(each, "bundle_file", path.c_str(), nullptr);
    CHECK(sluice_open(each, &error) == nullptr);
    const std::string_view message = error.message;
    CHECK(message.size() >= sizeof error.message - 3);
    CHECK(static_cast<unsigned char>(message.back()) == 0xA9);  // the second byte of é
    sluice_options_free(each);
  }
}

TEST_CASE("C: a check that cannot be decided says why in the decision") {
  CEngine c(bundle_of(fixed_window(1)));
  c.open();
  sluice_request request = orders();
  request.cost = -1;
  CHECK(c.check(request) == SLUICE_INVALID_REQUEST);
  CHECK(c.decision.it.code == SLUICE_INVALID_REQUEST);
  CHECK_FALSE(c.decision.it.allowed);
  CHECK(c.decision.it.message.size > 0);
  request = orders();
  request.tag_count = 1;  // without tags
  CHECK(c.check(request) == SLUICE_INVALID_REQUEST);
  CHECK(c.check(orders()) == SLUICE_OK);
  CHECK(c.decision.it.message.size == 0);
}

TEST_CASE("C: structs of other versions") {
  CEngine c(bundle_of(fixed_window(100)));
  c.open();
  struct Newer {
    sluice_request request;
    std::int64_t more[2];
  } newer{};
  sluice_request_init(&newer.request, sizeof newer);
  CHECK(newer.request.struct_size == sizeof newer);
  CHECK(newer.more[1] == 0);
  newer.request.resource = text("GET:/orders");
  newer.request.subject = text("user:42");
  CHECK(c.check(newer.request) == SLUICE_OK);  // what it does not know is not set
  newer.more[1] = 1;
  CHECK(c.check(newer.request) == SLUICE_INVALID_REQUEST);
  CHECK(string_of(c.decision.it.message).find("newer library") != std::string::npos);

  sluice_request uninitialized = orders();
  uninitialized.struct_size = 0;
  CHECK(c.check(uninitialized) == SLUICE_INVALID_REQUEST);
  sluice_decision old{};
  CHECK(sluice_check(c.engine, &newer.request, &old) == SLUICE_INVALID_REQUEST);  // struct_size is 0
  CHECK(old.memory == nullptr);

  struct NewerDecision {
    sluice_decision decision;
    std::int64_t more;
  } larger;
  sluice_decision_init(&larger.decision, sizeof larger);
  larger.more = 77;
  const sluice_request request = orders();
  CHECK(sluice_check(c.engine, &request, &larger.decision) == SLUICE_OK);
  CHECK(larger.more == 77);
  CHECK(larger.decision.struct_size == sizeof larger);
  sluice_decision_clear(&larger.decision);
  CHECK(larger.decision.struct_size == sizeof larger);
}

TEST_CASE("C: a batch answers each check in its place") {
  CEngine c(bundle_of(fixed_window(2)));
  c.open();
  struct NewerRequest {
    sluice_request request;
    std::int64_t more;
  };
  constexpr std::size_t kCount = 5;
  std::vector<NewerRequest> requests(kCount);
  std::vector<sluice_decision> decisions(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    sluice_request_init(&requests[i].request, sizeof requests[i]);
    requests[i].request.resource = text("GET:/orders");
    requests[i].request.subject = text("a");
    sluice_decision_init(&decisions[i], sizeof decisions[i]);
  }
  requests[1].more = 1;          // cannot be read
  requests[3].request.cost = 3;  // above the limit
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    CHECK(sluice_check_batch(c.engine, &requests[0].request, decisions.data(), kCount) == SLUICE_INVALID_REQUEST);
    std::string allowed;
    for (const sluice_decision& each : decisions) allowed += each.allowed ? '1' : '0';
    CHECK(allowed == (round == 0 ? "10100" : "00000"));
    CHECK(decisions[1].code == SLUICE_INVALID_REQUEST);
    CHECK(decisions[3].retry_after_us == SLUICE_NEVER);
    CHECK(string_of(decisions[4].policy) == "orders");
  }
  CHECK(sluice_check_batch(c.engine, &requests[0].request, decisions.data(), 0) == SLUICE_OK);
  requests[1].more = 0;
  CHECK(sluice_check_batch(c.engine, &requests[0].request, decisions.data(), kCount) == SLUICE_OK);
  for (sluice_decision& each : decisions) sluice_decision_clear(&each);
}

TEST_CASE("C: asynchronous checks call back once, readable or not") {
  CEngine c(bundle_of(fixed_window(1)));
  c.open();
  std::vector<int> codes;
  const auto note = [](void* to, const sluice_decision* decision) {
    static_cast<std::vector<int>*>(to)->push_back(decision->code * 10 + (decision->allowed ? 1 : 0));
  };
  sluice_request request = orders();
  sluice_check_async(c.engine, &request, note, &codes);
  sluice_check_async(c.engine, &request, note, &codes);
  request.struct_size = 1;
  sluice_check_async(c.engine, &request, note, &codes);
  CHECK(codes == std::vector<int>{1, 0, SLUICE_INVALID_REQUEST * 10});
}

TEST_CASE("C: a lease is renewed and released by its id") {
  CEngine c(bundle_of(R"({"name":"places","algorithm":"concurrency","limit":1,"lease_ttl":"10s"})"));
  c.open();
  REQUIRE(c.check(orders()) == SLUICE_OK);
  REQUIRE(c.decision.it.allowed);
  const std::string id = string_of(c.decision.it.lease_id);
  CHECK(c.decision.it.lease_expires_us == c.now_us + 10'000'000);
  c.now_us += 5'000'000;
  std::int64_t expires_us = 0;
  CHECK(sluice_renew(c.engine, text("shop"), text(id.c_str()), &expires_us, &c.error) == SLUICE_OK);
  CHECK(expires_us == c.now_us + 10'000'000);
  CHECK(std::string(c.error.message).empty());
  CHECK(sluice_release(c.engine, text(nullptr), text(id.c_str()), nullptr) == SLUICE_OK);
  CHECK(c.check(orders()) == SLUICE_OK);
  CHECK(c.decision.it.allowed);
  CHECK(sluice_release(c.engine, text(nullptr), text("nonsense"), &c.error) == SLUICE_UNKNOWN_LEASE);
  CHECK(c.error.message[0] != '\0');
}

TEST_CASE("C: other policies, their revision, metrics and the log") {
  CEngine c(bundle_of(fixed_window(1)), {{"metrics", "true"}});
  std::string events;
  sluice_options_set_log(
      c.made,
      [](void* to, std::int32_t level, sluice_text event, sluice_text line) {
        CHECK(line.size > 0);
        *static_cast<std::string*>(to) += std::to_string(level) + string_of(event) + ' ';
      },
      &events);
  c.open();
  CHECK(sluice_has_policies(c.engine));
  CHECK(sluice_revision(c.engine) == 1);
  CHECK(sluice_load(c.engine, text("[]"), &c.error) == SLUICE_INVALID_POLICIES);
  CHECK(sluice_load(c.engine, text(bundle_of(fixed_window(5)).c_str()), &c.error) == SLUICE_OK);
  CHECK(sluice_revision(c.engine) == 2);
  CHECK(sluice_reload(c.engine, &c.error) == SLUICE_INVALID_OPTIONS);  // there is no file
  c.check(orders());
  CHECK(c.decision.it.remaining == 4);
  char* const metrics = sluice_metrics(c.engine);
  CHECK(std::string(metrics).find("sluice_") != std::string::npos);
  sluice_free(metrics);
  CHECK(events.find("1policies_in_force 3bundle_refused 1policies_in_force ") == 0);
}

TEST_CASE("C: waiting ends with a decision") {
  CEngine c(bundle_of(fixed_window(1)));
  c.open();
  const sluice_request request = orders();
  CHECK(sluice_wait(c.engine, &request, 0, &c.decision.it) == SLUICE_OK);
  CHECK(c.decision.it.allowed);
  CHECK(sluice_wait(c.engine, &request, 0, &c.decision.it) == SLUICE_OK);
  CHECK_FALSE(c.decision.it.allowed);
}

TEST_CASE("C: names end with a zero byte, and unknown numbers have one too") {
  CHECK(std::string(sluice_code_name(SLUICE_UNKNOWN_PLAN)) == "unknown_plan");
  CHECK(std::string(sluice_code_name(SLUICE_STOPPED)) == "stopped");
  for (std::int32_t action = 0; action <= SLUICE_SHADOW_ONLY; ++action)
    CHECK(sluice_action_name(action) == v1::to_string(static_cast<v1::Action>(action)));
  for (std::int32_t reason = 0; reason <= SLUICE_OVERLOAD; ++reason)
    CHECK(sluice_reason_name(reason) == v1::to_string(static_cast<v1::Reason>(reason)));
  CHECK(sluice_version() == v1::version());
  for (const std::int32_t number : {-1, 99}) {
    CHECK(std::string(sluice_code_name(number)) == "unknown");
    CHECK(std::string(sluice_action_name(number)) == "unknown");
    CHECK(std::string(sluice_reason_name(number)) == "unknown");
  }
}

TEST_CASE("C: nothing is freed twice, and NULL may be freed") {
  sluice_close(nullptr);
  sluice_options_free(nullptr);
  sluice_free(nullptr);
  sluice_decision_clear(nullptr);
  CEngine c(bundle_of(fixed_window(10)));
  c.open();
  c.check(orders());
  sluice_decision_clear(&c.decision.it);
  sluice_decision_clear(&c.decision.it);
  CHECK(c.check(orders()) == SLUICE_OK);
  CHECK(c.decision.it.remaining == 8);
  sluice_close(c.engine);
  c.engine = nullptr;
  CHECK(string_of(c.decision.it.policy) == "orders");  // the decision outlives the engine
}

}  // namespace
}  // namespace sluice
