// A folder whose files are checked every millisecond, the loop that does that, and what is logged meanwhile.
#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>

#include <unistd.h>
#include <boost/asio/io_context.hpp>

#include "common/telemetry/line_writer.hpp"
#include "common/telemetry/log.hpp"
#include "tests/unit/http/certificate_maker.hpp"

namespace sluice::program {

struct WatchedFiles {
  static constexpr std::chrono::milliseconds kEvery{1};

  // Runs the loop until `condition`; false where that does not come within 20 s.
  template <class Condition>
  [[nodiscard]] bool run_until(Condition condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i) {
      loop.restart();
      loop.run_for(kEvery);
    }
    return condition();
  }
  // How often an event was logged so far.
  int logged(std::string_view event) const {
    std::array<char, 8192> buffer{};
    const ssize_t size = ::pread(::fileno(file.get()), buffer.data(), buffer.size(), 0);
    const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
    int count = 0;
    for (std::size_t at = 0; (at = text.find(event, at)) != std::string_view::npos; ++at) ++count;
    return count;
  }

  struct Close {
    void operator()(std::FILE* opened) const { std::fclose(opened); }
  };
  http::Folder folder;
  std::unique_ptr<std::FILE, Close> file{std::tmpfile()};  // closed after `lines`, whose thread writes to it, has ended
  boost::asio::io_context loop{1};
  telemetry::LineWriter lines{::fileno(file.get())};
  telemetry::Log log{lines, telemetry::LogLevel::info};
};

}  // namespace sluice::program
