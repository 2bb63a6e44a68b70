"""The engine inside a Python program, through the C interface and cffi (pip install cffi, or Debian's python3-cffi).

    with Engine(bundle_file="policies.yaml") as engine:
        decision = engine.check(resource="GET:/orders", subject="user:42")
        if not decision.allowed: ...

Options are those of sluice_options_set() in sluice.h. An engine may be used by several threads; each check lets other
threads run. A process that was made by fork() opens an engine of its own.
"""
from dataclasses import dataclass

from cffi import FFI

ffi = FFI()
# From sluice.h of version 0, without what this module does not use. Both sides tell each other how long their structs are.
ffi.cdef("""
enum { SLUICE_STOPPED = 11 };
typedef struct sluice_engine sluice_engine;
typedef struct sluice_options sluice_options;
typedef struct sluice_error { int32_t code; char message[1020]; } sluice_error;
typedef struct sluice_text { const char* data; size_t size; } sluice_text;
typedef struct sluice_named { sluice_text name; sluice_text value; } sluice_named;
typedef struct sluice_amount { sluice_text name; int64_t value; } sluice_amount;
typedef struct sluice_request {
  size_t struct_size;
  sluice_text tenant; sluice_text api_key;
  sluice_text resource; sluice_text subject; sluice_text method; sluice_text endpoint; sluice_text user;
  sluice_text client; sluice_text client_id; sluice_text source_ip; sluice_text application; sluice_text service;
  sluice_text environment; sluice_text signal; sluice_text operation; sluice_text region; sluice_text severity;
  sluice_text span_name; sluice_text topic; sluice_text consumer_group; sluice_text job_type; sluice_text priority;
  const sluice_named* tags; size_t tag_count;
  const sluice_named* attributes; size_t attribute_count;
  int64_t cost;
  const sluice_amount* costs; size_t cost_count;
  const sluice_amount* limits; size_t limit_count;
  sluice_text plan; sluice_text request_id;
  bool explain; bool headers;
} sluice_request;
typedef struct sluice_decision {
  size_t struct_size; void* memory;
  int32_t code; int32_t action; int32_t reason;
  bool allowed; bool has_limit; bool shadow; bool would_allow;
  int64_t limit; int64_t remaining; int64_t reset_after_us; int64_t retry_after_us; int64_t delay_us;
  double sample_rate; int64_t policy_version; int64_t lease_expires_us;
  sluice_text message; sluice_text policy; sluice_text plan; sluice_text limit_name; sluice_text downgrade_to;
  sluice_text lease_id; sluice_text explanation; sluice_text headers;
} sluice_decision;
const char* sluice_code_name(int32_t code);
const char* sluice_action_name(int32_t action);
const char* sluice_reason_name(int32_t reason);
void sluice_request_init(sluice_request* request, size_t struct_size);
void sluice_decision_init(sluice_decision* decision, size_t struct_size);
void sluice_decision_clear(sluice_decision* decision);
sluice_options* sluice_options_new(void);
void sluice_options_free(sluice_options* options);
int32_t sluice_options_set(sluice_options* options, const char* name, const char* value, sluice_error* error);
sluice_engine* sluice_open(const sluice_options* options, sluice_error* error);
void sluice_close(sluice_engine* engine);
int32_t sluice_check(sluice_engine* engine, const sluice_request* request, sluice_decision* decision);
int32_t sluice_release(sluice_engine* engine, sluice_text tenant, sluice_text lease_id, sluice_error* error);
int32_t sluice_load(sluice_engine* engine, sluice_text bundle, sluice_error* error);
int32_t sluice_reload(sluice_engine* engine, sluice_error* error);
uint64_t sluice_revision(const sluice_engine* engine);
char* sluice_metrics(const sluice_engine* engine);
void sluice_free(char* text);
""")
lib = ffi.dlopen("libsluice.so.0")


class SluiceError(Exception):
    """`code` is a name such as "invalid_policies". What is no value of a C type at all raises TypeError, AttributeError or OverflowError."""

    def __init__(self, code, message):
        super().__init__(message or _name(lib.sluice_code_name(code)))
        self.code = _name(lib.sluice_code_name(code))


@dataclass(frozen=True)
class Decision:
    allowed: bool
    action: str
    reason: str
    remaining: int | None       # None: no limit decided
    retry_after: float | None   # seconds; None: never
    policy: str
    lease_id: str
    explanation: str


