// Checks with a completion token of Boost.Asio: a callback, use_future, use_awaitable, …
//
//   sluice::v1::Decision decision = co_await sluice::v1::async_check(engine, request, boost::asio::use_awaitable);
//
// Needs Boost 1.74 or later, in the program only.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include "sluice/engine.hpp"

namespace sluice::v1 {
namespace detail {

template <class Handler>
struct AsyncCheck {
  template <class Given>
  explicit AsyncCheck(Given&& its_handler) : handler(std::forward<Given>(its_handler)) {}
  Handler handler;
  Decision decision;
};

}  // namespace detail

// Completes with (Decision), on the token's executor, never before this function returns. Its context has work
// meanwhile. What the request points to must live until then, and the engine too.
//
// Throws std::bad_alloc if there is no memory to begin. If there is none for the decision, its status says
// Code::out_of_memory. If there is none to post the completion, the handler is destroyed without being called, as when
// its context ends.
template <class CompletionToken>
auto async_check(Engine& engine, const Request& request, CompletionToken&& token) {
  const auto initiate = [&engine](auto&& handler, const Request& asked) {
    namespace asio = boost::asio;
    using Handler = std::decay_t<decltype(handler)>;
    // A Callback can be copied, and a handler only moved.
    const auto shared = std::make_shared<detail::AsyncCheck<Handler>>(std::forward<decltype(handler)>(handler));
    const auto executor =
        asio::prefer(asio::get_associated_executor(shared->handler), asio::execution::outstanding_work.tracked);
    engine.check_async(asked, [shared, executor](const Decision& decision) {
      try {
        shared->decision = decision;
      } catch (const std::bad_alloc&) {
        shared->decision = {};
        shared->decision.status = {Code::out_of_memory, "out of memory"};  // short enough to need none
      }
      asio::post(executor, [shared] {
        Handler own = std::move(shared->handler);
        std::move(own)(std::move(shared->decision));
      });
    });
  };
  return boost::asio::async_initiate<CompletionToken, void(Decision)>(initiate, token, request);
}

}  // namespace sluice::v1
