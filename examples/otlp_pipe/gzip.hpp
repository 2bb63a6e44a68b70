#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace otlp_pipe {

enum class GunzipFault { damaged, too_large };

// The text behind `Content-Encoding: gzip`. nullopt with a fault if it is damaged, or would have more than `most`
// bytes.
std::optional<std::string> gunzip(std::string_view packed, std::size_t most, GunzipFault& fault);

std::string gzip(std::string_view text);

}  // namespace otlp_pipe
