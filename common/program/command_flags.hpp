// One command and its flags, as CLI11 knows them. A part of flags.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "common/program/flags.hpp"

namespace sluice::program {

class CommandFlags {
 public:
  // Sets up `app`, which is this command's own and outlives this, as do the tables. REQUIRES: command is of program.
  CommandFlags(CLI::App& app, const Program& program, const Command& command);
  CommandFlags(const CommandFlags&) = delete;  // CLI11 writes to texts_
  CommandFlags& operator=(const CommandFlags&) = delete;

  std::string_view name() const { return command_.name; }

  // The value flag that `argument` is, nullptr for anything else.
  const FlagSpec* value_flag(std::string_view argument) const;

  // Once CLI11 has parsed the arguments:
  bool given() const { return app_.parsed(); }
  void take_strays(Flags& out) const;  // what CLI11 did not know
  void take_values(const Environment& environment, Flags& out) const;

 private:
  struct Entry {
    const FlagSpec* spec;
    CLI::Option* option;
    const std::string* text;
  };

  void add(const FlagSpec& spec, std::string& text);
  std::string variable(const FlagSpec& spec) const;
  std::string_view nearest(std::string_view name) const;

  CLI::App& app_;
  const Program& program_;
  const Command& command_;
  std::vector<std::string> texts_;
  std::vector<Entry> entries_;
};

}  // namespace sluice::program
