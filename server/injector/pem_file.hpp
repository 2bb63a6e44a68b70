// A file of CA certificates whose text goes into pods; read at the start, and again periodically.
//
// Thread safety: none.
#pragma once

#include <string>

#include "common/base/error.hpp"

namespace sluice::server::injector {

class PemFile {
 public:
  static constexpr std::size_t kLargest =
      32UL << 10;  // bytes; it becomes an annotation, and all annotations of a pod together may have 256 KiB

  explicit PemFile(std::string path) : path_(std::move(path)) {}  // "": there is none

  // The text now. Error: `pem`: it cannot be read, or holds no certificate;
  // whoever has a good text from before keeps it.
  Result<std::string> read() const;

 private:
  std::string path_;
};

}  // namespace sluice::server::injector
