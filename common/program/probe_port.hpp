// Serves probes and metrics with an event loop and a thread of their own. So no other work delays a probe, and no
// scrape delays other work.
//
// The thread calls the functions of ProbeSources and the rendering, so these must be thread-safe.
// Thread: that of the owner, for everything but probes().
#pragma once

#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http/server.hpp"
#include "common/program/metrics_page.hpp"
#include "common/program/probes.hpp"

namespace sluice::program {

class ProbePort {
 public:
  // `name`: as in Probes.
  ProbePort(std::string_view name, ProbeSources sources, MetricsPage::Render render)
      : page_(loop_, std::move(render)),
        probes_(name, std::move(sources), &page_),
        server_(loop_, http::ServerOptions{}, probes_) {}
  ~ProbePort() { stop(); }
  ProbePort(const ProbePort&) = delete;
  ProbePort& operator=(const ProbePort&) = delete;

  // The errors are those of http::Server::listen_tcp(). REQUIRES: called before start().
  Result<std::uint16_t> listen(std::string_view address) { return server_.listen_tcp(address, false); }
  void start() {
    thread_ = std::jthread([this] { loop_.run(); });
  }
  // Drops the connections.
  void stop() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Probes& probes() { return probes_; }

 private:
  boost::asio::io_context loop_{1};
  MetricsPage page_;
  Probes probes_;
  http::Server server_;
  std::jthread thread_;
};

}  // namespace sluice::program
