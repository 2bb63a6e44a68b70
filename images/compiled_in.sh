#!/bin/sh
# Prints the packages of which our programs hold parts: headers that became code, and the compiler's own. A line each, as
# packages.py reads it; to be run where the programs are compiled.
exec dpkg-query -W -f '${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}\n' \
  libboost1.81-dev rapidjson-dev libcli11-dev libspdlog-dev libfmt-dev prometheus-cpp-dev libpqxx-dev libstdc++-12-dev clang-19
