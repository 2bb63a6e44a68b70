#include "server/counters/memory_survey.hpp"

#include <charconv>
#include <cstdint>

#include "common/redis/handshake.hpp"
#include "common/telemetry/families.hpp"
#include "server/counters/marker.hpp"

namespace sluice::server::counters {
namespace {

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

void GaugeRows::replace(Rows rows) {
  const std::lock_guard lock(mutex_);
  rows_ = std::move(rows);
}

std::vector<prometheus::MetricFamily> GaugeRows::Collect() const {
  prometheus::MetricFamily made = telemetry::family(spec());
  const std::lock_guard lock(mutex_);
  for (const auto& [label, value] : rows_) {
    telemetry::Labels labels;
    if (!label.empty()) labels.push_back({spec().labels.front().name, label});
    telemetry::add_sample(made, std::move(labels), value);
  }
  return {std::move(made)};
}

std::vector<telemetry::MetricSpec> MemorySurvey::specs() {
  const telemetry::LabelSpec endpoint{.name = "endpoint", .about = "address of Redis"};
  const telemetry::LabelSpec tenant{.name = "tenant",
                                    .about = "one of the 10 foremost tenants; no label: everything else"};
  const auto gauge = [](std::string name, std::string help, const telemetry::LabelSpec& label) {
    return telemetry::MetricSpec{
        .name = std::move(name), .type = telemetry::kGauge, .help = std::move(help), .labels = {label}};
  };
  return {
      gauge("sluice_redis_memory_used_bytes", "Memory that each Redis uses (used_memory), at the last survey.",
            endpoint),
      gauge("sluice_redis_memory_max_bytes", "The maxmemory of each Redis; 0: it has no limit.", endpoint),
      gauge("sluice_redis_tenant_share",
            "The tenant's part of the memory of all keys that the server may read, 0 to 1, estimated from 400 random "
            "keys of each Redis.",
            tenant),
      gauge("sluice_redis_tenant_share_margin",
            "How far sluice_redis_tenant_share may be from the truth: in 95 of 100 cases no farther.", tenant),
      gauge("sluice_redis_tenant_bytes", "Memory of the tenant's keys in Redis, estimated likewise.", tenant),
      gauge("sluice_redis_tenant_keys", "How many keys the tenant has in Redis, estimated likewise.", tenant)};
}

void MemorySurvey::add_metrics(telemetry::Registry& registry) const {
  for (const GaugeRows* rows : {&used_, &max_, &tenant_share_, &tenant_margin_, &tenant_bytes_, &tenant_keys_}) {
    registry.add(*rows);
  }
}

Result<> MemorySurvey::run() {
  Result<> result;
  GaugeRows::Rows used;
  GaugeRows::Rows max;
  std::vector<NodeSample> samples;
  for (const RedisLink::NodeKey& node : link_.key_of_each_node(marker_key)) {
    const auto text = link_.command(node.key, {"INFO", "memory"});
    auto sampled = text ? sample(node.key) : std::unexpected(text.error());
    if (text) {
      redis::ServerInfo info;
      redis::read_info(text->value_or(""), info);
      used.emplace_back(node.endpoint, static_cast<double>(info.used_memory));
      max.emplace_back(node.endpoint, static_cast<double>(info.maxmemory));
    }
    if (sampled) {
      samples.push_back(*std::move(sampled));
    } else {
      result = std::unexpected(sampled.error());
    }
  }
  used_.replace(std::move(used));
  max_.replace(std::move(max));
  // Without the keys of one node, the shares of all could be wrong.
  if (!result) samples.clear();
  show(estimate_shares(samples, kTenants));
  return result;
}

void MemorySurvey::forget() {
  used_.replace({});
  max_.replace({});
  show({});
}

void MemorySurvey::show(std::span<const TenantShare> shares) {
  const auto show_in = [&shares](GaugeRows& gauge, double TenantShare::* value) {
    GaugeRows::Rows rows;
    for (const TenantShare& share : shares) rows.emplace_back(share.tenant, share.*value);
    gauge.replace(std::move(rows));
  };
  show_in(tenant_share_, &TenantShare::share);
  show_in(tenant_margin_, &TenantShare::margin);
  show_in(tenant_bytes_, &TenantShare::bytes);
  show_in(tenant_keys_, &TenantShare::keys);
}

Result<NodeSample> MemorySurvey::sample(const std::string& key_of_node) {
  const auto size = link_.command(key_of_node, {"DBSIZE"});
  if (!size) return std::unexpected(size.error());
  NodeSample made{.keys = number_in(size->value_or("")), .sampled = {}};
  const std::size_t wanted = made.keys > 0 ? kKeysPerNode : 0;
  for (std::size_t asked = 0; asked < wanted; asked += kKeysAtOnce) {
    const std::vector<RedisLink::Request> draws(kKeysAtOnce, {.key = key_of_node, .words = {"RANDOMKEY"}});
    std::vector<RedisLink::Request> sizes;
    for (auto& drawn : link_.commands(draws)) {
      if (!drawn) return std::unexpected(drawn.error());
      if (drawn->text) sizes.push_back({.key = *drawn->text, .words = {"MEMORY", "USAGE", *drawn->text}});
    }
    const auto weights = link_.commands(sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!weights[i]) {
        if (!weights[i].error().text.starts_with("NOPERM")) return std::unexpected(weights[i].error());
        made.sampled.push_back({.tenant = "", .bytes = 0});  // it is not Sluice's, and nobody says how large it is
      } else if (weights[i]->text) {                         // else it has just expired
        made.sampled.push_back(
            {.tenant = std::string(tenant_of(sizes[i].key).value_or("")), .bytes = number_in(*weights[i]->text)});
      }
    }
  }
  return made;
}

}  // namespace sluice::server::counters
