// The commands of sluicectl. Each function adds its commands to the command line.
#pragma once

#include "ctl/core/invocation.hpp"

namespace sluice::ctl {

void add_login(CLI::App& app, Invocation& invocation);       // login, logout, context, whoami
void add_get(CLI::App& app, Invocation& invocation);         // get, export
void add_apply(CLI::App& app, Invocation& invocation);       // apply, diff
void add_delete(CLI::App& app, Invocation& invocation);      // delete
void add_edit(CLI::App& app, Invocation& invocation);        // edit
void add_history(CLI::App& app, Invocation& invocation);     // versions, rollback, rollout, mode
void add_check(CLI::App& app, Invocation& invocation);       // check, explain
void add_watch(CLI::App& app, Invocation& invocation);       // watch, top
void add_counters(CLI::App& app, Invocation& invocation);    // override, counters
void add_audit(CLI::App& app, Invocation& invocation);       // audit
void add_fleet(CLI::App& app, Invocation& invocation);       // fleet
void add_import(CLI::App& app, Invocation& invocation);      // import
void add_completion(CLI::App& app, Invocation& invocation);  // completion

}  // namespace sluice::ctl
