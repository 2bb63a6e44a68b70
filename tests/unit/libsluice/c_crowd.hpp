// Threads that use one engine through sluice.h, each in a way of its own, while its policies change and other engines
// come and go. They count what they see, so that it can be compared with what the counters hold.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "sluice/sluice.h"
#include "tests/unit/libsluice/folder.hpp"

namespace sluice {

class CCrowd {
 public:
  // `options`: by their names. They name no policies; the crowd has its own.
  explicit CCrowd(const std::map<std::string, std::string>& options)
      : made_(sluice_options_new()), counters_stay_(options.contains("redis_url")) {
    const std::string file = folder_.write("policies.json", bundle(1));
    set("bundle_file", file);
    set("metrics", "true");
    for (const auto& [name, value] : options) set(name, value);
    sluice_options_set_log(made_, &note_line, this);
    sluice_options_set_on_decision(made_, &note_decision, this);
    sluice_options_set_clock(made_, &read_clock, this);
  }
  ~CCrowd() { sluice_options_free(made_); }
  CCrowd(const CCrowd&) = delete;
  CCrowd& operator=(const CCrowd&) = delete;

  // Opens `engines` engines one after the other. All threads use each of them; the last that is done closes it.
  void run(int engines) {
    using Way = void (CCrowd::*)();
    constexpr std::array<Way, 10> kWays{&CCrowd::check_singly, &CCrowd::check_singly,    &CCrowd::check_in_batches,
                                        &CCrowd::check_async,  &CCrowd::wait_for_turn,   &CCrowd::take_leases,
                                        &CCrowd::take_leases,  &CCrowd::change_policies, &CCrowd::read_metrics,
                                        &CCrowd::open_others};
    open();
    std::barrier all_done(kWays.size(), [this]() noexcept {
      close();
      open();
    });
    {
      std::vector<std::jthread> threads;
      for (const Way way : kWays) {
        threads.emplace_back([&, way] {
          for (int i = 0; i < engines; ++i) {
            (this->*way)();
            all_done.arrive_and_wait();
          }
        });
      }
    }
    close();
  }

  void require_order() const {
    CHECK_MESSAGE(wrong_ == 0, fmt::format("the last fault is that of line {}", wrong_line_.load()));
    CHECK(charged_ > 0);
    CHECK(told_ == decided_);        // the hook saw each decision
    CHECK(most_inside_ <= kPlaces);  // of the leases
    CHECK(entered_ > 0);
    CHECK(lines_ > 0);
    CHECK(clock_reads_ > 0);
  }

 private:
  static constexpr int kPlaces = 2;
  static constexpr std::int64_t kLimit = 10'000'000;
  static constexpr int kTimes = 120;  // how often each thread asks one engine

