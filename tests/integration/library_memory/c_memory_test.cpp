// The C interface, while allocations fail.
#include <array>
#include <cstring>
#include <string>

#include "sluice/sluice.h"
#include "tests/integration/library_memory/library_sweep.hpp"

namespace sluice {
namespace {

using test::kAll;
using test::kOne;
using test::sweep;

const std::string kBundle = bundle_of(R"({"name":"window","algorithm":"fixed_window","limit":1000,"window":"1d"},
{"name":"places","algorithm":"concurrency","limit":1000,"lease_ttl":"1h"})");

constexpr char kNames[] = "abcdefghijkl";  // each end of it is a name

sluice_text text(const char* value) { return sluice_text_of(value); }
std::string string_of(const sluice_text& value) { return {value.data, value.size}; }

// An engine, and everything that a call of it takes and gives. More tags than a request has room for without memory.
struct Rig {
  Rig() = default;
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig() {
    sluice_decision_clear(&decision);
    for (sluice_decision& each : decisions) sluice_decision_clear(&each);
    sluice_free(metrics);
    sluice_close(engine);
    sluice_options_free(options);
  }

  sluice_options* options = nullptr;
  sluice_engine* engine = nullptr;
  sluice_error error{};
  std::int32_t code = SLUICE_OK;
  sluice_decision decision{};
  std::array<sluice_decision, 2> decisions{};
  std::array<sluice_named, 12> tags{};
  std::array<sluice_request, 2> requests{};
  std::string lease;
  int answers = 0;
  char* metrics = nullptr;
};

std::unique_ptr<Rig> with_options() {
  auto rig = std::make_unique<Rig>();
  sluice_decision_init(&rig->decision, sizeof rig->decision);
  for (std::size_t i = 0; i < rig->tags.size(); ++i) rig->tags[i] = {text(&kNames[i]), text("value")};
  for (std::size_t i = 0; i < 2; ++i) {
    sluice_decision_init(&rig->decisions[i], sizeof rig->decisions[i]);
    sluice_request_init(&rig->requests[i], sizeof rig->requests[i]);
    rig->requests[i].resource = text("GET:/orders");
    rig->requests[i].subject = text("user:42 of a name that is long");
    rig->requests[i].tags = rig->tags.data();
    rig->requests[i].tag_count = rig->tags.size();
    rig->requests[i].headers = true;
  }
  rig->options = sluice_options_new();
  sluice_options_set(rig->options, "bundle", kBundle.c_str(), nullptr);
  sluice_options_set(rig->options, "metrics", "true", nullptr);
  return rig;
}

std::unique_ptr<Rig> with_engine() {
  auto rig = with_options();
  rig->engine = sluice_open(rig->options, &rig->error);
  REQUIRE(rig->engine != nullptr);
  return rig;
}

std::unique_ptr<Rig> with_lease() {
  auto rig = with_engine();
  REQUIRE(sluice_check(rig->engine, &rig->requests[0], &rig->decision) == SLUICE_OK);
  rig->lease = string_of(rig->decision.lease_id);
  REQUIRE_FALSE(rig->lease.empty());
  return rig;
}

// Returns 1 if the decision says that memory was short.
int decided_or_says_so(const sluice_decision& decision, std::int32_t code) {
  CHECK(decision.code == code);
  if (code == SLUICE_OK) return 0;
  CHECK(code == SLUICE_OUT_OF_MEMORY);
  CHECK_FALSE(decision.allowed);
  CHECK(string_of(decision.message).find("memory") != std::string::npos);
  CHECK(decision.policy.size == 0);
  CHECK(decision.headers.size == 0);
  return 1;
}

void ok_or_says_so(const Rig& rig, bool failed) {
  CHECK(rig.error.code == rig.code);
  if (rig.code == SLUICE_OK) {
    CHECK(std::strlen(rig.error.message) == 0);
    return;
  }
  CHECK(failed);
  CHECK(rig.code == SLUICE_OUT_OF_MEMORY);
  CHECK(std::strstr(rig.error.message, "memory") != nullptr);
}

void works_afterwards(Rig& rig, std::int64_t before) {
  REQUIRE(sluice_check(rig.engine, &rig.requests[0], &rig.decision) == SLUICE_OK);
  CHECK(rig.decision.allowed);
  CHECK(rig.decision.remaining <= 999);
  CHECK(rig.decision.remaining >= 999 - before);
  CHECK(rig.decision.lease_id.size > 0);
}

TEST_CASE("in C: options for which there is no memory are not made, or the engine is not opened with them") {
  int not_made = 0;
  int not_opened = 0;
  sweep([] { return std::make_unique<Rig>(); },
        [](auto& it) {
          it->options = sluice_options_new();
          if (it->options == nullptr) return;
          sluice_options_set(it->options, "bundle", kBundle.c_str(), nullptr);
          sluice_options_set(it->options, "metrics", "true", nullptr);
          it->engine = sluice_open(it->options, &it->error);
        },
        [&](auto& it, bool failed) {
          not_made += it->options == nullptr ? 1 : 0;
          if (it->options != nullptr && it->engine == nullptr) {
            ++not_opened;
            it->code = SLUICE_OUT_OF_MEMORY;
            ok_or_says_so(*it, failed);
          }
          CHECK((failed || it->engine != nullptr));
        });
  CHECK(not_made == 1);
  CHECK(not_opened > 50);
}

TEST_CASE("in C: a check says that memory was short, and the engine goes on") {
  for (const std::size_t more : {kOne, kAll}) {
    int refused = 0;
    sweep(
        with_engine, [](auto& it) { it->code = sluice_check(it->engine, &it->requests[0], &it->decision); },
        [&](auto& it, bool) {
          refused += decided_or_says_so(it->decision, it->code);
          works_afterwards(*it, 1);
        },
        more);
    CHECK(refused > 10);
  }
}

TEST_CASE("in C: a check into a decision that is used again says that memory was short") {
  int refused = 0;
  sweep(
      with_lease,
      [](auto& it) {
        it->requests[0].subject = text("someone else, who has no counter yet");
        it->requests[0].explain = true;
        it->code = sluice_check(it->engine, &it->requests[0], &it->decision);
      },
      [&](auto& it, bool) {
        refused += decided_or_says_so(it->decision, it->code);
        works_afterwards(*it, 1);
      });
  CHECK(refused > 5);
}

TEST_CASE("in C: each check of a batch says that memory was short") {
  int refused = 0;
  sweep(
      with_engine,
      [](auto& it) { it->code = sluice_check_batch(it->engine, it->requests.data(), it->decisions.data(), 2); },
      [&](auto& it, bool) {
        for (const sluice_decision& each : it->decisions) refused += decided_or_says_so(each, each.code);
        const bool first = it->decisions[0].code != SLUICE_OK;
        CHECK(it->code == it->decisions[first ? 0 : 1].code);
        works_afterwards(*it, 2);
      });
  CHECK(refused > 20);
}

TEST_CASE("in C: an asynchronous check calls back once") {
  for (const std::size_t more : {kOne, kAll}) {
    int refused = 0;
    sweep(
        with_engine,
        [](auto& it) {
          sluice_check_async(
              it->engine, &it->requests[0],
              [](void* context, const sluice_decision* decision) {
                Rig& rig = *static_cast<Rig*>(context);
                ++rig.answers;
                rig.code = decision->code;
              },
              it.get());
        },
        [&](auto& it, bool failed) {
          CHECK(it->answers == 1);
          CHECK((it->code == SLUICE_OK || (failed && it->code == SLUICE_OUT_OF_MEMORY)));
          refused += it->code == SLUICE_OK ? 0 : 1;
          works_afterwards(*it, 1);
        },
        more);
    CHECK(refused > 10);
  }
}

TEST_CASE("in C: leases, policies and metrics say that memory was short") {
  std::int64_t expires_us = 0;
  sweep(
      with_lease,
      [&](auto& it) {
        it->code = sluice_renew(it->engine, text("shop"), text(it->lease.c_str()), &expires_us, &it->error);
      },
      [](auto& it, bool failed) {
        ok_or_says_so(*it, failed);
        CHECK(sluice_renew(it->engine, text("shop"), text(it->lease.c_str()), nullptr, nullptr) == SLUICE_OK);
      });
  sweep(
      with_lease,
      [](auto& it) { it->code = sluice_release(it->engine, text("shop"), text(it->lease.c_str()), &it->error); },
      [](auto& it, bool failed) {
        ok_or_says_so(*it, failed);
        CHECK(sluice_release(it->engine, text("shop"), text(it->lease.c_str()), nullptr) == SLUICE_OK);
        CHECK(sluice_renew(it->engine, text("shop"), text(it->lease.c_str()), nullptr, nullptr) ==
              SLUICE_UNKNOWN_LEASE);
      });
  sweep(
      with_engine, [](auto& it) { it->code = sluice_load(it->engine, text(kBundle.c_str()), &it->error); },
      [](auto& it, bool failed) {
        ok_or_says_so(*it, failed);
        CHECK(sluice_revision(it->engine) == (it->code == SLUICE_OK ? 2 : 1));
        works_afterwards(*it, 0);
      });
  int none = 0;
  sweep(
      with_lease, [](auto& it) { it->metrics = sluice_metrics(it->engine); },
      [&](auto& it, bool failed) {
        none += it->metrics == nullptr ? 1 : 0;
        CHECK((failed || it->metrics != nullptr));
        CHECK((it->metrics == nullptr || std::strstr(it->metrics, "sluice_decisions_total") != nullptr));
      });
  CHECK(none > 10);
}

TEST_CASE("in C: the hook of decisions is called, or left out, and the decision stands") {
  int seen = 0;
  sweep(
      [&] {
        auto rig = with_options();
        sluice_options_set_on_decision(
            rig->options,
            [](void* count, const sluice_request*, const sluice_decision*) { ++*static_cast<int*>(count); }, &seen);
        rig->engine = sluice_open(rig->options, nullptr);
        REQUIRE(rig->engine != nullptr);
        seen = 0;
        return rig;
      },
      [](auto& it) { it->code = sluice_check(it->engine, &it->requests[0], &it->decision); },
      [&](auto& it, bool failed) {
        decided_or_says_so(it->decision, it->code);
        CHECK(seen <= 1);
        CHECK((failed || seen == 1));
        works_afterwards(*it, 1);
      });
}

}  // namespace
}  // namespace sluice
