// Reads a file of CA certificates, whose text the injector puts into pods.
#pragma once

#include <string>

#include "common/base/error.hpp"

namespace sluice::server::injector {

class PemFile {
 public:
  // The text becomes an annotation, and Kubernetes limits all annotations of a pod together to 256 KiB.
  static constexpr std::size_t kMaxBytes = 32UL << 10;

  explicit PemFile(std::string path) : path_(std::move(path)) {}  // "": no file

  // Error `pem`: the file cannot be read, is too large, or holds no certificate.
  Result<std::string> read() const;

 private:
  std::string path_;
};

}  // namespace sluice::server::injector
