/* The rate limiter inside a program, for C and for every language that can call C.
 *
 *   sluice_options* options = sluice_options_new();
 *   sluice_options_set(options, "bundle_file", "policies.yaml", NULL);
 *   sluice_error error;
 *   sluice_engine* engine = sluice_open(options, &error);
 *   sluice_options_free(options);
 *   if (engine == NULL) return fail(error.message);
 *
 *   sluice_request request;
 *   sluice_request_init(&request, sizeof request);
 *   request.resource = sluice_text_of("GET:/orders");
 *   request.subject = sluice_text_of("user:42");
 *   sluice_decision decision;
 *   sluice_decision_init(&decision, sizeof decision);
 *   if (sluice_check(engine, &request, &decision) == SLUICE_OK && decision.allowed) serve();
 *   sluice_decision_clear(&decision);
 *   sluice_close(engine);
 *
 * The C++ interface is sluice/engine.hpp; this one has the same functions. docs/guide/in-process.md explains both.
 *
 * - Errors. Functions return a sluice_code, 0 for success. The text of a failed check is in the decision; other
 *   functions write it into a sluice_error of the caller. There is no error kept per thread or per process.
 * - Texts. sluice_text is a pointer and a length in bytes, UTF-8. If the pointer is NULL, the text is absent; an empty text
 *   has a pointer. Texts that the library returns in a sluice_text also have a zero byte after their end.
 * - Memory. Who frees what is said at each function. A decision that is used again keeps its memory, so a check
 *   allocates nothing in the steady state.
 * - Threads. An engine may be used by any number of threads at once, unless the option `concurrency` is "one".
 *   A sluice_options, a sluice_decision and a sluice_error belong to one thread at a time.
 * - fork(). A child process must not use an engine of its parent, not even to close it. It opens its own.
 * - Pointers must not be NULL unless the function says so.
 * - Callbacks and hooks return: they must not throw (C++) or longjmp() out.
 * - ABI. Stable within a major version, the number after ".so.". Structs that begin with `struct_size` may get members at
 *   their end; both sides compare sizes, so that old programs run with new libraries and the other way round.
 */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Names and numbers --------------------------------------------------------------------------------------------
 * Enumerations get no other numbers within a major version, but may get more of them. */

typedef enum sluice_code {
  SLUICE_OK = 0,
  SLUICE_INVALID_OPTIONS = 1,   /* an option is unknown, out of range, or contradicts another */
  SLUICE_INVALID_POLICIES = 2,  /* the bundle has faults */
  SLUICE_UNREACHABLE = 3,       /* a file, Redis, or what the operating system has, such as threads, cannot be used */
  SLUICE_UNAUTHENTICATED = 4,   /* api_key is not known, or has expired */
  SLUICE_UNKNOWN_TENANT = 5,    /* tenant names none, or is missing although the policies have several */
  SLUICE_UNKNOWN_PLAN = 6,      /* plan names none, or the tenant's callers may not choose one */
  SLUICE_MISSING_DIMENSION = 7, /* the counter is named by a dimension that the request lacks */
  SLUICE_INVALID_REQUEST = 8,   /* a cost is negative or above 2^31 - 1, a limit cannot be brought, ... */
  SLUICE_UNKNOWN_LEASE = 9,     /* malformed, of another tenant, or (for a renewal) it has ended */
  SLUICE_OUT_OF_MEMORY = 10,    /* an allocation failed; the check may have been charged */
  SLUICE_STOPPED = 11           /* the engine was closed meanwhile */
} sluice_code;

typedef enum sluice_action {
  SLUICE_ALLOW = 0,
  SLUICE_DENY = 1,
  SLUICE_DELAY = 2,
  SLUICE_SAMPLE = 3,
  SLUICE_DROP = 4,
  SLUICE_DOWNGRADE = 5,
  SLUICE_DROP_LOW_PRIORITY = 6,
  SLUICE_SHADOW_ONLY = 7
} sluice_action;

