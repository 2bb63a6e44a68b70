// Converts the texts of flags into typed values and collects all faults, so that the user sees them together.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

#include "common/base/error.hpp"
#include "common/program/flags.hpp"

namespace sluice::program {

// One function for each kind of value. If the value is invalid, the function records a fault, and returns false,
// `least`, nullopt, or the path that cannot be read. Thread safety: none.
// REQUIRES: `flags` outlives the reader; each `flag` names a flag of the program or of the given command.
class ConfigReader {
 public:
  explicit ConfigReader(const Flags& flags) : flags_(flags), faults_(flags.faults) {}

  const FlagValue& value(std::string_view flag) const { return flags_.values.find(flag)->second; }

  bool boolean(std::string_view flag);
  std::uint64_t number(std::string_view flag, std::uint64_t least, std::uint64_t most);
  // A size in bytes. `range` is the range in the text of a fault: "1MB to 64GB".
  std::uint64_t byte_size(std::string_view flag, std::uint64_t least, std::uint64_t most, std::string_view range);
  // A duration of whole milliseconds. `range` is the range in the text of a fault: "1ms to 10s".
  std::chrono::milliseconds duration(std::string_view flag, std::chrono::milliseconds least,
                                     std::chrono::milliseconds most, std::string_view range);
  std::optional<boost::asio::ip::tcp::endpoint> address(std::string_view flag);
  // The path of a file that exists and is readable; "" if the flag was not given.
  std::string file(std::string_view flag);
  // Records a fault if the flag was given and `used` is false: it has no effect, or does not fit other flags.
  void require_use(std::string_view flag, bool used, std::string_view rule);

  // Records a fault. `rule` completes the sentence that begins with the flag and its value: "must be …".
  void fault(std::string_view flag, std::string_view rule);
  // As fault(), but without the flag's value, which may be a secret.
  void fault_without_value(std::string_view flag, std::string_view rule);

  Faults take_faults() && { return std::move(faults_); }
  bool faultless() const { return faults_.empty(); }

 private:
  const Flags& flags_;
  Faults faults_;
};

// Whether only this machine can reach the address. An IPv4 address mapped into IPv6 counts as the IPv4 address.
bool is_loopback(const boost::asio::ip::address& address);

// The message for stderr: `headline` ("sluice-agent cannot start") with the number of faults, a line for each fault,
// and the hint to run `program` ("sluice-agent") with --help.
std::string describe(const Faults& faults, std::string_view headline, std::string_view program);

}  // namespace sluice::program
