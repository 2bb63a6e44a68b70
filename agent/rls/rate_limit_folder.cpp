#include "agent/rls/rate_limit_folder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <boost/asio/executor_work_guard.hpp>

#include "common/base/timestamp.hpp"
#include "engine/policies/bundle_file.hpp"

namespace sluice::agent::rls {
namespace {

constexpr std::chrono::seconds kFolderPoll{1};
constexpr std::size_t kRateLimitFaultsLogged = 20;  // per load

bool is_rate_limit_file(const std::string& name) {
  return !name.starts_with('.') && (name.ends_with(".yaml") || name.ends_with(".yml"));
}

std::string path_in(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::size_t count(const std::vector<rls_config::FileFaults>& all) {
  std::size_t faults = 0;
  for (const rls_config::FileFaults& file : all) faults += file.faults.size();
  return faults;
}

}  // namespace

std::expected<FolderState, Fault> look_at_folder(const std::string& folder) {
  std::error_code error;
  FolderState state;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    std::string name = each->path().filename().string();
    if (is_rate_limit_file(name)) state.files.emplace_back(name, current_identity(path_in(folder, name)));
  }
  if (error) return std::unexpected(Fault{"", fmt::format("the folder cannot be read: {}", error.message())});
  std::ranges::sort(state.files, {}, &std::pair<std::string, FileIdentity>::first);
  return state;
}

std::expected<rls_config::ReadConfig, std::vector<rls_config::FileFaults>> load_rate_limits(const std::string& folder,
                                                                                            const FolderState& state) {
  std::vector<rls_config::FileText> texts;
  std::vector<rls_config::FileFaults> unreadable;
  for (const auto& [name, identity] : state.files) {
    const std::string path = path_in(folder, name);
    auto file = policies::read_whole(path, true);
    if (!file) {
      unreadable.push_back({path, {std::move(file.error())}});
    } else if (!*file) {
      unreadable.push_back({path, {{"", "the file changes while it is read"}}});
    } else {
      texts.push_back({path, std::move((*file)->text)});
    }
  }
  if (state.files.empty()) unreadable.push_back({folder, {{"", "the folder has no file *.yaml or *.yml"}}});
  if (!unreadable.empty()) return std::unexpected(std::move(unreadable));
  return rls_config::read_config(texts);
}

RateLimitFolder::RateLimitFolder(std::string folder, const Clock& clock, telemetry::Log& log, Publish publish)
    : folder_(std::move(folder)),
      clock_(clock),
      log_(log),
      publish_(std::move(publish)),
      hangups_(context_),
      poll_timer_(context_) {}

bool RateLimitFolder::load_first() {
  if (!load()) return false;
  hangups_.add(SIGHUP);
  wait_for_hangup();
  schedule_poll();
  return true;
}

void RateLimitFolder::start() {
  thread_ = std::jthread([this] {
    auto keep_running = boost::asio::make_work_guard(context_);
    context_.run();
  });
}

void RateLimitFolder::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

void RateLimitFolder::wait_for_hangup() {
  hangups_.async_wait([this](const boost::system::error_code& stopped, int) {
    if (stopped) return;
    load();
    wait_for_hangup();
  });
}

void RateLimitFolder::schedule_poll() {
  poll_timer_.expires_after(kFolderPoll);
  poll_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) poll();
  });
}

// A folder that cannot be looked at just now is an empty one.
void RateLimitFolder::poll() {
  FolderState found = look_at_folder(folder_).value_or(FolderState());
  const bool is_settled = found == polled_;
  polled_ = std::move(found);
  if (is_settled && polled_ != read_) load();
  schedule_poll();
}

bool RateLimitFolder::load() {
  auto state = look_at_folder(folder_);
  if (!state) {
    read_ = polled_ = {};
    refuse({{folder_, {state.error()}}});
    return false;
  }
  read_ = polled_ = *state;
  auto read = load_rate_limits(folder_, *state);
  if (!read) {
    refuse(read.error());
    return false;
  }
  accept(*std::move(read));
  return true;
}

