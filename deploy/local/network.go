package main

import (
	"fmt"
	"hash/fnv"
	"os"
)

// The cluster's network is a namespace of the kernel: no packet can leave the machine from there,
// and two clusters may use the same addresses.

// namespace is the name of the network namespace and of the control group. Two clusters of one
// name in different state folders are two clusters.
func (c *cluster) namespace() string {
	h := fnv.New32a()
	h.Write([]byte(c.state))
	return fmt.Sprintf("chandler-%s-%08x", c.name, h.Sum32())
}

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
		c.insideNetwork([]string{"sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"}),
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
