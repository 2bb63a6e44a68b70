// A file of CA certificates whose text goes into pods: read at the start, and looked at again now and then.
//
// Thread safety: none.
#pragma once

#include <string>

#include "common/base/error.hpp"

namespace sluice::server::injector {

class PemFile {
 public:
  static constexpr std::size_t kLargest = 32UL << 10;  // it becomes an annotation, and all of a pod's have 256 KiB

  explicit PemFile(std::string path) : path_(std::move(path)) {}  // "": there is none

  // The text now. Error: `pem`: it cannot be read, or holds no certificate;
  // whoever has a good text from before keeps it.
  Result<std::string> read() const;

 private:
  std::string path_;
};

}  // namespace sluice::server::injector
