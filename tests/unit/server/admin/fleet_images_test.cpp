// Streams of one scope share its image, which is read no more often than it must be.
#include "server/admin/fleet_images.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>

namespace sluice::server::admin {
namespace {

using namespace std::chrono_literals;

struct Reader {
  FleetImages images;
  FleetImages::Time time{};
  std::chrono::nanoseconds takes{0};
  int reads = 0;
  std::int64_t newest = 1;

  FleetImagePtr get(const std::string& key = "all", std::int64_t at_least = 0) {
    return images.get(
        key, at_least,
        [this] {
          ++reads;
          time += takes;
          return ReadFleet{.agents = {}, .groups = {}, .newest = newest};
        },
        [this] { return time; });
  }
};

TEST_CASE("an image is read once for all who ask within a moment, and again afterwards") {
  Reader reader;
  const FleetImagePtr first = reader.get();
  reader.time += FleetImages::kFreshFor - 1ms;
  CHECK(reader.get() == first);
  CHECK(reader.reads == 1);
  reader.time += 1ms;
  reader.newest = 2;
  const FleetImagePtr second = reader.get();
  CHECK(reader.reads == 2);
  CHECK(second->newest() == 2);
  CHECK(second->epoch() == first->epoch());
}

TEST_CASE("who asks about a newer revision than the image knows has it read at once") {
  Reader reader;
  reader.get();
  reader.newest = 2;
  CHECK(reader.get("all", 1)->newest() == 1);
  CHECK(reader.get("all", 2)->newest() == 2);
  CHECK(reader.reads == 2);
  CHECK(reader.get("all", 3)->newest() == 2);
}

TEST_CASE("each scope has its own image, whose numbers are told apart") {
  Reader reader;
  CHECK(reader.get("one")->epoch() != reader.get("other")->epoch());
  CHECK(reader.reads == 2);
}

TEST_CASE("a read that takes long is followed by a longer rest") {
  Reader reader;
  reader.takes = 2s;
  reader.get();
  reader.time += 5s;
  reader.get();
  CHECK(reader.reads == 1);
  reader.time += 1s;
  reader.get();
  CHECK(reader.reads == 2);
}

TEST_CASE("an image that nobody asks for is forgotten") {
  Reader reader;
  const std::string epoch = reader.get()->epoch();
  reader.time += FleetImages::kKeptFor;
  CHECK(reader.get()->epoch() == epoch);
  reader.time += FleetImages::kKeptFor + 1ms;
  reader.get("other");
  CHECK(reader.images.count() == 1);
  CHECK(reader.get()->epoch() != epoch);
}

TEST_CASE("after a read that failed, the next one reads again") {
  Reader reader;
  const auto now = [&] { return reader.time; };
  CHECK_THROWS(reader.images.get("all", 0, []() -> ReadFleet { throw std::runtime_error("away"); }, now));
  CHECK(reader.get()->newest() == 1);
  reader.time += FleetImages::kFreshFor;
  CHECK_THROWS(reader.images.get("all", 0, []() -> ReadFleet { throw std::runtime_error("away"); }, now));
  CHECK(reader.get()->newest() == 1);
  CHECK(reader.reads == 2);
}

TEST_CASE("while one reads, others get the image as it was") {
  Reader reader;
  const FleetImagePtr first = reader.get();
  reader.time += FleetImages::kFreshFor;
  FleetImagePtr meanwhile;
  const FleetImagePtr second = reader.images.get(
      "all", 0,
      [&] {
        meanwhile = reader.get();
        return ReadFleet{.agents = {}, .groups = {}, .newest = 9};
      },
      [&] { return reader.time; });
  CHECK(meanwhile == first);
  CHECK(second->newest() == 9);
  CHECK(reader.reads == 1);
}

}  // namespace
}  // namespace sluice::server::admin
