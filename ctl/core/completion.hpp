// What may stand at the end of an unfinished command line, for the completion of shells.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace sluice::ctl {

// Values that are known elsewhere: the ids of objects of a kind, and the names of "contexts".
using Ids = std::function<std::vector<std::string>(std::string_view kind)>;

// `words`: the command line behind the program's name; the last word is being typed, and may be "". Returns the words
// that can take its place, each of which begins with it.
std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words, const Ids& ids);

// The script that makes a shell use `sluicectl __complete`. REQUIRES: `shell` is bash, zsh or fish.
std::string_view completion_script(std::string_view shell);

}  // namespace sluice::ctl
