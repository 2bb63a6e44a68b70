// Converts the texts of flags into typed values and collects all faults, so that the user sees them together. Warnings
// do not keep the program from starting.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ip/tcp.hpp>

#include "common/base/error.hpp"
#include "common/program/flags.hpp"

namespace sluice::program {

// A function that finds an invalid value records a fault and returns false, `least`, nullopt, or the faulty path.
// REQUIRES: `flags` outlives the reader; each `flag` names a flag of the program or of the given command.
class ConfigReader {
 public:
  explicit ConfigReader(const Flags& flags) : flags_(flags), faults_(flags.faults) {}

  const FlagValue& value(std::string_view flag) const { return flags_.values.find(flag)->second; }

  bool boolean(std::string_view flag);
  std::uint64_t number(std::string_view flag, std::uint64_t least, std::uint64_t most);
  // `range` is shown in faults: "1MB to 64GB", "1ms to 10s".
  std::uint64_t byte_size(std::string_view flag, std::uint64_t least, std::uint64_t most, std::string_view range);
  std::chrono::milliseconds duration(std::string_view flag, std::chrono::milliseconds least,
                                     std::chrono::milliseconds most, std::string_view range);
  std::optional<boost::asio::ip::tcp::endpoint> address(std::string_view flag);
  // The path of a readable file; "" if the flag was not given.
  std::string file(std::string_view flag);
  // Records a fault if the flag was given although the program does not use it (`used` is false).
  void require_use(std::string_view flag, bool used, std::string_view rule);

  // `rule` completes the sentence that begins with the flag and its value: "must be …".
  void fault(std::string_view flag, std::string_view rule);
  // `name` is the operand as it was given, or its placeholder.
  void operand_fault(std::string name, std::string rule) { faults_.push_back({std::move(name), std::move(rule)}); }
  // Of a variable that is no flag's, such as OTEL_TRACES_SAMPLER.
  void variable_fault(std::string name, std::string rule) { faults_.push_back({std::move(name), std::move(rule)}); }
  // For a value that may be a secret.
  void fault_without_value(std::string_view flag, std::string_view rule);

  // Warns if the value of `flag`, which holds a password, stands on the command line. `instead` completes "Put the
  // password into …" if there is a better place than the flag's variable; else it is "".
  void warn_of_password(std::string_view flag, std::string_view instead);

  Faults take_faults() && { return std::move(faults_); }
  const Faults& warnings() const { return warnings_; }
  bool faultless() const { return faults_.empty(); }

 private:
  const Flags& flags_;
  Faults faults_;
  Faults warnings_;
};

// An IPv4 address mapped into IPv6 counts as the IPv4 address.
bool is_loopback(const boost::asio::ip::address& address);
// `host`: a name or an address without brackets. Of names only `localhost` counts: others may lead anywhere.
bool is_loopback(std::string_view host);

// The event of a log line for each warning about a password on the command line.
inline constexpr std::string_view kPasswordOnCommandLine = "password_on_command_line";

// The message for stderr. `headline`: "sluice-agent cannot start". `program`: "sluice-agent".
std::string describe(const Faults& faults, std::string_view headline, std::string_view program);

}  // namespace sluice::program
