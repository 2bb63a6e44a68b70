// Notices that a file with credentials has changed: a password, a login, a certificate, its key, or the trusted
// certificate authorities. Secrets that Kubernetes mounts change in place, without a signal to the program.
//
// Thread safety: none; it belongs to the io_context's thread.
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

  // Between start() and stop(), looks at the files every kEvery. If one of them has changed, calls `changed` from the
  // event loop. Empty paths are left out.
  CredentialWatch(boost::asio::io_context& context, std::vector<std::string> paths, std::function<void()> changed);

  void start();  // does nothing if it was started
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
