package main

import (
	"fmt"
	"os"
	"time"
)

// realNode is the one node whose pods are real.
const realNode = "node-1"

const pauseImage = "localhost/chandler/pause:1"

// startContainerd runs a container runtime that keeps everything under the cluster's folder.
func (c *cluster) startContainerd() error {
	for _, folder := range []string{"containerd", "cni"} {
		if err := os.MkdirAll(c.path(folder), 0o755); err != nil {
			return err
		}
	}
	configuration := fmt.Sprintf(`version = 2
root = %[1]q
state = %[2]q
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = %[3]q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[4]q
  # Pods' network namespaces are mounted under our folder, where they are found again.
  netns_mounts_under_state_dir = true
  # Without CAP_SYS_RESOURCE a container may not become less likely to be killed than we are.
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = %[5]q
  [plugins."io.containerd.grpc.v1.cri".registry.mirrors.%[6]q]
    endpoint = ["http://%[7]s"]
`, c.path("containerd", "root"), c.path("containerd", "state"), c.containerdSocket(), pauseImage, c.path("cni"), c.registry(), c.registry())
	if err := os.WriteFile(c.path("containerd", "config.toml"), []byte(configuration), 0o644); err != nil {
		return err
	}
	network := fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`, c.path("cni", "leases"), podNetwork)
	if err := os.WriteFile(c.path("cni", "10-pods.conflist"), []byte(network), 0o644); err != nil {
		return err
	}
	return c.start(launch{name: "containerd", inside: true, command: []string{"containerd", "--log-level=warn", "--config=containerd/config.toml"}})
}

func (c *cluster) containerdSocket() string { return c.path("containerd", "containerd.sock") }

// loadPauseImage waits for containerd, and gives it the image every pod needs.
func (c *cluster) loadPauseImage() error {
	archive := c.path("pause.tar")
	if err := writeImage(archive, pauseImage, c.bin+"/pause"); err != nil {
		return err
	}
	return c.awaitProcess("containerd", 30*time.Second, func() error {
		_, err := output("ctr", "--address", c.containerdSocket(), "--namespace", "k8s.io", "images", "import", archive)
		return err
	})
}

// startNode runs the kubelet and kube-proxy.
func (c *cluster) startNode() error {
	if err := os.MkdirAll(c.path("kubelet"), 0o755); err != nil {
		return err
	}
	if err := c.makeControlGroup(); err != nil {
		return err
	}
	configuration := fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %[1]q}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupRoot: /%[2]s
clusterDNS: [%[3]s]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://%[4]s
evictionHard: {nodefs.available: "0%%", imagefs.available: "0%%", memory.available: 50Mi}
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100
podLogsDir: %[5]q
resolvConf: ""
# Tests start and stop many pods; waiting is what they would do most.
syncFrequency: 10s
volumePluginDir: %[6]q
`, c.path("pki", "ca.crt"), c.namespace(), dnsService, c.containerdSocket(), c.path("kubelet", "logs"), c.path("kubelet", "volume-plugins"))
	if err := os.WriteFile(c.path("kubelet", "config.yaml"), []byte(configuration), 0o644); err != nil {
		return err
	}
	if err := c.start(launch{name: "kubelet", inside: true, command: []string{c.bin + "/kubelet",
		"--config=kubelet/config.yaml", "--kubeconfig=pki/kubelet.conf", "--root-dir=" + c.path("kubelet"), "--cert-dir=" + c.path("kubelet", "pki"),
		"--hostname-override=" + realNode, "--node-ip=" + nodeAddress, "--node-labels=chandler.local/node=real",
	}}); err != nil {
		return err
	}
	return c.start(launch{name: "kube-proxy", inside: true, command: []string{c.bin + "/kube-proxy",
		"--kubeconfig=pki/proxy.conf", "--hostname-override=" + realNode,
		"--proxy-mode=iptables", "--cluster-cidr=" + podNetwork,
		// The limit belongs to the whole machine, and it is not ours to change.
		"--conntrack-max-per-core=0",
	}})
}

// awaitNodes waits until every node takes pods.
func (c *cluster) awaitNodes(api *api) error {
	expected := simulatedNodes
	if c.withNode {
		expected++
	}
	return c.awaitParts(2*time.Minute, func() error {
		var nodes struct {
			Items []struct {
				Metadata struct{ Name string }
				Status   struct {
					Conditions []struct{ Type, Status, Message string }
				}
			}
		}
		if err := api.get("/api/v1/nodes", &nodes); err != nil {
			return err
		}
		ready := 0
		for _, node := range nodes.Items {
			for _, condition := range node.Status.Conditions {
				if condition.Type == "Ready" && condition.Status == "True" {
					ready++
				}
			}
		}
		if ready < expected {
			return fmt.Errorf("%d of %d nodes are Ready", ready, expected)
		}
		// Pods are refused until their namespace has its ServiceAccount.
		return api.get("/api/v1/namespaces/default/serviceaccounts/default", nil)
	})
}
