package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// api speaks to the cluster's API server as its admin.
type api struct {
	server string
	client *http.Client
}

func (c *cluster) api() (*api, error) {
	pair, err := tls.LoadX509KeyPair(c.path("pki", "admin.crt"), c.path("pki", "admin.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(c.path("pki", "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}}
	return &api{c.server(), &http.Client{Transport: transport, Timeout: 10 * time.Second}}, nil
}

// get decodes an object, or only asks whether the path answers 200 when `into` is nil.
func (a *api) get(path string, into any) error {
	return a.send(http.MethodGet, path, "", nil, into)
}

// apply writes an object whole, by server-side apply.
func (a *api) apply(path string, object any) error {
	return a.send(http.MethodPatch, path+"?fieldManager=chandler-local&force=true", "application/apply-patch+yaml", object, nil)
}

func (a *api) send(method, path, contentType string, object, into any) error {
	var body io.Reader
	if object != nil {
		data, err := json.Marshal(object)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequest(method, a.server+path, body)
	if err != nil {
		return err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(data))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}
