// decK files of Kong: the plugins rate-limiting and rate-limiting-advanced.
//
// Kong runs a plugin once for a request, with the most specific of its configurations: consumer, route, service,
// global. So does Sluice with policies: the consumer is `client`, the route `operation`, the service `service`.
// rate-limiting counts in windows of the clock, a month or year by the calendar. rate-limiting-advanced weights the
// last window and this one (`sliding`), or counts in windows of the clock (`fixed`). All limits of a plugin are judged
// together.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "common/domain/limit_numbers.hpp"
#include "server/imports/limit_set.hpp"
#include "server/imports/sources.hpp"
#include "server/imports/yaml_source.hpp"

namespace sluice::server::imports {
namespace {

constexpr std::string_view kPlain = "rate-limiting";
constexpr std::string_view kAdvanced = "rate-limiting-advanced";
constexpr std::int64_t kMaxWindowSize = std::chrono::duration_cast<std::chrono::seconds>(kMaxWindow).count();

// Where a plugin is: the names are "" where it is not bound.
struct Binding {
  std::string service;
  std::string route;
  std::string consumer;
};

// What identifies a caller.
struct Identity {
  std::vector<DimensionRef> keys;
  std::string endpoint;  // only requests with this path are counted
};

class DeckReader {
 public:
  DeckReader(const YamlSource& source, Draft& draft) : source_(source), draft_(draft) {}

  void read_document(const json::Value& document) {
    Section section(source_, document);
    read_plugins(section, {});
    for (const json::Value& item : section.list("services")) read_service(item);
    for (const json::Value& item : section.list("routes")) read_route(item, {});
    for (const json::Value& item : section.list("consumers")) read_consumer(item);
    for (const json::Value& item : section.list("consumer_groups")) read_consumer_group(item);
  }

 private:
  static std::string name_of(Section& section, std::initializer_list<std::string_view> members) {
    for (const std::string_view member : members) {
      if (auto name = section.text(member)) return *std::move(name);
    }
    return {};
  }

  void read_service(const json::Value& value) {
    Section section(source_, value);
    Binding binding{.service = name_of(section, {"name", "id"}), .route = {}, .consumer = {}};
    read_plugins(section, binding);
    for (const json::Value& item : section.list("routes")) read_route(item, binding);
  }

  void read_route(const json::Value& value, Binding binding) {
    Section section(source_, value);
    binding.route = name_of(section, {"name", "id"});
    read_plugins(section, binding);
  }

  void read_consumer(const json::Value& value) {
    Section section(source_, value);
    read_plugins(section, {.service = {}, .route = {}, .consumer = name_of(section, {"username", "custom_id", "id"})});
  }

  void read_consumer_group(const json::Value& value) {
    Section section(source_, value);
    for (const json::Value& plugin : section.list("plugins")) {
      if (plugin.text_of("name") != kAdvanced && plugin.text_of("name") != kPlain) continue;
      draft_.note(source_.place_of(plugin), plugin.text_of("name"),
                  "a check names no group of consumers, so this plugin was left out",
                  "write a policy whose scope lists the clients, or send the group as an attribute");
    }
  }

  void read_plugins(Section& owner, const Binding& binding) {
    for (const json::Value& item : owner.list("plugins")) {
      const std::string_view name = item.text_of("name");
      if (name == kPlain || name == kAdvanced) {
        read_plugin(item, name, binding);
      } else if (name.find("rate-limiting") != std::string_view::npos || name == "response-ratelimiting") {
        draft_.note(source_.place_of(item), name, "this plugin counts something else than requests, and was left out",
                    "charge a unit of your own with `costs`");
      }
    }
  }

  // A reference of a plugin: a name, or {name: …} or {id: …}.
  std::string reference(Section& section, std::string_view member) {
    const json::Value* const value = section.take(member);
    if (value == nullptr) return {};
    if (value->type() != json::Type::object) return section.text(member).value_or("");
    for (const std::string_view name : {"name", "username", "id"}) {
      if (value->find(name) != nullptr) return std::string(value->text_of(name));
    }
    return {};
  }