class Engine:
    def __init__(self, **options):
        error = ffi.new("sluice_error*")
        given = ffi.gc(lib.sluice_options_new(), lib.sluice_options_free)
        for name, value in options.items():
            if value is None:
                continue   # the default
            value = str(value).lower() if isinstance(value, bool) else str(value)
            lib.sluice_options_set(given, name.encode(), value.encode(), ffi.NULL)  # sluice_open() reports the first fault
        engine = lib.sluice_open(given, error)
        if engine == ffi.NULL:
            _raise(error)
        self._engine = ffi.gc(engine, lib.sluice_close)

    def check(self, *, cost=1, tags=None, attributes=None, costs=None, limits=None, explain=False, **texts):
        """`texts`: the dimensions, and tenant, api_key, plan, request_id. `tags` and the others are dictionaries."""
        keep = []   # what the request points to
        request = ffi.new("sluice_request*")
        lib.sluice_request_init(request, ffi.sizeof("sluice_request"))
        for name, value in texts.items():
            setattr(request, name, _text(value, keep))
        for name, pairs in (("tag", tags), ("attribute", attributes), ("cost", costs), ("limit", limits)):
            if pairs:
                setattr(request, name + "s", _array("named" if name in ("tag", "attribute") else "amount", pairs, keep))
                setattr(request, name + "_count", len(pairs))
        request.cost, request.explain = cost, explain
        with _Filled() as decision:
            if lib.sluice_check(self._opened(), request, decision) != 0:
                raise SluiceError(decision.code, _string(decision.message))
            return Decision(
                allowed=bool(decision.allowed), action=_name(lib.sluice_action_name(decision.action)),
                reason=_name(lib.sluice_reason_name(decision.reason)),
                remaining=decision.remaining if decision.has_limit else None,
                retry_after=None if decision.retry_after_us < 0 else decision.retry_after_us / 1e6,
                policy=_string(decision.policy), lease_id=_string(decision.lease_id), explanation=_string(decision.explanation))

    def release(self, lease_id, tenant=None):
        keep, error = [], ffi.new("sluice_error*")
        if lib.sluice_release(self._opened(), _text(tenant, keep), _text(lease_id, keep), error) != 0:
            _raise(error)

    def load(self, bundle):
        keep, error = [], ffi.new("sluice_error*")
        if lib.sluice_load(self._opened(), _text(bundle, keep), error) != 0:
            _raise(error)

    def reload(self):
        error = ffi.new("sluice_error*")
        if lib.sluice_reload(self._opened(), error) != 0:
            _raise(error)

    @property
    def revision(self):
        return lib.sluice_revision(self._opened())

    def metrics(self):
        text = ffi.gc(lib.sluice_metrics(self._opened()), lib.sluice_free)
        return ffi.string(text).decode()

    def close(self):
        """No other thread may be inside a call. A second close() does nothing; other calls raise SluiceError "stopped"."""
        engine, self._engine = self._engine, None
        if engine is not None:
            ffi.release(engine)   # calls sluice_close()

    def _opened(self):
        if self._engine is None:
            raise SluiceError(lib.SLUICE_STOPPED, "engine: it is closed; open another one")
        return self._engine

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Filled:
    """A decision. The end of the block frees its memory."""

    def __enter__(self):
        self._decision = ffi.new("sluice_decision*")
        lib.sluice_decision_init(self._decision, ffi.sizeof("sluice_decision"))
        return self._decision

    def __exit__(self, *_):
        lib.sluice_decision_clear(self._decision)


def _raise(error):
    raise SluiceError(error.code, ffi.string(error.message).decode())


def _text(value, keep):
    if value is None:
        return ffi.new("sluice_text*")[0]
    encoded = value.encode()
    data = ffi.new("char[]", encoded)
    text = ffi.new("sluice_text*", (data, len(encoded)))
    keep += data, text
    return text[0]


def _array(kind, pairs, keep):
    array = ffi.new(f"sluice_{kind}[]", len(pairs))
    for at, (name, value) in enumerate(pairs.items()):
        array[at].name = _text(name, keep)
        array[at].value = _text(value, keep) if kind == "named" else value
    keep.append(array)
    return array


def _string(text):
    return ffi.unpack(text.data, text.size).decode() if text.data else ""


def _name(text):
    return ffi.string(text).decode()
