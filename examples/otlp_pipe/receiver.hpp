// Takes OTLP over HTTP from exporters: decides about each record, and puts what is left into the outbox.
//
// Thread: the constructor and stop() on the owner's; everything else on the threads that run the io_context.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sluice/engine.hpp>

#include "counts.hpp"
#include "outbox.hpp"

namespace otlp_pipe {

struct ReceiverOptions {
  Tenancy tenancy;
  bool gzip = false;                            // pack what goes to the collector
  std::size_t max_body = std::size_t{8} << 20;  // bytes of a request, also after gzip
};

// What the sessions share; it outlives them.
struct Parts {
  const ReceiverOptions& options;
  sluice::v1::Engine& engine;
  Outbox& outbox;
  Counts& counts;
  std::atomic<bool> draining{false};  // requests get 503, and connections end
};

class Receiver {
 public:
  // Throws boost::system::system_error if nobody can listen there.
  Receiver(boost::asio::io_context& context, const boost::asio::ip::tcp::endpoint& address, Parts& parts);

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  // Takes no further connections and requests. The io_context's threads go on for a moment, so that answers are sent.
  void stop();

 private:
  void accept();

  boost::asio::io_context& context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Parts& parts_;
  boost::asio::steady_timer last_answers_;
};

}  // namespace otlp_pipe
