#include "tests/simulator/balancer/balancer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/json/text.hpp"

namespace sluice::sync_test {
namespace {

using boost::asio::ip::tcp;

tcp::endpoint loopback(std::uint16_t port) { return {boost::asio::ip::address_v4::loopback(), port}; }

}  // namespace

Balancer::Balancer(boost::asio::io_context& context, std::uint16_t port, std::uint64_t seed)
    : context_(context), acceptor_(context), random_(seed) {
  const tcp::endpoint endpoint = loopback(port);
  acceptor_.open(endpoint.protocol());
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  acceptor_.bind(endpoint);
  acceptor_.listen(4096);
  accept();
}

void Balancer::accept() {
  acceptor_.async_accept([this](boost::system::error_code error, tcp::socket client) {
    if (error == boost::asio::error::operation_aborted) return;
    if (!error) {
      count();
      const auto relay = std::make_shared<Relay>(
          std::move(client), Relay::Hooks{.named =
                                              [this](Relay& one) {
                                                if (is_held(one)) one.hold();
                                              },
                                          .closed = [this](Relay& one) { relays_.erase(one.shared_from_this()); }});
      relays_.insert(relay);
      connect(relay, 0);
    }
    accept();
  });
}

void Balancer::count() {
  ++accepted_;
  const auto interval = static_cast<std::size_t>((Clock::now() - begin_) / kInterval);
  if (per_interval_.size() <= interval) per_interval_.resize(interval + 1);
  ++per_interval_[interval];
}

void Balancer::connect(const std::shared_ptr<Relay>& relay, std::size_t tried) {
  if (tried >= backends_.size()) {
    ++refused_;
    return relay->close();
  }
  const auto [name, port] = backends_[turn_++ % backends_.size()];
  const auto server = std::make_shared<tcp::socket>(context_);
  server->async_connect(loopback(port), [this, relay, server, tried, name](boost::system::error_code error) {
    if (relay->is_closed()) return;
    if (error) return connect(relay, tried + 1);
    if (held_backends_.contains(name)) relay->hold();
    relay->connected(std::move(*server), name);
  });
}

void Balancer::set_backend(const std::string& name, std::uint16_t port) {
  const auto found = std::ranges::find(backends_, name, &std::pair<std::string, std::uint16_t>::first);
  if (found == backends_.end()) {
    backends_.emplace_back(name, port);
  } else {
    found->second = port;
  }
}

bool Balancer::remove_backend(const std::string& name) {
  return std::erase_if(backends_, [&](const auto& backend) { return backend.first == name; }) > 0;
}

template <class Chosen>
std::size_t Balancer::cut(Chosen chosen) {
  std::vector<std::shared_ptr<Relay>> found;
  std::ranges::copy_if(relays_, std::back_inserter(found), chosen);
  for (const auto& relay : found) relay->close();
  cut_ += found.size();
  return found.size();
}

std::size_t Balancer::cut_share(double share) {
  std::uniform_real_distribution<double> uniform(0, 1);
  return cut([&](const auto&) { return uniform(random_) < share; });
}

std::size_t Balancer::cut_backend(const std::string& name) {
  return cut([&](const auto& relay) { return relay->backend() == name; });
}

std::size_t Balancer::cut_agent(const std::string& agent) {
  return cut([&](const auto& relay) { return relay->agent() == agent; });
}

bool Balancer::is_held(const Relay& relay) const {
  return held_backends_.contains(relay.backend()) || held_agents_.contains(relay.agent());
}

void Balancer::apply_holds() {
  const std::vector<std::shared_ptr<Relay>> all(relays_.begin(), relays_.end());  // going on may close some
  for (const auto& relay : all) {
    if (is_held(*relay)) {
      relay->hold();
    } else {
      relay->go_on();
    }
  }
}

void Balancer::hold_backend(const std::string& name, bool held) {
  held ? void(held_backends_.insert(name)) : void(held_backends_.erase(name));
  apply_holds();
}

void Balancer::hold_agent(const std::string& agent, bool held) {
  held ? void(held_agents_.insert(agent)) : void(held_agents_.erase(agent));
  apply_holds();
}

std::string Balancer::stats() const {
  std::map<std::string, std::size_t> open;
  for (const auto& relay : relays_) ++open[relay->backend()];
  std::string backends;
  for (const auto& [name, count] : open) {
    if (!backends.empty()) backends += ',';
    json::append_string(backends, name);
    backends += fmt::format(":{}", count);
  }
  const auto begin = std::chrono::duration_cast<std::chrono::microseconds>(begin_.time_since_epoch()).count();
  return fmt::format(
      R"({{"open":{},"accepted":{},"refused":{},"cut":{},"begin_us":{},"interval_us":{},"per_interval":[{}],"backends":{{{}}}}})",
      relays_.size(), accepted_, refused_, cut_, begin, std::chrono::microseconds(kInterval).count(),
      fmt::join(per_interval_, ","), backends);
}

void Balancer::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  cut([](const auto&) { return true; });
}

}  // namespace sluice::sync_test
