#include "common/program/tracing_flags.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/base/percent_encoding.hpp"
#include "common/base/utf8.hpp"
#include "common/base/version.hpp"
#include "common/http_client/url.hpp"

namespace sluice::program {
namespace {

using std::chrono::milliseconds;
using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kTracesPath = "/v1/traces";
constexpr std::string_view kTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
constexpr std::string_view kSampler = "OTEL_TRACES_SAMPLER";
constexpr std::string_view kSamplerArgument = "OTEL_TRACES_SAMPLER_ARG";
constexpr std::string_view kResourceAttributes = "OTEL_RESOURCE_ATTRIBUTES";
constexpr std::string_view kUrlRule =
    "must be http://HOST[:PORT] or https://HOST[:PORT], with or without a path, such as http://127.0.0.1:4318";
constexpr std::string_view kShareRule = "must be a share from 0 to 1, such as 0.01";

struct Variable {
  std::string name;  // "" if it is not set
  std::string_view text;

  explicit operator bool() const { return !name.empty(); }
};

// Name and value pairs as headers and resource attributes are written: `a=1,b=2`, the values percent-encoded.
std::optional<Pairs> parse_pairs(std::string_view text) {
  constexpr auto trimmed = [](std::string_view part) {
    const std::size_t begin = std::min(part.find_first_not_of(" \t"), part.size());
    return part.substr(begin, part.find_last_not_of(" \t") + 1 - begin);
  };
  Pairs pairs;
  while (!text.empty()) {
    const std::string_view pair = trimmed(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.find(','), text.size() - 1) + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const auto value = equals == pair.npos ? std::nullopt : percent_decode(trimmed(pair.substr(equals + 1)));
    const std::string_view name = trimmed(pair.substr(0, equals));
    if (!value || name.empty()) return std::nullopt;
    pairs.emplace_back(name, *value);
  }
  return pairs;
}

// As http_client sends them.
bool is_header(const std::pair<std::string, std::string>& header) {
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  const auto in_value = [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f'); };
  return std::ranges::all_of(header.first, in_name) && std::ranges::all_of(header.second, in_value);
}

bool is_resource_attribute(const std::pair<std::string, std::string>& attribute) {
  return is_utf8(attribute.first) && is_utf8(attribute.second);
}

std::optional<double> parse_share(std::string_view text) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc{} || end != text.data() + text.size() || !(share >= 0 && share <= 1)) return std::nullopt;
  return share;
}

class Reader {
 public:
  Reader(ConfigReader& config, const Environment& environment) : config_(config), environment_(environment) {}

  std::optional<otlp::Options> read(const TracingService& service) {
    if (is_switched_off() || !read_endpoint()) return std::nullopt;
    read_protocol();
    read_tls();
    read_headers();
    read_times_and_sizes();
    options_.sampler = sampler();
    options_.resource = resource(service);
    return std::move(options_);
  }

 private:
  Variable variable(std::string_view name) const {
    const char* text = environment_.find(name);
    return text == nullptr || *text == '\0' ? Variable{} : Variable{std::string(name), text};
  }
  // OTEL_EXPORTER_OTLP_TRACES_x, or else OTEL_EXPORTER_OTLP_x.
  Variable of_exporter(std::string_view rest) const {
    const Variable own = variable(fmt::format("OTEL_EXPORTER_OTLP_TRACES_{}", rest));
    return own ? own : variable(fmt::format("OTEL_EXPORTER_OTLP_{}", rest));
  }
  void fault(const Variable& given, std::string_view rule) {
    config_.variable_fault(given.name, fmt::format("{} {}", shown_value(given.text), rule));
  }

  bool is_switched_off() {
    const Variable disabled = variable("OTEL_SDK_DISABLED");
    if (disabled && disabled.text != "true" && disabled.text != "false") fault(disabled, "must be true or false");
    const Variable exporter = variable("OTEL_TRACES_EXPORTER");
    if (exporter && exporter.text != "otlp" && exporter.text != "none") fault(exporter, "must be otlp or none");
    return disabled.text == "true" || exporter.text == "none";
  }

  // Returns false if there is none.
  bool read_endpoint() {
    const FlagValue& flag = config_.value(kOtlpEndpoint.name);
    const Variable traces = variable(kTracesEndpoint);
    if (traces && (!flag.given || flag.source == kOtlpEndpoint.alias)) {
      if (!take_url(traces.text, {})) fault(traces, kUrlRule);
    } else if (flag.given) {
      if (!take_url(flag.text, kTracesPath)) config_.fault(kOtlpEndpoint.name, kUrlRule);
    } else {
      config_.require_use(kTraceSample.name, false, "has no use without --otlp-endpoint; add that, or leave this out");
      return false;
    }
    return true;
  }

  // `suffix` is added to the URL's path.
  bool take_url(std::string_view url, std::string_view suffix) {
    if (!url.starts_with("http://") && !url.starts_with("https://")) return false;
    const std::size_t path = std::min(url.find('/', url.find("://") + 3), url.size());
    const auto server = http_client::parse_url(url.substr(0, path));
    std::string target(url.substr(path));
    const bool sendable = std::ranges::all_of(target, [](char c) { return c > ' ' && c <= '~' && c != '#'; });
    if (!server || !sendable) return false;
    if (!suffix.empty() && target.ends_with('/')) target.pop_back();
    target.append(suffix);
    options_.collector = *server;
    options_.target = target.empty() ? "/" : target;
    return true;
  }