typedef enum sluice_reason {
  SLUICE_WITHIN_LIMIT = 0,
  SLUICE_LIMIT_EXCEEDED = 1,
  SLUICE_NO_POLICY = 2,
  SLUICE_MODE_OFF = 3,
  SLUICE_SHADOW = 4,
  SLUICE_SAMPLED = 5,
  SLUICE_FAIL_OPEN = 6,
  SLUICE_FAIL_CLOSED = 7,
  SLUICE_DEGRADED = 8,
  SLUICE_NO_SNAPSHOT = 9,
  SLUICE_OVERLOAD = 10
} sluice_reason;

typedef enum sluice_level { SLUICE_DEBUG = 0, SLUICE_INFO = 1, SLUICE_WARN = 2, SLUICE_ERROR = 3 } sluice_level;

/* Names as the agent writes them: "unknown_plan", "deny", "limit_exceeded". Of a number that this library does not know:
 * "unknown". Never NULL, and never to be freed. */
const char* sluice_code_name(int32_t code);
const char* sluice_action_name(int32_t action);
const char* sluice_reason_name(int32_t reason);

/* Version of the library, "0.1.0". Never to be freed. */
const char* sluice_version(void);

/* What went wrong, written by the function that the caller passes it to. Needs no initialization and is not freed.
 * Functions take NULL from who does not want it. */
typedef struct sluice_error {
  int32_t code;        /* a sluice_code */
  char message[1020];  /* one sentence: the field, the rule, the fix; ends with a zero byte; "" after success */
} sluice_error;

typedef struct sluice_text {
  const char* data; /* NULL: absent */
  size_t size;      /* bytes */
} sluice_text;

/* The text up to the zero byte; absent if `text` is NULL. The bytes are not copied. */
static inline sluice_text sluice_text_of(const char* text) {
  sluice_text result;
  result.data = text;
  result.size = text == NULL ? 0 : strlen(text);
  return result;
}

typedef struct sluice_engine sluice_engine;
typedef struct sluice_options sluice_options;

/* ---- A check ------------------------------------------------------------------------------------------------------ */

/* A tag or an attribute. */
typedef struct sluice_named {
  sluice_text name;
  sluice_text value;
} sluice_named;

/* The cost of a unit, or the number of a limit. */
typedef struct sluice_amount {
  sluice_text name;
  int64_t value; /* a cost: 0 to 2^31 - 1; a limit: 1 to 2^50 */
} sluice_amount;

/* What is asked. sluice_request_init() fills it first, then the caller sets what the check is about. The texts and arrays
 * are not copied: they live until the check is answered. Dimensions are those of the agent's `POST /v1/check`.
 *
 * Texts are UTF-8 of at most 256 bytes, the resource without its query. Names in the arrays have 1 to 256 bytes, and no
 * array has more than 64 of them, each once. A request has a dimension, a tag, an attribute or a plan. What breaks these
 * rules is SLUICE_INVALID_REQUEST. */
typedef struct sluice_request {
  size_t struct_size; /* sizeof(sluice_request), as the caller's compiler knows it */

  sluice_text tenant;  /* may be absent if the policies have one tenant, or if the option `tenant` names it */
  sluice_text api_key; /* "slk_...", instead of tenant: who brings it must be authenticated */

  sluice_text resource;
  sluice_text subject;
  sluice_text method;
  sluice_text endpoint;
  sluice_text user;
  sluice_text client;
  sluice_text client_id;
  sluice_text source_ip; /* IPv4 or IPv6, with or without a port */
  sluice_text application;
  sluice_text service;
  sluice_text environment;
  sluice_text signal;
  sluice_text operation;
  sluice_text region;
  sluice_text severity;
  sluice_text span_name;
  sluice_text topic;
  sluice_text consumer_group;
  sluice_text job_type;
  sluice_text priority;
  const sluice_named* tags; /* may be NULL if tag_count is 0; so may the others */
  size_t tag_count;
  const sluice_named* attributes;
  size_t attribute_count;

  int64_t cost;               /* of the unit "requests", 0 to 2^31 - 1; 1 after init; 0 reads without charging */
  const sluice_amount* costs; /* of other units */
  size_t cost_count;
  const sluice_amount* limits; /* limit_override: numbers for this check only; the plan must allow it */
  size_t limit_count;
  sluice_text plan;       /* a plan instead of a policy */
  sluice_text request_id; /* makes the action `sample` repeatable */
  bool explain;           /* fill in sluice_decision.explanation */
  bool headers;           /* fill in sluice_decision.headers */
} sluice_request;

