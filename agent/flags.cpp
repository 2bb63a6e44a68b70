#include "agent/flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <span>
#include <vector>

#include "agent/flag_table.hpp"
#include "common/base/json_text.hpp"

namespace sluice::agent {
namespace {

constexpr std::string_view kMintKey = "mint-key";
constexpr std::size_t kMaxShown = 120;  // bytes of a value in a fault

constexpr std::string_view kDescription =
    "Sluice agent: answers POST /v1/check with allow or deny, counting in Redis or in memory.\n"
    "Every flag has an environment variable (a flag wins over it; booleans take true, false, 1, 0).";

constexpr std::string_view kExamples = R"(
Examples:
  sluice-agent --policies bundle.json --counters memory
      Embedded: no other process needed.
  sluice-agent --policies bundle.json --counters redis://127.0.0.1:6379/0 --workers 2
  sluice-agent --policies bundle.json --counters rediss://sluice:@redis.internal:6380/0 \
      --redis-password-file /run/secrets/redis --redis-tls-ca /etc/ssl/redis-ca.pem
  sluice-agent --policies bundle.json --check-config
  sluice-agent mint-key --tenant shop --id prod-app
      Prints a new API key (shown once), its hash and an entry for the bundle's "keys".

Durations: a whole number and a unit: us, ms, s, m, h. Exit status: 0 good, 1 a faulty bundle or a failed start,
2 faulty flags.)";

constexpr std::string_view kMintKeyDescription =
    "Make an API key and print it as one JSON object: id, key (shown only here), key_hash, bundle_entry.";

// Commands more than settings; and images like to set a variable that ends in _VERSION.
bool has_variable(const FlagSpec& spec) { return spec.name != "help" && spec.name != "version"; }

std::string environment_name(std::string_view scope, std::string_view flag) {
  std::string name = "SLUICE_AGENT_";
  name.append(scope.empty() ? "" : "mint-key-").append(flag);
  for (char& c : name) {
    if (c == '-')
      c = '_';
    else if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string value_key(std::string_view scope, std::string_view flag) {
  return scope.empty() ? std::string(flag) : fmt::format("{} {}", scope, flag);
}

// CLI11 puts the column in front of each line, but breaks none itself.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 80;
  std::string lines;
  while (text.size() > kWidth) {
    const std::size_t space = text.rfind(' ', kWidth);
    if (space == std::string_view::npos) break;
    lines.append(text.substr(0, space)).append("\n");
    text.remove_prefix(space + 1);
  }
  return lines.append(text);
}

// One command: its flags as CLI11 knows them.
class Command {
 public:
  Command(CLI::App& app, std::string_view scope, std::span<const FlagSpec> specs) : app_(app), scope_(scope) {
    app.set_help_flag();  // --help is a flag like the others: it must not hide faults from us, nor end the program
    app.allow_extras();
    app.get_formatter()->column_width(38);
    texts_.resize(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) add(specs[i], texts_[i]);
  }

  // The value flag that `argument` is, nullptr for anything else.
  const FlagSpec* value_flag(std::string_view argument) const {
    if (!argument.starts_with("--")) return nullptr;
    const auto found =
        std::ranges::find(entries_, argument.substr(2), [](const Entry& entry) { return entry.spec->name; });
    return found != entries_.end() && !found->spec->value.empty() ? found->spec : nullptr;
  }

  void take_values(const Environment& environment, Flags& out) const {
    for (const Entry& entry : entries_) {
      FlagValue value{.text = std::string(entry.spec->fallback), .source = fmt::format("--{}", entry.spec->name)};
      const std::string variable = environment_name(scope_, entry.spec->name);
      const char* set = has_variable(*entry.spec) ? environment.find(variable) : nullptr;
      if (entry.option->count() > 0) {
        value.text = *entry.text;
        value.given = true;
      } else if (set != nullptr && *set != '\0') {
        value = {.text = set, .source = variable, .given = true};
      }
      out.values.insert_or_assign(value_key(scope_, entry.spec->name), std::move(value));
    }
  }

  void take_strays(Flags& out) const;

 private:
  struct Entry {
    const FlagSpec* spec;
    CLI::Option* option;
    const std::string* text;
  };

  void add(const FlagSpec& spec, std::string& text) {
    std::string help = wrapped(spec.help);
    if (has_variable(spec)) {
      help += fmt::format("\n[{}{}{}]", spec.fallback.empty() ? "" : fmt::format("default: {}, ", spec.fallback),
                          "env: ", environment_name(scope_, spec.name));
    }
    const std::string name = fmt::format("--{}", spec.name);
    CLI::Option* option = spec.value.empty() ? app_.add_flag(name, text, help) : app_.add_option(name, text, help);
    option->group(std::string(spec.group))->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    if (!spec.value.empty()) option->type_name(std::string(spec.value));
    entries_.push_back({&spec, option, &text});
  }

  std::string_view nearest(std::string_view name) const;

  CLI::App& app_;
  const std::string_view scope_;
  std::vector<std::string> texts_;
  std::vector<Entry> entries_;
};

// How many letters differ, are missing or are too many: Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j < row.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

std::string_view Command::nearest(std::string_view name) const {
  std::string_view best;
  std::size_t least = 3;
  if (name.size() > 40) return best;
  for (const Entry& entry : entries_) {
    const std::size_t away = distance(name, entry.spec->name);
    if (away < least) {
      least = away;
      best = entry.spec->name;
    }
  }
  return best;
}

// What CLI11 did not know. A word behind an unknown flag is most likely its value, and not reported once more.
void Command::take_strays(Flags& out) const {
  bool behind_flag = false;
  for (const std::string& argument : app_.remaining()) {
    const bool flag = argument.starts_with("-") && argument.size() > 1;
    const std::string_view whole = argument;
    const std::string_view name = whole.substr(0, whole.find('='));
    if (flag) {
      const std::size_t dashes = std::min(name.find_first_not_of('-'), name.size());
      const std::string_view hint = nearest(name.substr(dashes));
      const std::string fix = hint.empty() ? "see --help" : fmt::format("did you mean --{}?", hint);
      // Only the name: what follows may be a secret meant for another flag.
      out.faults.push_back({std::string(name.substr(0, kMaxShown)), fmt::format("is not a flag; {}", fix)});
    } else if (!behind_flag) {
      out.faults.push_back({in_quotes(argument), "is not a flag and belongs to none; flags begin with --, see --help"});
    }
    behind_flag = flag && name.size() == whole.size();
  }
}

// Takes out what CLI11 would stop at: `--flag=` without a value, and a last flag whose value is missing.
void take_valueless(std::vector<std::string>& arguments, const Command& command, Flags& out) {
  const auto report = [&out](std::string_view flag) {
    out.faults.push_back({std::string(flag), "needs a value; leave the flag out for its default"});
  };
  std::erase_if(arguments, [&](const std::string& argument) {
    const bool empty = argument.size() > 3 && argument.starts_with("--") && argument.ends_with('=') &&
                       argument.find('=') == argument.size() - 1;
    if (empty) report(std::string_view(argument).substr(0, argument.size() - 1));
    return empty;
  });
  while (!arguments.empty() && command.value_flag(arguments.back()) != nullptr) {
    report(arguments.back());
    arguments.pop_back();
  }
}

}  // namespace

const char* Environment::find(std::string_view name) const {
  for (const char* const* entry = entries_; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
      return *entry + name.size() + 1;
  }
  return nullptr;
}

std::string in_quotes(std::string_view text) {
  // A URL in the wrong place may carry a password.
  if (text.find('@') != std::string_view::npos) return "(a value with an '@', not shown)";
  std::string shown;
  append_json_string(shown, text.substr(0, kMaxShown));
  if (text.size() > kMaxShown) shown += "…";
  return shown;
}

Flags read_flags(int argc, const char* const* argv, const Environment& environment) {
  Flags out;
  CLI::App app(std::string(kDescription), "sluice-agent");
  Command agent(app, "", kFlags);
  CLI::App& mint = *app.add_subcommand(std::string(kMintKey), std::string(kMintKeyDescription));
  const Command mint_key(mint, kMintKey, kMintKeyFlags);
  app.footer(std::string(kExamples));  // after the subcommand was made, which would inherit it

  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const bool minting = std::ranges::find(arguments, kMintKey) != arguments.end();
  take_valueless(arguments, minting ? mint_key : agent, out);
  std::ranges::reverse(arguments);  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::Error& error) {
    out.faults.push_back({"command line", error.what()});
  }
  out.mint_key = mint.parsed();
  agent.take_strays(out);
  agent.take_values(environment, out);
  if (out.mint_key) {
    mint_key.take_strays(out);
    mint_key.take_values(environment, out);
  }
  out.help = out.mint_key ? mint.help("sluice-agent") : app.help();
  return out;
}

}  // namespace sluice::agent
