#!/bin/sh
# Prints the packages whose code is compiled into the programs: header-only libraries and the compiler's runtime. One line
# for each, in the format that packages.py reads. Run it where the programs are compiled.
exec dpkg-query -W -f '${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}\n' \
  libboost1.81-dev rapidjson-dev libcli11-dev libspdlog-dev libfmt-dev prometheus-cpp-dev libpqxx-dev libprotozero-dev libstdc++-12-dev clang-19
