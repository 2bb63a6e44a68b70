#include "common/redis/ring.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>

namespace sluice::redis {
namespace {

TEST_CASE("a ring behaves as a queue, through growth and wrapping") {
  Ring<int> ring;
  std::deque<int> model;
  std::minstd_rand random(7);
  for (int step = 0; step < 20000; ++step) {
    const auto choice = random() % 10;
    if (choice < 5) {
      ring.push_back(step);
      model.push_back(step);
    } else if (choice < 8) {
      if (!model.empty()) {
        REQUIRE(ring.pop_front() == model.front());
        model.pop_front();
      }
    } else if (choice == 8) {
      const std::size_t count = random() % (model.size() + 1) / 4;
      ring.drop_front(count);
      model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(count));
    } else if (random() % 20 == 0) {
      const std::size_t kept = model.size() - model.size() / 3;
      ring.truncate(kept);
      model.resize(kept);
    }
    REQUIRE(ring.size() == model.size());
    REQUIRE(ring.empty() == model.empty());
    for (std::size_t i = 0; i < model.size(); i += 1 + model.size() / 8) REQUIRE(ring[i] == model[i]);
  }
}

TEST_CASE("an element of the ring can be pushed onto it while it grows") {
  Ring<int> ring;
  for (int i = 0; i < 64; ++i) ring.push_back(i + 5);
  ring.push_back(ring[0]);
  CHECK(ring[64] == 5);
}

}  // namespace
}  // namespace sluice::redis
