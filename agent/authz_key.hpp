// The API key of all sub-requests of trusted proxies (--authz-key-file), in a file that is checked for changes every
// 5 s. If the changed file is faulty, the former key stays in force.
//
// Thread: the loop's.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/base/file_identity.hpp"
#include "common/program/reload_timer.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent {

class AuthzKey {
 public:
  AuthzKey(boost::asio::io_context& loop, telemetry::Log& log,
           std::chrono::milliseconds check_every = program::ReloadTimer::kEvery);

  // Passes the key to `publish`, now and whenever it changes. Does nothing without a file. Returns false, and logs why,
  // if the file is faulty; the log line has nothing of its content. REQUIRES: called before the loop runs.
  bool load(const std::string& file, std::function<void(const std::string& key)> publish);
  void stop() { reloads_.stop(); }

 private:
  Result<bool> reload_if_changed();
  Result<> reload();

  telemetry::Log& log_;
  program::ReloadTimer reloads_;
  std::string path_;
  FileIdentity seen_;  // of the file that was last read, or could not be read
  std::function<void(const std::string&)> publish_;
};

}  // namespace sluice::agent
