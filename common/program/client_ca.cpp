#include "common/program/client_ca.hpp"

#include <utility>

#include <fmt/core.h>

namespace sluice::program {

std::string read_client_ca(ConfigReader& reader, std::string_view flag, bool encrypted, std::string_view fix) {
  std::string file = reader.file(flag);
  reader.require_use(flag, encrypted,
                     fmt::format("has no use without TLS, where no client presents a certificate; {}", fix));
  return file;
}

ClientCa::ClientCa(boost::asio::io_context& loop, telemetry::Log& log, std::chrono::milliseconds check_every)
    : log_(log),
      reloads_(loop, log,
               {.refused = "client_ca_refused",
                .renewed = "client_ca_renewed",
                .renewed_text = "Clients of new connections are judged by the renewed authorities."},
               check_every) {}

bool ClientCa::load(const std::string& file) {
  if (file.empty()) return true;
  auto loaded = http::ClientAuthorities::load(file);
  if (!loaded) {
    log_.error("client_ca_failed", loaded.error().text, {{"code", loaded.error().code}});
    return false;
  }
  authorities_ = std::move(*loaded);
  reloads_.start([this] { return authorities_->reload_if_changed(); });
  return true;
}

}  // namespace sluice::program
