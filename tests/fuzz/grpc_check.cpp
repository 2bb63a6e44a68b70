// Any bytes as a message of sluice.v1.Decisions: no crash, and no access outside of the message.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/grpc/check_message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::agent::rpc;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  CheckMessage check;
  std::string copy = bytes;
  read_check(copy, check);
  std::vector<std::span<char>> checks;
  copy = bytes;
  read_batch(copy, checks);
  for (const std::span<char> one : checks) read_check(one, check);
  copy = bytes;
  if (const auto message = read_stream_message(copy)) read_check(message->check, check);
  read_lease_id(copy);
  return 0;
}
