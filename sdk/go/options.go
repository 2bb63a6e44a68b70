package sluice

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// OnError is what a check gives if the agent gave no decision.
type OnError string

// What a check gives without a decision.
const (
	Allow OnError = "allow" // the request passes
	Deny  OnError = "deny"  // the request does not pass
	Raise OnError = "raise" // the call returns an *Error
)

const (
	defaultURL            = "http://127.0.0.1:8088"
	defaultTimeout        = 50 * time.Millisecond
	defaultMaxConnections = 64
)

// Option sets one option of a client. It wins over the environment variable.
type Option func(*settings) error

// settings are what options and environment say together. An empty text is not set.
type settings struct {
	url, socket        string
	apiKey, apiKeyFile string
	timeout            time.Duration
	onError            OnError
	maxConnections     int
	caFile             string
	certificate, key   string
	logger             *slog.Logger
	trace              func(context.Context) (string, string)
	transport          Transport

	address address
}

// address is where the agent is.
type address struct {
	network string // tcp or unix
	dial    string // HOST:PORT or a path
	host    string // for the header Host
	tls     bool
	text    string // for people
}

func notEmpty(name, value string) error {
	if value == "" {
		return misuse("%s must not be empty; leave the option out", name)
	}
	return nil
}

// WithURL says where the agent is: http://HOST:PORT, https://HOST:PORT or unix:///path/of/socket. Excludes [WithSocket].
func WithURL(url string) Option {
	return func(s *settings) error { s.url = url; return notEmpty("url", url) }
}

// WithSocket names the agent's Unix socket. Excludes [WithURL].
func WithSocket(path string) Option {
	return func(s *settings) error { s.socket = path; return notEmpty("socket", path) }
}

// WithAPIKey sets the tenant's API key. Excludes [WithAPIKeyFile].
func WithAPIKey(key string) Option {
	return func(s *settings) error { s.apiKey = key; return notEmpty("api_key", key) }
}

// WithAPIKeyFile names a file with the API key. It is read at the first call, and again when the agent does not know the key.
func WithAPIKeyFile(path string) Option {
	return func(s *settings) error { s.apiKeyFile = path; return notEmpty("api_key_file", path) }
}

// WithTimeout sets the longest that one call may take, connecting included. Default: 50 ms.
func WithTimeout(timeout time.Duration) Option {
	return func(s *settings) error {
		if timeout <= 0 {
			return misuse("timeout must be longer than 0; got %s", timeout)
		}
		s.timeout = timeout
		return nil
	}
}

// WithOnError says what a check gives if the agent gave no decision. Default: [Allow].
func WithOnError(onError OnError) Option {
	return func(s *settings) error { s.onError = onError; return onError.valid("on_error") }
}

// WithMaxConnections sets how many connections the client may open. Default: 64.
func WithMaxConnections(connections int) Option {
	return func(s *settings) error {
		if connections < 1 {
			return misuse("max_connections must be 1 or more; got %d", connections)
		}
		s.maxConnections = connections
		return nil
	}
}

// WithCAFile names a file of CA certificates (PEM) to trust for https, instead of the system's.
func WithCAFile(path string) Option {
	return func(s *settings) error { s.caFile = path; return notEmpty("ca_file", path) }
}

// WithClientCertificate names the files (PEM) of the client's certificate and key, for mTLS.
func WithClientCertificate(certificate, key string) Option {
	return func(s *settings) error {
		s.certificate, s.key = certificate, key
		if certificate == "" || key == "" {
			return misuse("client_certificate and client_key must be given together; got %q and %q", certificate, key)
		}
		return nil
	}
}

// WithLogger sets where errors are logged. Default: [slog.Default], at the time of the error.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) error { s.logger = logger; return nil }
}

// WithTraceContext sets where traceparent and tracestate of a call come from; sluice.dev/go/otel has one for OpenTelemetry.
// What [ContextWithTrace] put into the context wins.
func WithTraceContext(current func(context.Context) (traceparent, tracestate string)) Option {
	return func(s *settings) error { s.trace = current; return nil }
}

// WithTransport replaces the way to the agent: for tests, and for agents in the same process.
func WithTransport(transport Transport) Option {
	return func(s *settings) error { s.transport = transport; return nil }
}

func (o OnError) valid(name string) error {
	if o != Allow && o != Deny && o != Raise {
		return misuse("%s must be allow, deny or raise; got %q", name, string(o))
	}
	return nil
}

// decision is what a check gives for that error; with Raise only in a batch.
func (o OnError) decision(err *Error) Decision {
	decision := Decision{Reason: "error", Action: "deny", Status: err.Status, RequestID: err.requestID, Err: err, Raw: err.raw}
	if o == Allow {
		decision.Allowed, decision.WouldAllow, decision.Action, decision.RetryAfter = true, true, "allow", new(time.Duration)
	}
	return decision
}

func read(options []Option) (*settings, error) {
	set := &settings{}
	for _, option := range options {
		if err := option(set); err != nil {
			return nil, err
		}
	}
	for _, step := range []func(*settings) error{readAddress, readKey, readTimeout, readOnError} {
		if err := step(set); err != nil {
			return nil, err
		}
	}
	if set.maxConnections == 0 {
		set.maxConnections = defaultMaxConnections
	}
	return set, nil
}

