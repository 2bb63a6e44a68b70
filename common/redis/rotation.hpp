// Makes a second connection with changed credentials, while the first connection is still in use.
//
//   idle ──begin()──▶ connecting ──greeted──▶ ready ──take()──▶ idle
//                      ▲     └──failed──▶ backing off
//                      └──────timer─────────┘
//
// Greeted: the Redis handshake has succeeded.
//
// Belongs to the io_context's thread. Callbacks come from the loop, never inside a member function.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include "common/base/backoff.hpp"
#include "common/base/error.hpp"
#include "common/redis/client.hpp"
#include "common/redis/connection.hpp"

namespace sluice::redis {

class Rotation final : public std::enable_shared_from_this<Rotation>, private Connection::Owner {
 public:
  static constexpr std::chrono::seconds kRepeat{10};

  class Owner {
   public:
    virtual Result<> check(const ServerInfo& info) const = 0;  // whether the owner can use this Redis
    virtual void on_successor() = 0;                           // ready() is true now
    // The next attempt follows after a back-off. `report`: the error's code is new, or was last reported kRepeat ago.
    virtual void on_rotation_failed(const Error& why, bool report) = 0;
    virtual void on_sent() = 0;   // as Connection::Owner::on_sent()
    virtual double random() = 0;  // uniform in [0, 1)

   protected:
    ~Owner() = default;
  };

  // `owner` lives until stop().
  Rotation(boost::asio::io_context& context, Owner& owner) : context_(context), owner_(owner), timer_(context) {}

  // Drops what an earlier begin() started.
  void begin(const Options& options);
  void stop();

  bool ready() const { return info_.has_value(); }
  struct Successor {
    std::shared_ptr<Connection> connection;  // its new owner calls Connection::serve()
    ServerInfo info;
  };
  Successor take();  // REQUIRES: ready()

 private:
  using Clock = std::chrono::steady_clock;
  using Timer =
      boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, boost::asio::io_context::executor_type>;

  void on_ready(ServerInfo info) override;
  void on_bytes(std::string_view) override;
  void on_sent() override { owner_.on_sent(); }
  void on_written() override {}
  void on_lost(Error error, bool) override { failed(error); }

  void connect();
  void timed_out();
  void failed(const Error& why);
  void drop();
  void wait(Clock::duration duration, void (Rotation::*then)());

  boost::asio::io_context& context_;
  Owner& owner_;
  Options options_;
  std::optional<Backoff> backoff_;
  std::shared_ptr<Connection> connection_;
  std::optional<ServerInfo> info_;  // set once connection_ is greeted
  std::string reported_;            // code of the last reported failure
  Clock::time_point reported_at_{};
  unsigned attempts_ = 0;
  Timer timer_;
  std::uint64_t wait_ = 0;  // counts waits of timer_; handlers of earlier waits do nothing
};

}  // namespace sluice::redis
