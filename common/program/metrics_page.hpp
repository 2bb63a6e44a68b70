// Answers GET /metrics. Scrapes that wait at the same time share one rendering, which begins after the last of them has
// arrived. After a rendering the page rests, so that scrapes in a loop cost at most a fifth of the thread's time.
//
// Thread: the loop's.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http/server.hpp"

namespace sluice::program {

class MetricsPage final : public http::Handler {
 public:
  using Render = std::function<std::string()>;  // in Prometheus' text format 0.0.4
  // Whether the sender of `Authorization: Bearer TOKEN` may read the metrics.
  using Admit = std::function<bool(std::string_view token)>;

  // The rest after a rendering is kRestShare times as long as the rendering took, and at least kLeastRest.
  static constexpr std::chrono::milliseconds kLeastRest{20};
  static constexpr int kRestShare = 4;

  // Without `admit`, everybody may read the metrics. REQUIRES: `loop` outlives this object.
  MetricsPage(boost::asio::io_context& loop, Render render, Admit admit = {})
      : render_(std::move(render)), admit_(std::move(admit)), timer_(loop) {}

  std::size_t body_limit(std::string_view, std::string_view) const override { return 16UL * 1024; }
  void handle(http::Request& request, http::Reply reply) override;

 private:
  void answer_waiting();

  const Render render_;
  const Admit admit_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point rests_until_{};
  std::vector<http::Reply> waiting_;  // not empty: the timer runs
};

}  // namespace sluice::program
