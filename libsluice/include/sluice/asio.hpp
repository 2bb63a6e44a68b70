// Checks with a completion token of Boost.Asio: a callback, use_future, use_awaitable, …
//
//   sluice::v1::Decision decision = co_await sluice::v1::async_check(engine, request, boost::asio::use_awaitable);
//
// Needs Boost 1.74 or later, in the program only.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include "sluice/engine.hpp"

namespace sluice::v1 {

// Completes with (Decision), on the token's executor, never before this function returns. Its context has work
// meanwhile. What the request points to must live until then, and the engine too.
template <class CompletionToken>
auto async_check(Engine& engine, const Request& request, CompletionToken&& token) {
  const auto initiate = [&engine](auto&& handler, const Request& asked) {
    namespace asio = boost::asio;
    using Handler = std::decay_t<decltype(handler)>;
    // A Callback can be copied, and a handler only moved.
    const auto shared = std::make_shared<Handler>(std::forward<decltype(handler)>(handler));
    const auto executor =
        asio::prefer(asio::get_associated_executor(*shared), asio::execution::outstanding_work.tracked);
    engine.check_async(asked, [shared, executor](const Decision& decision) {
      asio::post(executor, [shared, decision]() mutable {
        Handler own = std::move(*shared);
        std::move(own)(std::move(decision));
      });
    });
  };
  return boost::asio::async_initiate<CompletionToken, void(Decision)>(initiate, token, request);
}

}  // namespace sluice::v1
