// Reads the values of flags into what they mean, collects every fault on the way, and says them all at once.
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

// One of its functions for each kind of value; what is faulty is recorded, and comes back as something harmless.
// REQUIRES: `flags` outlives it, and flags it is asked for are the program's or of the command that was given.
class ConfigReader {
 public:
  explicit ConfigReader(const Flags& flags) : flags_(flags), faults_(flags.faults) {}

  const FlagValue& value(std::string_view flag) const { return flags_.values.find(flag)->second; }

  bool boolean(std::string_view flag);
  std::uint64_t number(std::string_view flag, std::uint64_t least, std::uint64_t most);
  // Whole milliseconds. `range` is how the rule says it: "1ms to 10s".
  std::chrono::milliseconds duration(std::string_view flag, std::chrono::milliseconds least,
                                     std::chrono::milliseconds most, std::string_view range);
  std::optional<boost::asio::ip::tcp::endpoint> address(std::string_view flag);
  // "" where the flag was not given. The file must be there and readable.
  std::string file(std::string_view flag);
  // A flag that was given and would silently do nothing is a fault.
  void require_use(std::string_view flag, bool used, std::string_view rule);

  // `rule` completes the sentence that begins with the flag and its value: "must be …".
  void fault(std::string_view flag, std::string_view rule);
  // As fault(), without showing the value.
  void fault_of_secret(std::string_view flag, std::string_view rule);

  Faults take_faults() && { return std::move(faults_); }
  bool faultless() const { return faults_.empty(); }

 private:
  const Flags& flags_;
  Faults faults_;
};

// Only this machine can reach it.
bool is_loopback(const boost::asio::ip::address& address);

// The faults as a person reads them, one a line, below `headline` ("sluice-agent cannot start") and their number; then
// where the flags of `program` ("sluice-agent") are explained.
std::string describe(const Faults& faults, std::string_view headline, std::string_view program);

}  // namespace sluice::program
