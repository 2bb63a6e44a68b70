#include "common/program/descriptors.hpp"

#include <doctest/doctest.h>

using sluice::program::connections_per_worker;

TEST_CASE("with plenty of descriptors a worker holds as many connections as it is allowed to") {
  CHECK(connections_per_worker(1'000'000, 1, 20'000) == 20'000);
  CHECK(connections_per_worker(1'000'000, 8, 20'000) == 20'000);
}

TEST_CASE("connections leave descriptors for probes, Redis and files") {
  CHECK(connections_per_worker(1024, 1, 20'000) == 984);
  CHECK(connections_per_worker(1024, 4, 20'000) == 240);
}

TEST_CASE("where descriptors are few, half of them are kept") {
  CHECK(connections_per_worker(40, 1, 20'000) == 20);
  CHECK(connections_per_worker(40, 4, 20'000) == 5);
}

TEST_CASE("a worker may always hold one connection") {
  CHECK(connections_per_worker(0, 1, 20'000) == 1);
  CHECK(connections_per_worker(10, 256, 20'000) == 1);
}
