// What is kept of checks, in which order it is read, and what is said of those that fell out.
#include "engine/whatif/request_ring.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "common/sync/whatif.hpp"

namespace sluice::whatif {
namespace {

constexpr std::uint64_t kShop = 7;
constexpr std::uint64_t kOther = 8;
constexpr std::int64_t kForever = INT64_MAX;

void set(CheckRequest& request, Dimension dimension, std::string_view text) {
  request.dimensions[static_cast<std::size_t>(dimension)] = {.text = text, .present = true};
}

void record(RequestRing& ring, std::uint64_t tenant, std::int64_t at_us, std::string_view subject) {
  CheckRequest request;
  set(request, Dimension::subject, subject);
  ring.record({.at_us = at_us, .tenant = tenant, .bytes = 0, .allowed = true, .batch = false}, request);
}

std::vector<std::int64_t> times(const RequestRing& ring, std::uint64_t tenant, std::int64_t from_us = 0,
                                std::int64_t to_us = kForever) {
  std::vector<char> records;
  ring.copy(tenant, from_us, to_us, records);
  std::vector<std::int64_t> found;
  for (std::size_t at = 0; at < records.size(); at += read_head(records.data() + at).bytes) {
    found.push_back(read_head(records.data() + at).at_us);
  }
  return found;
}

TEST_CASE("a record gives back the whole check, absent and empty values apart") {
  CheckRequest request;
  set(request, Dimension::subject, "user:1");
  set(request, Dimension::region, "");
  request.tags.emplace_back("env", "production");
  request.attributes.emplace_back("http.route", "/orders");
  request.requests = 3;
  request.costs.push_back({.unit = "tokens", .cost = 1500});
  request.limit_override.push_back({.name = "minute", .limit = 9});
  request.plan_id = "gold";
  request.request_id = "r-1";
  request.wait = std::chrono::milliseconds(250);
  std::vector<char> bytes(record_bytes(request));
  write_record({.at_us = 5, .tenant = kShop, .bytes = static_cast<std::uint32_t>(bytes.size())}, request, bytes);
  CheckRequest read;
  read.tags.emplace_back("left", "over");
  read_request(bytes.data(), read);
  CHECK(read.find({Dimension::subject, ""})->text == "user:1");
  REQUIRE(read.find({Dimension::region, ""}) != nullptr);
  CHECK(read.find({Dimension::region, ""})->text.empty());
  CHECK(read.find({Dimension::resource, ""}) == nullptr);
  REQUIRE(read.tags.size() == 1);
  CHECK(read.find({Dimension::tag, "env"})->text == "production");
  CHECK(read.find({Dimension::attr, "http.route"})->text == "/orders");
  CHECK(read.cost_of("requests") == 3);
  CHECK(read.cost_of("tokens") == 1500);
  REQUIRE(read.limit_override.size() == 1);
  CHECK(read.limit_override[0].limit == 9);
  CHECK(read.plan_id == "gold");
  CHECK(read.request_id == "r-1");
  CHECK(read.wait == std::chrono::milliseconds(250));
}

TEST_CASE("only the asked tenant and time are read, in order") {
  RequestRing ring(RequestRing::kMinBytes);
  for (const std::int64_t at : {10, 20, 30, 40}) record(ring, kShop, at, "u");
  record(ring, kOther, 25, "u");
  CHECK(times(ring, kShop, 20, 40) == std::vector<std::int64_t>{20, 30});
  CHECK(times(ring, kOther) == std::vector<std::int64_t>{25});
  CHECK(ring.fallen(kShop, 0, kForever).requests == 0);
  CHECK(ring.fallen(kShop, 0, kForever).newest_us == INT64_MIN);
}

TEST_CASE("a full ring keeps the newest, and counts each one that fell out in its minute") {
  RequestRing ring(RequestRing::kMinBytes);
  constexpr std::int64_t kChecks = 20'000;
  for (std::int64_t i = 0; i < kChecks; ++i)
    record(ring, kShop, i * 10'000, std::string(static_cast<std::size_t>(i % 97), 'x'));
  const auto kept = times(ring, kShop);
  REQUIRE(!kept.empty());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(kept[i] == (kChecks - static_cast<std::int64_t>(kept.size() - i)) * 10'000);
  }
  const Fallen fallen = ring.fallen(kShop, 0, kChecks * 10'000);
  CHECK(fallen.requests + static_cast<std::int64_t>(kept.size()) == kChecks);
  CHECK(fallen.newest_us == kept.front() - 10'000);
  CHECK(ring.fallen(kShop, 0, 1).requests == 6'000);  // a minute has so many
  CHECK(ring.fallen(kShop, sync::kMinuteUs, sync::kMinuteUs + 1).requests == 6'000);
  CHECK(ring.fallen(kOther, 0, kForever).requests == 0);
}

TEST_CASE("a check that is too large is counted as fallen out") {
  RequestRing ring(RequestRing::kMinBytes);
  record(ring, kShop, 5, std::string(kMaxRecordBytes, 'x'));
  CHECK(times(ring, kShop).empty());
  CHECK(ring.fallen(kShop, 0, 10).requests == 1);
  CHECK(ring.fallen(kShop, 0, 10).newest_us == 5);
}

TEST_CASE("of more tenants and minutes than can be counted apart, it is still known until when something is missing") {
  RequestRing ring(RequestRing::kMinBytes);
  const std::string large(kMaxRecordBytes, 'x');
  for (std::uint64_t tenant = 0; tenant < 5'000; ++tenant) record(ring, tenant, 1'000, large);
  for (std::uint64_t tenant = 0; tenant < 5'000; ++tenant) CHECK(ring.fallen(tenant, 0, 10'000).newest_us >= 1'000);
}

TEST_CASE("a reader gets whole records while the worker writes") {
  RequestRing ring(RequestRing::kMinBytes);
  std::atomic<bool> done = false;
  std::thread worker([&] {
    for (std::int64_t i = 1; i <= 50'000; ++i)
      record(ring, kShop, i, std::string(static_cast<std::size_t>(i % 64), 'y'));
    done = true;
  });
  while (!done) {
    const auto found = times(ring, kShop);
    CHECK(std::ranges::is_sorted(found));
  }
  worker.join();
  CHECK(times(ring, kShop).back() == 50'000);
}

}  // namespace
}  // namespace sluice::whatif
