// Reads and writes the messages of Envoy's external authorization (common/grpc/proto/envoy/service/auth/v3).
//
// Thread safety: none; a message belongs to one thread. Reading one allocates nothing once its vectors have grown.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/decision.hpp"
#include "common/grpc/status.hpp"
#include "common/http/message.hpp"

namespace sluice::agent::rpc {

// Envoy's bound for the headers of a client is 60 KiB by default, and the path is there twice. If a client could make a
// message too large, the call would fail, and a proxy that fails open would let the request pass.
inline constexpr std::size_t kMaxAuthzBytes = std::size_t{256} << 10;

// CheckRequest, as far as a check needs it. The texts point into the message, and may have any bytes.
struct AuthzMessage {
  struct Named {
    std::string_view name;  // in lower case
    std::string_view text;
  };

  bool is_http = false;          // else it is about a connection
  std::string_view source;       // the address of Envoy's peer
  bool source_is_named = false;  // Envoy's peer has an address of IP; `source` may be any text
  std::string_view method;
  std::string_view path;
  std::string_view host;
  std::vector<Named> headers;     // add_header() adds to them
  std::vector<Named> extensions;  // context_extensions

  void add_header(const Named& header);
  // The value of a header, "" if there is none. Values of a name that is there more than once are joined by ", ".
  std::string_view header(std::string_view name) {
    return (header_sizes_ & size_bit(name)) == 0 ? std::string_view() : find_header(name);
  }
  std::string_view extension(std::string_view name) const;
  void clear();

 private:
  std::string_view find_header(std::string_view name);
  static constexpr std::uint64_t size_bit(std::string_view name) { return std::uint64_t{1} << (name.size() % 64); }

  // A bit for each size of a name in `headers`: most names that are asked for are not there, and no other is as long.
  std::uint64_t header_sizes_ = 0;
  std::deque<std::string> joined_;
};

// Returns false if the bytes are no CheckRequest. Then do not use `out`.
bool read_authz_message(std::string_view bytes, AuthzMessage& out);

// Appends a CheckResponse that lets the request pass. The application and the client get the headers of the decision.
// The application gets neither other headers of rate limits, which the client may have invented, nor those of `remove`.
void write_authz_allowed(const Decision& decision, HeaderFamilies families, std::span<const std::string_view> remove,
                         std::string& out);

// Appends a CheckResponse that stops the request: the client gets `answer`. `decision`: nullptr if there is none.
void write_authz_denied(grpc::Code code, const http::Response& answer, const Decision* decision, std::string& out);

}  // namespace sluice::agent::rpc
