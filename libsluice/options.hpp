// Which options fit together.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "common/net/tls.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

// `option`: "redis.url".
std::unexpected<v1::Status> refuse(std::string_view option, std::string_view rule,
                                   v1::Code code = v1::Code::invalid_options);

// Whether a file can be opened for reading, so that a wrong path is found when the engine is opened. It may still fail
// later. Not ok: Code::unreachable.
v1::Status readable(std::string_view option, const std::string& path);
// Whether OpenSSL takes these files. Not ok: Code::unreachable.
v1::Status tls_usable(std::string_view option, const net::TlsFiles& files);

// Not ok: `status.message` names the first option that is at fault.
v1::Status check_options(const v1::Options& options);

}  // namespace sluice::lib
