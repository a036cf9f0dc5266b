package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// authority signs every certificate of one cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// identity is a user or a server of the cluster.
type identity struct {
	file          string
	name          string
	organisation  string
	dnsNames      []string
	addresses     []net.IP
	hasKubeconfig bool
}

// makeCertificates writes pki/: the authority, a pair for each identity, a kubeconfig for those
// that call the API, and the key that signs ServiceAccount tokens.
func (c *cluster) makeCertificates() error {
	if err := os.MkdirAll(c.path("pki"), 0o700); err != nil {
		return err
	}
	ca, err := c.newAuthority()
	if err != nil {
		return err
	}
	identities := []identity{
		{file: "apiserver", name: "kube-apiserver",
			dnsNames:  []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			addresses: []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(apiService), net.ParseIP(nodeAddress)}},
		{file: "kubelet-client", name: "kube-apiserver-kubelet-client", organisation: "system:masters"},
		{file: "front-proxy", name: "front-proxy-client"},
		{file: "admin", name: "kubernetes-admin", organisation: "system:masters", hasKubeconfig: true},
		{file: "controller-manager", name: "system:kube-controller-manager", hasKubeconfig: true},
		{file: "scheduler", name: "system:kube-scheduler", hasKubeconfig: true},
		{file: "kubelet", name: "system:node:" + realNode, organisation: "system:nodes", hasKubeconfig: true},
		{file: "proxy", name: "system:kube-proxy", hasKubeconfig: true},
	}
	for number, who := range identities {
		if err := c.issue(ca, int64(number+2), who); err != nil {
			return err
		}
	}
	_, err = c.newKey("service-accounts")
	return err
}

func (c *cluster) newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return key, os.WriteFile(c.path("pki", file+".key"), data, 0o600)
}

func (c *cluster) newAuthority() (*authority, error) {
	key, err := c.newKey("ca")
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "chandler-local-" + c.name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &authority{certificate, key, data}, os.WriteFile(c.path("pki", "ca.crt"), data, 0o644)
}

func (c *cluster) issue(ca *authority, serial int64, who identity) error {
	key, err := c.newKey(who.file)
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: who.name}
	if who.organisation != "" {
		subject.Organization = []string{who.organisation}
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:     who.dnsNames,
		IPAddresses:  who.addresses,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, key.Public(), ca.key)
	if err != nil {
		return err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(c.path("pki", who.file+".crt"), data, 0o644); err != nil {
		return err
	}
	if !who.hasKubeconfig {
		return nil
	}
	return c.writeKubeconfig(c.path("pki", who.file+".conf"), ca.pem, who.file)
}

func (c *cluster) writeKubeconfig(file string, caPEM []byte, user string) error {
	certificate, err := os.ReadFile(c.path("pki", user+".crt"))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.path("pki", user+".key"))
	if err != nil {
		return err
	}
	encode := base64.StdEncoding.EncodeToString
	context := "chandler-" + c.name
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: %[1]s
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
contexts:
- name: %[1]s
  context:
    cluster: %[1]s
    user: %[4]s
users:
- name: %[4]s
  user:
    client-certificate-data: %[5]s
    client-key-data: %[6]s
`, context, c.server(), encode(caPEM), user, encode(certificate), encode(key))
	return os.WriteFile(file, []byte(content), 0o600)
}
