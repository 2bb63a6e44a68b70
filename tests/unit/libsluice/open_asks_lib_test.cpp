// What a lane has asked Redis, when an answer is lost.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "libsluice/decision_of.hpp"
#include "libsluice/open_asks.hpp"

namespace sluice {
namespace {

struct Told {
  std::vector<v1::Status> statuses;
  std::size_t deleted = 0;
};

class Asked final : public lib::OpenAsks::Ask {
 public:
  Asked(lib::OpenAsks& asks, Told& told) : asks_(asks), told_(told) {}
  ~Asked() override { ++told_.deleted; }
  void give_up(v1::Status why) noexcept override {
    asks_.lose(*this);
    told_.statuses.push_back(std::move(why));
  }

 private:
  lib::OpenAsks& asks_;
  Told& told_;
};

TEST_CASE("an answer counts as lost after the patience, not before, and not if it has come") {
  Told told;
  lib::OpenAsks asks(2);
  const auto first = std::make_unique<Asked>(asks, told);
  const auto second = std::make_unique<Asked>(asks, told);
  CHECK(!asks.tick());
  asks.add(*first);
  CHECK(!asks.tick());
  asks.add(*second);
  CHECK(!asks.tick());
  SUBCASE("the oldest is asked for longest") {
    CHECK(asks.tick());
    asks.remove(*first);
  }
  SUBCASE("an answer ends the wait for itself only") {
    asks.remove(*first);
    CHECK(!asks.tick());
    CHECK(asks.tick());
  }
  asks.remove(*second);
  CHECK(!asks.tick());
}

TEST_CASE("asks that are given up are told why, are waited for no more, and live until Redis cannot answer") {
  Told told;
  lib::OpenAsks asks(0);
  for (int i = 0; i < 3; ++i) asks.add(*new Asked(asks, told));
  CHECK(asks.tick());
  asks.give_up_all(&lib::stopped);
  REQUIRE(told.statuses.size() == 3);
  for (const v1::Status& status : told.statuses) CHECK(status.code == v1::Code::stopped);
  CHECK(!asks.tick());
  CHECK(told.deleted == 0);
  asks.delete_lost();
  CHECK(told.deleted == 3);
}

}  // namespace
}  // namespace sluice
