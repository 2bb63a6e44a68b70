// Reads a file of CA certificates, whose text the injector puts into pods. The injector reads the file at the start,
// and again periodically.
//
// Thread safety: none.
#pragma once

#include <string>

#include "common/base/error.hpp"

namespace sluice::server::injector {

class PemFile {
 public:
  static constexpr std::size_t kMaxBytes =
      32UL << 10;  // the text becomes an annotation; all annotations of a pod together may have 256 KiB

  explicit PemFile(std::string path) : path_(std::move(path)) {}  // "": no file

  // Returns the file's text. Error `pem`: the file cannot be read, is too large, or holds no certificate. Callers then
  // keep the former text.
  Result<std::string> read() const;

 private:
  std::string path_;
};

}  // namespace sluice::server::injector