/* Fills a request with what it is when nothing is set: every text absent, cost 1. `struct_size` is sizeof(sluice_request). */
void sluice_request_init(sluice_request* request, size_t struct_size);

/* sluice_decision.retry_after_us of a check that never passes, however long one waits: its cost is above the limit. */
#define SLUICE_NEVER (-1)

/* What was decided. sluice_decision_init() is called once, then any number of checks may fill it. Its texts belong to the
 * library. They are valid until the next check into the same decision, or until sluice_decision_clear(). It must not be
 * copied by assignment and then used for checks. */
typedef struct sluice_decision {
  size_t struct_size; /* sizeof(sluice_decision), as the caller's compiler knows it */
  void* memory;       /* the library's: what the texts below point into; NULL at first */

  int32_t code;       /* a sluice_code; not SLUICE_OK: the check was not decided, and `allowed` is false */
  int32_t action;     /* a sluice_action */
  int32_t reason;     /* a sluice_reason */
  bool allowed;
  bool has_limit;     /* whether the five numbers below say something */
  bool shadow;        /* nothing was enforced, */
  bool would_allow;   /* and this is what the decision would have been */

  int64_t limit;          /* in the limit's unit: requests, tokens, places, ... */
  int64_t remaining;      /* likewise; after this check */
  int64_t reset_after_us; /* microseconds until the limit is whole again */
  int64_t retry_after_us; /* microseconds until the same check passes; 0 if it has passed; SLUICE_NEVER: never */
  int64_t delay_us;       /* microseconds to hold the request back (action `delay`) */

  double sample_rate;      /* of the action `sample`: 0 to 1 */
  int64_t policy_version;
  int64_t lease_expires_us; /* Unix time in microseconds; 0 without a lease */
  sluice_text message;      /* one sentence for people if `code` is not SLUICE_OK, else "" */
  sluice_text policy;       /* "": none decided */
  sluice_text plan;
  sluice_text limit_name;
  sluice_text downgrade_to; /* of the action `downgrade` */
  sluice_text lease_id;     /* "": no lease; see sluice_release() */
  sluice_text explanation;  /* JSON, as the agent answers with "explain": true; "" unless asked for */
  sluice_text headers;      /* "Name: value\r\n" for each; "" unless asked for */
} sluice_decision;

/* Makes a decision empty. `struct_size` is sizeof(sluice_decision). Not for a decision that has memory: clear it. */
void sluice_decision_init(sluice_decision* decision, size_t struct_size);

/* Frees a decision's memory. The decision may then be used for checks again. NULL and a decision without memory are taken. */
void sluice_decision_clear(sluice_decision* decision);

/* ---- Options ------------------------------------------------------------------------------------------------------ */

/* New options, all at their defaults; NULL if there is no memory. Freed with sluice_options_free(). */
sluice_options* sluice_options_new(void);
void sluice_options_free(sluice_options* options); /* NULL is taken */