void RateLimitFolder::accept(rls_config::ReadConfig read) {
  log_faults(telemetry::LogLevel::warn, "ratelimit_config_note", read.notes);
  former_ = std::exchange(in_force_, std::move(read.config));
  publish_(in_force_);
  log_.info("ratelimit_config_loaded", "The rate limit configuration is in force.",
            {{"folder", folder_},
             {"files", read_.files.size()},
             {"domains", in_force_->domains.size()},
             {"limits", in_force_->rules}});
  loads_[static_cast<std::size_t>(Load::loaded)].fetch_add(1, std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  refusal_.reset();
}

void RateLimitFolder::refuse(const std::vector<rls_config::FileFaults>& faults) {
  log_faults(telemetry::LogLevel::error, "ratelimit_config_refused", faults);
  loads_[static_cast<std::size_t>(Load::refused)].fetch_add(1, std::memory_order_relaxed);
  if (!in_force_) return;
  log_.error("ratelimit_config_kept", "The rate limit configuration is refused; the former one stays in force.",
             {{"folder", folder_},
              {"faults", count(faults)},
              {"faults_logged", std::min(count(faults), kRateLimitFaultsLogged)}});
  const std::chrono::sys_time<std::chrono::microseconds> now{std::chrono::microseconds(clock_.now_us())};
  const rls_config::FileFaults& first = faults.front();
  std::lock_guard lock(mutex_);
  refusal_ = fmt::format(
      "the rate limit configuration {} is refused since {} ({} fault{}; the first: {}: {}): the former one stays in "
      "force",
      folder_, format_timestamp(std::chrono::floor<std::chrono::seconds>(now)), count(faults),
      count(faults) == 1 ? "" : "s", first.file, policies::describe(first.faults.front()));
}

void RateLimitFolder::log_faults(telemetry::LogLevel level, std::string_view event,
                                 const std::vector<rls_config::FileFaults>& all) {
  std::size_t left = kRateLimitFaultsLogged;
  for (const rls_config::FileFaults& file : all) {
    for (const Fault& fault : file.faults) {
      if (left-- == 0) return;
      log_.write(level, event, fault.text,
                 {{"file", file.file}, {"pointer", fault.pointer}, {"line", fault.line}, {"column", fault.column}});
    }
  }
}

std::optional<std::string> RateLimitFolder::refusal() const {
  std::lock_guard lock(mutex_);
  return refusal_;
}

const telemetry::MetricTable<RateLimitFolder>& RateLimitFolder::metric_table() {
  static const telemetry::MetricTable<RateLimitFolder> table{
      {"sluice_ratelimit_config_loads_total",
       telemetry::kCounter,
       "How often the files of --ratelimit-config were read. refused: they have faults, and the former rules stay in "
       "force.",
       "result",
       {{std::string(kLoads[0]), loads_of(Load::loaded)}, {std::string(kLoads[1]), loads_of(Load::refused)}}},
      {"sluice_ratelimit_config_refused", telemetry::kGauge,
       "1 while the files of --ratelimit-config are refused and the former rules are in force, else 0.",
       [](const RateLimitFolder& folder) { return folder.refusal() ? 1 : 0; }},
  };
  return table;
}

const telemetry::MetricTable<RateLimitFolder>& RateLimitFolder::load_metrics() {
  static const telemetry::MetricTable<RateLimitFolder> table{
      {"ratelimit_service_config_load_success", telemetry::kCounter,
       "How often the files of --ratelimit-config were read and taken.", loads_of(Load::loaded)},
      {"ratelimit_service_config_load_error", telemetry::kCounter,
       "How often the files of --ratelimit-config were read and refused.", loads_of(Load::refused)},
  };
  return table;
}

}  // namespace sluice::agent::rls
