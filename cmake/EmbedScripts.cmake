# Writes OUTPUT: one `inline constexpr std::string_view` for each file of SCRIPTS, byte for byte.
set(text "// Generated from lua/*.lua.\n#pragma once\n\n#include <string_view>\n\nnamespace sluice::lua {\n\n")
foreach(script IN LISTS SCRIPTS)
  get_filename_component(name ${script} NAME_WE)
  file(READ ${script} body)
  string(APPEND text "inline constexpr std::string_view ${name} = R\"__LUA__(${body})__LUA__\";\n\n")
endforeach()
string(APPEND text "}  // namespace sluice::lua\n")
file(WRITE ${OUTPUT} "${text}")
