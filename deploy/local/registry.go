package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

// startRegistry runs an OCI registry at the same address inside the cluster and on this machine.
func (c *cluster) startRegistry() error {
	if err := os.MkdirAll(c.path("registry"), 0o755); err != nil {
		return err
	}
	address := c.registry()
	if c.withNode {
		// Pods reach it at the address of their node.
		address = fmt.Sprintf("0.0.0.0:%d", c.ports.Registry)
	}
	configuration := fmt.Sprintf(`version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %q}
  delete: {enabled: true}
http: {addr: "%s"}
`, c.path("registry"), address)
	if err := os.WriteFile(c.path("registry.yaml"), []byte(configuration), 0o644); err != nil {
		return err
	}
	if err := c.start(launch{name: "registry", inside: true, command: []string{c.bin + "/registry", "serve", "registry.yaml"}}); err != nil {
		return err
	}
	if c.withNode {
		return c.publish("registry", c.ports.Registry)
	}
	return nil
}

func (c *cluster) awaitRegistry() error {
	client := &http.Client{Timeout: 2 * time.Second}
	return c.awaitProcess("registry", 30*time.Second, func() error {
		response, err := client.Get("http://" + c.registry() + "/v2/")
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("the registry answers %s", response.Status)
		}
		return nil
	})
}