func readAddress(s *settings) error {
	var err error
	switch {
	case s.url != "" && s.socket != "":
		return misuse("url and socket exclude each other; got %q and %q", withoutUser(s.url), s.socket)
	case s.socket != "":
		s.address, err = socketAddress("socket", s.socket)
	case s.url != "":
		s.address, err = parseURL("url", s.url)
	case os.Getenv("SLUICE_SOCKET") != "":
		s.address, err = socketAddress("SLUICE_SOCKET", os.Getenv("SLUICE_SOCKET"))
	case os.Getenv("SLUICE_URL") != "":
		s.address, err = parseURL("SLUICE_URL", os.Getenv("SLUICE_URL"))
	default:
		s.address, err = parseURL("url", defaultURL)
	}
	return err
}

// longestSocket is how many bytes the path of a Unix socket may have.
const longestSocket = 107

func socketAddress(name, path string) (address, error) {
	if len(path) > longestSocket || strings.ContainsRune(path, 0) {
		return address{}, misuse("%s must be the path of a Unix socket, of 1 to %d bytes; got %q", name, longestSocket, path)
	}
	return address{network: "unix", dial: path, host: "localhost", text: "unix://" + path}, nil
}

// withoutUser hides what may be a password from an error.
func withoutUser(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		return "(user and password hidden)@" + text[at+1:]
	}
	return text
}

func parseURL(name, given string) (address, error) {
	wrong := func(rule string) (address, error) {
		return address{}, misuse("%s must be http://HOST:PORT, https://HOST:PORT or unix:///path/of/socket%s; got %q", name, rule, withoutUser(given))
	}
	parsed, err := url.Parse(given)
	switch {
	case err != nil:
		return wrong("")
	case parsed.User != nil:
		return wrong(", without user and password")
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return wrong(", without query and fragment")
	case parsed.Scheme == "unix":
		if parsed.Host != "" || len(parsed.Path) < 2 {
			return wrong("")
		}
		return socketAddress(name, parsed.Path)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return wrong("")
	case parsed.Hostname() == "":
		return wrong("")
	case parsed.Path != "" && parsed.Path != "/":
		return wrong(", without a path")
	}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return wrong(", with a port from 1 to 65535")
	}
	return address{
		network: "tcp", dial: net.JoinHostPort(parsed.Hostname(), port), host: parsed.Host,
		tls: parsed.Scheme == "https", text: parsed.Scheme + "://" + parsed.Host,
	}, nil
}

func readKey(s *settings) error {
	if s.apiKey != "" && s.apiKeyFile != "" {
		return misuse("api_key and api_key_file exclude each other; both are given")
	}
	name := "api_key"
	if s.apiKey == "" && s.apiKeyFile == "" {
		name = "SLUICE_API_KEY"
		if s.apiKey = os.Getenv(name); s.apiKey == "" {
			s.apiKeyFile = os.Getenv("SLUICE_API_KEY_FILE")
		}
	}
	s.apiKey = strings.TrimSpace(s.apiKey)
	if s.apiKey != "" && !visible(s.apiKey) {
		return misuse("%s must be visible ASCII characters; what was given has others", name)
	}
	return nil
}

// visible says whether a text can be the value of a header as it is.
func visible(text string) bool {
	for _, letter := range []byte(text) {
		if letter <= ' ' || letter > '~' {
			return false
		}
	}
	return true
}

var duration = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(ms|s|m)$`)

func readTimeout(s *settings) error {
	if s.timeout != 0 {
		return nil
	}
	given := os.Getenv("SLUICE_TIMEOUT")
	if given == "" {
		s.timeout = defaultTimeout
		return nil
	}
	parsed, err := time.ParseDuration(given)
	if !duration.MatchString(given) || err != nil || parsed <= 0 {
		return misuse("SLUICE_TIMEOUT must be a number above 0 with a unit (ms, s or m), such as 50ms; got %q", given)
	}
	s.timeout = parsed
	return nil
}

func readOnError(s *settings) error {
	if s.onError != "" {
		return nil
	}
	if s.onError = OnError(os.Getenv("SLUICE_ON_ERROR")); s.onError == "" {
		s.onError = Allow
	}
	return s.onError.valid("SLUICE_ON_ERROR")
}

// tlsConfig is nil for a plain connection.
func (s *settings) tlsConfig() (*tls.Config, error) {
	if !s.address.tls {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(s.address.dial)
	if err != nil {
		return nil, misuse("url has no host; got %q", s.address.text)
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if s.caFile != "" {
		read, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, misuse("ca_file must be a file with CA certificates (PEM); %v", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(read) {
			return nil, misuse("ca_file must be a file with CA certificates (PEM); %s has none", s.caFile)
		}
	}
	if s.certificate != "" {
		// Read at each connection, so that a renewed certificate is used.
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.certificate, s.key)
			return &pair, err
		}
		if _, err := load(); err != nil {
			return nil, misuse("client_certificate and client_key must be files with a certificate and its key (PEM); %v", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return config, nil
}
