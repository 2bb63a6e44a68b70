#include "libsluice/c_options.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "common/base/text.hpp"

namespace sluice::lib {
namespace {

v1::Status wrong(std::string_view name, std::string_view rule, std::string_view value) {
  return {v1::Code::invalid_options, visible(fmt::format("{}: must be {}; got {}", name, rule, quoted(value)))};
}

v1::Status set_bool(bool& member, std::string_view name, std::string_view value) {
  if (value != "true" && value != "false") return wrong(name, "true or false", value);
  member = value == "true";
  return {};
}

// `least` to `most`, both included.
template <class T>
v1::Status set_number(T& member, std::string_view name, std::string_view value, std::uint64_t least,
                      std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least || number > most)
    return wrong(name, fmt::format("a whole number from {} to {}", least, most), value);
  member = static_cast<T>(number);
  return {};
}

struct TextOption {
  std::string_view name;
  std::string& (*member)(v1::Options&);
};
constexpr std::array kTextOptions{
    TextOption{"bundle", [](v1::Options& o) -> std::string& { return o.bundle; }},
    TextOption{"bundle_file", [](v1::Options& o) -> std::string& { return o.bundle_file; }},
    TextOption{"server_url", [](v1::Options& o) -> std::string& { return o.server.url; }},
    TextOption{"server_token_file", [](v1::Options& o) -> std::string& { return o.server.token_file; }},
    TextOption{"server_cache_file", [](v1::Options& o) -> std::string& { return o.server.cache_file; }},
    TextOption{"server_ca_file", [](v1::Options& o) -> std::string& { return o.server.ca_file; }},
    TextOption{"server_name", [](v1::Options& o) -> std::string& { return o.server.name; }},
    TextOption{"redis_url", [](v1::Options& o) -> std::string& { return o.redis.url; }},
    TextOption{"redis_password_file", [](v1::Options& o) -> std::string& { return o.redis.password_file; }},
    TextOption{"redis_sentinel_password_file",
               [](v1::Options& o) -> std::string& { return o.redis.sentinel_password_file; }},
    TextOption{"redis_sentinel_login_file", [](v1::Options& o) -> std::string& { return o.redis.sentinel_login_file; }},
    TextOption{"redis_tls_ca_file", [](v1::Options& o) -> std::string& { return o.redis.tls_ca_file; }},
    TextOption{"redis_tls_cert_file", [](v1::Options& o) -> std::string& { return o.redis.tls_cert_file; }},
    TextOption{"redis_tls_key_file", [](v1::Options& o) -> std::string& { return o.redis.tls_key_file; }},
    TextOption{"tenant", [](v1::Options& o) -> std::string& { return o.tenant; }},
};

struct OtherOption {
  std::string_view name;
  v1::Status (*set)(v1::Options&, std::string_view name, std::string_view value);
};
constexpr std::array kOtherOptions{
    OtherOption{"watch_file", [](v1::Options& o, std::string_view name,
                                 std::string_view value) { return set_bool(o.watch_file, name, value); }},
    OtherOption{"allow_without_policies",
                [](v1::Options& o, std::string_view name, std::string_view value) {
                  return set_bool(o.allow_without_policies, name, value);
                }},
    OtherOption{"metrics", [](v1::Options& o, std::string_view name,
                              std::string_view value) { return set_bool(o.metrics, name, value); }},
    OtherOption{"memory_limit",
                [](v1::Options& o, std::string_view name, std::string_view value) {
                  return set_number(o.memory_limit, name, value, 0, std::numeric_limits<std::int64_t>::max());
                }},
    OtherOption{"threads", [](v1::Options& o, std::string_view name,
                              std::string_view value) { return set_number(o.threads, name, value, 0, 1024); }},
    OtherOption{"redis_deadline_ms",
                [](v1::Options& o, std::string_view name, std::string_view value) {
                  std::int64_t ms = 0;
                  v1::Status status = set_number(ms, name, value, 1, 10'000);
                  if (status.ok()) o.redis.deadline = std::chrono::milliseconds(ms);
                  return status;
                }},
    OtherOption{"concurrency",
                [](v1::Options& o, std::string_view name, std::string_view value) -> v1::Status {
                  if (value != "many" && value != "one") return wrong(name, "many or one", value);
                  o.concurrency = value == "one" ? v1::Concurrency::one : v1::Concurrency::many;
                  return {};
                }},
};

v1::Status unknown(std::string_view name) {
  NearestNames nearest(name);
  for (const TextOption& option : kTextOptions) nearest.offer(option.name);
  for (const OtherOption& option : kOtherOptions) nearest.offer(option.name);
  return {v1::Code::invalid_options,
          visible(fmt::format("{}: there is no option of this name.{}", quoted(name), did_you_mean(nearest.names())))};
}

}  // namespace

v1::Status missing_value(std::string_view name) {
  return {
      v1::Code::invalid_options,
      visible(fmt::format("{}: the value is NULL: bring a text, or leave the option at its default", quoted(name)))};
}

v1::Status set_option(v1::Options& options, std::string_view name, std::string_view value) {
  for (const TextOption& option : kTextOptions) {
    if (option.name != name) continue;
    option.member(options) = value;
    return {};
  }
  for (const OtherOption& option : kOtherOptions) {
    if (option.name == name) return option.set(options, name, value);
  }
  return unknown(name);
}

}  // namespace sluice::lib
