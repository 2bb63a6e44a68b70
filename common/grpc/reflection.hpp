// gRPC's server reflection, in the versions v1 and v1alpha, which differ in their names only. It serves the descriptor
// set that the build makes of our .proto files.
//
// Thread safety: none; it belongs to its server's thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/grpc/descriptors.hpp"
#include "common/grpc/service.hpp"

namespace sluice::grpc {

class ReflectionService final : public Service {
 public:
  static constexpr std::string_view kV1 = "grpc.reflection.v1.ServerReflection";
  static constexpr std::string_view kV1Alpha = "grpc.reflection.v1alpha.ServerReflection";

  static std::span<const Method> method_table();

  // `name`: kV1 or kV1Alpha. `services`: the names to list.
  ReflectionService(std::string_view name, std::vector<std::string_view> services, const Descriptors& descriptors)
      : name_(name), services_(std::move(services)), descriptors_(descriptors) {}

  std::string_view name() const override { return name_; }
  std::span<const Method> methods() const override { return method_table(); }
  bool is_traced() const override { return false; }
  void handle(std::size_t, std::span<char>, Reply) override {}
  void open(std::size_t method, Reply reply) override;

  // The answer to one ServerReflectionRequest; "" if it is malformed.
  std::string answer(std::string_view request) const;

 private:
  class Conversation;

  const std::string_view name_;
  const std::vector<std::string_view> services_;
  const Descriptors& descriptors_;
};

}  // namespace sluice::grpc
