// The authorities of a TLS listener's clients, from a file that is checked for changes every 5 s. If the changed file
// is faulty, the old authorities stay in force.
//
// Thread safety: a ClientCa belongs to the loop's thread; any thread may use the object that get() returns.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/http/client_authorities.hpp"
#include "common/program/config_reader.hpp"
#include "common/program/reload_timer.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::program {

// Reads a flag such as `tls-client-ca`; "" if it was not given. `encrypted`: the listener has TLS. `fix` says how it
// gets TLS: "add --tls-cert and --tls-key".
std::string read_client_ca(ConfigReader& reader, std::string_view flag, bool encrypted, std::string_view fix);

class ClientCa {
 public:
  ClientCa(boost::asio::io_context& loop, telemetry::Log& log,
           std::chrono::milliseconds check_every = ReloadTimer::kEvery);

  // Does nothing without a file. Returns false, and logs why, if the file is faulty.
  // REQUIRES: called before the loop runs.
  bool load(const std::string& file);
  void stop() { reloads_.stop(); }

  // nullptr: clients need no certificate.
  const std::shared_ptr<http::ClientAuthorities>& get() const { return authorities_; }

 private:
  telemetry::Log& log_;
  ReloadTimer reloads_;
  std::shared_ptr<http::ClientAuthorities> authorities_;
};

}  // namespace sluice::program
