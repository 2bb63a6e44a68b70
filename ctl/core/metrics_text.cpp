#include "ctl/core/metrics_text.hpp"

#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace sluice::ctl {
namespace {

// Takes `name="value",…}` from the front of `line`, with the escapes \\, \" and \n.
std::optional<Labels> take_labels(std::string_view& line) {
  Labels labels;
  while (!line.starts_with('}')) {
    const std::size_t equals = line.find("=\"");
    if (equals == std::string_view::npos) return std::nullopt;
    std::string name(line.substr(0, equals));
    line.remove_prefix(equals + 2);
    std::string value;
    while (!line.empty() && line.front() != '"') {
      if (line.front() == '\\' && line.size() > 1) {
        line.remove_prefix(1);
        value.push_back(line.front() == 'n' ? '\n' : line.front());
      } else {
        value.push_back(line.front());
      }
      line.remove_prefix(1);
    }
    if (line.empty()) return std::nullopt;
    line.remove_prefix(1);
    if (line.starts_with(',')) line.remove_prefix(1);
    labels.emplace(std::move(name), std::move(value));
  }
  line.remove_prefix(1);
  return labels;
}

}  // namespace

std::map<Labels, double> read_metric(std::string_view page, std::string_view metric) {
  std::map<Labels, double> series;
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    std::string_view line = page.substr(0, end);
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
    if (!line.starts_with(metric)) continue;
    line.remove_prefix(metric.size());
    std::optional<Labels> labels = Labels();
    if (line.starts_with('{')) {
      line.remove_prefix(1);
      labels = take_labels(line);
    }
    if (!labels || !line.starts_with(' ')) continue;
    line.remove_prefix(1);
    double value = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc() && rest != line.data()) series[std::move(*labels)] = value;
  }
  return series;
}

}  // namespace sluice::ctl