  // The limit is a function of the version. So a decision that mixes two bundles is found.
  static std::string bundle(int version) {
    return fmt::format(
        R"({{"format":"sluice/v1","tenants":[{{"id":"shop"}}],"policies":[
{{"tenant_id":"shop","id":"orders","version":{},"scope":{{"resource":"GET:/orders"}},"key_by":["subject"],
 "limits":[{{"name":"rate","algorithm":"fixed_window","limit":{},"window":"1d","align":"first"}}]}},
{{"tenant_id":"shop","id":"exports","scope":{{"job_type":"export"}},"key_by":["user"],
 "limits":[{{"name":"places","algorithm":"concurrency","limit":{},"lease_ttl":"1h"}}]}}]}})",
        version, kLimit + version, kPlaces);
  }

  static sluice_request orders() {
    sluice_request request;
    sluice_request_init(&request, sizeof request);
    request.resource = sluice_text_of("GET:/orders");
    request.subject = sluice_text_of("user:42");
    return request;
  }
  static sluice_request exports() {
    sluice_request request;
    sluice_request_init(&request, sizeof request);
    request.job_type = sluice_text_of("export");
    request.user = sluice_text_of("ann");
    return request;
  }

  static void note_line(void* crowd, std::int32_t, sluice_text event, sluice_text line) {
    CCrowd& self = *static_cast<CCrowd*>(crowd);
    ++self.lines_;
    self.expect(event.size > 0 && line.size > event.size && line.data[0] == '{');
  }
  static void note_decision(void* crowd, const sluice_request* request, const sluice_decision* decision) {
    CCrowd& self = *static_cast<CCrowd*>(crowd);
    ++self.told_;
    self.expect(request->struct_size == sizeof *request && decision->code == SLUICE_OK);
  }
  static std::int64_t read_clock(void* crowd) {
    ++static_cast<CCrowd*>(crowd)->clock_reads_;
    using std::chrono::microseconds;
    return duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }

  void set(const std::string& name, const std::string& value) {
    sluice_error error;
    CHECK_MESSAGE(sluice_options_set(made_, name.c_str(), value.c_str(), &error) == SLUICE_OK, error.message);
  }
  void open() {
    sluice_error error;
    engine_ = sluice_open(made_, &error);
    REQUIRE_MESSAGE(engine_ != nullptr, std::string(error.message));
  }
  void close() noexcept {
    sluice_decision decision;
    sluice_decision_init(&decision, sizeof decision);
    sluice_request request = orders();
    request.cost = 0;
    sluice_check(engine_, &request, &decision);
    sluice_close(engine_);
    engine_ = nullptr;
    note(decision, 0);
    const std::int64_t used = decision.limit - decision.remaining;
    expect(used == charged_ - charged_before_);
    if (!counters_stay_) charged_before_ = charged_;
    sluice_decision_clear(&decision);
  }
  // Called by all threads, so it counts; the line is that of the last fault.
  void expect(bool holds, std::source_location where = std::source_location::current()) {
    if (holds) return;
    ++wrong_;
    wrong_line_ = where.line();
  }

  // Notes a decision about the policy "orders", which never denies.
  void note(const sluice_decision& decision, std::int64_t cost) {
    expect(decision.code == SLUICE_OK && decision.allowed && decision.reason == SLUICE_WITHIN_LIMIT);
    expect(decision.limit == kLimit + decision.policy_version);
    if (decision.code == SLUICE_OK) ++decided_;
    if (decision.allowed) charged_ += cost;
  }

  void check_singly() {
    sluice_decision decision;
    sluice_decision_init(&decision, sizeof decision);
    for (int i = 0; i < kTimes; ++i) {
      sluice_request request = orders();
      request.cost = i % 3;
      request.explain = i % 5 == 0;
      request.headers = i % 7 == 0;
      expect(sluice_check(engine_, &request, &decision) == SLUICE_OK);
      note(decision, request.cost);
      expect((decision.explanation.size > 0) == request.explain && (decision.headers.size > 0) == request.headers);
    }
    sluice_decision_clear(&decision);
  }

  void check_in_batches() {
    constexpr std::size_t kSize = 8;
    std::array<sluice_request, kSize> requests;
    std::array<sluice_decision, kSize> decisions;
    for (sluice_decision& each : decisions) sluice_decision_init(&each, sizeof each);
    for (int i = 0; i < kTimes / 8; ++i) {
      requests.fill(orders());
      requests[3].cost = -1;  // is refused, and the others are decided
      expect(sluice_check_batch(engine_, requests.data(), decisions.data(), kSize) == SLUICE_INVALID_REQUEST);
      for (std::size_t at = 0; at < kSize; ++at) {
        if (at == 3)
          expect(decisions[at].code == SLUICE_INVALID_REQUEST && decisions[at].message.size > 0);
        else
          note(decisions[at], 1);
      }
    }
    for (sluice_decision& each : decisions) sluice_decision_clear(&each);
  }

  void check_async() {
    awaited_ = kTimes;
    for (int i = 0; i < kTimes; ++i) {
      const sluice_request request = orders();  // is gone when the answer comes; its texts are literals
      sluice_check_async(
          engine_, &request,
          [](void* context, const sluice_decision* decision) {
            CCrowd& self = *static_cast<CCrowd*>(context);
            self.note(*decision, 1);
            if (self.awaited_.fetch_sub(1) == 1) self.awaited_.notify_one();
          },
          this);
    }
    for (int left = awaited_; left > 0; left = awaited_) awaited_.wait(left);
  }

  void wait_for_turn() {
    sluice_decision decision;
    sluice_decision_init(&decision, sizeof decision);
    for (int i = 0; i < kTimes; ++i) {
      const sluice_request request = orders();
      expect(sluice_wait(engine_, &request, 1'000'000, &decision) == SLUICE_OK);
      note(decision, 1);
    }
    sluice_decision_clear(&decision);
  }

  void take_leases() {
    sluice_decision decision;
    sluice_decision_init(&decision, sizeof decision);
    sluice_error error;
    for (int i = 0; i < kTimes; ++i) {
      const sluice_request request = exports();
      expect(sluice_check(engine_, &request, &decision) == SLUICE_OK);
      ++decided_;
      if (!decision.allowed) continue;
      const int inside = ++inside_;
      for (int before = most_inside_; inside > before && !most_inside_.compare_exchange_weak(before, inside);) {
      }
      ++entered_;
      std::int64_t expires_us = 0;
      expect(sluice_renew(engine_, sluice_text_of("shop"), decision.lease_id, &expires_us, &error) == SLUICE_OK);
      expect(expires_us >= decision.lease_expires_us);
      --inside_;
      expect(sluice_release(engine_, sluice_text_of(nullptr), decision.lease_id, &error) == SLUICE_OK);
    }
    sluice_decision_clear(&decision);
  }

  // The only thread that writes the file.
  void change_policies() {
    sluice_error error;
    for (int i = 0; i < kTimes / 4; ++i) {
      const std::uint64_t before = sluice_revision(engine_);
      const std::string text = bundle(++version_);
      expect(sluice_load(engine_, {text.data(), text.size()}, &error) == SLUICE_OK);
      expect(sluice_load(engine_, sluice_text_of("[]"), &error) == SLUICE_INVALID_POLICIES && error.message[0] != '\0');
      folder_.write("policies.json", bundle(++version_));
      expect(sluice_reload(engine_, &error) == SLUICE_OK);
      expect(sluice_revision(engine_) == before + 2);
    }
  }

  void read_metrics() {
    std::uint64_t last = 0;
    for (int i = 0; i < kTimes / 8; ++i) {
      char* const text = sluice_metrics(engine_);
      expect(text != nullptr && std::string_view(text).find("sluice_snapshot_revision") != std::string_view::npos);
      sluice_free(text);
      const std::uint64_t revision = sluice_revision(engine_);
      expect(sluice_has_policies(engine_) && revision >= last);
      last = revision;
    }
  }

  // Engines with the same options, each opened and closed while the others work. What they decide outlives them.
  void open_others() {
    sluice_decision decision;
    sluice_decision_init(&decision, sizeof decision);
    sluice_error error;
    for (int i = 0; i < kTimes / 16; ++i) {
      sluice_engine* const other = sluice_open(made_, &error);
      expect(other != nullptr);
      sluice_request request = orders();
      request.cost = 0;  // with Redis, the counter is that of all
      sluice_check(other, &request, &decision);
      sluice_close(other);
      note(decision, 0);
    }
    sluice_decision_clear(&decision);
  }

  const Folder folder_;
  sluice_options* const made_;  // read by several threads once it is made
  sluice_engine* engine_ = nullptr;
  int version_ = 1;                  // only change_policies() uses it
  const bool counters_stay_;         // when an engine is closed
  std::int64_t charged_before_ = 0;  // when the counters were new

  std::atomic<std::int64_t> charged_ = 0, decided_ = 0, told_ = 0, wrong_ = 0, entered_ = 0, lines_ = 0;
  std::atomic<std::int64_t> clock_reads_ = 0;
  std::atomic<unsigned> wrong_line_ = 0;
  std::atomic<int> inside_ = 0, most_inside_ = 0;
  std::atomic<int> awaited_ = 0;  // asynchronous checks that are not answered yet
};

}  // namespace sluice