  void read_plugin(const json::Value& item, std::string_view name, Binding binding) {
    Section plugin(source_, item);
    if (std::string given = reference(plugin, "service"); !given.empty()) binding.service = std::move(given);
    if (std::string given = reference(plugin, "route"); !given.empty()) binding.route = std::move(given);
    if (std::string given = reference(plugin, "consumer"); !given.empty()) binding.consumer = std::move(given);
    if (plugin.take("consumer_group") != nullptr) {
      return plugin.note("consumer_group", "a check names no group of consumers, so this plugin was left out",
                         "write a policy whose scope lists the clients, or send the group as an attribute");
    }
    const bool enabled = plugin.boolean("enabled").value_or(true);
    plugin.leave_aside({"name", "id", "tags", "instance_name", "created_at", "updated_at", "config", "protocols"});
    plugin.drop("_config",
                "shared configurations (_plugin_configs) are not read, so only what stands here was imported",
                "write the configuration into the plugin");
    plugin.drop("ordering", "a check is asked where the caller asks it");
    plugin.drop("condition", "expressions of Kong are not read", "write a match_expr");
    plugin.drop("run_on", "a check is asked once");
    plugin.drop("partials", "partial configurations are not read", "write the configuration into the plugin");
    plugin.note_rest("a plugin of Kong");
    const json::Value* const config = plugin.take("config");
    if (config == nullptr) return;
    Section section(source_, *config);
    Policy policy;
    policy.enabled = enabled;
    bind(policy, binding);
    policy.id =
        draft_.make_id({"kong", name == kAdvanced ? "advanced" : "", binding.consumer, binding.service, binding.route,
                        binding.consumer.empty() && binding.service.empty() && binding.route.empty() ? "global" : ""});
    const std::vector<Limit> limits = name == kPlain ? plain_limits(section) : advanced_limits(section);
    const Identity identity = identity_of(section, name == kPlain ? "limit_by" : "identifier");
    if (!identity.endpoint.empty()) require_value(policy, dimension(Dimension::endpoint), identity.endpoint);
    if (section.boolean("hide_client_headers").value_or(false)) policy.enforcement.expose = Expose::none;
    policy.enforcement.ipv6_prefix = 128;
    if (name == kPlain) {
      const bool tolerant = section.boolean("fault_tolerant").value_or(true);
      policy.enforcement.failure_mode = tolerant ? FailureMode::fail_open : FailureMode::fail_closed;
    }
    drop_the_rest(section, name);
    std::vector<KeyedLimit> keyed;
    for (const Limit& limit : limits) keyed.push_back({limit, identity.keys});
    if (keyed.empty() && draft_.faultless()) {
      draft_.fault(source_.place_of(*config),
                   "the plugin has no limit: give it second, minute, hour, day, month or year, "
                   "or limit and window_size");
    }
    set_limits(policy, std::move(keyed));
    draft_.add(std::move(policy), source_.place_of(item));
  }

  static void bind(Policy& policy, const Binding& binding) {
    if (!binding.consumer.empty()) require_value(policy, dimension(Dimension::client), binding.consumer);
    if (!binding.service.empty()) require_value(policy, dimension(Dimension::service), binding.service);
    if (!binding.route.empty()) require_value(policy, dimension(Dimension::operation), binding.route);
  }

  static std::vector<Limit> plain_limits(Section& section) {
    std::vector<Limit> limits;
    const auto window = [&](std::string_view name, Micros length) {
      const auto count = section.integer(name, 1, kMaxLimit);
      if (count) limits.push_back(window_limit(std::string(name), *count, length, Align::epoch));
    };
    const auto calendar = [&](std::string_view name, Period period) {
      const auto count = section.integer(name, 1, kMaxLimit);
      if (count) limits.push_back(quota_limit(std::string(name), *count, period));
    };
    window("second", std::chrono::seconds(1));
    window("minute", std::chrono::minutes(1));
    window("hour", std::chrono::hours(1));
    window("day", std::chrono::days(1));
    calendar("month", Period::month);
    calendar("year", Period::year);
    return limits;
  }

  // One number, or a list of them.
  static std::vector<std::int64_t> numbers(Section& section, std::string_view name, std::int64_t most) {
    const json::Value* const value = section.take(name);
    if (value == nullptr) return {};
    if (value->type() != json::Type::array) {
      const auto only = section.integer(name, 1, most);
      return only ? std::vector{*only} : std::vector<std::int64_t>{};
    }
    std::vector<std::int64_t> found;
    for (const std::string& text : section.texts(name)) {
      std::int64_t number = 0;
      const bool whole =
          text.find_first_not_of("0123456789") == std::string::npos && text.size() <= 18 && !text.empty();
      if (whole) number = std::stoll(text);
      if (number < 1 || number > most) {
        section.fault(name, fmt::format("{} must be whole numbers from 1 to {}, not {}", name, most, quoted(text)));
      }
      found.push_back(number);
    }
    return found;
  }

