#include "ctl/core/completion.hpp"

#include <algorithm>

#include "ctl/core/kinds.hpp"

namespace sluice::ctl {
namespace {

constexpr std::string_view kBash = R"sh(# Add to ~/.bashrc:  source <(sluicectl completion bash)
_sluicectl() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
    sluicectl __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _sluicectl sluicectl
)sh";

constexpr std::string_view kZsh = R"sh(#compdef sluicectl
# Add to ~/.zshrc, below compinit:  source <(sluicectl completion zsh)
# Or save as _sluicectl in a folder of $fpath.
_sluicectl() {
  local -a found
  found=("${(@f)$(sluicectl __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _sluicectl sluicectl
if [[ "${funcstack[1]}" == _sluicectl ]]; then _sluicectl; fi
)sh";

constexpr std::string_view kFish = R"sh(# Save as ~/.config/fish/completions/sluicectl.fish
function __sluicectl_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l found (sluicectl __complete -- $words (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c sluicectl -f -a '(__sluicectl_complete)'
)sh";

const CLI::Option* find_option(const CLI::App& app, const std::string& word) {
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    if (const CLI::Option* const found = level->get_option_no_throw(word)) return found;
  }
  return nullptr;
}

const CLI::App* find_command(const CLI::App& app, const std::string& word) {
  const auto found = app.get_subcommands([&word](const CLI::App* below) { return below->get_name() == word; });
  return found.empty() ? nullptr : found.front();
}

bool takes_value(const CLI::Option* option) { return option != nullptr && option->get_items_expected_max() > 0; }

std::string long_name(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  return names.empty() ? std::string() : "--" + names.front();
}

// The value that the positional option `name` takes; `before` are the positional words so far.
std::vector<std::string> values_of(const std::string& name, const CLI::App& command,
                                   const std::vector<std::string>& before, const Ids& ids) {
  if (name == "kind" && command.get_name() == "mode") return {"policy", "plan", "tenant", "global"};
  if (name == "kind") {
    std::vector<std::string> plurals;
    for (const Kind& kind : kinds()) plurals.emplace_back(kind.plural);
    return plurals;
  }
  if (name == "policy") return ids("policies");
  if (name == "name") return ids("contexts");
  if (name == "id" && !before.empty()) {
    const auto kind = find_kind(before.back());
    return kind ? ids((*kind)->plural) : std::vector<std::string>();
  }
  if (name == "mode") return {"enforce", "shadow", "off"};
  if (name == "from") return {"envoy-ratelimit", "gubernator", "kong", "limitador", "nginx", "traefik"};
  if (name == "shell") return {"bash", "fish", "zsh"};
  return {};
}

// "--output=json" as "--output" and "json". bash hands it over as three words, other shells as one: then the beginning
// of the last word is put into `stays`.
std::vector<std::string> without_equals_signs(const std::vector<std::string>& words, std::string& stays) {
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool last = i + 1 == words.size();
    if (word == "=" && i > 0 && words[i - 1].starts_with("--")) {
      if (last) plain.emplace_back();
    } else if (const std::size_t equals = word.find('='); last && word.starts_with("--") && equals != word.npos) {
      stays = word.substr(0, equals + 1);
      plain.push_back(word.substr(0, equals));
      plain.push_back(word.substr(equals + 1));
    } else {
      plain.push_back(word);
    }
  }
  return plain;
}

struct Position {
  const CLI::App* command;
  std::vector<std::string> positional;   // words since the command's name
  const CLI::Option* waiting = nullptr;  // the last word is the value of this option
};

Position find_position(const CLI::App& app, const std::vector<std::string>& words) {
  Position at{&app, {}, nullptr};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (at.waiting != nullptr) {
      at.waiting = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* const option = find_option(*at.command, word);
      if (takes_value(option)) at.waiting = option;
    } else if (const CLI::App* const below = find_command(*at.command, word)) {
      at.command = below;
      at.positional.clear();
    } else {
      at.positional.push_back(word);
    }
  }
  return at;
}

std::vector<std::string> candidates(const CLI::App& app, const std::vector<std::string>& words, const Ids& ids) {
  const Position at = find_position(app, words);
  if (at.waiting != nullptr) {
    if (long_name(*at.waiting) == "--output") return {"json", "name", "table", "yaml"};
    if (long_name(*at.waiting) == "--policy") return ids("policies");
    if (long_name(*at.waiting) == "--plan") return ids("plans");
    if (long_name(*at.waiting) == "--tenant") return ids("tenants");
    if (long_name(*at.waiting) == "--organization") return ids("organizations");
    if (long_name(*at.waiting) == "--context") return ids("contexts");
    return {};  // such as a file: the shell's own completion
  }
  std::vector<std::string> found;
  if (words.back().starts_with('-')) {
    for (const CLI::App* level = at.command; level != nullptr; level = level->get_parent()) {
      for (const CLI::Option* const option : level->get_options()) found.push_back(long_name(*option));
    }
    return found;
  }
  for (const CLI::App* const below : at.command->get_subcommands([](const CLI::App*) { return true; })) {
    if (!below->get_group().empty()) found.push_back(below->get_name());
  }
  std::vector<const CLI::Option*> positional;
  for (const CLI::Option* const option : at.command->get_options()) {
    if (option->get_positional()) positional.push_back(option);
  }
  if (positional.empty()) return found;
  // The last one may take several words.
  const std::size_t index = std::min(at.positional.size(), positional.size() - 1);
  std::vector<std::string> before = at.positional;
  before.resize(std::min(before.size(), index));
  const auto values = values_of(positional[index]->get_name(true), *at.command, before, ids);
  found.insert(found.end(), values.begin(), values.end());
  return found;
}

}  // namespace

std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words, const Ids& ids) {
  if (words.empty()) return {};
  std::string stays;  // of the last word
  const std::vector<std::string> plain = without_equals_signs(words, stays);
  std::vector<std::string> found = candidates(app, plain, ids);
  std::erase_if(found, [&](const std::string& word) { return word.empty() || !word.starts_with(plain.back()); });
  for (std::string& word : found) word.insert(0, stays);
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "zsh") return kZsh;
  return shell == "fish" ? kFish : kBash;
}

}  // namespace sluice::ctl
