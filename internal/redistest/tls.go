package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Certs are an authority of a test's own and what it has signed: a certificate
// for servers on loopback and one for clients.
type Certs struct {
	dir    string
	roots  *x509.CertPool
	client tls.Certificate
}

// NewCerts makes certificates that last for as long as a test may.
func NewCerts(t testing.TB) *Certs {
	t.Helper()
	c := &Certs{dir: t.TempDir(), roots: x509.NewCertPool()}
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	caCert, caKey := c.sign(t, "ca", ca, nil, nil)
	c.roots.AddCert(caCert)
	c.sign(t, "server", &x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.ParseIP(host)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, caCert, caKey)
	c.sign(t, "client", &x509.Certificate{
		Subject:  pkix.Name{CommonName: "client"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, caCert, caKey)
	var err error
	c.client, err = tls.LoadX509KeyPair(c.file("client.crt"), c.file("client.key"))
	must(t, err)
	return c
}

// sign makes a key and a certificate for it, signed by parent or, without one,
// by itself, and writes both to files.
func (c *Certs) sign(t testing.TB, name string, cert, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	if parent == nil {
		parent, by = cert, key
	}
	cert.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	must(t, err)
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, by)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(c.file(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(c.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	made, err := x509.ParseCertificate(der)
	must(t, err)
	return made, key
}

func (c *Certs) file(name string) string { return filepath.Join(c.dir, name) }

// Client returns the configuration of a client that trusts the authority and
// shows its certificate.
func (c *Certs) Client() *tls.Config {
	anonymous := c.Anonymous()
	anonymous.Certificates = []tls.Certificate{c.client}
	return anonymous
}

// Anonymous is Client without a certificate to show.
func (c *Certs) Anonymous() *tls.Config {
	return &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12}
}

// TLS makes the server speak TLS on a second port; see Server.TLSAddr. It asks
// every client there for a certificate, unless Args says otherwise.
func TLS(certs *Certs) Option {
	return func(c *config) { c.certs = certs }
}

// TLSAddr returns the host:port where the server speaks TLS, given the option.
func (s *Server) TLSAddr() string { return address(s.tlsPort) }

func (c *Certs) directives(port int) []string {
	return []string{
		"--tls-port", strconv.Itoa(port),
		"--tls-cert-file", c.file("server.crt"),
		"--tls-key-file", c.file("server.key"),
		"--tls-ca-cert-file", c.file("ca.crt"),
		"--tls-auth-clients", "yes",
	}
}
