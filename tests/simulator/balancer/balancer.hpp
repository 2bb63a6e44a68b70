// A TCP balancer in front of server replicas: new connections go round robin to those that take them. It is where a
// scenario breaks things: connections are cut or held, all, of one replica or of one agent; replicas come and go.
//
// Thread: the io_context's.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "tests/simulator/balancer/relay.hpp"

namespace sluice::sync_test {

class Balancer {
 public:
  static constexpr std::chrono::milliseconds kInterval{100};  // of the counted connections

  Balancer(boost::asio::io_context& context, std::uint16_t port, std::uint64_t seed);
  Balancer(const Balancer&) = delete;

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void set_backend(const std::string& name, std::uint16_t port);  // added, or moved
  bool remove_backend(const std::string& name);                   // its connections stay

  // How many were cut. `share`: of so many in [0, 1], chosen at random.
  std::size_t cut_share(double share);
  std::size_t cut_backend(const std::string& name);
  std::size_t cut_agent(const std::string& agent);

  // Nothing of theirs goes on, what is open and what comes, until they are released.
  void hold_backend(const std::string& name, bool held);
  void hold_agent(const std::string& agent, bool held);

  // {"open":…,"accepted":…,"refused":…,"cut":…,"begin_us":…,"interval_us":100000,"per_interval":[…],"backends":{…}}:
  // connections accepted since the start (on the monotonic clock), by interval.
  std::string stats() const;
  void close();

 private:
  using Clock = std::chrono::steady_clock;

  void accept();
  void count();
  // To the first of the backends, from the `tried`-th on in this turn, that takes it; else the client is closed.
  void connect(const std::shared_ptr<Relay>& relay, std::size_t tried);
  bool is_held(const Relay& relay) const;
  void apply_holds();
  template <class Chosen>
  std::size_t cut(Chosen chosen);

  boost::asio::io_context& context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Clock::time_point begin_ = Clock::now();
  std::mt19937_64 random_;
  std::vector<std::pair<std::string, std::uint16_t>> backends_;
  std::size_t turn_ = 0;
  std::set<std::shared_ptr<Relay>> relays_;
  std::set<std::string> held_backends_;
  std::set<std::string> held_agents_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;  // there was no backend that took them
  std::uint64_t cut_ = 0;
  std::vector<std::uint32_t> per_interval_;
};

}  // namespace sluice::sync_test
