package sluicehttp

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"sluice.dev/go"
	"sluice.dev/go/web"
)

// writer adds the decision's headers when the handler begins to answer, because only then it is known which ones the handler set.
type writer struct {
	http.ResponseWriter
	decision *sluice.Decision
	begun    bool
}

func (w *writer) decide() {
	if !w.begun {
		w.begun = true
		web.AddHeaders(w.Header(), *w.decision)
	}
}

func (w *writer) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.decide()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(body []byte) (int, error) {
	w.decide()
	return w.ResponseWriter.Write(body)
}

// ReadFrom keeps the way of large bodies short.
func (w *writer) ReadFrom(source io.Reader) (int64, error) {
	w.decide()
	return io.Copy(w.ResponseWriter, source)
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) Flush() {
	w.decide()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *writer) Push(target string, options *http.PushOptions) error {
	if pusher, ok := w.ResponseWriter.(http.Pusher); ok {
		return pusher.Push(target, options)
	}
	return http.ErrNotSupported
}