/* Sets one option by its name. `value` is a text that ends with a zero byte; it is copied. NULL is an error, not a default.
 *
 *   bundle              a bundle's text, JSON or YAML
 *   bundle_file         path of a bundle
 *   watch_file          true or false (default): start a thread that loads the file again when it changes
 *   server_url          http:// or https://; policies come from this server, by a thread of the engine
 *   server_token_file   path of the token of an agent
 *   server_cache_file   path of the last good state, for a start without the server
 *   server_ca_file      path of the certificate authorities; default: those of the operating system
 *   server_name         how the fleet names this engine, 1 to 253 visible ASCII characters; default: the host's name and
 *                       the process id
 *   redis_url           redis://, rediss://, redis+sentinel://, redis+cluster://, unix:PATH; default: counters in memory
 *   redis_password_file path, read again when it changes
 *   redis_sentinel_password_file, redis_sentinel_login_file   paths of the login for sentinels: a password, or a user and a
 *                       password on two lines
 *   redis_tls_ca_file, redis_tls_cert_file, redis_tls_key_file   paths
 *   redis_deadline_ms   milliseconds of one call, 1 to 10000; default 25
 *   memory_limit        bytes that counters in memory may take, roughly; 0 (default): no limit
 *   threads             how many threads run the loop of Redis, 0 (default) to 1024; with 0 each check runs it
 *   concurrency         many (default) or one: only one thread calls at a time, so the engine takes no lock
 *   tenant              of requests that name none: at most 63 of a-z, 0-9, "." and "-"
 *   allow_without_policies   true or false (default): what checks get before there are policies
 *   metrics             true or false (default): count decisions for sluice_metrics()
 *
 * At most one of bundle, bundle_file and server_url; without any, sluice_load() brings the policies. The other options of
 * server_ and those of redis_ that name files need their URL.
 * Errors: SLUICE_INVALID_OPTIONS, SLUICE_OUT_OF_MEMORY. The first error is kept: sluice_open() fails with it. So a caller
 * may set many options and look only at the result of sluice_open(). */
int32_t sluice_options_set(sluice_options* options, const char* name, const char* value, sluice_error* error);

/* The hooks below are called with `context` as they were set. They are called on threads that use the engine and on
 * threads of the engine, by several at once, and must not call the engine. A function NULL removes the hook. What
 * `context` points to lives until sluice_close() has returned. */

/* `line` is one line of JSON: time, level, event, message, fields. `level`: a sluice_level. Texts live during the call. */
typedef void (*sluice_log_hook)(void* context, int32_t level, sluice_text event, sluice_text line);
void sluice_options_set_log(sluice_options* options, sluice_log_hook hook, void* context);

/* Called for each decision, on the thread that decides. A check whose code is an error has none. Request and decision live
 * during the call. Texts of the request are the caller's: they may have no zero byte after their end. */
typedef void (*sluice_decision_hook)(void* context, const sluice_request* request, const sluice_decision* decision);
void sluice_options_set_on_decision(sluice_options* options, sluice_decision_hook hook, void* context);

/* Unix time in microseconds, 0 to 2^53, for tests. NULL: the system's clock. */
typedef int64_t (*sluice_clock)(void* context);
void sluice_options_set_clock(sluice_options* options, sluice_clock clock, void* context);

/* ---- The engine --------------------------------------------------------------------------------------------------- */

/* Opens an engine. Reads the bundle before it returns, and does not wait for the server or for Redis. The options are
 * copied: they may be freed or used again. NULL: it could not be opened, and `error` says why: SLUICE_INVALID_OPTIONS,
 * SLUICE_INVALID_POLICIES, SLUICE_UNREACHABLE, SLUICE_OUT_OF_MEMORY. Closed with sluice_close(). */
sluice_engine* sluice_open(const sluice_options* options, sluice_error* error);

/* Ends asynchronous checks with SLUICE_STOPPED, joins the engine's threads and frees it. No other thread may be inside a
 * call of this engine, and a callback or a hook must not close it. Decisions that were filled before stay valid. NULL is
 * taken. */
void sluice_close(sluice_engine* engine);

