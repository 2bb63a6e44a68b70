// Package sluice is the engine inside a Go program, through the C interface and cgo. It is compiled against the packages
// libsluice-dev and pkg-config.
//
//	engine, err := sluice.Open(sluice.Options{"bundle_file": "policies.yaml"})
//	decision, err := engine.Check(sluice.Request{Resource: "GET:/orders", Subject: "user:42"})
//
// An Engine may be used by any number of goroutines.
package sluice

/*
#cgo pkg-config: sluice
#include <sluice/sluice.h>
#include <stdlib.h>

// What a check needs of one decision, so that Go crosses into C once.
static int32_t check(sluice_engine* engine, sluice_request* request, sluice_text resource, sluice_text subject,
                     sluice_text user, sluice_text job_type, int64_t cost, sluice_decision* decision) {
  sluice_request_init(request, sizeof *request);
  request->resource = resource;
  request->subject = subject;
  request->user = user;
  request->job_type = job_type;
  request->cost = cost;
  return sluice_check(engine, request, decision);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Options are those of sluice_options_set() in sluice.h, by name.
type Options map[string]string

// Error is what the library refused, and why.
type Error struct {
	Code    string // "invalid_policies"
	Message string
}

func (e *Error) Error() string { return e.Message }

// Engine decides. Close it at the end.
type Engine struct {
	engine *C.sluice_engine
	frames sync.Pool // of *frame: decisions keep their memory from check to check
}

// frame is memory of C that checks use again.
type frame struct {
	request  C.sluice_request
	decision C.sluice_decision
}

// Open opens an engine.
func Open(options Options) (*Engine, error) {
	given := C.sluice_options_new()
	if given == nil {
		return nil, &Error{"out_of_memory", "no memory for options"}
	}
	defer C.sluice_options_free(given)
	for name, value := range options {
		cName, cValue := C.CString(name), C.CString(value)
		C.sluice_options_set(given, cName, cValue, nil) // sluice_open() reports the first fault
		C.free(unsafe.Pointer(cName))
		C.free(unsafe.Pointer(cValue))
	}
	var fault C.sluice_error
	opened := C.sluice_open(given, &fault)
	if opened == nil {
		return nil, failure(&fault)
	}
	engine := &Engine{engine: opened}
	engine.frames.New = func() any {
		made := (*frame)(C.malloc(C.size_t(unsafe.Sizeof(frame{}))))
		C.sluice_decision_init(&made.decision, C.size_t(unsafe.Sizeof(made.decision)))
		held := &made
		runtime.SetFinalizer(held, func(held **frame) {
			C.sluice_decision_clear(&(*held).decision)
			C.free(unsafe.Pointer(*held))
		})
		return held
	}
	return engine, nil
}

var errClosed = &Error{"stopped", "engine: it is closed; open another one"}

// Close ends the engine. No other goroutine may be inside a call of it. Later calls return an error "stopped".
func (e *Engine) Close() {
	C.sluice_close(e.engine)
	e.engine = nil
}

// Request is what is asked. An empty text is absent here. The C interface has more dimensions.
type Request struct {
	Resource, Subject, User, JobType string
	Cost                             int64 // 0: one; use Peek to read without charging
	Peek                             bool
}

// Decision is what was decided.
type Decision struct {
	Allowed        bool
	Action, Reason string
	Remaining      int64
	RetryAfter     time.Duration // negative: never
	LeaseID        string
}

// Check decides.
func (e *Engine) Check(request Request) (Decision, error) {
	if e.engine == nil {
		return Decision{}, errClosed
	}
	held := e.frames.Get().(**frame)
	defer e.frames.Put(held)
	at := *held
	cost := request.Cost
	if cost == 0 && !request.Peek {
		cost = 1
	}
	// The request is in C's memory and would hold pointers to Go's: pinned for the call.
	var pins runtime.Pinner
	defer pins.Unpin()
	code := C.check(e.engine, &at.request, text(request.Resource, &pins), text(request.Subject, &pins),
		text(request.User, &pins), text(request.JobType, &pins), C.int64_t(cost), &at.decision)
	if code != C.SLUICE_OK {
		return Decision{}, &Error{C.GoString(C.sluice_code_name(code)), goText(at.decision.message)}
	}
	return Decision{
		Allowed:    bool(at.decision.allowed),
		Action:     C.GoString(C.sluice_action_name(at.decision.action)),
		Reason:     C.GoString(C.sluice_reason_name(at.decision.reason)),
		Remaining:  int64(at.decision.remaining),
		RetryAfter: time.Duration(at.decision.retry_after_us) * time.Microsecond,
		LeaseID:    goText(at.decision.lease_id),
	}, nil
}

// Release gives a lease back.
func (e *Engine) Release(leaseID string) error {
	if e.engine == nil {
		return errClosed
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	var fault C.sluice_error
	if C.sluice_release(e.engine, C.sluice_text{}, text(leaseID, &pins), &fault) != C.SLUICE_OK {
		return failure(&fault)
	}
	return nil
}

// Load puts another bundle in force. If it has faults, the former policies stay.
func (e *Engine) Load(bundle string) error {
	if e.engine == nil {
		return errClosed
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	var fault C.sluice_error
	if C.sluice_load(e.engine, text(bundle, &pins), &fault) != C.SLUICE_OK {
		return failure(&fault)
	}
	return nil
}

func failure(fault *C.sluice_error) error {
	message := C.GoString(&fault.message[0])
	code := C.GoString(C.sluice_code_name(fault.code))
	return fmt.Errorf("sluice: %w", &Error{code, message})
}

func text(value string, pins *runtime.Pinner) C.sluice_text {
	if value == "" {
		return C.sluice_text{}
	}
	data := unsafe.StringData(value)
	pins.Pin(data)
	return C.sluice_text{data: (*C.char)(unsafe.Pointer(data)), size: C.size_t(len(value))}
}

func goText(value C.sluice_text) string {
	if value.data == nil {
		return ""
	}
	return C.GoStringN(value.data, C.int(value.size))
}
