// Notices that a file with credentials or certificates has changed. Secrets that Kubernetes mounts change in place,
// without a signal to the program.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include "common/base/file_identity.hpp"

namespace sluice::redis {

class CredentialWatch : public std::enable_shared_from_this<CredentialWatch> {
 public:
  static constexpr std::chrono::milliseconds kEvery{1000};

  // Calls `changed` from the event loop. Empty paths are left out.
  CredentialWatch(boost::asio::io_context& context, std::vector<std::string> paths, std::function<void()> changed);

  void start();
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  using Timer =
      boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, boost::asio::io_context::executor_type>;

  std::vector<FileIdentity> look() const;
  void wait();

  std::vector<std::string> paths_;
  std::vector<FileIdentity> seen_;  // one for each path
  const std::function<void()> changed_;
  bool started_ = false;
  Timer timer_;
};

}  // namespace sluice::redis
