// Reads a bundle file again when it changes, on a thread of its own.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "common/telemetry/log.hpp"
#include "engine/policies/followed_file.hpp"

namespace sluice::lib {

// Thread: the constructor, start() and the destructor run on the owner's.
class FileFollower {
 public:
  // `take`: called on the follower's thread with the text of a file that has changed, or that has only been touched.
  // `log` outlives this object. Changes from now on are noticed.
  FileFollower(std::string path, telemetry::Log& log, std::function<void(const std::string& text)> take);
  ~FileFollower();
  FileFollower(const FileFollower&) = delete;
  FileFollower& operator=(const FileFollower&) = delete;

  // `read`: the identity of the file that is in force. A file that is not regular is not followed.
  void start(const FileIdentity& read);

 private:
  void run();

  const std::string path_;
  telemetry::Log& log_;
  boost::asio::io_context context_{1};
  policies::FollowedFile file_;
  std::thread thread_;
};

}  // namespace sluice::lib