/* Decides. Returns decision->code. */
int32_t sluice_check(sluice_engine* engine, const sluice_request* request, sluice_decision* decision);

/* Each check by itself, in their order. Two arrays of `count` elements, 0 too, in which all elements
 * have the same struct_size. Allocates memory in each call. Returns SLUICE_OK if each check was decided, else the code of
 * the first that was not. */
int32_t sluice_check_batch(sluice_engine* engine, const sluice_request* requests, sluice_decision* decisions, size_t count);

/* Decides, and calls back once: on the calling thread if the counters are in memory, else on a thread that runs the loop.
 * If there is no memory to begin the check, on the calling thread with SLUICE_OUT_OF_MEMORY.
 * The decision lives during the callback; it is not cleared. What the request points to lives until then; the
 * sluice_request itself need not. */
typedef void (*sluice_callback)(void* context, const sluice_decision* decision);
void sluice_check_async(sluice_engine* engine, const sluice_request* request, sluice_callback callback, void* context);

/* Asks again, at retry_after_us, until the check passes or `at_most_us` microseconds are over. Sleeps meanwhile. It asks once
 * if `at_most_us` is 0 or less. It returns at once if the check is not decided, can never pass, or passes only later than
 * that; but it waits for a lease, which may be released sooner. INT64_MAX waits for as long as it takes. Returns
 * decision->code. */
int32_t sluice_wait(sluice_engine* engine, const sluice_request* request, int64_t at_most_us, sluice_decision* decision);

/* Gives the places of a lease back. A lease that has ended, or was released before, is no error. `tenant`: as in the check; if
 * it is absent, that of the option `tenant`, or without it the lease's own. The lease id is that of sluice_decision, and may
 * point into it. Errors: SLUICE_UNKNOWN_LEASE, SLUICE_UNKNOWN_TENANT, SLUICE_UNREACHABLE (Redis). */
int32_t sluice_release(sluice_engine* engine, sluice_text tenant, sluice_text lease_id, sluice_error* error);

/* Makes a lease last for another `lease_ttl`. Writes when it ends to `expires_us`, Unix time in microseconds; it may be NULL.
 * The errors are those of sluice_release(); a lease that has ended is SLUICE_UNKNOWN_LEASE. */
int32_t sluice_renew(sluice_engine* engine, sluice_text tenant, sluice_text lease_id, int64_t* expires_us,
                     sluice_error* error);

/* Puts the policies of another bundle in force, JSON or YAML, for checks that begin from then on. If the bundle has faults,
 * the former policies stay. The text is copied. Errors: SLUICE_INVALID_POLICIES; SLUICE_INVALID_OPTIONS with a server. */
int32_t sluice_load(sluice_engine* engine, sluice_text bundle, sluice_error* error);

/* Reads `bundle_file` again, with the same rule. Errors also: SLUICE_UNREACHABLE; SLUICE_INVALID_OPTIONS without a file. */
int32_t sluice_reload(sluice_engine* engine, sluice_error* error);

bool sluice_has_policies(const sluice_engine* engine);
uint64_t sluice_revision(const sluice_engine* engine); /* of the policies: 0 for none, one more with each load */

/* Runs the loop on the calling thread until sluice_stop(), which any thread may call. For `threads` 0 with Redis; else it
 * returns at once, as it does in a callback. */
void sluice_run(sluice_engine* engine);
size_t sluice_poll(sluice_engine* engine); /* runs what is ready, and returns how much that was */
/* Ends sluice_run() in each thread that is there; if none is, the next sluice_run(). Also from a callback. */
void sluice_stop(sluice_engine* engine);

/* Metrics in Prometheus' text format; "" without the option `metrics`. The caller frees the text with sluice_free(). NULL if
 * there is no memory. */
char* sluice_metrics(const sluice_engine* engine);
void sluice_free(char* text); /* NULL is taken */

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_SLUICE_H */
