package main

import (
	"fmt"
	"path/filepath"
)

const simulatedNodes = 2

// startSimulator runs kwok, which plays the kubelet for nodes that exist in the API only: their
// pods turn Ready although nothing runs.
func (c *cluster) startSimulator() error {
	return c.start(launch{name: "kwok", inside: true, command: []string{c.bin + "/kwok",
		"--kubeconfig=pki/admin.conf",
		"--config=" + filepath.Join(c.sources, "simulated-stages.yaml"),
		"--node-lease-duration-seconds=40",
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--cidr=" + fakePods, "--node-ip=" + fakeNode,
		fmt.Sprintf("--server-address=127.0.0.1:%d", c.ports.Simulator),
	}})
}

// addSimulatedNodes makes the nodes. Beside a real node they are tainted, so that only namespaces
// that ask for it (see README.md here) get simulated pods; alone, they take every pod.
func (c *cluster) addSimulatedNodes(api *api) error {
	for number := range simulatedNodes {
		name := fmt.Sprintf("simulated-%d", number+1)
		spec := map[string]any{}
		if c.withNode {
			spec["taints"] = []any{map[string]any{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}}
		}
		node := map[string]any{
			"apiVersion": "v1",
			"kind":       "Node",
			"metadata": map[string]any{
				"name":        name,
				"annotations": map[string]any{"kwok.x-k8s.io/node": "fake"},
				"labels": map[string]any{
					"chandler.local/node":    "simulated",
					"kubernetes.io/arch":     "amd64",
					"kubernetes.io/hostname": name,
					"kubernetes.io/os":       "linux",
				},
			},
			"spec": spec,
		}
		if err := api.apply("/api/v1/nodes/"+name, node); err != nil {
			return err
		}
		status := map[string]any{
			"apiVersion": "v1",
			"kind":       "Node",
			"metadata":   map[string]any{"name": name},
			"status": map[string]any{
				"allocatable": map[string]any{"cpu": "64", "memory": "256Gi", "pods": "5000"},
				"capacity":    map[string]any{"cpu": "64", "memory": "256Gi", "pods": "5000"},
			},
		}
		if err := api.apply("/api/v1/nodes/"+name+"/status", status); err != nil {
			return err
		}
	}
	return nil
}