  void read_protocol() {
    const Variable protocol = of_exporter("PROTOCOL");
    if (protocol && protocol.text != "http/protobuf")
      fault(protocol, "must be http/protobuf, the only protocol of OTLP that is spoken here; its usual port is 4318");
    const Variable compression = of_exporter("COMPRESSION");
    if (compression && compression.text != "gzip" && compression.text != "none")
      fault(compression, "must be gzip or none");
    options_.gzip = compression.text == "gzip";
  }

  void read_tls() {
    options_.tls = {.ca = file("CERTIFICATE"), .chain = file("CLIENT_CERTIFICATE"), .key = file("CLIENT_KEY")};
    if (options_.tls.chain.empty() == options_.tls.key.empty()) return;
    const Variable given = of_exporter(options_.tls.key.empty() ? "CLIENT_CERTIFICATE" : "CLIENT_KEY");
    fault(given, "needs the other of OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY");
  }

  std::string file(std::string_view rest) {
    const Variable path = of_exporter(rest);
    if (!path) return {};
    if (::access(std::string(path.text).c_str(), R_OK) != 0)
      fault(path, fmt::format("cannot be read: {}; name a file that this user may read", std::strerror(errno)));
    return std::string(path.text);
  }

  // The value is never shown: it may hold a password.
  void read_headers() {
    const Variable headers = of_exporter("HEADERS");
    auto pairs = parse_pairs(headers.text);
    if (pairs && std::ranges::all_of(*pairs, is_header))
      options_.headers = *std::move(pairs);
    else
      config_.variable_fault(headers.name,
                             "must be headers as name=value,name=value, names of letters, digits and -, values "
                             "percent-encoded");
  }

  void read_times_and_sizes() {
    constexpr std::uint64_t kMostMs = 3'600'000;
    options_.request_timeout = milliseconds(number(of_exporter("TIMEOUT"), 10'000, 1, kMostMs));
    options_.schedule_delay = milliseconds(number(variable("OTEL_BSP_SCHEDULE_DELAY"), 5'000, 1, kMostMs));
    options_.export_timeout = milliseconds(number(variable("OTEL_BSP_EXPORT_TIMEOUT"), 30'000, 1, kMostMs));
    options_.queue_size = number(variable("OTEL_BSP_MAX_QUEUE_SIZE"), 2'048, 1, 1'000'000);
    const Variable batch = variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE");
    options_.batch_size = number(batch, std::min<std::size_t>(512, options_.queue_size), 1, 1'000'000);
    if (options_.batch_size > options_.queue_size)
      fault(batch, fmt::format("must be at most OTEL_BSP_MAX_QUEUE_SIZE, which is {}", options_.queue_size));
  }

  std::uint64_t number(const Variable& given, std::uint64_t fallback, std::uint64_t least, std::uint64_t most) {
    if (!given) return fallback;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(given.text.data(), given.text.data() + given.text.size(), number);
    if (error == std::errc{} && end == given.text.data() + given.text.size() && number >= least && number <= most)
      return number;
    fault(given, fmt::format("must be a whole number from {} to {}", least, most));
    return fallback;
  }

  tracing::Sampler sampler() {
    const FlagValue& share = config_.value(kTraceSample.name);
    if (share.given) {
      const auto read = parse_share(share.text);
      if (!read) config_.fault(kTraceSample.name, kShareRule);
      return {true, read.value_or(1)};
    }
    const Variable name = variable(kSampler);
    if (!name) return {};
    const Variable argument = tracing::Sampler::takes_ratio(name.text) ? variable(kSamplerArgument) : Variable{};
    const auto ratio = argument ? parse_share(argument.text) : 1;
    if (!ratio) fault(argument, kShareRule);
    const auto named = tracing::Sampler::named(name.text, ratio.value_or(1));
    if (!named) fault(name, tracing::Sampler::kRule);
    return named.value_or(tracing::Sampler());
  }

  otlp::Resource resource(const TracingService& service) {
    const Variable attributes = variable(kResourceAttributes);
    auto pairs = parse_pairs(attributes.text);
    if (!pairs || !std::ranges::all_of(*pairs, is_resource_attribute)) {
      fault(attributes, "must be attributes as name=value,name=value with percent-encoded values");
      return {};
    }
    otlp::Resource all;
    const auto add = [&all](std::string_view name, std::string_view value) {
      if (!value.empty() && std::ranges::find(all, name, &Pairs::value_type::first) == all.end())
        all.emplace_back(name, value);
    };
    const Variable name = variable("OTEL_SERVICE_NAME");
    if (is_utf8(name.text)) add("service.name", name.text);
    for (const auto& [attribute, value] : *pairs) add(attribute, value);
    add("service.name", service.name);
    add("service.version", version());
    add("service.instance.id", service.instance);
    return all;
  }

  ConfigReader& config_;
  const Environment& environment_;
  otlp::Options options_;
};

}  // namespace

std::optional<otlp::Options> read_tracing(ConfigReader& reader, const Environment& environment,
                                          const TracingService& service) {
  return Reader(reader, environment).read(service);
}

}  // namespace sluice::program
