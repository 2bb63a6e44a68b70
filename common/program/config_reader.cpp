#include "common/program/config_reader.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/byte_size.hpp"
#include "common/base/duration.hpp"
#include "common/domain/ip_address.hpp"
#include "common/http/address.hpp"

namespace sluice::program {

using std::chrono::milliseconds;

bool is_loopback(const boost::asio::ip::address& address) { return is_loopback(address.to_string()); }

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  const auto address = parse_ip(host);
  return address && sluice::is_loopback(*address);
}

void ConfigReader::fault(std::string_view flag, std::string_view rule) {
  const FlagValue& given = value(flag);
  Fault fault{given.source, fmt::format("{} {}", shown_value(given.text), rule)};
  // Some flags are read more than once: --insecure-database decides about two URLs.
  const bool known = std::ranges::any_of(
      faults_, [&fault](const Fault& each) { return each.pointer == fault.pointer && each.text == fault.text; });
  if (!known) faults_.push_back(std::move(fault));
}

void ConfigReader::fault_without_value(std::string_view flag, std::string_view rule) {
  faults_.push_back({value(flag).source, std::string(rule)});
}

bool ConfigReader::boolean(std::string_view flag) {
  const std::string& text = value(flag).text;
  if (text == "true" || text == "1") return true;
  if (text != "false" && text != "0") fault(flag, "must be true, false, 1 or 0");
  return false;
}

std::uint64_t ConfigReader::number(std::string_view flag, std::uint64_t least, std::uint64_t most) {
  const std::string& text = value(flag).text;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= least && number <= most) return number;
  fault(flag, fmt::format("must be a whole number from {} to {}", least, most));
  return least;
}

std::uint64_t ConfigReader::byte_size(std::string_view flag, std::uint64_t least, std::uint64_t most,
                                      std::string_view range) {
  const auto read = parse_byte_size(value(flag).text);
  if (read && *read >= least && *read <= most) return *read;
  fault(flag, fmt::format("must be a size from {} with its unit, such as 32MB or 64MiB", range));
  return least;
}

milliseconds ConfigReader::duration(std::string_view flag, milliseconds least, milliseconds most,
                                    std::string_view range) {
  const auto read = parse_duration(value(flag).text);
  if (read) {
    const auto whole = std::chrono::duration_cast<milliseconds>(*read);
    if (whole == *read && whole >= least && whole <= most) return whole;
  }
  fault(flag, fmt::format("must be a duration from {} in whole milliseconds, such as 25ms, 2s or 1m", range));
  return least;
}

std::optional<boost::asio::ip::tcp::endpoint> ConfigReader::address(std::string_view flag) {
  const auto read = http::parse_address(value(flag).text);
  if (read) return *read;
  fault(flag, "must be ADDRESS:PORT with a numeric address, such as 127.0.0.1:8088, [::1]:8088 or 0.0.0.0:9088");
  return std::nullopt;
}

std::string ConfigReader::file(std::string_view flag) {
  const FlagValue& given = value(flag);
  if (!given.given) return {};
  std::error_code error;
  if (std::filesystem::is_directory(given.text, error)) {
    fault(flag, "is a directory; name a file");
  } else if (::access(given.text.c_str(), R_OK) != 0) {
    fault(flag, fmt::format("cannot be read: {}; name a file that this user may read", std::strerror(errno)));
  }
  return given.text;
}

void ConfigReader::require_use(std::string_view flag, bool used, std::string_view rule) {
  if (value(flag).given && !used) fault(flag, rule);
}

void ConfigReader::warn_of_password(std::string_view flag, std::string_view instead) {
  const FlagValue& given = value(flag);
  if (!given.on_command_line()) return;
  const std::string place = instead.empty() ? "" : fmt::format("the password into {}, or ", instead);
  warnings_.push_back(
      {given.source,
       fmt::format("{} has a password on the command line, which every user of this machine can read in the process "
                   "list. Put {}the whole value into the variable {}",
                   given.source, place, given.variable)});
}

std::string describe(const Faults& faults, std::string_view headline, std::string_view program) {
  std::string text = fmt::format("{}: {} fault{}\n", headline, faults.size(), faults.size() == 1 ? "" : "s");
  for (const Fault& fault : faults) {
    text += fmt::format("  {}{}{}\n", fault.pointer, fault.pointer.empty() ? "" : ": ", fault.text);
  }
  return text + fmt::format("All flags: {} --help\n", program);
}

}  // namespace sluice::program
