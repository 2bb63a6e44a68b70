package sluice_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
)

// authority signs certificates for the length of a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	folder      string
	file        string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t), folder: t.TempDir()}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, a.key.Public(), a.key))(t)
	a.file = a.write(t, "ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(a.folder, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (a *authority) issue(t *testing.T, name string, usage x509.ExtKeyUsage, addresses ...net.IP) (certificate, key string) {
	t.Helper()
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: addresses, ExtKeyUsage: []x509.ExtKeyUsage{usage}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key))(t)
	return a.write(t, name+".pem", "CERTIFICATE", der), a.write(t, name+".key", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(private))(t))
}

func TestTLSChecksTheCertificateAndItsName(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	certificate, key := ours.issue(t, "agent", x509.ExtKeyUsageServerAuth, net.IPv4(127, 0, 0, 1))
	misnamed, misnamedKey := ours.issue(t, "misnamed", x509.ExtKeyUsageServerAuth, net.IPv4(192, 0, 2, 1))
	mine, mineKey := ours.issue(t, "client", x509.ExtKeyUsageClientAuth)
	theirs, theirsKey := others.issue(t, "client", x509.ExtKeyUsageClientAuth)
	plain := testagent.Start(t, "--tls-cert", certificate, "--tls-key", key)
	mutual := testagent.Start(t, "--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", ours.file)
	wrong := testagent.Start(t, "--tls-cert", misnamed, "--tls-key", misnamedKey)
	for _, is := range []struct {
		name    string
		agent   *testagent.Agent
		options []sluice.Option
		decided bool
	}{
		{"trusted", plain, []sluice.Option{sluice.WithCAFile(ours.file)}, true},
		{"another CA", plain, []sluice.Option{sluice.WithCAFile(others.file)}, false},
		{"the system's CAs", plain, nil, false},
		{"another name", wrong, []sluice.Option{sluice.WithCAFile(ours.file)}, false},
		{"a client certificate", mutual, []sluice.Option{sluice.WithCAFile(ours.file), sluice.WithClientCertificate(mine, mineKey)}, true},
		{"no client certificate", mutual, []sluice.Option{sluice.WithCAFile(ours.file)}, false},
		{"another's client certificate", mutual, []sluice.Option{sluice.WithCAFile(ours.file), sluice.WithClientCertificate(theirs, theirsKey)}, false},
	} {
		t.Run(is.name, func(t *testing.T) {
			client := is.agent.Client(t, append(is.options, sluice.WithURL("https"+is.agent.URL[len("http"):]))...)
			for range 5 {
				d := must(client.Check(background, sluice.Check{PlanID: "lots", Subject: "a"}))(t)
				if d.Decided != is.decided || (!d.Decided && d.Err.Kind != sluice.Unreachable) {
					t.Errorf("%+v %v", d, d.Err)
				}
			}
		})
	}
}