  static std::vector<Limit> advanced_limits(Section& section) {
    const std::vector<std::int64_t> counts = numbers(section, "limit", kMaxLimit);
    const std::vector<std::int64_t> windows = numbers(section, "window_size", kMaxWindowSize);
    const std::string type = section.text("window_type").value_or("sliding");
    if (type != "sliding" && type != "fixed") {
      section.fault("window_type", fmt::format("window_type must be sliding or fixed, not {}", quoted(type)));
    }
    if (counts.size() != windows.size()) {
      section.fault("window_size", fmt::format("limit and window_size must have as many entries; they have {} and {}",
                                               counts.size(), windows.size()));
      return {};
    }
    const bool penalty = !section.boolean("disable_penalty").value_or(false);
    if (type == "sliding" && penalty && section.is_map()) {
      section.note(
          "disable_penalty",
          "Kong also counts the requests that it denies, so a caller who goes on stays denied; Sluice does not "
          "charge them");
    }
    std::vector<Limit> limits;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::chrono::seconds window(windows[i]);
      std::string name = fmt::format("{}s", windows[i]);
      limits.push_back(type == "fixed" ? window_limit(std::move(name), counts[i], window, Align::epoch)
                                       : sliding_limit(std::move(name), counts[i], window));
    }
    return limits;
  }

  Identity identity_of(Section& section, std::string_view member) {
    const std::string by = section.text(member).value_or("consumer");
    const std::string header = section.text("header_name").value_or("");
    const std::string path = section.text("path").value_or("");
    if (by == "consumer") return {{dimension(Dimension::client)}, {}};
    if (by == "credential") return {{dimension(Dimension::client_id)}, {}};
    if (by == "ip") return {{dimension(Dimension::source_ip)}, {}};
    if (by == "service") return {{dimension(Dimension::service)}, {}};
    if (by == "header") {
      if (header.empty()) section.fault(member, fmt::format("header_name is missing: {} header needs it", member));
      const std::string name = lower_case(header);
      return {{attribute(name.empty() ? "header" : name)}, {}};
    }
    if (by == "path") {
      if (path.empty()) section.fault(member, fmt::format("path is missing: {} path needs it", member));
      section.note(member, "Kong counts requests of other paths by address; the policy is for this path alone",
                   "write another policy for the other paths");
      return {{}, path};
    }
    if (by == "consumer-group") {
      section.note(member, "a check names no group of consumers; the policy counts by consumer");
      return {{dimension(Dimension::client)}, {}};
    }
    section.fault(member, fmt::format("{} must be consumer, credential, ip, service, header or path, not {}", member,
                                      quoted(by)));
    return {};
  }

  static void drop_the_rest(Section& section, std::string_view plugin) {
    // Which store counts, and how Kong reaches it.
    section.leave_aside({"policy", "strategy", "redis", "redis_host", "redis_port", "redis_password", "redis_username",
                         "redis_timeout", "redis_database", "redis_ssl", "redis_ssl_verify", "redis_server_name",
                         "dictionary_name", "lock_dictionary_name"});
    if (const auto code = section.integer("error_code", 100, 599); code && *code != 429) {
      section.note("error_code", fmt::format("Sluice answers 429, not {}", *code),
                   "let the caller of the check choose its own status");
    }
    section.drop("error_message", "the answer has the text of Sluice",
                 "let the caller of the check choose its own text");
    if (const auto rate = section.text("sync_rate"); rate && *rate != "-1" && *rate != "0") {
      section.note("sync_rate", fmt::format("Kong counts in each node and adds up every {} s, so more than the limit "
                                            "passes; Sluice counts exactly",
                                            *rate));
    }
    section.drop("retry_after_jitter_max", "Retry-After is exact", "let clients add a jitter");
    section.drop("namespace", "plugins with the same namespace share counters; each policy has its own",
                 "write one policy whose scope lists both places");
    section.drop("throttling", "Kong holds requests until they fit; the policy denies", "set the action `delay`");
    section.drop("compound_identifier", "the policy counts by `identifier` alone", "add dimensions to key_by");
    if (section.boolean("enforce_consumer_groups").value_or(false)) {
      section.note("enforce_consumer_groups", "a check names no group of consumers");
    }
    section.drop("consumer_groups", "a check names no group of consumers");
    section.note_rest(fmt::format("the config of {}", plugin));
  }

  const YamlSource& source_;
  Draft& draft_;
};

}  // namespace

void read_kong(std::span<const Source> sources, Draft& draft) {
  for (std::size_t file = 0; file < sources.size(); ++file) {
    const YamlSource source(sources[file].text, file, draft);
    for (const json::Value* document : source.documents()) DeckReader(source, draft).read_document(*document);
  }
}

}  // namespace sluice::server::imports
