// Sends each line as one message of RFC 5424 over TCP, framed by its length (octet counting, RFC 6587, section 3.4.1).
//
//   closed ──connect()──▶ open ──the peer closes, an error, or silence for kSilence──▶ closed
//      ▲  └─ an error ──┐
//      └────────────────┘  each further attempt waits for the back-off
//
// - A line that the connection does not take now waits. A frame that is divided when the connection breaks is sent
//   again, whole, on the next one.
// - Syslog acknowledges nothing. When a connection breaks, the lines that the other machine's kernel has not
//   acknowledged are lost, and they are counted. What that kernel has and no program reads is lost uncounted. The send
//   buffer is small, so both are few.
// - A connection that lives for less than kSettled does not end the back-off, so a peer that closes each connection at
//   once is not flooded.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "common/base/backoff.hpp"
#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/telemetry/line_sink.hpp"

namespace sluice::line_sinks {

struct SyslogStreamOptions {
  std::string host{};  // a name, or an IP address without brackets
  std::uint16_t port = 0;
};

class SyslogStream final : public telemetry::LineSink {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Now = std::function<Time()>;

  static constexpr std::chrono::seconds kConnectTimeout{3};  // of all addresses together
  static constexpr std::chrono::seconds kFirstDelay{1};      // of the back-off
  static constexpr std::chrono::seconds kLongestDelay{15};
  static constexpr std::chrono::seconds kSettled{10};
  static constexpr std::chrono::seconds kSilence{60};  // data that the peer does not acknowledge
  static constexpr int kSendBufferBytes = 64 << 10;

  // `source`: from syslog_source().
  SyslogStream(SyslogStreamOptions options, std::string source, Now now = std::chrono::steady_clock::now);

  // Errors: syslog_not_connected, syslog_not_sent. Connecting takes up to kConnectTimeout, and looking up the host name
  // may take seconds before that. REQUIRES: after a call that returned no error, `text` begins with what was left.
  Written write(std::string_view text) override;

 private:
  Result<> connect();
  Result<> attempt(Time now);
  // Returns 0, or the errno that says why the connection is of no use.
  int fault_of_connection() const;
  // Sends one line, or reports in `written` why not. Returns whether the next line may follow.
  bool send(std::string_view line, Written& written);
  void wait_for_room() const;
  std::size_t unacknowledged_bytes() const;
  void forget_acknowledged();
  void disconnect(int cause, Written& written);
  Error because(std::string code, std::string_view cause) const;

  const SyslogStreamOptions options_;
  const std::string source_;
  const Now now_;
  const SystemClock clock_;
  FileDescriptor socket_;  // connected, or none
  Time connected_at_{};

  std::string frame_;                  // of the line that is being sent; "" between lines
  std::size_t sent_ = 0;               // bytes of frame_
  std::deque<std::size_t> in_flight_;  // sizes of whole frames that the peer may not have acknowledged
  std::size_t in_flight_bytes_ = 0;    // their sum

  Backoff backoff_{kFirstDelay, kLongestDelay};
  std::minstd_rand random_{std::random_device{}()};
  Time next_attempt_{};
  Error why_closed_{};  // while no connection is tried
};

}  // namespace sluice::line_sinks
