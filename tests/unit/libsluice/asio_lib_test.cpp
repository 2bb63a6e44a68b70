// Checks with completion tokens of Boost.Asio.
#include "sluice/asio.hpp"

#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <doctest/doctest.h>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice {
namespace {

namespace asio = boost::asio;

TEST_CASE("a coroutine awaits a check on its own context") {
  const auto engine = open_engine({.bundle = bundle_of(fixed_window(1))});
  asio::io_context context;
  std::vector<bool> allowed;
  auto asks = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 2; ++i) {
      const v1::Decision decision = co_await v1::async_check(*engine, kOrders, asio::use_awaitable);
      allowed.push_back(decision.allowed);
    }
  };
  asio::co_spawn(context, asks(), asio::detached);
  CHECK(allowed.empty());
  context.run();
  CHECK(allowed == std::vector{true, false});
}

TEST_CASE("a handler that can only be moved runs on its own executor, after the function has returned") {
  const auto engine = open_engine({.bundle = bundle_of(fixed_window(1))});
  asio::io_context context;
  auto strand = asio::make_strand(context);
  std::optional<bool> in_strand;
  auto handler = [owned = std::make_unique<int>(7), &strand, &in_strand](const v1::Decision& decision) {
    CHECK(*owned == 7);
    CHECK(decision.allowed);
    in_strand = strand.running_in_this_thread();
  };
  v1::async_check(*engine, kOrders, asio::bind_executor(strand, std::move(handler)));
  CHECK_FALSE(in_strand);
  context.run();
  CHECK(in_strand == true);
}

TEST_CASE("a future has the decision") {
  const auto engine = open_engine({.bundle = bundle_of(fixed_window(1))});
  std::future<v1::Decision> future = v1::async_check(*engine, kOrders, asio::use_future);
  CHECK(future.get().policy == "orders");
}

}  // namespace
}  // namespace sluice
