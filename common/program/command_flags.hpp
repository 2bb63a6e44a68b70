// One command and its flags, registered with CLI11, for read_flags().
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "common/program/flags.hpp"

namespace sluice::program {

class CommandFlags {
 public:
  // REQUIRES: `app`, `program` and `command` outlive this object; `program` has `command`; no other command uses `app`.
  CommandFlags(CLI::App& app, const Program& program, const Command& command);
  CommandFlags(const CommandFlags&) = delete;  // CLI11 holds pointers into texts_
  CommandFlags& operator=(const CommandFlags&) = delete;

  std::string_view name() const { return command_.name; }

  // The flag that `argument` ("--listen") names; nullptr if there is none, or if it takes no value.
  const FlagSpec* value_flag(std::string_view argument) const;

  // REQUIRES: CLI11 has parsed the command line.
  bool given() const { return app_.parsed(); }
  // Takes the operands too. `first`: the first argument of the command line, "" if there is none.
  void report_unknown(std::string_view first, Flags& out) const;
  void take_values(const Environment& environment, Flags& out) const;

 private:
  struct Entry {
    const FlagSpec* spec;
    CLI::Option* option;
    const std::string* text;
  };

  void add(const FlagSpec& spec, std::string& text);
  void report_word(std::string_view word, bool is_first, Flags& out) const;
  void report_command(std::string_view word, std::string_view fix, Flags& out) const;
  // Both return "" if no name is alike.
  std::string_view nearest_flag(std::string_view name) const;
  std::string_view nearest_command(std::string_view word) const;  // of those below
  std::vector<std::string_view> commands_below() const;           // this one; of the program: all

  CLI::App& app_;
  const Program& program_;
  const Command& command_;
  std::vector<std::string> texts_;
  std::vector<Entry> entries_;
};

}  // namespace sluice::program
