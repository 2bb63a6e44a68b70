package sluice

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Kind says why there is no decision.
type Kind string

// The kinds of errors.
const (
	Unreachable Kind = "unreachable" // no connection to the agent, or its certificate is not trusted
	Timeout     Kind = "timeout"     // the call took longer than the client's timeout
	Protocol    Kind = "protocol"    // the reply is no decision
	Unavailable Kind = "unavailable" // the agent cannot decide: overload, no policies, any other 5xx
	Refused     Kind = "refused"     // the call is wrong: its fields, its API key, its path
)

// ErrMisuse marks errors in the use of this package: wrong options, a closed client. Test for it with errors.Is.
var ErrMisuse = errors.New("sluice: misuse")

// ErrClosed is returned by calls on a closed client. It is an [ErrMisuse].
var ErrClosed = misuse("the client is closed")

// FieldError is one faulty field of a refused check.
type FieldError struct {
	Pointer string `json:"pointer"` // a JSON pointer, such as /cost
	Detail  string `json:"detail"`
}

// Error says why the agent gave no decision.
type Error struct {
	Kind   Kind
	Status int          // HTTP status of the reply, 0 without one
	Code   string       // the problem's code, such as expired
	Detail string       // what happened, for people
	Errors []FieldError // the faulty fields of a refused check
	Err    error        // the cause, where there is one

	raw       map[string]any // the body of the reply
	requestID string
}

// Error gives the kind and the detail.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "sluice: %s", e.Kind)
	if e.Status != 0 {
		fmt.Fprintf(&text, " (status %d)", e.Status)
	}
	if e.Detail != "" {
		fmt.Fprintf(&text, ": %s", e.Detail)
	}
	for _, field := range e.Errors {
		fmt.Fprintf(&text, "; %s: %s", field.Pointer, field.Detail)
	}
	return text.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, &sluice.Error{Kind: sluice.Timeout}) true for every error of that kind.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && *other.plain() == (plainError{Kind: e.Kind})
}

// plainError is what can be compared of an Error.
type plainError struct {
	Kind         Kind
	Status       int
	Code, Detail string
}

func (e *Error) plain() *plainError { return &plainError{e.Kind, e.Status, e.Code, e.Detail} }

func failure(kind Kind, cause error, format string, values ...any) *Error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, values...), Err: cause}
}

type misuseError struct{ text string }

func (e *misuseError) Error() string        { return "sluice: " + e.text }
func (e *misuseError) Is(target error) bool { return target == ErrMisuse }

func misuse(format string, values ...any) error { return &misuseError{fmt.Sprintf(format, values...)} }

// refusal reads a problem (RFC 9457), or what else came with that status.
func refusal(status int, body []byte) *Error {
	found := &Error{Kind: Refused, Status: status}
	if status >= 500 {
		found.Kind = Unavailable
	}
	var problem struct {
		Title, Code, Detail, Reason string
		RequestID                   string `json:"request_id"`
		Errors                      []FieldError
	}
	// Members of a wrong type are left out; the others are read.
	_ = json.Unmarshal(body, &problem)
	found.Code, found.Detail, found.Errors, found.requestID = problem.Code, problem.Detail, problem.Errors, problem.RequestID
	found.raw, _ = object(body)
	if found.Code == "" && status >= 500 {
		found.Code = problem.Reason
	}
	for _, other := range []string{problem.Title, problem.Reason} {
		if found.Detail == "" {
			found.Detail = other
		}
	}
	if found.Detail == "" {
		found.Detail = fmt.Sprintf("the agent answered with status %d", status)
	}
	return found
}
