#!/bin/sh
# Prints the packages that are compiled into the programs of the build folder BUILD, in lines that packages.py reads:
# Debian's (header-only libraries, what sluicectl links statically, and the compiler's runtime), and npm's in the console.
# Run it where they are compiled.
#   images/compiled_in.sh BUILD
set -e
dpkg-query -W -f '${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}\n' \
  libboost1.81-dev rapidjson-dev libcli11-dev libspdlog-dev libfmt-dev prometheus-cpp-dev libpqxx-dev libprotozero-dev libyaml-cpp-dev libssl-dev zlib1g-dev libc6-dev libstdc++-12-dev clang-19
exec sed -n 's|^// npm:|npm:|p' "$1/server/console/include/server/console/embedded.hpp"
