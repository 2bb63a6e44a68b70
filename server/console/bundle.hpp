// The console as it is compiled into the server: one page, and the files that it loads.
#pragma once

#include <span>
#include <string_view>

namespace sluice::server::console {

// A script or a style sheet. Its path has a hash of its content, so the content under one path never changes.
struct File {
  std::string_view path;
  std::string_view content_type;
  std::string_view gzip;    // the content, compressed
  std::string_view brotli;  // the same
};

struct Bundle {
  std::string_view page;                    // HTML
  std::span<const std::string_view> views;  // paths of views; a part ":id" stands for any that is not empty
  std::span<const File> files;
};

// Lives as long as the program.
const Bundle& embedded_bundle();

}  // namespace sluice::server::console
