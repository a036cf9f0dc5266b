package main

import (
	"fmt"
	"os"
)

// The cluster's network is a namespace of the kernel: no packet can leave the machine from there,
// and two clusters may use the same addresses.

func (c *cluster) namespace() string { return "chandler-" + c.name }

// insideNetwork never uses `ip netns exec`: that mounts /sys anew, and hides the control groups
// from the kubelet.
func (c *cluster) insideNetwork(command []string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + c.namespace(), "--"}, command...)
}

func (c *cluster) makeNetwork() error {
	name := c.namespace()
	// The kernel need not have a dummy device; a bridge with one end of a cable in it is always up.
	steps := [][]string{
		{"ip", "netns", "add", name},
		{"ip", "-n", name, "link", "set", "lo", "up"},
		{"ip", "-n", name, "link", "add", "node0", "type", "bridge"},
		{"ip", "-n", name, "link", "add", "cable0", "type", "veth", "peer", "name", "cable1"},
		{"ip", "-n", name, "link", "set", "cable0", "master", "node0"},
		{"ip", "-n", name, "link", "set", "cable0", "up"},
		{"ip", "-n", name, "link", "set", "cable1", "up"},
		{"ip", "-n", name, "addr", "add", fmt.Sprintf("%s/%d", nodeAddress, nodeNetwork), "dev", "node0"},
		{"ip", "-n", name, "link", "set", "node0", "up"},
		// The kubelet and kube-proxy look for a default route; it leads to an address that nobody has.
		{"ip", "-n", name, "route", "replace", "default", "via", nodeGateway, "dev", "node0"},
		c.insideNetwork([]string{"sysctl", "-q", "-w", "net.ipv4.ip_forward=1"}),
	}
	for _, step := range steps {
		if _, err := output(step...); err != nil {
			return outside("use --no-node on a machine that does not let root make network namespaces", "%v", err)
		}
	}
	return nil
}

func (c *cluster) removeNetwork() error {
	if _, err := os.Stat("/run/netns/" + c.namespace()); err != nil {
		return nil
	}
	_, err := output("ip", "netns", "delete", c.namespace())
	return err
}
